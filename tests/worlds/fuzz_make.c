/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_make.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/cluster/node.h"
#include "core/cluster/queue.h"
#include "core/state/rescue.h"
#include "core/state/state.h"

const struct making_kind making_kinds[] = {
    { "h100", 81920, { "1g.10gb", "2g.20gb", "3g.40gb", "1g.20gb" } },
    { "a100", 40960, { "1g.5gb", "3g.20gb", "7g.40gb", "4g.20gb" } },
    { "a30", 24576, { "1g.6gb", "2g.12gb", "4g.24gb", "1g.6gb+me" } },
    { "l4", 24000, { NULL, NULL, NULL, NULL } },
};
enum { KINDS = COUNT_OF(making_kinds) };

uint32_t making_below(struct making *making, uint32_t bound)
{
    return bound > 0 ? (uint32_t)dice_below(&making->dice, bound) : 0;
}

bool making_chance(struct making *making, uint32_t percent)
{
    return making_below(making, 100) < percent;
}

void making_tell(struct making *making, const struct event *event)
{
    struct fuzz_action action = { .at = making->now, .kind = FUZZ_EVENT, .event = *event };

    list_add(&making->world->actions, action);
}

const char *making_text(struct making *making, const char *format, ...)
{
    char buffer[160];
    va_list args;

    va_start(args, format);
    int length = vsnprintf(buffer, sizeof(buffer), format, args);
    va_end(args);
    return arena_string(&making->world->strings, buffer, length > 0 ? (size_t)length : 0);
}

void making_release(struct making *making)
{
    list_release(&making->nodes);
}

static const char *node_name(struct making *making, uint32_t number)
{
    return making_text(making, "n%u", number);
}

const char *making_model(struct making *making)
{
    for (int tries = 0; tries < 4; tries++) {
        uint32_t kind = making_below(making, KINDS);
        if (making->kinds >> kind & 1)
            return making_kinds[kind].model;
    }
    return making_kinds[making_below(making, KINDS)].model;
}

/* q3 and q4 stand below q1, q5 and q6 below q3, q7 below q5. */
static const uint8_t queue_parents[] = { 0, 0, 0, 1, 1, 3, 3, 5 };
static const bool is_leaf[] = { true, false, true, false, true, false, true, true };

const char *making_queue(struct making *making)
{
    for (int tries = 0; tries < 8; tries++) {
        uint32_t number = making_below(making, making->queues + 1);
        bool has_children =
            number == 1 ? making->queues >= 3 : !is_leaf[number] && making->queues >= number + 2;
        if (!has_children)
            return number == 0 ? "default" : making_text(making, "q%u", number);
    }
    return "default";
}

const char *making_pool(struct making *making)
{
    return making_text(making, "p%u", 1 + making_below(making, making->pools + 1));
}

/* ---- machines ---- */

/* Of some nodes, at some times; no draw, so that a seed keeps the rest of its world. */
static int64_t node_price(const struct making *making, uint32_t number)
{
    uint64_t key = map_hash_words(
        (const uint64_t[]){ making->world->temper.seed, number, (uint64_t)making->now }, 3);

    return making->has_times && key % 7 == 0 ? (int64_t)(key / 7 % 4) * 777777 : 0;
}

static void tell_node(struct making *making, uint32_t number, uint8_t state, bool is_smaller)
{
    uint32_t gpus = making->nodes.items[number].gpus;
    int64_t cpus = gpus > 0 ? 8 * gpus : 32;
    bool is_poor = number % 3 == 1; /* where CPUs and memory are short */

    making_tell(making,
                &(struct event){
                    .kind = EVENT_NODE,
                    .node = { .name = node_name(making, number),
                              .cpu_milli = cpus * (is_poor ? 300 : 1000) / (is_smaller ? 2 : 1),
                              .memory_mib = cpus * (is_poor ? 2 : 16) * 1024 / (is_smaller ? 2 : 1),
                              .state = state,
                              .reason = state == NODE_UP ? "" : "a test",
                              .price_micro = node_price(making, number),
                              .rack = making_text(making, "r%u", number / 4),
                              .block = making_text(making, "b%u", number / 16) } });
}

