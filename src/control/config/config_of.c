/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration that is in force, from the state. */
#include <string.h>

#include "control/config/configure.h"
#include "control/times.h"
#include "control/unix_names.h"
#include "wire/config/config.h"

static const char *window_name(const struct state *state, uint32_t window)
{
    return state->agenda.windows.items[window]->name;
}

static void add_where(struct config *config, const where_list *where, const struct where_term **ret,
                      uint32_t *ret_count)
{
    LIST_EACH (const struct where_term, term, where)
        *(struct where_term *)CONFIG_NEW(config, *ret, *ret_count) = *term;
}

static void add_pool(struct config *config, const struct state *state, const struct pool *pool)
{
    struct event_pool *added = CONFIG_NEW(config, config->pools, config->pool_count);

    *added = (struct event_pool){ .name = config_text(config, pool->name),
                                  .is_static = pool->is_static,
                                  .queue = config_text(config, pool->queue),
                                  .model = config_text(config, pool->model),
                                  .nodes = "",
                                  .labels = "",
                                  .gpus = pool->is_static ? pool->gpus : 0,
                                  .milli_min = pool->is_static ? 0 : pool->base_min,
                                  .milli_max = pool->is_static ? 0 : pool->base_max,
                                  .devices = pool->devices,
                                  .mig = pool->mig };
    add_where(config, &pool->where, &added->where, &added->where_count);
    for (size_t i = 0; i < pool->during.count; i++) {
        const struct pool_during *at = &pool->during.items[i];
        struct event_pool_during *during = CONFIG_NEW(config, added->during, added->during_count);
        during->window = config_text(config, window_name(state, at->window));
        during->milli_min = at->milli_min;
        during->milli_max = at->milli_max;
    }
}

