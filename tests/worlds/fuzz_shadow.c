/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_shadow.h"

#include <stdlib.h>
#include <string.h>

/* As NVIDIA documents them: starts in memory slices. A world has no other boards with MIG. */
static const struct shadow_board boards[] = {
    { "h100",
      81920,
      7,
      8,
      7,
      { { "1g.10gb", "1g", 1, 1, 0x7f, false },
        { "1g.10gb+me", "1g+me", 1, 1, 0x7f, true },
        { "1g.20gb", "", 1, 2, 0x55, false },
        { "2g.20gb", "2g", 2, 2, 0x15, false },
        { "3g.40gb", "3g", 3, 4, 0x11, false },
        { "4g.40gb", "4g", 4, 4, 0x01, false },
        { "7g.80gb", "7g", 7, 8, 0x01, false } } },
    { "a100",
      40960,
      7,
      8,
      7,
      { { "1g.5gb", "1g", 1, 1, 0x7f, false },
        { "1g.5gb+me", "1g+me", 1, 1, 0x7f, true },
        { "1g.10gb", "", 1, 2, 0x55, false },
        { "2g.10gb", "2g", 2, 2, 0x15, false },
        { "3g.20gb", "3g", 3, 4, 0x11, false },
        { "4g.20gb", "4g", 4, 4, 0x01, false },
        { "7g.40gb", "7g", 7, 8, 0x01, false } } },
    { "a30",
      24576,
      4,
      4,
      5,
      { { "1g.6gb", "1g", 1, 1, 0x0f, false },
        { "1g.6gb+me", "1g+me", 1, 1, 0x0f, true },
        { "2g.12gb", "2g", 2, 2, 0x05, false },
        { "2g.12gb+me", "2g+me", 2, 2, 0x05, true },
        { "4g.24gb", "4g", 4, 4, 0x01, false } } },
};

const struct shadow_profile *shadow_find_profile(const struct shadow_board *board, const char *name)
{
    for (uint32_t i = 0; i < board->profile_count; i++) {
        const struct shadow_profile *profile = &board->profiles[i];
        if (strcmp(profile->name, name) == 0 || strcmp(profile->brief, name) == 0)
            return profile;
    }
    return NULL;
}

static const struct shadow_board *find_board(const char *model, int64_t memory_mib)
{
    for (size_t i = 0; i < COUNT_OF(boards); i++) {
        if (strcmp(boards[i].model, model) == 0 && boards[i].mib == memory_mib)
            return &boards[i];
    }
    return NULL;
}

struct shadow *shadow_create(void)
{
    struct shadow *shadow = mem_zero(1, sizeof(*shadow));

    shadow->next_id = shadow->changes = 1;
    settings_default(&shadow->settings);
    static const char *const names[] = { "gpus", "cpus", "memory" };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        list_add(&shadow->resources, mem_string(names[i]));
    list_add(&shadow->queues, (struct shadow_queue){ .name = mem_string("root") });
    list_add(&shadow->queues, (struct shadow_queue){ .name = mem_string("default") });
    shadow_quota_init(&shadow->queues.items[0]);
    shadow_quota_init(&shadow->queues.items[1]);
    shadow_add_payer(shadow, 0, "");
    shadow_add_payer(shadow, 1, "");
    shadow->queues.items[0].children = 1;
    list_add(&shadow->pools,
             (struct shadow_pool){ .name = mem_string("default"), .queue = mem_string("") });
    shadow->pools.items[0].model = mem_string("");
    shadow->pools.items[0].nodes = mem_string("");
    return shadow;
}

static void release_world(struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->nodes.count; i++) {
        free(shadow->nodes.items[i].name);
        free(shadow->nodes.items[i].rack);
        list_release(&shadow->nodes.items[i].devices);
    }
    for (size_t i = 0; i < shadow->devices.count; i++) {
        free(shadow->devices.items[i].uuid);
        free(shadow->devices.items[i].labels);
        free(shadow->devices.items[i].model);
    }
    for (size_t i = 0; i < shadow->queues.count; i++) {
        free(shadow->queues.items[i].name);
        shadow_quota_release(&shadow->queues.items[i]);
    }
    for (size_t i = 0; i < shadow->resources.count; i++)
        free(shadow->resources.items[i]);
    for (size_t i = 0; i < shadow->pools.count; i++) {
        free(shadow->pools.items[i].name);
        free(shadow->pools.items[i].queue);
        free(shadow->pools.items[i].model);
        free(shadow->pools.items[i].nodes);
        free(shadow->pools.items[i].labels);
        list_release(&shadow->pools.items[i].during);
    }
    shadow_times_release(&shadow->times);
    list_release(&shadow->nodes);
    list_release(&shadow->devices);
    list_release(&shadow->queues);
    list_release(&shadow->payers);
    list_release(&shadow->resources);
    list_release(&shadow->pools);
}