static void tell_device(struct making *making, uint32_t number, uint32_t index, const char *sick,
                        uint8_t harm)
{
    const struct making_node *node = &making->nodes.items[number];

    making_tell(
        making,
        &(struct event){
            .kind = EVENT_DEVICE,
            .device = { .node = node_name(making, number),
                        .uuid = making_text(making, "n%u.%u", number, index),
                        .model = making_kinds[node->kind].model,
                        .index = index,
                        .memory_mib = making_kinds[node->kind].memory_mib,
                        .numa_node = node->gpus > 2 ? 1 + (int32_t)(index * 2 / node->gpus) : 0,
                        .island = making->has_islands ? 1 + index / 4 : 0,
                        .bridge = making->has_islands ? 1 + index / 2 : 0,
                        .mig_enabled = node->has_mig,
                        .sick = sick,
                        .harm = harm } });
}

static void add_node(struct making *making)
{
    static const uint8_t sizes[] = { 1, 2, 4, 8, 8 };
    uint32_t number = (uint32_t)making->nodes.count;
    struct making_node node = { .gpus = sizes[making_below(making, COUNT_OF(sizes))] };

    node.kind = making_below(making, KINDS);
    if (number > 0 && making_chance(making, 60))
        node = making->nodes.items[number - 1];
    else if (making_chance(making, 15))
        node.gpus = 0;
    node.has_mig = making->has_mig && making_kinds[node.kind].profiles[0] &&
                   (node.has_mig || making_chance(making, 40));
    making->kinds |= node.gpus > 0 ? 1u << node.kind : 0;
    making->gpus += node.gpus;
    making->gpus_most = node.gpus > making->gpus_most ? node.gpus : making->gpus_most;
    list_add(&making->nodes, node);
    tell_node(making, number, NODE_UP, false);
    for (uint32_t i = 0; i < node.gpus; i++)
        tell_device(making, number, i, "", HARM_NONE);
}

static void make_machines(struct making *making)
{
    static const uint8_t loads[] = { 1, 4, 8, 12 };
    uint32_t dice = making_below(making, 100);
    uint32_t count = dice < 75   ? 1 + making_below(making, 6)
                     : dice < 95 ? 4 + making_below(making, 16)
                                 : 20 + making_below(making, 41);

    making->has_quotas = making_chance(making, 45);
    making->is_whole = making_chance(making, making->world->temper.is_obedient ? 60 : 15);
    making->has_mig = !making->is_whole && making_chance(making, 35);
    making->has_islands = making_chance(making, 50);
    for (uint32_t i = 0; i < count; i++)
        add_node(making);
    /* In some worlds far more is asked for than there is, in others queues drain again and again.
     */
    making->pace =
        making->world->temper.run_usual / (making->gpus + 1) * (2 + making_below(making, 10));
    if (!making->world->temper.is_obedient)
        making->pace *= loads[making_below(making, COUNT_OF(loads))];
}

static void act_new_machine(struct making *making)
{
    if (making->nodes.count < 64)
        add_node(making);
}

static void act_machine_state(struct making *making)
{
    static const uint8_t states[] = { NODE_UP, NODE_UP, NODE_UP, NODE_DRAINED, NODE_DOWN };
    uint8_t state = states[making_below(making, COUNT_OF(states))];

    tell_node(making, making_below(making, (uint32_t)making->nodes.count), state, false);
}

static void act_machine_size(struct making *making)
{
    bool is_smaller = making_chance(making, 50);

    tell_node(making, making_below(making, (uint32_t)making->nodes.count), NODE_UP, is_smaller);
}

static void act_device(struct making *making)
{
    uint32_t number = making_below(making, (uint32_t)making->nodes.count);
    const char *sick = making_chance(making, 40) ? "xid 79" : "";
    uint32_t gpus = making->nodes.items[number].gpus;
    uint8_t harm = sick[0] ? (uint8_t)making_below(making, HARMS) : HARM_NONE;

    if (gpus > 0)
        tell_device(making, number, making_below(making, gpus), sick, harm);
}

static void tell_devices(struct making *making, uint32_t number, const char *sick, uint8_t harm)
{
    for (uint32_t i = 0; i < making->nodes.items[number].gpus; i++)
        tell_device(making, number, i, sick, harm);
}

