/* SPDX-License-Identifier: Apache-2.0 */
#include "core/snapshot/snapshot.h"

#include <assert.h>
#include <stdlib.h>

#include "base/text.h"
#include "core/snapshot/snapshot_kinds.h"

static void put(struct text *out, enum snapshot_kind kind, const void *object, struct text *scratch)
{
    assert(snapshot_type(kind));
    text_clear(scratch);
    record_encode(snapshot_type(kind), object, scratch);
    record_put_varint(out, kind);
    record_put_varint(out, scratch->length);
    text_add_bytes(out, scratch->bytes, scratch->length);
}

#define PUT_ALL(out, kind, list, scratch)                                                          \
    put_all(out, kind, (list).items, (list).count, sizeof((list).items[0]), scratch)
static void put_all(struct text *out, enum snapshot_kind kind, const void *items, size_t count,
                    size_t size, struct text *scratch)
{
    for (size_t i = 0; i < count; i++)
        put(out, kind, (const char *)items + i * size, scratch);
}

static void put_job(struct text *out, const struct state *state, const struct job *job,
                    struct text *scratch)
{
    struct text states = { 0 };
    struct saved_job saved = { .job = *job,
                               .run = *job->run,
                               .request = *state_request(state, job) };
    saved.request.max_duration = job->max_duration;

    if (job->run->lease) {
        saved.lease = *job->run->lease;
        for (uint32_t i = 0; i < job->run->lease->members_count; i++)
            text_add_char(&states, (char)('0' + job->run->member_states[i]));
    }
    if (job->run->usage)
        saved.usage = *job->run->usage;
    saved.member_states = text_string(&states);
    put(out, JOB, &saved, scratch);
    text_release(&states);
}

static int compare_needs(const void *a, const void *b)
{
    const struct need *left = a, *right = b;

    if (left->job != right->job)
        return left->job < right->job ? -1 : 1;
    if (left->on != right->on)
        return left->on < right->on ? -1 : 1;
    return (left->kind > right->kind) - (left->kind < right->kind);
}

/* Sorted: their places in the table tell of those that were there before. */
static void put_needs(struct text *out, const struct need_table *table, struct text *scratch)
{
    LIST(struct need) needs = { 0 };

    for (size_t i = 0; i < table->needs.count; i++) {
        if (table->needs.items[i].job != 0)
            list_add(&needs, table->needs.items[i]);
    }
    if (needs.count > 0)
        qsort(needs.items, needs.count, sizeof(needs.items[0]), compare_needs);
    PUT_ALL(out, NEED, needs, scratch);
    list_release(&needs);
}

static void put_numbers(struct text *text, const int16_t *numbers)
{
    text_clear(text);
    for (int i = 0; i < HISTORY_RUNS; i++)
        text_printf(text, "%04x", (unsigned)(uint16_t)numbers[i]);
}

static void put_history(struct text *out, const struct history *history, struct text *scratch)
{
    struct text runs = { 0 }, ratios = { 0 };

    for (size_t i = 0; i < history->rings.count; i++) {
        const struct history_ring *ring = &history->rings.items[i];
        put_numbers(&runs, ring->runs);
        put_numbers(&ratios, ring->ratios);
        put(out, RUNS,
            &(struct saved_runs){ ring->key, ring->count, ring->is_used, runs.bytes, ratios.bytes },
            scratch);
    }
    PUT_ALL(out, ERRORS, history->users, scratch);
    text_release(&runs);
    text_release(&ratios);
}

static void put_load(struct text *out, const struct state *state, struct text *scratch)
{
    const struct pressure *pressure = &state->pressure;
    const struct residual *residual = &state->residual;
    struct mtbf mtbf = state->mtbf;

    put(out, PRESSURE, pressure, scratch);
    mtbf_advance(&mtbf, state->now);
    put(out, MTBF, &mtbf, scratch);
    PUT_ALL(out, NODE_TYPE, state->node_types, scratch);
    PUT_ALL(out, DEVICE_TYPE, state->device_types, scratch);
    PUT_ALL(out, NODE_SETTINGS, state->node_settings, scratch);
    for (uint32_t i = 0; i < PRESSURE_LEVELS; i++) {
        if (pressure->arrived[i] > 0)
            put(out, ARRIVED, &(struct saved_arrived){ i, pressure->arrived[i] }, scratch);
    }
    for (uint32_t class = 0; class < RESIDUAL_CLASSES; class ++) {
        for (uint32_t bin = 0; bin < RESIDUAL_BINS; bin++) {
            struct saved_bin saved = { class, bin, residual->left[class][bin],
                                       residual->ended[class][bin] };
            if (saved.left > 0)
                put(out, BIN, &saved, scratch);
        }
    }
}

static void put_pool(struct text *out, const struct pool *pool, struct text *scratch)
{
    LIST(struct pool_during) during = { 0 };

    for (size_t i = 0; i < pool->during.count; i++) {
        struct pool_during saved = pool->during.items[i];
        saved.milli_min = saved.milli_min == ABSENT ? -1 : saved.milli_min;
        saved.milli_max = saved.milli_max == ABSENT ? -1 : saved.milli_max;
        list_add(&during, saved);
    }
    put(out, POOL,
        &(struct saved_pool){ .pool = *pool,
                              .during = during.items,
                              .during_count = (uint32_t)during.count,
                              .where = pool->where.items,
                              .where_count = (uint32_t)pool->where.count },
        scratch);
    list_release(&during);
}

