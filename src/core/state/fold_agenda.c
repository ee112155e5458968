/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the fold that is about times: windows and what they change, tariffs, reservations,
 * what is submitted again and again, and what was spent. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "core/state/state.h"

/* ---- what holds now ---- */

static bool is_open(const struct state *state, uint32_t window, usec_t at)
{
    return window_at(state->agenda.windows.items[window], at, NULL);
}

void state_quota_at(const struct state *state, uint32_t queue, uint32_t resource, usec_t at,
                    struct quota *ret)
{
    const struct queue *q = &state->queues.items[queue];

    *ret = q->base[resource];
    for (size_t i = 0; i < q->during.count; i++) {
        const struct queue_during *during = &q->during.items[i];
        if (during->resource == resource && is_open(state, during->window, at))
            quota_override(ret, &during->quota);
    }
}

static void set_queue(struct state *state, struct queue *queue)
{
    memcpy(queue->quota, queue->base, sizeof(queue->quota));
    for (size_t i = 0; i < queue->during.count; i++) {
        const struct queue_during *during = &queue->during.items[i];
        if (is_open(state, during->window, state->now))
            quota_override(&queue->quota[during->resource], &during->quota);
    }
}

static void set_pool(struct state *state, struct pool *pool)
{
    pool->milli_min = pool->base_min;
    pool->milli_max = pool->base_max;
    for (size_t i = 0; i < pool->during.count; i++) {
        const struct pool_during *during = &pool->during.items[i];
        if (!is_open(state, during->window, state->now))
            continue;
        pool->milli_min = during->milli_min != ABSENT ? during->milli_min : pool->milli_min;
        pool->milli_max = during->milli_max != ABSENT ? during->milli_max : pool->milli_max;
    }
}

void state_set_times(struct state *state)
{
    struct agenda *agenda = &state->agenda;

    for (size_t i = 0; i < state->queues.count; i++)
        set_queue(state, &state->queues.items[i]);
    for (size_t i = 0; i < state->pools.count; i++)
        set_pool(state, &state->pools.items[i]);
    agenda->factor_milli = agenda_factor(agenda, state->now, NULL);
    agenda->next_edge = USEC_NEVER;
    for (size_t i = 0; i < agenda->windows.count; i++) {
        usec_t edge = window_next_edge(agenda->windows.items[i], state->now);
        agenda->next_edge = edge < agenda->next_edge ? edge : agenda->next_edge;
    }
}

/* ---- what was spent ---- */

static void advance_clock(struct state *state)
{
    struct agenda *agenda = &state->agenda;

    agenda->clock += (uint64_t)(state->now - agenda->clock_at) * agenda->factor_milli;
    agenda->clock_at = state->now;
}

void state_charge_queue(struct state *state, uint32_t queue)
{
    advance_clock(state);
    queue_charge(&state->queues.items[queue], state->now, state->agenda.clock);
}

/* Where a new period began. */
static void renew_accounts(struct state *state)
{
    for (uint32_t i = 0; i < state->queues.count; i++) {
        struct queue *queue = &state->queues.items[i];
        for (size_t k = 0; k < ACCOUNTS; k++) {
            struct account *account = &queue->accounts[k];
            if (account->window == 0)
                continue;
            const struct window *window = state->agenda.windows.items[account->window - 1];
            usec_t since = agenda_period_start(window, state->now);
            usec_t end = window_next_edge(window, state->now);
            usec_t length = end == USEC_NEVER ? 0 : end - since;
            usec_t later = since - account->since;
            if (later <= 0)
                continue;
            account->since = since;
            if (later <= length / 2)
                continue; /* the same one: the clock of the place was set */
            state_charge_queue(state, i);
            account->spent = 0;
            account->rest = 0;
        }
    }
}

void state_pass_time(struct state *state, usec_t until)
{
    while (state->agenda.next_edge <= until) {
        state->now = state->agenda.next_edge;
        advance_clock(state);
        renew_accounts(state);
        state_set_times(state);
        state->agenda.passed++;
    }
}

static int64_t priced(int64_t amount, int64_t parts, int64_t price_micro)
{
    return amount > 0 && price_micro > 0
               ? (int64_t)wide_scale((uint64_t)amount, (uint64_t)price_micro, (uint64_t)parts)
               : 0;
}

