/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration that is in force, from the state. */
#include <stdio.h>
#include <string.h>

#include "control/configure.h"
#include "control/times.h"
#include "control/unix_names.h"
#include "wire/config/config.h"

#define TAKE_ROOM(config, member, count)                                                           \
    ((config)->member = arena_take(&(config)->arena, (count) + 1, sizeof((config)->member[0])))

static const char *window_name(const struct state *state, uint32_t window)
{
    return state->agenda.windows.items[window]->name;
}

static void add_pool(struct config *config, const struct state *state, const struct pool *pool)
{
    struct event_pool *added = &config->pools[config->pool_count++];
    struct event_pool_during *list =
        arena_take(&config->arena, pool->during.count + 1, sizeof(*list));

    *added = (struct event_pool){ .name = config_text(config, pool->name),
                                  .is_static = pool->is_static,
                                  .queue = config_text(config, pool->queue),
                                  .model = config_text(config, pool->model),
                                  .nodes = config_text(config, pool->nodes),
                                  .labels = config_text(config, pool->labels ? pool->labels : ""),
                                  .gpus = pool->is_static ? pool->gpus : 0,
                                  .milli_min = pool->is_static ? 0 : pool->base_min,
                                  .milli_max = pool->is_static ? 0 : pool->base_max,
                                  .devices = pool->devices,
                                  .mig = pool->mig,
                                  .during = list,
                                  .during_count = (uint32_t)pool->during.count };
    for (size_t i = 0; i < pool->during.count; i++)
        list[i] = (struct event_pool_during){
            config_text(config, window_name(state, pool->during.items[i].window)),
            pool->during.items[i].milli_min, pool->during.items[i].milli_max
        };
}

static void add_subjects(struct config *config, struct event_queue *added,
                         const struct state *state, const struct queue *queue)
{
    struct event_subject *list =
        arena_take(&config->arena, queue->subjects.count + 1, sizeof(*list));

    added->subjects = list;
    for (size_t i = 0; i < queue->subjects.count; i++) {
        const struct subject_limit *subject = &queue->subjects.items[i];
        char group[REQUEST_NAME_SIZE];
        const char *name = subject->kind == SUBJECT_USER ? state_user(state, subject->id)
                           : subject->kind == SUBJECT_GROUP
                               ? group_name_of(subject->id, group, sizeof(group))
                               : "";
        list[added->subjects_count++] = (struct event_subject){
            .kind = subject->kind,
            .limit = subject->limit,
            .gid = subject->id,
            .name = config_text(config, name),
            .resource = config_text(config, state->resources.items[subject->resource].name),
        };
    }
}

static void add_times(struct config *config, struct event_queue *added, const struct state *state,
                      const struct queue *queue)
{
    struct event_during *during =
        arena_take(&config->arena, queue->during.count + 1, sizeof(*during));
    struct event_budget *budgets = arena_take(&config->arena, ACCOUNTS, sizeof(*budgets));

    added->during = during;
    added->budgets = budgets;
    for (size_t i = 0; i < queue->during.count; i++) {
        const struct queue_during *at = &queue->during.items[i];
        during[added->during_count++] =
            (struct event_during){ config_text(config, window_name(state, at->window)),
                                   config_text(config, state->resources.items[at->resource].name),
                                   at->quota };
    }
    for (uint8_t i = 0; i < ACCOUNTS; i++) {
        const struct account *account = &queue->accounts[i];
        const char *window = account->window > 0 ? window_name(state, account->window - 1) : "";
        if (account->most != ACCOUNT_NO_BUDGET)
            budgets[added->budgets_count++] =
                (struct event_budget){ config_text(config, window), account->most, i,
                                       account->firmness };
    }
}

static void add_queue(struct config *config, const struct state *state, const struct queue *queue)
{
    struct event_queue *added = &config->queues[config->queue_count++];
    struct cell_quota *cells = arena_take(&config->arena, queue->cells.count + 1, sizeof(*cells));
    const char *parent = state->queues.items[queue->parent].name;

    *added = (struct event_queue){
        .name = config_text(config, queue->name),
        .parent = queue->parent == QUEUE_ROOT ? "" : config_text(config, parent),
        .weight = queue->weight,
        .gpus = queue->base[RESOURCE_GPUS],
        .min_runtime = queue->min_runtime,
        .firm_within = queue->firm_within,
        .cells = cells,
        .cells_count = (uint32_t)queue->cells.count,
    };
    for (size_t i = 1; i < state->resources.count; i++) {
        if (!quota_is_empty(&queue->base[i]))
            *config_quota(config, added, state->resources.items[i].name) = queue->base[i];
    }
    for (size_t i = 0; i < queue->cells.count; i++)
        cells[i] = queue->cells.items[i];
    add_times(config, added, state, queue);
    add_subjects(config, added, state, queue);
}