void shadow_destroy(struct shadow *shadow)
{
    if (!shadow)
        return;
    for (size_t i = 0; i < shadow->jobs.count; i++)
        shadow_release_job(shadow->jobs.items[i]);
    for (size_t i = 0; i < shadow->groups.count; i++)
        free(shadow->groups.items[i]);
    release_world(shadow);
    list_release(&shadow->jobs);
    list_release(&shadow->groups);
    list_release(&shadow->requests);
    arena_release(&shadow->roles);
    map_release(&shadow->request_numbers);
    map_release(&shadow->kind_numbers);
    list_release(&shadow->needers);
    list_release(&shadow->active);
    list_release(&shadow->waiting);
    free(shadow);
}

/* ---- names ---- */

int64_t shadow_find_node(const struct shadow *shadow, const char *name)
{
    for (size_t i = 0; i < shadow->nodes.count; i++) {
        if (strcmp(shadow->nodes.items[i].name, name) == 0)
            return (int64_t)i;
    }
    return -1;
}

int64_t shadow_find_queue(const struct shadow *shadow, const char *name)
{
    for (size_t i = 0; i < shadow->queues.count; i++) {
        if (!shadow->queues.items[i].is_removed && strcmp(shadow->queues.items[i].name, name) == 0)
            return (int64_t)i;
    }
    return -1;
}

int64_t shadow_find_pool(const struct shadow *shadow, const char *name)
{
    for (size_t i = 0; i < shadow->pools.count; i++) {
        if (!shadow->pools.items[i].is_removed && strcmp(shadow->pools.items[i].name, name) == 0)
            return (int64_t)i;
    }
    return -1;
}

static int64_t find_device(const struct shadow *shadow, const char *uuid)
{
    for (size_t i = 0; i < shadow->devices.count; i++) {
        if (strcmp(shadow->devices.items[i].uuid, uuid) == 0)
            return (int64_t)i;
    }
    return -1;
}

struct shadow_job *shadow_job(const struct shadow *shadow, uint64_t id)
{
    return id < shadow->jobs.count ? shadow->jobs.items[id] : NULL;
}

struct shadow_group *shadow_group(const struct shadow *shadow, uint64_t id)
{
    return id < shadow->groups.count ? shadow->groups.items[id] : NULL;
}

bool shadow_is_active(const struct shadow_job *job)
{
    return job->lease != NULL;
}

bool shadow_is_below(const struct shadow *shadow, uint32_t queue, uint32_t above)
{
    while (queue != above && queue != QUEUE_ROOT)
        queue = shadow->queues.items[queue].parent;
    return queue == above;
}

bool shadow_is_usable(const struct shadow *shadow, const struct shadow_device *device)
{
    return !device->is_sick && shadow->nodes.items[device->node].state == NODE_UP;
}

bool shadow_owns(const struct shadow *shadow, uint32_t queue, const struct shadow_pool *pool)
{
    for (; queue != QUEUE_ROOT; queue = shadow->queues.items[queue].parent) {
        if (strcmp(shadow->queues.items[queue].name, pool->queue) == 0)
            return true;
    }
    return false;
}

struct shadow_group *shadow_bound(const struct shadow *shadow, const struct shadow_job *job)
{
    struct shadow_group *group = shadow_group(shadow, job->group);

    while (group && group->max_running == 0)
        group = shadow_group(shadow, group->parent);
    return group;
}

/* Each of the names that are wanted is among those that there are. */
static bool has_labels(const char *labels, const char *wanted)
{
    AUTO_FREE char *copy = mem_string(wanted);
    char *rest = copy;

    for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ",")) {
        if (name[0] && !shadow_is_named(labels, name))
            return false;
    }
    return true;
}

bool shadow_pool_has(const struct shadow *shadow, const struct shadow_pool *pool,
                     const struct shadow_device *device)
{
    if (pool->model[0] && strcmp(pool->model, device->model) != 0)
        return false;
    if (pool->nodes[0] && !shadow_is_named(pool->nodes, shadow->nodes.items[device->node].name))
        return false;
    if (!has_labels(device->labels, pool->labels))
        return false;
    return pool->devices == 0 || (device->index < 64 && (pool->devices >> device->index & 1));
}