int64_t state_rate_of(const struct state *state, const struct amounts *held)
{
    const struct resource_name *resources = state->resources.items;
    int64_t rate = 0, others = held->of[RESOURCE_GPUS];

    for (uint32_t i = RESOURCE_MODELS; i < state->resources.count; i++) {
        if (resources[i].price_micro == 0)
            continue;
        rate += priced(held->of[i], GPU_MILLI, resources[i].price_micro);
        others -= held->of[i];
    }
    rate += priced(others, GPU_MILLI, resources[RESOURCE_GPUS].price_micro);
    rate += priced(held->of[RESOURCE_CPUS], 1000, resources[RESOURCE_CPUS].price_micro);
    rate += priced(held->of[RESOURCE_MEMORY], 1024, resources[RESOURCE_MEMORY].price_micro);
    return rate;
}

int64_t state_rate(const struct state *state, const struct lease *lease)
{
    struct amounts held;

    amounts_of_lease(state, lease, &held);
    return state_rate_of(state, &held);
}

void state_charge_job(struct state *state, struct job *job, bool begins)
{
    struct cost *cost = &job_claim_run(job)->cost;

    advance_clock(state);
    cost_charge(cost, state->agenda.clock);
    if (begins)
        cost->rate = state_rate(state, job->run->lease);
}

int64_t state_cost(const struct state *state, const struct job *job, usec_t at)
{
    struct cost cost = job->run->cost;

    cost_charge(&cost, agenda_clock(&state->agenda, at));
    return cost.micro;
}

/* Periods that begin on the way are passed over: time passes for the state when it is told. */
void state_accounts(const struct state *state, uint32_t queue, usec_t at, struct account *ret)
{
    struct queue copy = state->queues.items[queue];

    queue_charge(&copy, at, agenda_clock(&state->agenda, at));
    memcpy(ret, copy.accounts, sizeof(copy.accounts));
}

void state_reprice(struct state *state)
{
    for (uint32_t i = 0; i < state->queues.count; i++)
        state_charge_queue(state, i);
    for (struct job *job = state->first_active; job; job = job->run->active_next)
        state_charge_job(state, job, true);
    state_recount(state);
}

/* ---- events ---- */

int state_window_of(struct state *state, const char *name, uint32_t *ret, struct error *err)
{
    int64_t found = agenda_claim_window(&state->agenda, name ? name : "");

    if (found < 0)
        return error_set(err, -EBADMSG, "window %s: more than %d windows", name,
                         AGENDA_WINDOWS_MAX);
    *ret = (uint32_t)found;
    return 0;
}

static int fold_window(struct state *state, const struct event_window *event, struct error *err)
{
    struct span_list spans = { 0 };
    uint32_t number = 0;

    int code = state_window_of(state, event->name, &number, err);
    if (code < 0)
        return code;
    struct window *window = state->agenda.windows.items[number];
    for (uint32_t i = 0; i < event->spans_count; i++) {
        /* One that is not before the next is for window_set() to find. */
        struct span span = { event->spans[i].from, event->spans[i].until };
        list_add(&spans, span);
    }
    advance_clock(state); /* until now the old spans held */
    code = window_set(window, spans.items, spans.count, err);
    span_list_release(&spans);
    if (code < 0)
        return error_prefix(err, -EBADMSG, "journal");
    free(window->words);
    window->words = mem_string(event->words ? event->words : "");
    window->made = state->now;
    window->until = event->until;
    renew_accounts(state);
    return 0;
}

static void set_string(char **where, const char *string)
{
    free(*where);
    *where = mem_string(string ? string : "");
}

static int fold_reservation(struct state *state, const struct event_reservation *event,
                            struct error *err)
{
    struct agenda *agenda = &state->agenda;
    uint32_t window = 0;