/* "default" is there anyway: it is only named when it is not as it was made. */
static bool is_as_made(const struct queue *queue)
{
    bool is = queue->weight == 1 && queue->subjects.count == 0 && queue->during.count == 0 &&
              queue->cells.count == 0 && queue->min_runtime == 0 && !queue->firm_within;

    for (size_t i = 0; i < RESOURCES_MAX; i++)
        is &= quota_is_empty(&queue->base[i]);
    for (size_t i = 0; i < ACCOUNTS; i++)
        is &= queue->accounts[i].most == ACCOUNT_NO_BUDGET;
    return is;
}

void times_reservation_of(struct config *config, const struct state *state,
                          const struct reservation *reservation, struct event_reservation *ret)
{
    *ret = (struct event_reservation){
        .name = config_text(config, reservation->name),
        .owner = config_text(config, reservation->owner),
        .model = config_text(config, reservation->model),
        .nodes = config_text(config, reservation->nodes),
        .window = config_text(config, window_name(state, reservation->window)),
        .maker = "",
        .gpus = reservation->gpus,
        .kind = reservation->kind,
    };
}

static void add_agenda(struct config *config, const struct state *state)
{
    const struct agenda *agenda = &state->agenda;

    config->timezone = config_text(config, agenda->timezone);
    for (size_t i = 0; i < agenda->windows.count; i++) {
        const struct window *window = agenda->windows.items[i];
        if (window->words && window->words[0])
            config_add_window(config, window->name, window->words);
    }
    TAKE_ROOM(config, tariffs, agenda->tariffs.count);
    for (size_t i = 0; i < agenda->tariffs.count; i++) {
        const struct tariff *tariff = &agenda->tariffs.items[i];
        config->tariffs[config->tariff_count++] = (struct event_tariff){
            .name = config_text(config, tariff->name),
            .window = config_text(config, window_name(state, tariff->window)),
            .factor_milli = tariff->factor_milli,
        };
    }
    TAKE_ROOM(config, reservations, agenda->reservations.count);
    for (size_t i = 0; i < agenda->reservations.count; i++) {
        if (!agenda->reservations.items[i].maker[0])
            times_reservation_of(config, state, &agenda->reservations.items[i],
                                 &config->reservations[config->reservation_count++]);
    }
}

static void add_prices(struct config *config, const struct state *state)
{
    TAKE_ROOM(config, prices, state->resources.count);
    for (size_t i = 0; i < state->resources.count; i++) {
        const struct resource_name *resource = &state->resources.items[i];
        if (resource->price_micro > 0)
            config->prices[config->price_count++] =
                (struct event_price){ .resource = config_text(config, resource->name),
                                      .price_micro = resource->price_micro };
    }
}

struct config *config_of_state(const struct state *state)
{
    struct config *config = config_create();

    add_agenda(config, state);
    TAKE_ROOM(config, pools, state->pools.count);
    for (size_t i = 1; i < state->pools.count; i++) {
        if (!state->pools.items[i].is_removed)
            add_pool(config, state, &state->pools.items[i]);
    }
    TAKE_ROOM(config, queues, state->queues.count);
    for (size_t i = QUEUE_DEFAULT; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        if (!queue->is_removed && (i != QUEUE_DEFAULT || !is_as_made(queue)))
            add_queue(config, state, queue);
    }
    add_prices(config, state);
    TAKE_ROOM(config, node_types, state->node_types.count);
    for (size_t i = 0; i < state->node_types.count; i++)
        config->node_types[config->node_type_count++] = state->node_types.items[i];
    TAKE_ROOM(config, device_types, state->device_types.count);
    for (size_t i = 0; i < state->device_types.count; i++)
        config->device_types[config->device_type_count++] = state->device_types.items[i];
    config->settings = state->settings;
    config->has_predict = config->settings.predict != (config->settings.order == ORDER_DEFAULT);
    return config;
}
