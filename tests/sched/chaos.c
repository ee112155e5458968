/* SPDX-License-Identifier: Apache-2.0 */
#include "chaos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/gang_size.h"

uint64_t random_next(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint32_t random_below(struct random *random, uint32_t bound)
{
    return (uint32_t)(random_next(random) % bound);
}

bool random_chance(struct random *random, uint32_t percent)
{
    return random_below(random, 100) < percent;
}

static uint32_t below(struct chaos *chaos, uint32_t bound)
{
    return random_below(&chaos->random, bound);
}

static bool chance(struct chaos *chaos, uint32_t percent)
{
    return random_chance(&chaos->random, percent);
}

static const char *const node_names[] = { "n0", "n1", "n2", "n3" };
static const char *const queue_names[] = { "default", "q1", "q2", "q3", "q4" };
static const char *const pool_names[] = { "p1", "p2", "p3" };
static const struct {
    const char *name;
    int64_t memory_mib;
} models[] = { { "h100", 80 * 1024 }, { "a100", 40 * 1024 }, { "l4", 24 * 1024 } };

static void change_queue(struct chaos *chaos)
{
    uint32_t number = 1 + below(chaos, chaos->queues_max);
    /* q3 and q4 stand below q1. */
    lab_tell(chaos->lab,
             &(struct event){
                 .kind = EVENT_QUEUE,
                 .queue = { .name = queue_names[number],
                            .parent = number > 2 ? "q1" : "",
                            .weight = 1 + below(chaos, 4),
                            .gpus = { chance(chaos, 30) ? below(chaos, 4) * 1000 : 0,
                                      chance(chaos, 60) ? -1 : (int64_t)below(chaos, 12) * 1000,
                                      QUOTA_NONE, QUOTA_NONE } } });
    chaos->world_changes++;
}

static void change_pool(struct chaos *chaos)
{
    const char *name = pool_names[below(chaos, COUNT_OF(pool_names))];
    bool is_static = chance(chaos, 50);

    if (chance(chaos, 20) && state_find_pool(chaos->lab->state, name) > 0) {
        lab_tell(chaos->lab,
                 &(struct event){ .kind = EVENT_POOL_REMOVE, .pool_remove = { .name = name } });
        chaos->world_changes++;
        return;
    }
    lab_tell(
        chaos->lab,
        &(struct event){
            .kind = EVENT_POOL,
            .pool = { .name = name,
                      .is_static = is_static,
                      .queue = is_static ? queue_names[below(chaos, 3)] : "",
                      .model = chance(chaos, 50) ? models[below(chaos, COUNT_OF(models))].name : "",
                      .gpus = is_static ? 1 + below(chaos, 3) : 0,
                      .milli_min = !is_static && chance(chaos, 50) ? below(chaos, 3) * 1000 : 0,
                      .milli_max =
                          !is_static && chance(chaos, 50) ? (1 + below(chaos, 4)) * 1000 : 0 } });
    chaos->world_changes++;
}

static bool is_any(const struct chaos *chaos)
{
    return chaos->kind != CHAOS_OBEDIENT;
}

static bool has_any_order(const struct chaos *chaos)
{
    return chaos->kind == CHAOS_ANY_ORDER || chaos->kind == CHAOS_TIMES;
}

/* What an administrator says of some of the nodes, which may not be there. */
static uint32_t random_nodes(struct chaos *chaos, struct node_settings *ret)
{
    struct random *random = &chaos->casting;
    uint32_t count = is_any(chaos) ? random_below(random, COUNT_OF(node_names) + 1) : 0;

    memset(ret, 0, COUNT_OF(node_names) * sizeof(*ret));
    for (uint32_t i = 0; i < count; i++) {
        snprintf(ret[i].name, sizeof(ret[i].name), "%s", node_names[i]);
        snprintf(ret[i].rack, sizeof(ret[i].rack), "r%u", random_below(random, 3));
        ret[i].is_spot = random_chance(random, 20);
        snprintf(ret[i].labels, sizeof(ret[i].labels), "%szone=%c",
                 random_chance(random, 50) ? "fast," : "", random_chance(random, 50) ? 'a' : 'b');
        ret[i].price_micro = random_below(random, 3);
        snprintf(ret[i].gpu_labels, sizeof(ret[i].gpu_labels), "%s",
                 random_chance(random, 50) ? "0:big,2:zone=c" : "");
    }
    return count;
}

static void change_settings(struct chaos *chaos)
{
    struct node_settings nodes[COUNT_OF(node_names)];
    uint32_t node_count = random_nodes(chaos, nodes);

    lab_tell(
        chaos->lab,
        &(struct event){
            .kind = EVENT_SETTINGS,
            .settings = {
                .half_life = (1 + below(chaos, 100)) * USEC_PER_MIN,
                .placement = (uint8_t)below(chaos, has_any_order(chaos) ? PLACEMENT_COUNT : 2),
                .order = (uint8_t)(has_any_order(chaos) ? below(chaos, ORDER_COUNT) : ORDER_FIFO),
                .predict = chaos->kind == CHAOS_ANY_ORDER ||
                           (chaos->kind == CHAOS_TIMES && chance(chaos, 30)),
                .backfill_depth = below(chaos, 4),
                .nodes = nodes,
                .nodes_count = node_count } });
    chaos->world_changes++;
}

static void change_node(struct chaos *chaos)
{
    struct state *state = chaos->lab->state;
    const struct node *node = &state->nodes.items[below(chaos, (uint32_t)state->nodes.count)];
    AUTO_FREE char *name = mem_string(node->name);

    lab_tell(
        chaos->lab,
        &(struct event){ .kind = EVENT_NODE,
                         .node = { .name = name,
                                   .cpu_milli = node->cpu_milli,
                                   .memory_mib = node->memory_mib,
                                   .state = chance(chaos, 60) ? NODE_UP : (uint8_t)below(chaos, 3),
                                   .reason = "a test",
                                   .spot = is_any(chaos) && chance(chaos, 40),
                                   .going_at = is_any(chaos) && chance(chaos, 15)
                                                   ? chaos->lab->now + USEC_PER_MIN
                                                   : 0 } });
    chaos->world_changes++;
}

static void change_device(struct chaos *chaos)
{
    struct state *state = chaos->lab->state;
    if (state->devices.count == 0)
        return;

    const struct device *device =
        &state->devices.items[below(chaos, (uint32_t)state->devices.count)];
    AUTO_FREE char *uuid = mem_string(device->uuid);
    AUTO_FREE char *model = mem_string(device->model);
    lab_tell(chaos->lab, &(struct event){ .kind = EVENT_DEVICE,
                                          .device = { .node = state->nodes.items[device->node].name,
                                                      .uuid = uuid,
                                                      .model = model,
                                                      .index = device->index,
                                                      .memory_mib = device->memory_mib,
                                                      .numa_node = device->numa_node,
                                                      .sick = chance(chaos, 40) ? "xid" : "" } });
    chaos->world_changes++;
}

static void build(struct chaos *chaos)
{
    uint32_t node_count = 1 + below(chaos, COUNT_OF(node_names));
    bool is_mixed = chance(chaos, 60);

    for (uint32_t i = 0; i < node_count; i++) {
        lab_node(chaos->lab, node_names[i], (2 + below(chaos, 30)) * 1000,
                 (4 + below(chaos, 60)) * 1024);
        for (uint32_t gpus = below(chaos, 9); gpus > 0;) {
            uint32_t some = 1 + below(chaos, gpus), model = is_mixed ? below(chaos, 3) : 0;
            lab_gpus(chaos->lab, node_names[i], models[model].name, models[model].memory_mib, some);
            gpus -= some;
        }
    }
    if (chaos->kind == CHAOS_OBEDIENT)
        return;
    chaos->queues_max = 2 + below(chaos, 3);
    for (uint32_t i = 1; i <= chaos->queues_max; i++)
        lab_queue(chaos->lab, queue_names[i], i > 2 ? "q1" : "", 1 + below(chaos, 3), -1);
    for (uint32_t i = 0; i < 3; i++) {
        if (chance(chaos, 40))
            change_queue(chaos);
        if (chance(chaos, 30))
            change_pool(chaos);
    }
    if (chance(chaos, 70))
        change_settings(chaos);
}

struct chaos *chaos_create(uint64_t seed, enum chaos_kind kind)
{
    struct chaos *chaos = mem_zero(1, sizeof(*chaos));

    chaos->lab = lab_create();
    chaos->random.state = seed;
    chaos->casting.state = seed + 1000003;
    chaos->pacing.state = seed + 2000003;
    chaos->kind = kind;
    chaos->lab->now = USEC_PER_SEC;
    build(chaos);
    return chaos;
}

void chaos_destroy(struct chaos *chaos)
{
    if (!chaos)
        return;
    lab_destroy(chaos->lab);
    map_release(&chaos->ends);
    list_release(&chaos->where);
    list_release(&chaos->speeds);
    free(chaos);
}

static void random_gpus(struct chaos *chaos, struct request *request)
{
    static const char *const asks[] = {
        "1",
        "1",
        "2",
        "3",
        "4",
        "8",
        "0.5",
        "0.25",
        "0.75",
        "mem=10G",
        "mem=20G",
        "0.25,mem=30G",
        "h100:1",
        "h100:2",
        "a100:1",
        "l4:0.5",
        "30GB..:1",
        "24GB..48GB:2",
        "h100:2|a100:1",
        "h100:1|l4:2|a100:0.5",
    };
    struct error err;

    if (chance(chaos, 15))
        return;
    if (request_parse_gpus(request, asks[below(chaos, COUNT_OF(asks))], &err) < 0)
        abort();
}

/* Now and then a gang of several kinds of members. */
enum { ROLES_PCT = 20 };

static void random_roles(struct chaos *chaos, struct request *request)
{
    static const char *const names[] = { "learner", "actor", "replay" };
    static const char *const asks[] = {
        "", "1", "2", "h100:1|a100:1", "30GB..:1", "0.5", "mem=10G"
    };
    struct random *random = &chaos->casting;
    uint32_t count = 1 + random_below(random, 3);
    struct error err;

    if (!random_chance(random, ROLES_PCT))
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct role *role = &chaos->roles[i];
        memset(role, 0, sizeof(*role));
        snprintf(role->name, sizeof(role->name), "%s", names[i]);
        request_default(&role->request);
        if (request_parse_gpus(&role->request, asks[random_below(random, COUNT_OF(asks))], &err) <
            0)
            abort();
        role->request.members = 1 + random_below(random, 3);
        role->request.cpu_milli = random_below(random, 6) * 500;
        role->request.memory_mib = random_chance(random, 50) ? 0 : random_below(random, 12) * 1024;
    }
    request->nodes_min = request->nodes_max = 1;
    request->members_max = request->per_node = 0;
    request_set_roles(request, chaos->roles, count);
}