static void add_subjects(struct config *config, struct event_queue *added,
                         const struct state *state, const struct queue *queue)
{
    for (size_t i = 0; i < queue->subjects.count; i++) {
        const struct subject_limit *subject = &queue->subjects.items[i];
        char group[REQUEST_NAME_SIZE];
        const char *name = subject->kind == SUBJECT_USER ? state_user(state, subject->id)
                           : subject->kind == SUBJECT_GROUP
                               ? group_name_of(subject->id, group, sizeof(group))
                               : "";
        struct event_subject *limit = CONFIG_NEW(config, added->subjects, added->subjects_count);
        *limit = (struct event_subject){
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
    for (size_t i = 0; i < queue->during.count; i++) {
        const struct queue_during *at = &queue->during.items[i];
        struct event_during *during = CONFIG_NEW(config, added->during, added->during_count);
        during->window = config_text(config, window_name(state, at->window));
        during->resource = config_text(config, state->resources.items[at->resource].name);
        during->quota = at->quota;
    }
    LIST_EACH (const struct budget, budget, &queue->budgets) {
        const char *window = budget->window > 0 ? window_name(state, budget->window - 1) : "";
        const char *user = budget->user == PAYER_ALL    ? ""
                           : budget->user == PAYER_EACH ? EACH_USER
                                                        : state_user(state, budget->user);
        struct event_budget *said = CONFIG_NEW(config, added->budgets, added->budgets_count);
        *said = (struct event_budget){ config_text(config, window), budget->most, budget->account,
                                       budget->firmness, config_text(config, user) };
    }
}

static void add_queue(struct config *config, const struct state *state, const struct queue *queue)
{
    struct event_queue *added = CONFIG_NEW(config, config->queues, config->queue_count);
    const char *parent = state->queues.items[queue->parent].name;

    *added = (struct event_queue){
        .name = config_text(config, queue->name),
        .parent = queue->parent == QUEUE_ROOT ? "" : config_text(config, parent),
        .weight = queue->weight,
        .gpus = queue->base[RESOURCE_GPUS],
        .min_runtime = queue->min_runtime,
        .firm_within = queue->firm_within,
        .rules = queue->rules,
    };
    for (size_t i = 1; i < state->resources.count; i++) {
        if (!quota_is_empty(&queue->base[i]))
            *config_quota(config, added, state->resources.items[i].name) = queue->base[i];
    }
    for (size_t i = 0; i < queue->cells.count; i++) {
        struct cell_quota *cell = CONFIG_NEW(config, added->cells, added->cells_count);
        *cell = queue->cells.items[i];
    }
    for (size_t i = 0; i < queue->names.count; i++) {
        struct queue_name *name = CONFIG_NEW(config, added->names, added->names_count);
        *name = queue->names.items[i];
    }
    add_times(config, added, state, queue);
    add_subjects(config, added, state, queue);
}

/* "default" is there anyway: it is only named when it is not as it was made. */
static bool is_as_made(const struct queue *queue)
{
    static const struct queue_rules none;
    bool is = memcmp(&queue->rules, &none, sizeof(none)) == 0 && queue->names.count == 0 &&
              queue->weight == 1 && queue->subjects.count == 0 && queue->budgets.count == 0 &&
              queue->during.count == 0 && queue->cells.count == 0 && queue->min_runtime == 0 &&
              !queue->firm_within;

    for (size_t i = 0; i < RESOURCES_MAX; i++)
        is &= quota_is_empty(&queue->base[i]);
    return is;
}

void times_reservation_of(struct config *config, const struct state *state,
                          const struct reservation *reservation, struct event_reservation *ret)
{
    *ret = (struct event_reservation){
        .name = config_text(config, reservation->name),
        .owner = config_text(config, reservation->owner),
        .model = config_text(config, reservation->model),
        .window = config_text(config, window_name(state, reservation->window)),
        .maker = "",
        .gpus = reservation->gpus,
        .kind = reservation->kind,
    };
    add_where(config, &reservation->where, &ret->where, &ret->where_count);
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
    for (size_t i = 0; i < agenda->tariffs.count; i++) {
        const struct tariff *tariff = &agenda->tariffs.items[i];
        struct event_tariff *added = CONFIG_NEW(config, config->tariffs, config->tariff_count);
        *added = (struct event_tariff){
            .name = config_text(config, tariff->name),
            .window = config_text(config, window_name(state, tariff->window)),
            .factor_milli = tariff->factor_milli,
        };
    }
    for (size_t i = 0; i < agenda->reservations.count; i++) {
        if (!agenda->reservations.items[i].maker[0])
            times_reservation_of(
                config, state, &agenda->reservations.items[i],
                CONFIG_NEW(config, config->reservations, config->reservation_count));
    }
}

static void add_prices(struct config *config, const struct state *state)
{
    for (size_t i = 0; i < state->resources.count; i++) {
        const struct resource_name *resource = &state->resources.items[i];
        if (resource->price_micro <= 0 && resource->training_milli == 0 &&
            resource->inference_milli == 0)
            continue;
        struct event_price *price = CONFIG_NEW(config, config->prices, config->price_count);
        price->resource = config_text(config, resource->name);
        price->price_micro = resource->price_micro;
        price->training_milli = resource->training_milli;
        price->inference_milli = resource->inference_milli;
    }
}

struct config *config_of_state(const struct state *state)
{
    struct config *config = config_create();

    add_agenda(config, state);
    for (size_t i = 1; i < state->pools.count; i++) {
        if (!state->pools.items[i].is_removed)
            add_pool(config, state, &state->pools.items[i]);
    }
    for (size_t i = QUEUE_DEFAULT; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        if (!queue->is_removed && (i != QUEUE_DEFAULT || !is_as_made(queue)))
            add_queue(config, state, queue);
    }
    add_prices(config, state);
    for (size_t i = 0; i < state->node_types.count; i++) {
        struct node_type *type = CONFIG_NEW(config, config->node_types, config->node_type_count);
        *type = state->node_types.items[i];
    }
    for (size_t i = 0; i < state->device_types.count; i++) {
        struct device_type *type =
            CONFIG_NEW(config, config->device_types, config->device_type_count);
        *type = state->device_types.items[i];
    }
    LIST_EACH (const struct node_settings, node, &state->node_settings)
        *(struct node_settings *)CONFIG_NEW(config, config->nodes, config->node_count) = *node;
    config->settings = state->settings;
    config->has_predict = config->settings.predict != (config->settings.order == ORDER_DEFAULT);
    return config;
}