/* In the order of the pools, lowest device first. */
static void deal(struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->devices.count; i++)
        shadow->devices.items[i].owner = 0;
    for (uint32_t i = 1; i < shadow->pools.count; i++) {
        const struct shadow_pool *pool = &shadow->pools.items[i];
        uint32_t left = pool->gpus > 0 ? pool->gpus : UINT32_MAX;
        for (size_t k = 0; k < shadow->devices.count && pool->is_static && !pool->is_removed; k++) {
            struct shadow_device *device = &shadow->devices.items[k];
            if (left == 0 || device->owner != 0 || !shadow_pool_has(shadow, pool, device))
                continue;
            device->owner = i;
            left--;
        }
    }
}

/* ---- what jobs hold ---- */

static void hold_slice(struct shadow *shadow, const struct slice *slice, int sign)
{
    struct shadow_device *device = &shadow->devices.items[slice->device];

    device->milli_free -= sign * (int64_t)slice->milli;
    device->memory_free -= sign * slice->memory_mib;
    shadow->pools.items[slice->pool].held += sign * (int64_t)slice->milli;
    if (slice->kind != SHARE_MIG)
        return;
    for (unsigned i = slice->mig_start; i < slice->mig_start + slice->mig_size + 0u; i++)
        device->held[i % SHADOW_SLICES] = (uint8_t)(device->held[i % SHADOW_SLICES] + sign);
    device->compute += (uint32_t)(sign * slice->mig_compute);
    device->media += (uint32_t)(sign * slice->mig_media);
}

void shadow_hold(struct shadow *shadow, const struct shadow_job *job, int sign)
{
    const struct lease *lease = job->lease;

    for (uint32_t i = 0; i < lease->slices_count; i++)
        hold_slice(shadow, &lease->slices[i], sign);
    for (uint32_t i = 0; i < lease->members_count; i++) {
        struct shadow_node *node = &shadow->nodes.items[lease->members[i].node];
        node->cpu_free -= sign * lease_cpu_milli(lease, i);
        node->memory_free -= sign * lease_memory_mib(lease, i);
    }
    shadow_quota_hold(shadow, job, sign);
    for (struct shadow_group *group = shadow_group(shadow, job->group); group;
         group = shadow_group(shadow, group->parent))
        group->active += (uint32_t)sign;
}

/* ---- the world changes ---- */

static void set_string(char **where, const char *string)
{
    free(*where);
    *where = mem_string(string ? string : "");
}

static void apply_node(struct shadow *shadow, const struct event_node *event)
{
    int64_t found = shadow_find_node(shadow, event->name);

    if (found < 0) {
        found = (int64_t)shadow->nodes.count;
        list_add(&shadow->nodes,
                 (struct shadow_node){ .name = mem_string(event->name), .rack = mem_string("") });
    }
    struct shadow_node *node = &shadow->nodes.items[found];
    node->cpu_free += event->cpu_milli - node->cpu_milli;
    node->memory_free += event->memory_mib - node->memory_mib;
    node->cpu_milli = event->cpu_milli;
    node->memory_mib = event->memory_mib;
    node->state = event->state;
    node->price = event->price_micro;
    set_string(&node->rack, event->rack ? event->rack : "");
    shadow_reprice(shadow);
}

static void apply_device(struct shadow *shadow, const struct event_device *event)
{
    uint32_t node = (uint32_t)shadow_find_node(shadow, event->node);
    int64_t found = find_device(shadow, event->uuid);

    if (found < 0) {
        found = (int64_t)shadow->devices.count;
        list_add(&shadow->devices, (struct shadow_device){ .uuid = mem_string(event->uuid),
                                                           .model = mem_string(event->model),
                                                           .milli_free = GPU_MILLI });
        list_add(&shadow->nodes.items[node].devices, (uint32_t)found);
    }
    struct shadow_device *device = &shadow->devices.items[found];
    int64_t memory_mib = event->memory_mib > 0 ? event->memory_mib : 0;
    device->memory_free += memory_mib - device->memory_mib;
    device->memory_mib = memory_mib;
    device->node = node;
    device->index = event->index;
    device->island = event->island;
    device->is_sick = event->sick && event->sick[0];
    device->harm = device->is_sick ? event->harm : HARM_NONE;
    device->is_synthetic = event->is_synthetic;
    device->has_mig = event->mig_enabled;
    set_string(&device->model, event->model);
    set_string(&device->labels, event->labels);
    device->board = device->has_mig ? find_board(device->model, memory_mib) : NULL;
}