static void random_where(struct chaos *chaos, struct request *request)
{
    static const char *const conditions[] = {
        "zone=a",    "zone!=a",        "zone in (a,b)", "fast",
        "!fast",     "fast|zone=b",    "!spot",         "rack=r1, zone!=b",
        "h100|a100", "model!=h100",    "zone=none",     "node=n0|node=n2",
        "spot",      "fast, rack!=r0", "kind=gpu",      "model=l4|!fast",
        "big",       "!big",
    };
    struct random *random = &chaos->casting;
    struct error err;

    chaos->where.count = 0;
    if (!is_any(chaos) || !random_chance(random, 20))
        return;
    if (where_parse(&chaos->where, conditions[random_below(random, COUNT_OF(conditions))], &err) <
        0)
        abort();
    request->where = chaos->where.items;
    request->where_count = (uint32_t)chaos->where.count;
}

static void random_speeds(struct chaos *chaos, struct request *request)
{
    static const char *const speeds[] = { "h100=8,a100=3,l4=1", "a100=1.2,h100=1.3,l4=1",
                                          "l4=0.5" };
    struct random *random = &chaos->pacing;
    struct error err;

    chaos->speeds.count = 0;
    if (!is_any(chaos) || !random_chance(random, 20))
        return;
    if (own_speeds_parse(&chaos->speeds, speeds[random_below(random, COUNT_OF(speeds))], &err) < 0)
        abort();
    request->speeds = chaos->speeds.items;
    request->speeds_count = (uint32_t)chaos->speeds.count;
}

