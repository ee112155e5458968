/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration into the state: pools, queues, prices, settings. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "control/config/configure.h"
#include "control/times.h"
#include "control/unix_names.h"
#include "sched/placement/cells.h"
#include "wire/config/config.h"

/* A queue that has jobs can't go: they would have nowhere to be. */
static int check_queue_unused(const struct state *state, uint32_t number, struct error *err)
{
    for (const struct job *job = state->first_job; job; job = job->next) {
        if (job->queue == number && job->state != JOB_ENDED)
            return error_set(err, -EALREADY,
                             "queue %s: job %" PRIu64 " is in it; cancel or move its jobs first",
                             state->queues.items[number].name, job->id);
    }
    return 0;
}

static const char *parent_name(const struct event_queue *queue)
{
    return queue->parent[0] ? queue->parent : "root";
}

static int check_queues(const struct state *state, const struct config *config, struct error *err)
{
    for (size_t i = QUEUE_DEFAULT + 1; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        if (!queue->is_removed && config_find_queue(config, queue->name) < 0) {
            int code = check_queue_unused(state, (uint32_t)i, err);
            if (code < 0)
                return code;
        }
    }
    for (size_t i = 0; i < config->queue_count; i++) {
        const struct event_queue *queue = &config->queues[i];
        int64_t known = state_find_queue(state, queue->name);
        if (known == QUEUE_ROOT)
            return error_set(err, -EINVAL, "queue root: it always exists and cannot be changed");
        const char *parent =
            known > 0 ? state->queues.items[state->queues.items[known].parent].name : NULL;
        if (parent && strcmp(parent, parent_name(queue)) != 0)
            return error_set(err, -EINVAL, "queue %s: is below %s, and cannot be moved below %s",
                             queue->name, parent, parent_name(queue));
        int64_t above = queue->parent[0] ? state_find_queue(state, queue->parent) : -1;
        int code = above > 0 ? check_queue_unused(state, (uint32_t)above, err) : 0;
        if (code < 0)
            return error_prefix(err, code, "queue %s: cannot be put below it", queue->name);
    }
    return 0;
}

static int check_pools(const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->pool_count; i++) {
        const struct event_pool *pool = &config->pools[i];
        if (strcmp(pool->name, "default") == 0)
            return error_set(err, -EINVAL, "pool default: it always exists and cannot be changed");
        if (pool->is_static && strcmp(pool->queue, "default") != 0 &&
            config_find_queue(config, pool->queue) < 0)
            return error_set(err, -EINVAL, "pool %s: its queue %s is not there", pool->name,
                             pool->queue);
    }
    return 0;
}

static void emit_queues(const struct control *control, const struct config *config)
{
    const struct state *state = control_state(control);

    /* From below: children go before their parents, which have lower numbers. */
    for (size_t i = state->queues.count; i-- > QUEUE_DEFAULT + 1;) {
        const char *name = state->queues.items[i].name;
        if (state->queues.items[i].is_removed || config_find_queue(config, name) >= 0)
            continue;
        control_emit(control, (struct event){ .kind = EVENT_QUEUE_REMOVE,
                                              .queue_remove = { .name = name } });
    }
    if (config_find_queue(config, "default") < 0)
        control_emit(
            control,
            (struct event){ .kind = EVENT_QUEUE,
                            .queue = { .name = "default", .weight = 1, .gpus = QUOTA_OPEN } });
    for (size_t i = 0; i < config->queue_count; i++)
        control_emit(control, (struct event){ .kind = EVENT_QUEUE, .queue = config->queues[i] });
}

static void emit_pools(const struct control *control, const struct config *config)
{
    const struct state *state = control_state(control);

    for (size_t i = state->pools.count; i-- > 1;) {
        const struct pool *pool = &state->pools.items[i];
        if (!pool->is_removed && config_find_pool(config, pool->name) < 0)
            control_emit(control, (struct event){ .kind = EVENT_POOL_REMOVE,
                                                  .pool_remove = { .name = pool->name } });
    }
    for (size_t i = 0; i < config->pool_count; i++)
        control_emit(control, (struct event){ .kind = EVENT_POOL, .pool = config->pools[i] });
}

/* What the new one does not name has none. */
static void emit_prices(const struct control *control, const struct config *config)
{
    const struct state *state = control_state(control);

    for (size_t i = 0; i < state->resources.count; i++) {
        const struct resource_name *resource = &state->resources.items[i];
        if (resource->price_micro > 0 || resource->training_milli > 0 ||
            resource->inference_milli > 0)
            control_emit(control, (struct event){ .kind = EVENT_PRICE,
                                                  .price = { .resource = resource->name } });
    }
    for (size_t i = 0; i < config->price_count; i++)
        control_emit(control, (struct event){ .kind = EVENT_PRICE, .price = config->prices[i] });
}

static int settle_names(struct event_queue *queue, struct error *err)
{
    static const char *const keys[QUEUE_LISTS] = {
        [QUEUE_SUBMIT_GROUPS] = "submit", [QUEUE_ADMIN_GROUPS] = "administer"
    };

    for (uint32_t i = 0; i < queue->names_count; i++) {
        struct queue_name *name = (struct queue_name *)(uintptr_t)&queue->names[i];
        int code = keys[name->list] ? find_group(name->name, &name->gid, err) : 0;
        if (code < 0)
            return error_prefix(err, code, "queue %s: %s", queue->name, keys[name->list]);
    }
    return 0;
}