static void put_window(struct text *out, const struct window *window, struct text *scratch)
{
    LIST(struct event_span) spans = { 0 };

    for (size_t i = 0; i < window->spans.count; i++)
        list_add(&spans,
                 (struct event_span){ window->spans.items[i].from, window->spans.items[i].until });
    put(out, WINDOW,
        &(struct saved_window){ .name = window->name,
                                .words = window->words,
                                .spans = spans.items,
                                .spans_count = (uint32_t)spans.count,
                                .made = window->made,
                                .until = window->until },
        scratch);
    list_release(&spans);
}

static void put_agenda(struct text *out, const struct agenda *agenda, struct text *scratch)
{
    put(out, AGENDA, agenda, scratch);
    for (size_t i = 0; i < agenda->windows.count; i++)
        put_window(out, agenda->windows.items[i], scratch);
    PUT_ALL(out, TARIFF, agenda->tariffs, scratch);
    LIST_EACH (const struct reservation, reservation, &agenda->reservations)
        put(out, RESERVATION,
            &(struct saved_reservation){ .reservation = *reservation,
                                         .where = reservation->where.items,
                                         .where_count = (uint32_t)reservation->where.count },
            scratch);
    PUT_ALL(out, CRON, agenda->crons, scratch);
}

/* What is not said is 0, and has no bit. */
static struct saved_during save_during(const struct queue_during *during)
{
    struct saved_during saved = { .during = *during };

    for (enum quota_bound i = 0; i < BOUNDS; i++) {
        if (quota_part_of(&during->quota, i) == ABSENT)
            *quota_part(&saved.during.quota, i) = 0;
        else
            saved.given |= (uint8_t)(1u << i);
    }
    return saved;
}

static void put_queue(struct text *out, const struct state *state, const struct queue *queue,
                      struct text *scratch)
{
    LIST(struct saved_during) during = { 0 };
    LIST(struct budget) budgets = { 0 };
    struct saved_quota quotas[RESOURCES_MAX];
    struct saved_queue saved = { .queue = *queue,
                                 .payer = state->payers.items.items[queue->payer],
                                 .quotas = quotas,
                                 .subjects = queue->subjects.items,
                                 .subjects_count = (uint32_t)queue->subjects.count,
                                 .cells = queue->cells.items,
                                 .cells_count = (uint32_t)queue->cells.count,
                                 .names = queue->names.items,
                                 .names_count = (uint32_t)queue->names.count,
                                 .during_count = (uint32_t)queue->during.count };

    for (uint32_t i = 0; i < RESOURCES_MAX; i++) {
        if (!quota_is_empty(&queue->base[i]))
            quotas[saved.quotas_count++] = (struct saved_quota){ i, queue->base[i] };
    }
    for (size_t i = 0; i < queue->during.count; i++)
        list_add(&during, save_during(&queue->during.items[i]));
    saved.during = during.items;
    LIST_EACH (const struct budget, budget, &queue->budgets) {
        if (budget->user != PAYER_ALL)
            list_add(&budgets, *budget);
    }
    saved.budgets = budgets.items;
    saved.budgets_count = (uint32_t)budgets.count;
    put(out, QUEUE, &saved, scratch);
    list_release(&during);
    list_release(&budgets);
}

void snapshot_save(const struct state *state, struct text *out)
{
    struct text scratch = { 0 };

    put(out, WORLD, state, &scratch);
    PUT_ALL(out, NODE, state->nodes, &scratch);
    PUT_ALL(out, DEVICE, state->devices, &scratch);
    for (size_t i = 0; i < state->pools.count; i++)
        put_pool(out, &state->pools.items[i], &scratch);
    for (size_t i = 0; i < state->queues.count; i++)
        put_queue(out, state, &state->queues.items[i], &scratch);
    PUT_ALL(out, RESOURCE, state->resources, &scratch);
    put_agenda(out, &state->agenda, &scratch);
    for (size_t i = 0; i < state->users.count; i++) {
        struct saved_user saved = { .name = state->users.items[i] };
        if (i < state->allowances.count)
            saved.allowance = state->allowances.items[i];
        put(out, USER, &saved, &scratch);
    }
    LIST_EACH (const struct payer, payer, &state->payers.items) {
        if (payer->user != PAYER_ALL)
            put(out, PAYER, payer, &scratch);
    }
    for (const struct group *group = state->first_group; group; group = group->next)
        put(out, GROUP, group, &scratch);
    for (const struct job *job = state->first_job; job; job = job->next)
        put_job(out, state, job, &scratch);
    put_needs(out, &state->needs, &scratch);
    for (size_t i = 0; i < state->demand.shapes.count; i++) {
        const struct demand_shape *shape = &state->demand.shapes.items[i];
        struct saved_demand saved = { .request = *class_request(&state->classes, shape->class),
                                      .weight = shape->weight };
        put(out, DEMAND, &saved, &scratch);
    }
    put_history(out, &state->history, &scratch);
    PUT_ALL(out, SPEED, state->speeds.rings, &scratch);
    put_load(out, state, &scratch);
    for (uint32_t i = 0; i < CALIBRATION_BANDS; i++) {
        if (state->calibration.bands[i].count > 0)
            put(out, BAND, &(struct saved_band){ i, state->calibration.bands[i] }, &scratch);
    }
    PUT_ALL(out, CHANGE, state->config_log.items, &scratch);
    PUT_ALL(out, TOKEN, state->tokens.items, &scratch);
    PUT_ALL(out, RECEIPT, state->receipts.items, &scratch);
    text_release(&scratch);
}