/* Few, so that many meet. An elastic gang does not keep apart from itself. */
static void random_labels(struct chaos *chaos, struct request *request)
{
    static const char *const names[] = { "web", "db", "cache" };
    struct random *random = &chaos->casting;

    if (!is_any(chaos) || !random_chance(random, 20))
        return;
    if (random_chance(random, 70))
        snprintf(request->labels[request->label_count++].name, REQUEST_LABEL_SIZE, "%s",
                 names[random_below(random, COUNT_OF(names))]);
    if (random_chance(random, 60) && request->members_max == 0)
        snprintf(request->apart[request->apart_count++].name, REQUEST_LABEL_SIZE, "%s",
                 names[random_below(random, COUNT_OF(names))]);
}

static struct request random_request(struct chaos *chaos)
{
    struct request request;

    request_default(&request);
    request.cpu_milli = chance(chaos, 40) ? 0 : (int64_t)below(chaos, 6) * 500;
    request.memory_mib = chance(chaos, 60) ? 0 : (int64_t)below(chaos, 12) * 1024;
    random_gpus(chaos, &request);
    if (chance(chaos, 25)) {
        request.members = 2 + below(chaos, 3);
        request.nodes_min = chance(chaos, 30) ? 2 : 1;
        request.nodes_max = request.members;
    }
    if (has_any_order(chaos) && chance(chaos, 30)) {
        request.per_node = chance(chaos, 30);
        request.members = request.per_node ? request.nodes_min : request.members;
        request.members_max = request.members + 1 + below(chaos, 4);
        request.sizes = chance(chaos, 50) ? SIZES_ANY : SIZES_POWERS;
    }
    if (chaos->kind == CHAOS_OBEDIENT || chance(chaos, 75))
        request.max_duration = (1 + below(chaos, 120)) * USEC_PER_MIN;
    if (is_any(chaos) && chance(chaos, 10))
        snprintf(request.pool, sizeof(request.pool), "%s",
                 pool_names[below(chaos, COUNT_OF(pool_names))]);
    if (is_any(chaos) && chance(chaos, 30))
        request.spot = (uint8_t)below(chaos, SPOT_RULES);
    random_roles(chaos, &request);
    random_where(chaos, &request);
    random_speeds(chaos, &request);
    random_labels(chaos, &request);
    return request;
}