int configure_settle(struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->queue_count; i++) {
        int code = settle_names(&config->queues[i], err);
        if (code < 0)
            return code;
        for (size_t k = 0; k < config->queues[i].subjects_count; k++) {
            struct event_subject *subject =
                (struct event_subject *)(uintptr_t)&config->queues[i].subjects[k];
            if (subject->kind == SUBJECT_GROUP)
                code = find_group(subject->name, &subject->gid, err);
            if (code < 0)
                return error_prefix(err, code, "queue %s: groups", config->queues[i].name);
        }
    }
    return 0;
}

/* The first word, where that says which program it is. */
static int find_program(const char *key, const char *command, const char *before, struct error *err)
{
    size_t length = strcspn(command, " \t\n;&|<>()");
    struct stat status;

    if (strcmp(command, before) == 0 || strcspn(command, "'\"\\$`*?[{") < length)
        return 0;
    AUTO_FREE char *path = mem_printf("%.*s", (int)length, command);
    if (length == 0 ||
        (access(path, X_OK) == 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode)))
        return 0;
    int code = access(path, X_OK) < 0 ? -errno : -EACCES;
    return error_set(err, code, "health: %s: %s: %s", key, path,
                     code == -EACCES ? "not a program that the daemon may run" : strerror(-code));
}

int configure_find_programs(const struct state *state, const struct config *config,
                            struct error *err)
{
    const struct watch_rules *now = &state->settings.watch, *new = &config->settings.watch;

    int code = find_program("before", new->health_before, now->health_before, err);
    return code < 0 ? code : find_program("after", new->health_after, now->health_after, err);
}

/* Names of resources, each once. */
struct names {
    const char *items[RESOURCES_MAX];
    size_t count;
};

static int add_name(struct names *names, const char *name, struct error *err)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i], name) == 0)
            return 0;
    }
    if (names->count == RESOURCES_MAX)
        return error_set(err, -E2BIG, "config: quotas and prices for more than %d models of GPUs",
                         RESOURCES_MAX - RESOURCE_MODELS);
    names->items[names->count++] = name;
    return 0;
}

/* The models that quotas and prices name get a number each, for good. */
static int check_resources(const struct state *state, const struct config *config,
                           struct error *err)
{
    struct names names = { .count = 0 };
    int code = 0;

    for (size_t i = 0; i < state->resources.count; i++)
        add_name(&names, state->resources.items[i].name, NULL);
    for (size_t i = 0; i < config->queue_count; i++) {
        const struct event_queue *queue = &config->queues[i];
        for (size_t k = 0; k < queue->quotas_count && code == 0; k++)
            code = add_name(&names, queue->quotas[k].resource, err);
        for (size_t k = 0; k < queue->subjects_count && code == 0; k++)
            code = add_name(&names, queue->subjects[k].resource, err);
        for (size_t k = 0; k < queue->during_count && code == 0; k++)
            code = add_name(&names, queue->during[k].resource, err);
    }
    for (size_t i = 0; i < config->price_count && code == 0; i++)
        code = add_name(&names, config->prices[i].resource, err);
    return code;
}

/* The cells of all queues together must exist. */
static int check_cells(const struct state *state, const struct config *config, struct error *err)
{
    struct cells_wanted *wanted = mem_zero(config->queue_count + 1, sizeof(*wanted));

    for (size_t i = 0; i < config->queue_count; i++)
        wanted[i] = (struct cells_wanted){ config->queues[i].name, config->queues[i].cells,
                                           config->queues[i].cells_count };
    int code = cells_check(state, wanted, config->queue_count, err);
    free(wanted);
    return code;
}

int configure_check(const struct state *state, const struct config *config, struct error *err)
{
    int code = check_queues(state, config, err);
    if (code == 0)
        code = check_pools(config, err);
    if (code == 0)
        code = check_resources(state, config, err);
    if (code == 0)
        code = times_check(state, config, err);
    return code < 0 ? code : check_cells(state, config, err);
}

void configure_emit(const struct control *control, const struct config *config)
{
    struct times times = { 0 };

    times_prepare(&times, control, config);
    times_emit_windows(&times, control);
    emit_queues(control, config);
    emit_pools(control, config);
    emit_prices(control, config);
    times_emit_rest(control, config);
    struct event settings = {
        .kind = EVENT_SETTINGS,
        .settings = { .node_types = config->node_types,
                      .node_types_count = config->node_type_count,
                      .device_types = config->device_types,
                      .device_types_count = config->device_type_count,
                      .nodes = config->nodes,
                      .nodes_count = config->node_count,
                      .timezone = config->timezone },
    };
    settings_to_event(&config->settings, &settings.settings);
    settings.settings.seed = control_state(control)->settings.seed;
    control_emit(control, settings);
    if (control->watchers.describe)
        control->watchers.describe(control->watchers.user);
    times_emit_gone(&times, control);
    times_release(&times);
}