    if (event->kind > RESERVATION_USER)
        return error_set(err, -EBADMSG, "reservation %s: kind %d is not known", event->name,
                         event->kind);
    int code = state_window_of(state, event->window, &window, err);
    if (code < 0)
        return code;
    int64_t found = agenda_find_reservation(agenda, event->name);
    if (found < 0) {
        found = (int64_t)agenda->reservations.count;
        list_add(&agenda->reservations, (struct reservation){ .name = mem_string(event->name) });
    }
    struct reservation *reservation = &agenda->reservations.items[found];
    reservation->window = window;
    reservation->kind = event->kind;
    reservation->gpus = event->gpus;
    set_string(&reservation->owner, event->owner);
    set_string(&reservation->model, event->model);
    set_string(&reservation->nodes, event->nodes);
    set_string(&reservation->maker, event->maker);
    reservation->user =
        event->kind == RESERVATION_USER ? state_claim_user(state, reservation->owner) : 0;
    return 0;
}

static int fold_reservation_remove(struct state *state, const char *name, struct error *err)
{
    struct agenda *agenda = &state->agenda;
    int64_t found = agenda_find_reservation(agenda, name);

    if (found < 0)
        return error_set(err, -EBADMSG, "reservation %s: there is none", name);
    reservation_release(&agenda->reservations.items[found]);
    list_remove(&agenda->reservations, (size_t)found);
    return 0;
}

static int fold_tariff(struct state *state, const struct event_tariff *event, struct error *err)
{
    struct agenda *agenda = &state->agenda;
    uint32_t window = 0;

    advance_clock(state);
    for (size_t i = 0; i < agenda->tariffs.count; i++) {
        if (strcmp(agenda->tariffs.items[i].name, event->name) != 0)
            continue;
        free(agenda->tariffs.items[i].name);
        list_remove(&agenda->tariffs, i);
        break;
    }
    if (!event->window || !event->window[0])
        return 0;
    if (event->factor_milli > TARIFF_MAX || agenda->tariffs.count == AGENDA_TARIFFS_MAX)
        return error_set(err, -EBADMSG, "tariff %s: makes no sense", event->name);
    int code = state_window_of(state, event->window, &window, err);
    if (code < 0)
        return code;
    list_add(&agenda->tariffs, (struct tariff){ .name = mem_string(event->name),
                                                .window = window,
                                                .factor_milli = event->factor_milli });
    return 0;
}

static int fold_cron(struct state *state, const struct event_cron *event, struct error *err)
{
    struct agenda *agenda = &state->agenda;
    struct cron_entry *entry = agenda_find_cron(agenda, event->id);

    if (!entry && event->id < agenda->next_cron)
        return error_set(err, -EBADMSG, "cron %" PRIu64 ": its number is taken", event->id);
    if (!entry) {
        list_add(&agenda->crons, (struct cron_entry){ .id = event->id });
        entry = &agenda->crons.items[agenda->crons.count - 1];
        agenda->next_cron = event->id + 1;
    }
    set_string(&entry->name, event->name);
    set_string(&entry->user, event->user);
    set_string(&entry->schedule, event->schedule);
    set_string(&entry->trouble, event->trouble);
    entry->uid = event->uid;
    entry->gid = event->gid;
    entry->document = event->document;
    entry->next = event->next;
    entry->fired = event->fired;
    entry->count = event->count;
    entry->job = event->job;
    return 0;
}

static int fold_cron_remove(struct state *state, uint64_t id, struct error *err)
{
    struct agenda *agenda = &state->agenda;

    for (size_t i = 0; i < agenda->crons.count; i++) {
        if (agenda->crons.items[i].id != id)
            continue;
        cron_entry_release(&agenda->crons.items[i]);
        list_remove(&agenda->crons, i);
        return 0;
    }
    return error_set(err, -EBADMSG, "cron %" PRIu64 ": there is none", id);
}

int fold_agenda(struct state *state, const struct event *event, struct error *err)
{
    int code = 0;

    switch (event->kind) {
    case EVENT_WINDOW:
        code = fold_window(state, &event->window, err);
        break;
    case EVENT_RESERVATION:
        code = fold_reservation(state, &event->reservation, err);
        break;
    case EVENT_RESERVATION_REMOVE:
        code = fold_reservation_remove(state, event->reservation_remove.name, err);
        break;
    case EVENT_TARIFF:
        code = fold_tariff(state, &event->tariff, err);
        break;
    case EVENT_CRON:
        return fold_cron(state, &event->cron, err);
    default:
        return fold_cron_remove(state, event->cron_remove.id, err);
    }
    state_set_times(state);
    state->agenda.passed++;
    return code;
}
