/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/cluster/queue.h"
#include "wire/config/window_event.h"

static void fill_quotas(const struct config_queue *queue, struct arena *arena,
                        struct event_queue *ret)
{
    struct event_quota *quotas = arena_take(arena, queue->quota_count, sizeof(*quotas));
    struct event_subject *subjects = arena_take(arena, queue->subject_count + 1, sizeof(*subjects));

    ret->gpus = queue->quotas[0].quota;
    for (size_t i = 1; i < queue->quota_count; i++) {
        const struct config_quota *quota = &queue->quotas[i];
        quotas[ret->quotas_count++] =
            (struct event_quota){ .resource = quota->resource, .quota = quota->quota };
    }
    for (size_t i = 0; i < queue->subject_count; i++) {
        const struct config_subject *subject = &queue->subjects[i];
        subjects[ret->subjects_count++] = (struct event_subject){ .kind = subject->kind,
                                                                  .name = subject->name,
                                                                  .gid = subject->gid,
                                                                  .resource = subject->resource,
                                                                  .limit = subject->limit };
    }
    ret->quotas = quotas;
    ret->subjects = subjects;
}

static void fill_times(const struct config_queue *queue, struct arena *arena,
                       struct event_queue *ret)
{
    struct event_during *list = arena_take(arena, queue->during_count + 1, sizeof(*list));
    struct event_budget *budgets = arena_take(arena, ACCOUNTS, sizeof(*budgets));

    for (size_t i = 0; i < queue->during_count; i++) {
        const struct config_during *during = &queue->during[i];
        list[ret->during_count++] = (struct event_during){
            .window = during->window,
            .resource = during->resource,
            .quota = during->quota,
        };
    }
    for (uint8_t i = 0; i < ACCOUNTS; i++) {
        const struct config_budget *budget = &queue->budgets[i];
        if (budget->most != ACCOUNT_NO_BUDGET)
            budgets[ret->budgets_count++] =
                (struct event_budget){ .account = i,
                                       .most = budget->most,
                                       .window = window_of_period(budget->period),
                                       .firmness = budget->firmness };
    }
    ret->during = list;
    ret->budgets = budgets;
}

void config_queue_event(const struct config *config, const struct config_queue *queue,
                        struct arena *arena, struct event *ret)
{
    *ret = (struct event){
        .kind = EVENT_QUEUE,
        .queue = { .name = queue->name,
                   .parent = queue->parent >= 0 ? config->queues[queue->parent].name : "",
                   .weight = queue->weight,
                   .cells = queue->cells,
                   .cells_count = (uint32_t)queue->cell_count,
                   .min_runtime = queue->min_runtime,
                   .firm_within = queue->firm_within },
    };
    fill_quotas(queue, arena, &ret->queue);
    fill_times(queue, arena, &ret->queue);
}

static int64_t milli_of(int64_t gpus)
{
    return gpus == CONFIG_NONE ? 0 : gpus * GPU_MILLI;
}

static void fill_during(const struct config_pool *pool, struct arena *arena, struct event_pool *ret)
{
    struct event_pool_during *list = arena_take(arena, pool->during_count + 1, sizeof(*list));

    for (size_t i = 0; i < pool->during_count; i++) {
        const struct config_pool_during *during = &pool->during[i];
        list[ret->during_count++] = (struct event_pool_during){
            .window = during->window,
            .milli_min = during->min == CONFIG_NONE ? ABSENT : during->min * GPU_MILLI,
            .milli_max = during->max == CONFIG_NONE ? ABSENT : during->max * GPU_MILLI,
        };
    }
    ret->during = list;
}

int config_pool_event(const struct config_pool *pool, struct text *nodes, struct arena *arena,
                      struct event *ret, struct error *err)
{
    uint64_t devices = 0;