static void submit(struct chaos *chaos, uint64_t group, const struct request *request)
{
    struct lab *lab = chaos->lab;
    struct event event = { .kind = EVENT_SUBMIT };
    uint64_t id = lab->state->next_id;
    bool is_all = is_any(chaos);

    event.submit = (struct event_submit){
        .id = id,
        .name = "job",
        .user = chance(chaos, 50) ? "ana" : "ben",
        .queue = queue_names[is_all ? below(chaos, chaos->queues_max + 1) : 0],
        .request = *request,
        .priority = is_all && chance(chaos, 30) ? (int32_t)below(chaos, 5) - 2 : 0,
        .begin = is_all && chance(chaos, 10) ? lab->now + below(chaos, 60) * USEC_PER_MIN : 0,
        .held = is_all && chance(chaos, 5),
        .retry = is_all ? below(chaos, 3) : 0,
        .no_requeue = is_all && chance(chaos, 30),
        .group = group,
        .grace = USEC_PER_SEC,
        .estimate =
            has_any_order(chaos) && chance(chaos, 30) ? (1 + below(chaos, 100)) * USEC_PER_MIN : 0,
        .deadline = has_any_order(chaos) && chance(chaos, 20)
                        ? lab->now + (1 + below(chaos, 300)) * USEC_PER_MIN
                        : 0,
        .tariff_most =
            chaos->kind == CHAOS_TIMES && chance(chaos, 20) ? (uint16_t)(below(chaos, 3) * 500) : 0,
        .preemptible = has_any_order(chaos) && chance(chaos, 50),
        .restart_cost = has_any_order(chaos) ? USEC_PER_MIN : 0,
        .heals = is_all && chance(chaos, 20) ? below(chaos, 3) : 0,
        .resize = is_all && chance(chaos, 10) ? RESIZE_NEVER : RESIZE_RESTART,
        .goes_on = has_any_order(chaos) && id % 2 == 0,
        .need_count = is_all && id > 3 && chance(chaos, 25) ? 1 + below(chaos, 3) : 0,
    };
    lab_tell(lab, &event);
    for (uint32_t i = 0; i < event.submit.need_count; i++) {
        struct event need = { .kind = EVENT_NEED,
                              .need = { .job = id, .kind = (uint8_t)below(chaos, 4) } };
        uint64_t back = 1 + below(chaos, 12);
        need.need.on = group ? 1 + below(chaos, (uint32_t)group - 1 ? (uint32_t)group - 1 : 1)
                             : (id > back ? id - back : 1);
        lab_tell(lab, &need);
    }
}