/* What feeds them breaks on several machines, and is mended. */
static void act_outage(struct making *making)
{
    uint8_t harm = making_chance(making, 30) ? HARM_LEAVE : HARM_DIE;
    uint32_t first = making_below(making, (uint32_t)making->nodes.count);
    uint32_t last = first + making_below(making, (uint32_t)making->nodes.count - first);

    for (uint32_t i = first; i <= last; i++)
        tell_devices(making, i, "xid 79", harm);
    making->now += making->world->temper.quantum;
    for (uint32_t i = first; i <= last; i++)
        tell_devices(making, i, "", HARM_NONE);
}

/* ---- how it is decided ---- */

static void tell_settings(struct making *making, uint8_t order)
{
    struct event event = { .kind = EVENT_SETTINGS, .settings = { .order = order } };
    static const struct watch_rules rules[] = { { .sick_jobs = SICK_ALL },
                                                { .sick_jobs = SICK_STAY } };
    bool is_plain = making->world->temper.is_obedient;
    uint32_t depth = making_chance(making, 60) ? 1 : making_below(making, 5);

    event.settings.backfill_depth = is_plain && depth == 0 ? 1 : depth;
    event.settings.half_life = (usec_t)(1 + making_below(making, 200)) * USEC_PER_HOUR;
    event.settings.placement = (uint8_t)making_below(making, PLACEMENT_COUNT);
    event.settings.predict = !is_plain && making_chance(making, 50);
    event.settings.seed = making_below(making, 1000);
    if (making->has_preemption && making->world->temper.seed % 3 != 0)
        event.settings.defrag_most =
            (int64_t)(1 + making->world->temper.seed % 4) * 15 * USEC_PER_MIN;
    if (making->world->temper.seed % 5 < COUNT_OF(rules)) {
        event.settings.watch = &rules[making->world->temper.seed % 5];
        event.settings.watch_count = 1;
    }
    event.settings.look_ahead = making->world->temper.seed % 2 == 0;
    making_tell(making, &event);
    if (making->world->temper.seed % 4 < 3)
        making_tell(making,
                    &(struct event){ .kind = EVENT_SLACK,
                                     .slack = { .least = (1 + depth) * USEC_PER_HOUR / 4 } });
}

static void make_settings(struct making *making)
{
    static const uint8_t protecting[] = { ORDER_FIFO, ORDER_FIFO, ORDER_SHORTEST, ORDER_DEFAULT };

    making->order = making->world->temper.is_obedient
                        ? protecting[making_below(making, COUNT_OF(protecting))]
                        : (uint8_t)making_below(making, ORDER_COUNT);
    making->has_preemption = !making->world->temper.is_obedient &&
                             making_chance(making, making->nodes.count > 8 ? 10 : 30);
    tell_settings(making, making->order);
    if (!making->world->temper.is_obedient || making->order != ORDER_DEFAULT)
        return;
    /* Patience ends after three days: what happens shall last longer, and a job wait so long. */
    bool is_crowded = making->gpus > 0 && making->gpus <= MAKING_CROWD_GPUS;
    making->crowd_gpus = is_crowded ? making->gpus : 0;
    making->world->temper.is_twin |= is_crowded;
    making->world->temper.run_usual = is_crowded ? 20 * USEC_PER_MIN : USEC_PER_HOUR;
    making->pace = (is_crowded ? 45 : 30) * USEC_PER_MIN;
}

static void act_settings(struct making *making)
{
    tell_settings(making, (uint8_t)making_below(making, ORDER_COUNT));
}

/* ---- queues and pools ---- */

/* GPUs of a model, CPUs or memory: amounts that matter in this world. */
static const char *random_resource(struct making *making, int64_t *ret_amount)
{
    uint32_t dice = making_below(making, 4), gpus = making->gpus + 1;

    *ret_amount = (int64_t)making_below(making, dice < 2 ? gpus : 4 * gpus) * 1000;
    if (dice < 2)
        return making_model(making);
    return dice == 2 ? "cpus" : "memory";
}

static int64_t random_bound(struct making *making, int64_t most)
{
    return making_chance(making, 30) ? (int64_t)making_below(making, (uint32_t)most + 1)
                                     : QUOTA_NONE;
}