    text_clear(nodes);
    for (char **node = pool->nodes; node && *node; node++)
        text_printf(nodes, "%s%s", nodes->length ? "," : "", *node);
    for (size_t i = 0; i < pool->device_count; i++) {
        if (pool->devices[i] >= CONFIG_EVENT_DEVICES)
            return error_set(err, -EINVAL, "pool %s: device %" PRIu32 ": at most %d", pool->name,
                             pool->devices[i], CONFIG_EVENT_DEVICES - 1);
        devices |= UINT64_C(1) << pool->devices[i];
    }
    *ret = (struct event){
        .kind = EVENT_POOL,
        .pool = { .name = pool->name,
                  .is_static = pool->is_static,
                  .queue = pool->queue,
                  .model = pool->model,
                  .labels = pool->labels,
                  .nodes = text_string(nodes),
                  .gpus = pool->gpus == CONFIG_NONE ? 0 : (uint32_t)pool->gpus,
                  .milli_min = milli_of(pool->min),
                  .milli_max = milli_of(pool->max),
                  .devices = devices,
                  .mig = pool->mig },
    };
    fill_during(pool, arena, &ret->pool);
    return 0;
}

/* The windows that queues count their budgets by, each once. */
static bool needs_period(const struct config *config, enum period period)
{
    for (size_t i = 0; i < config->queue_count; i++) {
        for (size_t k = 0; k < ACCOUNTS; k++) {
            const struct config_budget *budget = &config->queues[i].budgets[k];
            if (budget->most != ACCOUNT_NO_BUDGET && budget->period == period)
                return true;
        }
    }
    return false;
}

static void add_window(const char *name, const char *words, struct config_window_list *list)
{
    list->items[list->count++] = (struct config_named_words){ name, words };
}

static const char *own_window(const char *kind, const char *name, struct arena *arena)
{
    size_t size = strlen(kind) + strlen(name) + 2;
    char *own = arena_take(arena, size, 1);

    snprintf(own, size, "%s %s", kind, name);
    return own;
}

void config_windows(const struct config *config, struct arena *arena,
                    struct config_window_list *ret)
{
    size_t most = config->window_count + config->tariff_count + config->reservation_count + PERIODS;

    *ret = (struct config_window_list){ .items = arena_take(arena, most, sizeof(ret->items[0])) };
    for (size_t i = 0; i < config->window_count; i++)
        add_window(config->windows[i].name, config->windows[i].words, ret);
    for (enum period period = 0; period < PERIODS; period++) {
        if (needs_period(config, period))
            add_window(window_of_period(period), window_of_period(period), ret);
    }
    for (size_t i = 0; i < config->tariff_count; i++) {
        const struct config_tariff *tariff = &config->tariffs[i];
        if (tariff->when.words)
            add_window(own_window("tariff", tariff->name, arena), tariff->when.words, ret);
    }
    for (size_t i = 0; i < config->reservation_count; i++) {
        const struct config_reservation *reservation = &config->reservations[i];
        if (reservation->when.words)
            add_window(own_window("reservation", reservation->name, arena), reservation->when.words,
                       ret);
    }
}

void config_tariff_event(const struct config_tariff *tariff, struct arena *arena, struct event *ret)
{
    *ret = (struct event){
        .kind = EVENT_TARIFF,
        .tariff = { .name = tariff->name,
                    .window = tariff->when.window ? tariff->when.window
                                                  : own_window("tariff", tariff->name, arena),
                    .factor_milli = tariff->factor_milli },
    };
}

void config_reservation_event(const struct config_reservation *reservation, const char *maker,
                              struct arena *arena, struct event *ret)
{
    struct text nodes = { 0 };

    for (char **node = reservation->nodes; node && *node; node++)
        text_printf(&nodes, "%s%s", nodes.length ? "," : "", *node);
    char *names = arena_take(arena, nodes.length + 1, 1);
    memcpy(names, text_string(&nodes), nodes.length + 1);
    text_release(&nodes);
    *ret = (struct event){
        .kind = EVENT_RESERVATION,
        .reservation = { .name = reservation->name,
                         .window = reservation->when.window
                                       ? reservation->when.window
                                       : own_window("reservation", reservation->name, arena),
                         .kind = reservation->kind,
                         .owner = reservation->owner,
                         .gpus = reservation->gpus,
                         .model = reservation->model,
                         .nodes = names,
                         .maker = maker },
    };
}