static void submit_array(struct chaos *chaos)
{
    struct lab *lab = chaos->lab;
    uint64_t id = lab->state->next_id;
    uint32_t count = 1 + below(chaos, 6);
    bool is_nested = chance(chaos, 30);
    struct request request = random_request(chaos);
    struct event event = { .kind = EVENT_GROUP };

    event.group = (struct event_group){
        .id = id,
        .last = id + count + is_nested,
        .kind = is_nested ? GROUP_PIPELINE : GROUP_ARRAY,
        .name = "array",
        .user = "ana",
        .max_running = chance(chaos, 60) ? 1 + below(chaos, 3) : 0,
        .job_count = count,
    };
    lab_tell(lab, &event);
    if (is_nested) {
        event.group.parent = id;
        event.group.id = ++id;
        event.group.kind = GROUP_STAGE;
        event.group.max_running = chance(chaos, 30) ? 1 + below(chaos, 2) : 0;
        lab_tell(lab, &event);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (chance(chaos, 20))
            request = random_request(chaos);
        submit(chaos, id, &request);
    }
}

/* A random job in one of these states; NULL when there is none near. */
static struct job *random_job(struct chaos *chaos, unsigned states)
{
    struct state *state = chaos->lab->state;
    uint32_t count = (uint32_t)state->jobs.count;
    struct job *job = state->last_job;

    if (count == 0)
        return NULL;
    for (uint32_t skip = below(chaos, count < 40 ? count : 40); skip > 0 && job->previous; skip--)
        job = job->previous;
    for (; job; job = job->previous) {
        if (states >> job->state & 1)
            return job;
    }
    return NULL;
}

enum {
    ACTIVE = 1 << JOB_GRANTED | 1 << JOB_RUNNING | 1 << JOB_STOPPING,
    PENDING = 1 << JOB_HELD | 1 << JOB_WAITING | 1 << JOB_QUEUED,
    ANY = ACTIVE | PENDING | 1 << JOB_ENDED,
};

static void end_member(struct chaos *chaos, const struct job *job, uint32_t rank)
{
    bool is_stopped = job->state == JOB_STOPPING;
    struct event event = { .kind = EVENT_ENDED };

    event.ended = (struct event_ended){
        .job = job->id,
        .attempt = job->run->attempt,
        .rank = rank,
        .kind = chance(chaos, 90)   ? ENGINE_ENDED
                : chance(chaos, 50) ? ENGINE_LOST
                                    : ENGINE_FAILED,
        .exit_code = chance(chaos, 75) ? 0 : 1,
        .was_oom = chance(chaos, 3),
        .user_us = below(chaos, 1000000),
        .reason = "",
    };
    if (is_stopped && chance(chaos, 80)) {
        event.ended.exit_code = -1;
        event.ended.signal = 15;
        event.ended.was_stopped = 1;
    }
    lab_tell(chaos->lab, &event);
}