static void add_quotas(struct making *making, struct event_queue *queue)
{
    struct event_quota *quotas = arena_take(&making->world->strings, 2, sizeof(*quotas));
    int64_t amount;

    for (uint32_t i = 0; i < 2 && making_chance(making, 25); i++) {
        quotas[i].resource = random_resource(making, &amount);
        if (i > 0 && strcmp(quotas[0].resource, quotas[1].resource) == 0)
            break;
        struct quota *quota = &quotas[i].quota;
        quota->guarantee = making_chance(making, 50) ? amount / 2 : 0;
        quota->limit = making_chance(making, 50) ? amount : QUOTA_NONE;
        quota->borrow = random_bound(making, amount);
        quota->lend = random_bound(making, quota->guarantee);
        queue->quotas_count++;
    }
    queue->quotas = quotas;
}

static void add_subjects(struct making *making, struct event_queue *queue)
{
    struct event_subject *subjects = arena_take(&making->world->strings, 3, sizeof(*subjects));
    bool is_strict = making->world->temper.seed % 4 == 2; /* with people, more than with queues */
    uint32_t most = is_strict ? making->gpus / 3 + 1 : making->gpus + 2;

    for (uint32_t i = 0; i < 3 && making_chance(making, is_strict ? 70 : 15); i++) {
        subjects[i].kind = (uint8_t)making_below(making, 3);
        subjects[i].name = subjects[i].kind == SUBJECT_USER ? "ana" : "";
        subjects[i].gid = subjects[i].kind == SUBJECT_GROUP ? 100 + making_below(making, 3) : 0;
        subjects[i].resource = "gpus";
        subjects[i].limit = (int64_t)making_below(making, most) * 1000;
        if (making_chance(making, is_strict ? 10 : 30))
            subjects[i].resource = random_resource(making, &subjects[i].limit);
        queue->subjects_count++;
    }
    queue->subjects = subjects;
}

static void tell_queue(struct making *making, uint32_t number, bool is_tight)
{
    struct event event = { .kind = EVENT_QUEUE, .queue = { .gpus = QUOTA_OPEN } };
    struct event_queue *queue = &event.queue;
    uint32_t parent = queue_parents[number], most = making->gpus + 2;

    queue->name = making_text(making, "q%u", number);
    queue->parent = parent ? making_text(making, "q%u", parent) : "";
    queue->weight = 1 + making_below(making, 5);
    if (making_chance(making, 40))
        queue->gpus.guarantee = (int64_t)making_below(making, most) * 1000;
    queue->gpus.limit = is_tight ? (int64_t)making_below(making, 2 * most) * 500 : -1;
    if (making->has_quotas) {
        queue->gpus.borrow = random_bound(making, (int64_t)most * 1000);
        queue->gpus.lend = random_bound(making, queue->gpus.guarantee);
        if (making_chance(making, 20))
            queue->min_runtime = (usec_t)making_below(making, 60) * USEC_PER_MIN;
        queue->firm_within = making_chance(making, 15);
        add_quotas(making, queue);
        add_subjects(making, queue);
    }
    making_add_times(making, queue);
    making_tell(making, &event);
}

/* Without surprises there is one queue, sometimes with a limit. */
static void make_queues(struct making *making)
{
    static const uint8_t counts[] = { 0, 1, 2, 4, 6, 7 };
    struct event limited = {
        .kind = EVENT_QUEUE,
        .queue = { .name = "default", .parent = "", .weight = 1, .gpus = QUOTA_OPEN }
    };

    if (making->world->temper.is_obedient && making_chance(making, 40)) {
        uint32_t most = making_chance(making, 50) ? making->gpus / 3 : making->gpus;
        uint32_t limit = 1 + making_below(making, most + 1);
        limited.queue.gpus.limit = (int64_t)limit * 1000;
        making->crowd_gpus = making->crowd_gpus < limit ? making->crowd_gpus : limit;
        making_tell(making, &limited);
    }
    if (!making->world->temper.is_obedient)
        making->queues = counts[making_below(making, COUNT_OF(counts))];
    for (uint32_t i = 1; i <= making->queues; i++)
        tell_queue(making, i, making_chance(making, 35));
}

static void act_queue(struct making *making)
{
    if (making->queues > 0)
        tell_queue(making, 1 + making_below(making, making->queues), making_chance(making, 50));
}