static void apply_pool(struct shadow *shadow, const struct event_pool *event)
{
    int64_t found = shadow_find_pool(shadow, event->name);

    if (found < 0) {
        found = (int64_t)shadow->pools.count;
        list_add(&shadow->pools, (struct shadow_pool){ .name = mem_string(event->name) });
    }
    struct shadow_pool *pool = &shadow->pools.items[found];
    pool->is_static = event->is_static;
    pool->gpus = event->gpus;
    pool->base_min = event->milli_min;
    pool->base_max = event->milli_max;
    pool->during.count = 0;
    for (uint32_t i = 0; i < event->during_count; i++) {
        const struct event_pool_during *said = &event->during[i];
        list_add(&pool->during,
                 (struct shadow_pool_during){ shadow_times_claim(&shadow->times, said->window),
                                              said->milli_min, said->milli_max });
    }
    pool->devices = event->devices;
    set_string(&pool->queue, event->queue);
    set_string(&pool->model, event->model);
    set_string(&pool->nodes, event->nodes);
    set_string(&pool->labels, event->labels);
}

static void apply_queue(struct shadow *shadow, const struct event_queue *event)
{
    int64_t found = shadow_find_queue(shadow, event->name);

    if (found < 0) {
        uint32_t parent = event->parent && event->parent[0]
                              ? (uint32_t)shadow_find_queue(shadow, event->parent)
                              : QUEUE_ROOT;
        found = (int64_t)shadow->queues.count;
        list_add(&shadow->queues,
                 (struct shadow_queue){ .name = mem_string(event->name), .parent = parent });
        shadow->queues.items[parent].children++;
        shadow_quota_init(&shadow->queues.items[found]);
        shadow_add_payer(shadow, (uint32_t)found, "");
    }
    shadow_quota_set(shadow, &shadow->queues.items[found], event);
}

static void remove_queue(struct shadow *shadow, const char *name)
{
    struct shadow_queue *queue = &shadow->queues.items[shadow_find_queue(shadow, name)];

    queue->is_removed = true;
    shadow->queues.items[queue->parent].children--;
}

static void apply_settings(struct shadow *shadow, const struct event_settings *event)
{
    settings_take(&shadow->settings, event);
}

static void apply_price(struct shadow *shadow, const struct event_price *event)
{
    shadow->prices[shadow_resource(shadow, event->resource)] = event->price_micro;
    shadow_reprice(shadow);
}

void shadow_apply(struct shadow *shadow, const struct event *event)
{
    shadow_pass(shadow, event->at);
    if (!event_is_of_world(event->kind)) {
        shadow_apply_job(shadow, event);
        return;
    }
    shadow->more_room++;
    shadow->changes++;
    switch (event->kind) {
    case EVENT_NODE:
        apply_node(shadow, &event->node);
        break;
    case EVENT_DEVICE:
        apply_device(shadow, &event->device);
        break;
    case EVENT_POOL:
        apply_pool(shadow, &event->pool);
        break;
    case EVENT_POOL_REMOVE:
        shadow->pools.items[shadow_find_pool(shadow, event->pool_remove.name)].is_removed = true;
        break;
    case EVENT_QUEUE:
        apply_queue(shadow, &event->queue);
        break;
    case EVENT_QUEUE_REMOVE:
        remove_queue(shadow, event->queue_remove.name);
        break;
    case EVENT_SETTINGS:
        apply_settings(shadow, &event->settings);
        break;
    case EVENT_PRICE:
        apply_price(shadow, &event->price);
        break;
    case EVENT_WINDOW:
    case EVENT_RESERVATION:
    case EVENT_RESERVATION_REMOVE:
    case EVENT_TARIFF:
    case EVENT_CRON:
    case EVENT_CRON_REMOVE:
        shadow_times_apply(&shadow->times, event);
        shadow_renew(shadow);
        break;
    default:
        break;
    }
    shadow_set_times(shadow);
    deal(shadow);
    shadow_recount(shadow);
}

/* ---- which events may be sent ---- */