/* The engine says something about a job that holds resources, now and then nonsense. */
static void engine_acts(struct chaos *chaos)
{
    const struct job *job = random_job(chaos, ACTIVE);
    if (!job)
        return;

    uint64_t id = job->id;
    uint32_t attempt = job->run->attempt, count = job->run->lease->members_count;
    bool is_start = job->state == JOB_GRANTED && chance(chaos, 85);
    for (uint32_t place = 0; place < count; place++) {
        job = state_job(chaos->lab->state, id);
        if (!job_is_active(job) || place >= job->run->lease->members_count || chance(chaos, 10))
            return;
        uint32_t rank = lease_rank(job->run->lease, place);
        if (is_start)
            lab_tell(chaos->lab,
                     &(struct event){
                         .kind = EVENT_STARTED,
                         .started = { .job = id, .attempt = attempt, .rank = rank, .gpu = 2 } });
        else if (job->state != JOB_RUNNING || chance(chaos, 60))
            end_member(chaos, job, rank);
    }
    if (chance(chaos, 5)) {
        struct event late = { .kind = chance(chaos, 50) ? EVENT_STARTED : EVENT_ENDED };
        late.started.job = id;
        late.started.attempt = attempt + below(chaos, 3) - 1;
        late.started.rank = below(chaos, 5);
        lab_tell(chaos->lab, &late);
    }
}

static void person_acts(struct chaos *chaos)
{
    static const enum event_kind kinds[] = { EVENT_CANCEL, EVENT_HOLD,    EVENT_RELEASE,
                                             EVENT_CANCEL, EVENT_RELEASE, EVENT_REQUEUE,
                                             EVENT_UPDATE, EVENT_UPDATE };
    const struct job *job = random_job(chaos, chance(chaos, 80) ? ANY & ~(1 << JOB_ENDED) : ANY);
    if (!job)
        return;

    struct event event = { .kind = kinds[below(chaos, COUNT_OF(kinds))] };
    if (event.kind == EVENT_UPDATE)
        event.update = (struct event_update){
            .has_priority = chance(chaos, 40),
            .priority = (int32_t)below(chaos, 7) - 3,
            .queue = chance(chaos, 30) ? queue_names[below(chaos, chaos->queues_max + 1)] : "",
            .max_duration = chance(chaos, 30) ? (1 + below(chaos, 60)) * USEC_PER_MIN : 0,
            .has_begin = chance(chaos, 20),
            .begin = chaos->lab->now + below(chaos, 30) * USEC_PER_MIN,
        };
    if (event.kind == EVENT_CANCEL)
        event.cancel.user = "ana";
    event.hold.job = job->id;
    lab_tell(chaos->lab, &event);
}

static const char *const window_names[] = { "w1", "w2", "w3", "each day" };

/* From a little before now on; periods are not shorter than half an hour. */
static void change_window(struct chaos *chaos)
{
    const char *name = window_names[below(chaos, COUNT_OF(window_names))];
    uint32_t least = strcmp(name, "each day") == 0 ? 30 : 1;
    struct event_span spans[6];
    uint32_t count = 1 + below(chaos, COUNT_OF(spans));
    usec_t at = chaos->lab->now - (usec_t)below(chaos, 20) * USEC_PER_MIN;

    at = at > 0 ? at : 1;
    for (uint32_t i = 0; i < count; i++) {
        spans[i].from = at + (usec_t)(least + below(chaos, 90)) * USEC_PER_MIN * (i > 0);
        spans[i].until = spans[i].from + (usec_t)(least + below(chaos, 90)) * USEC_PER_MIN;
        at = spans[i].until;
    }
    lab_tell(
        chaos->lab,
        &(struct event){
            .kind = EVENT_WINDOW,
            .window = { .name = name, .words = "words", .spans = spans, .spans_count = count } });
}

static void change_tariff(struct chaos *chaos)
{
    bool is_gone = chance(chaos, 20);

    lab_tell(chaos->lab,
             &(struct event){ .kind = EVENT_TARIFF,
                              .tariff = { .name = chance(chaos, 50) ? "t1" : "t2",
                                          .window = is_gone ? "" : window_names[below(chaos, 3)],
                                          .factor_milli = below(chaos, 5) * 500 } });
}