static void act_queue_remove(struct making *making)
{
    const char *name = making_text(making, "q%u", 1 + making_below(making, 7));

    making_tell(making,
                &(struct event){ .kind = EVENT_QUEUE_REMOVE, .queue_remove = { .name = name } });
}

static void tell_pool(struct making *making, uint32_t number)
{
    struct event event = { .kind = EVENT_POOL };
    struct event_pool *pool = &event.pool;
    uint32_t third = making->gpus / 3 + 1, nodes = (uint32_t)making->nodes.count;

    pool->name = making_text(making, "p%u", number);
    pool->is_static = making_chance(making, 45);
    pool->queue = pool->is_static ? making_queue(making) : "";
    pool->model = making_chance(making, 40) ? making_model(making) : "";
    pool->nodes = "";
    if (making_chance(making, 25)) {
        uint32_t first = making_below(making, nodes);
        pool->nodes = making_text(making, "n%u,n%u", first, making_below(making, nodes));
    }
    if (pool->is_static)
        pool->gpus = making_below(making, third + 1);
    if (!pool->is_static && making_chance(making, 50))
        pool->milli_min = (int64_t)making_below(making, third) * 1000;
    if (!pool->is_static && making_chance(making, 50))
        pool->milli_max = (int64_t)(1 + making_below(making, 2 * third)) * 1000;
    if (making_chance(making, 10))
        pool->devices = 1 + making_below(making, 255);
    making_add_pool_times(making, pool);
    making_tell(making, &event);
}

static void make_pools(struct making *making)
{
    making->pools = making->world->temper.is_obedient || making_chance(making, 40)
                        ? 0
                        : 1 + making_below(making, 3);
    for (uint32_t i = 1; i <= making->pools; i++)
        tell_pool(making, i);
}

static void act_pool(struct making *making)
{
    tell_pool(making, 1 + making_below(making, 3));
}

static void act_pool_remove(struct making *making)
{
    making_tell(making, &(struct event){ .kind = EVENT_POOL_REMOVE,
                                         .pool_remove = { .name = making_pool(making) } });
}

/* ---- the programs ---- */

static void add_action(struct making *making, enum fuzz_action_kind kind)
{
    struct fuzz_action action = { .at = making->now, .kind = (uint8_t)kind };

    list_add(&making->world->actions, action);
}

static void act_snapshot(struct making *making)
{
    add_action(making, FUZZ_SNAPSHOT);
}

void making_restart(struct making *making)
{
    add_action(making, FUZZ_RESTART);
}

static void act_engine_restart(struct making *making)
{
    add_action(making, FUZZ_ENGINE_RESTART);
}

static void act_forget(struct making *making)
{
    add_action(making, FUZZ_FORGET);
}

static void act_refresh(struct making *making)
{
    add_action(making, FUZZ_REFRESH);
}

const struct making_part making_parts[] = {
    { "machines", make_machines }, { "settings", make_settings }, { "times", making_make_times },
    { "queues", make_queues },     { "pools", make_pools },
};
const size_t making_part_count = COUNT_OF(making_parts);

const struct making_act making_acts[] = {
    { "submit", 40, true, making_submit },
    { "array", 6, true, making_array },
    { "pipeline", 4, false, making_pipeline },
    { "flood", 2, true, making_flood },
    { "person", 14, false, making_person },
    { "update", 6, false, making_update },
    { "new machine", 1, false, act_new_machine },
    { "machine state", 5, false, act_machine_state },
    { "machine size", 1, false, act_machine_size },
    { "device", 4, false, act_device },
    { "outage", 1, false, act_outage },
    { "settings", 1, false, act_settings },
    { "queue", 2, false, act_queue },
    { "price", 1, false, making_price },
    { "window", 5, false, making_window },
    { "tariff", 2, false, making_tariff },
    { "reservation", 3, false, making_reservation },
    { "cron", 1, false, making_cron },
    { "queue remove", 1, false, act_queue_remove },
    { "pool", 2, false, act_pool },
    { "pool remove", 1, false, act_pool_remove },
    { "snapshot", 2, true, act_snapshot },
    { "restart", 1, true, making_restart },
    { "engine restart", 1, false, act_engine_restart },
    { "forget", 2, true, act_forget },
    { "refresh", 4, true, act_refresh },
};
const size_t making_act_count = COUNT_OF(making_acts);