static bool has_jobs(const struct shadow *shadow, uint32_t queue)
{
    for (size_t i = 0; i < shadow->jobs.count; i++) {
        const struct shadow_job *job = shadow->jobs.items[i];
        if (job && job->queue == queue && job->state != JOB_ENDED)
            return true;
    }
    return false;
}

static bool owns_any(const struct shadow *shadow, const char *queue)
{
    for (size_t i = 0; i < shadow->pools.count; i++) {
        const struct shadow_pool *pool = &shadow->pools.items[i];
        if (pool->is_static && !pool->is_removed && strcmp(pool->queue, queue) == 0)
            return true;
    }
    return false;
}

static bool accepts_queue(const struct shadow *shadow, const struct event_queue *event)
{
    int64_t found = shadow_find_queue(shadow, event->name);
    int64_t parent = event->parent[0] ? shadow_find_queue(shadow, event->parent) : QUEUE_ROOT;

    if (parent < 0 || found == QUEUE_ROOT)
        return false;
    if (found > 0)
        return shadow->queues.items[found].parent == parent;
    return parent == QUEUE_ROOT || !has_jobs(shadow, (uint32_t)parent);
}

static bool accepts_queue_remove(const struct shadow *shadow, const char *name)
{
    int64_t found = shadow_find_queue(shadow, name);

    return found > QUEUE_DEFAULT && shadow->queues.items[found].children == 0 &&
           !has_jobs(shadow, (uint32_t)found) && !owns_any(shadow, name);
}

/* A queue that jobs can be in. */
static bool is_leaf(const struct shadow *shadow, const char *name)
{
    int64_t found = shadow_find_queue(shadow, name);

    return found > QUEUE_ROOT && shadow->queues.items[found].children == 0;
}

static bool accepts_forget(const struct shadow *shadow, uint64_t id)
{
    const struct shadow_job *job = shadow_job(shadow, id);
    const struct shadow_group *group = shadow_group(shadow, id);

    if (job)
        return job->state == JOB_ENDED;
    return group && group->ended >= group->jobs;
}

static bool accepts_update(const struct shadow *shadow, const struct event_update *event)
{
    const struct shadow_job *job = shadow_job(shadow, event->job);

    return job && (!event->queue[0] || is_leaf(shadow, event->queue)) &&
           !(shadow_is_active(job) && (event->queue[0] || event->has_begin));
}

bool shadow_accepts(const struct shadow *shadow, const struct event *event)
{
    switch (event->kind) {
    case EVENT_DEVICE:
        return shadow_find_node(shadow, event->device.node) >= 0;
    case EVENT_POOL:
        return shadow_find_pool(shadow, event->pool.name) != 0 &&
               (!event->pool.is_static || shadow_find_queue(shadow, event->pool.queue) > 0);
    case EVENT_POOL_REMOVE:
        return shadow_find_pool(shadow, event->pool_remove.name) > 0;
    case EVENT_QUEUE:
        return accepts_queue(shadow, &event->queue);
    case EVENT_QUEUE_REMOVE:
        return accepts_queue_remove(shadow, event->queue_remove.name);
    case EVENT_GROUP:
        return event->group.id >= shadow->next_id &&
               (event->group.parent == 0 || shadow_group(shadow, event->group.parent));
    case EVENT_SUBMIT:
        return request_check(&event->submit.request, NULL) == 0 &&
               event->submit.request.max_duration > 0 && event->submit.id >= shadow->next_id &&
               is_leaf(shadow, event->submit.queue) &&
               (event->submit.group == 0 || shadow_group(shadow, event->submit.group));
    case EVENT_NEED: {
        const struct shadow_job *job = shadow_job(shadow, event->need.job);
        return job && job->needs_expected > 0;
    }
    case EVENT_FORGET:
        return accepts_forget(shadow, event->forget.id);
    case EVENT_UPDATE:
        return accepts_update(shadow, &event->update);
    case EVENT_WINDOW:
    case EVENT_RESERVATION:
    case EVENT_RESERVATION_REMOVE:
    case EVENT_TARIFF:
    case EVENT_CRON:
    case EVENT_CRON_REMOVE:
        return shadow_times_accept(&shadow->times, event);
    case EVENT_BOOT:
    case EVENT_NODE:
    case EVENT_SETTINGS:
    case EVENT_SLACK:
    case EVENT_PRICE:
    case EVENT_PLAN:
        return true;
    default:
        return shadow_job(shadow, event->hold.job) != NULL;
    }
}