static void change_price(struct chaos *chaos)
{
    static const char *const resources[] = { "gpus", "cpus", "memory", "h100", "a100" };

    lab_tell(chaos->lab, &(struct event){ .kind = EVENT_PRICE,
                                          .price = { .resource = resources[below(chaos, 5)],
                                                     .price_micro = below(chaos, 4) * 1234567 } });
}

/* One at a time: what others take away from it makes no difference. */
static void change_reservation(struct chaos *chaos)
{
    bool is_counted = chance(chaos, 50), has_owner = chance(chaos, 70);
    uint8_t kind = has_owner ? (uint8_t)(1 + below(chaos, 2)) : RESERVATION_MAINTENANCE;

    if (chaos->lab->state->agenda.reservations.count > 0) {
        lab_tell(chaos->lab, &(struct event){ .kind = EVENT_RESERVATION_REMOVE,
                                              .reservation_remove = { .name = "r" } });
        return;
    }
    lab_tell(chaos->lab,
             &(struct event){
                 .kind = EVENT_RESERVATION,
                 .reservation = {
                     .name = "r",
                     .window = window_names[below(chaos, 3)],
                     .kind = kind,
                     .owner = kind == RESERVATION_QUEUE  ? queue_names[below(chaos, 3)]
                              : kind == RESERVATION_USER ? "ana"
                                                         : "",
                     .gpus = is_counted ? 1 + below(chaos, 4) : 0,
                     .model = is_counted && chance(chaos, 50) ? "h100" : "",
                     .nodes = is_counted ? "" : node_names[below(chaos, COUNT_OF(node_names))],
                 } });
}

/* With other bounds at times, and a budget. */
static void change_timed_queue(struct chaos *chaos)
{
    uint32_t number = 1 + below(chaos, chaos->queues_max);
    struct event_during during = { .window = window_names[below(chaos, 3)],
                                   .resource = "gpus",
                                   .quota = { ABSENT, (int64_t)below(chaos, 8) * 1000, ABSENT,
                                              ABSENT } };
    struct event_budget budgets[] = {
        { .account = ACCOUNT_MONEY,
          .most = (int64_t)below(chaos, 20) * 1000000,
          .window = chance(chaos, 70) ? "each day" : "",
          .firmness = (uint8_t)below(chaos, FIRMNESSES),
          .user = chance(chaos, 30) ? "each" : "" },
        { .account = ACCOUNT_GPU_TIME,
          .user = chance(chaos, 20) ? "ana" : "",
          .most = (int64_t)below(chaos, 20) * USEC_PER_HOUR,
          .window = chance(chaos, 70) ? "each day" : "",
          .firmness = (uint8_t)below(chaos, FIRMNESSES) },
    };

    lab_tell(chaos->lab, &(struct event){ .kind = EVENT_QUEUE,
                                          .queue = { .name = queue_names[number],
                                                     .parent = number > 2 ? "q1" : "",
                                                     .weight = 1,
                                                     .gpus = QUOTA_OPEN,
                                                     .during = &during,
                                                     .during_count = below(chaos, 2),
                                                     .budgets = budgets,
                                                     .budgets_count = below(chaos, 3) } });
    chaos->world_changes++;
}

static void times_change(struct chaos *chaos)
{
    static void (*const changes[])(struct chaos * chaos) = {
        change_window, change_window,      change_window,      change_tariff,
        change_price,  change_reservation, change_timed_queue,
    };

    changes[below(chaos, COUNT_OF(changes))](chaos);
}

static void world_changes(struct chaos *chaos)
{
    static void (*const changes[])(
        struct chaos * chaos) = { change_queue,  change_pool,   change_node,    change_node,
                                  change_device, change_device, change_settings };

    changes[below(chaos, COUNT_OF(changes))](chaos);
}

static void forget_some(struct chaos *chaos)
{
    struct state *state = chaos->lab->state;
    struct error err;

    for (struct job *job = state->first_job, *next; job && state->jobs.count > 60; job = next) {
        uint64_t id = job->id;
        next = job->next;
        if (job->state == JOB_ENDED)
            lab_tell(chaos->lab, &(struct event){ .kind = EVENT_FORGET, .forget = { .id = id } });
    }
    for (struct group *group = state->first_group, *next; group; group = next) {
        struct event forget = { .kind = EVENT_FORGET, .forget = { .id = group->id } };
        next = group->next;
        if (group_is_over(group) && chance(chaos, 50))
            (void)lab_try(chaos->lab, &forget, &err);
    }
}

/* Mostly to when something is due, so that limits and begin times are met exactly. */
static void time_passes(struct chaos *chaos)
{
    struct lab *lab = chaos->lab;
    usec_t wakeup = sched_next_wakeup(lab->brain);

    if (wakeup != USEC_NEVER && wakeup > lab->now && chance(chaos, 50))
        lab->now = wakeup;
    else
        lab->now += below(chaos, 1000) * (usec_t)below(chaos, 2000) * 100;
}

static void act_any(struct chaos *chaos)
{
    uint32_t dice = below(chaos, 100);

    if (dice < 20) {
        struct request request = random_request(chaos);
        if (chaos->lab->state->jobs.count < 150)
            submit(chaos, 0, &request);
    } else if (dice < 23) {
        if (chaos->lab->state->jobs.count < 150)
            submit_array(chaos);
    } else if (dice < 65)
        engine_acts(chaos);
    else if (dice < 77)
        person_acts(chaos);
    else if (dice < 80)
        world_changes(chaos);
    else if (dice < 82)
        forget_some(chaos);
    else if (dice < 86 && chaos->kind == CHAOS_TIMES)
        times_change(chaos);
    else
        time_passes(chaos);
}

/* What was granted runs at once, and ends no later than its limit. */
static void obey(struct chaos *chaos)
{
    struct lab *lab = chaos->lab;

    for (struct job *job = lab->state->first_job; job; job = job->next) {
        uint64_t end = 0, limit;
        if (job->state == JOB_GRANTED) {
            limit = (uint64_t)job->max_duration;
            end = (uint64_t)lab->now +
                  (chance(chaos, 30) ? limit : random_next(&chaos->random) % limit);
            map_set(&chaos->ends, job->id, end);
            lab_started(lab, job->id);
        } else if (job_is_active(job) && map_get(&chaos->ends, job->id, &end) &&
                   (usec_t)end <= lab->now)
            lab_ended(lab, job->id, 0);
    }
}

static void act_obedient(struct chaos *chaos)
{
    struct lab *lab = chaos->lab;
    usec_t next = USEC_NEVER;

    if (chance(chaos, 50)) {
        struct request request = random_request(chaos);
        if (lab->state->job_counts[JOB_QUEUED] < 30)
            submit(chaos, 0, &request);
        return;
    }
    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        uint64_t end = 0;
        if (job_is_active(job) && map_get(&chaos->ends, job->id, &end) && (usec_t)end < next)
            next = (usec_t)end;
    }
    if (next != USEC_NEVER && next > lab->now)
        lab->now = next;
    obey(chaos);
    forget_some(chaos);
}

void chaos_act(struct chaos *chaos)
{
    if (is_any(chaos))
        act_any(chaos);
    else
        act_obedient(chaos);
}

void chaos_step(struct chaos *chaos)
{
    chaos_act(chaos);
    if (is_any(chaos) && chance(chaos, 3))
        lab_tell(chaos->lab, &(struct event){ .kind = EVENT_BOOT });
    if (is_any(chaos) && chance(chaos, 3))
        lab_plan(chaos->lab);
    if (chaos->lab->state->next_id % 3 == 0) /* idle time, which those who decide again lack */
        sched_refresh(chaos->lab->brain);
    while (sched_next_wakeup(chaos->lab->brain) <= chaos->lab->now) {
        lab_plan(chaos->lab);
        if (chaos->kind == CHAOS_OBEDIENT)
            obey(chaos);
    }
}
