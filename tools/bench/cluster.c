/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/state/fold.h"
#include "sched/brain.h"

/* Of each hundred machines. */
static const struct machine {
    uint32_t part, gpus;
    const char *model;
    int64_t memory_mib, cpu_milli, main_mib;
} machines[] = {
    { 40, 8, "g2", 22731, 96000, 393216 },   { 10, 8, "v100m32", 32768, 96000, 786432 },
    { 8, 8, "g3", 81920, 128000, 1048576 },  { 20, 4, "t4", 15360, 64000, 262144 },
    { 12, 2, "p100", 16384, 64000, 262144 }, { 10, 1, "v100m16", 16384, 48000, 196608 },
};

/* As openb's pods: milli-GPUs of one, or whole ones; most by far have one or a part of one. */
static const struct pod {
    uint32_t part, count, milli;
    const char *model;
} pods[] = {
    { 90, 1, 810, "" },    { 40, 1, 470, "" },  { 25, 1, 650, "" },  { 20, 1, 320, "" },
    { 15, 1, 230, "" },    { 10, 1, 120, "" },  { 8, 1, 550, "t4" }, { 190, 1, 1000, "" },
    { 40, 1, 1000, "g2" }, { 20, 2, 1000, "" }, { 12, 4, 1000, "" }, { 30, 8, 1000, "" },
};
static const struct beside {
    int64_t cpu_milli, memory_mib;
} besides[] = {
    { 3152, 5600 }, { 8000, 30517 }, { 11300, 49152 }, { 4000, 24576 }, { 9810, 41560 },
};

uint32_t cluster_dice(struct cluster *cluster, uint32_t below)
{
    cluster->seed ^= cluster->seed << 13;
    cluster->seed ^= cluster->seed >> 7;
    cluster->seed ^= cluster->seed << 17;
    return (uint32_t)(cluster->seed >> 32) % below;
}

void cluster_tell(struct cluster *cluster, const struct event *event)
{
    struct event told = *event;
    struct error err;

    told.at = cluster->now;
    cluster->decisions.events.count = 0;
    if (sched_step(cluster->brain, &told, &cluster->decisions, &err) == 0)
        return;
    fprintf(stderr, "cluster: %s: %s\n", event_name(event->kind), err.text);
    exit(1);
}

static void add_machine(struct state *state, uint32_t number, const struct machine *like)
{
    struct node node = { .name = mem_printf("n%05u", number),
                         .rack = mem_printf("r%u", number / 32),
                         .block = mem_printf("b%u", number / 1024),
                         .cpu_milli = like->cpu_milli,
                         .memory_mib = like->main_mib };

    list_add(&state->room.nodes, (struct room_node){ node.cpu_milli, node.memory_mib });
    list_add(&state->nodes, node);
    for (uint32_t i = 0; i < like->gpus; i++) {
        list_add(&state->room.devices,
                 (struct room_device){ .memory_mib = like->memory_mib, .milli = GPU_MILLI });
        list_add(&state->devices, (struct device){ .uuid = mem_printf("n%05u.%u", number, i),
                                                   .model = mem_string(like->model),
                                                   .product = mem_string(like->model),
                                                   .address = mem_string(""),
                                                   .vendor = mem_string("nvidia"),
                                                   .memory_mib = like->memory_mib,
                                                   .node = number,
                                                   .index = i });
    }
}

void cluster_make(struct cluster *cluster, uint32_t count)
{
    *cluster = (struct cluster){
        .state = state_create(), .now = USEC_PER_SEC, .seed = 42, .limit = USEC_NEVER
    };
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i * 37 % 100, kind = 0; /* mixed, so that no model has a run of numbers */
        while (at >= machines[kind].part)
            at -= machines[kind++].part;
        add_machine(cluster->state, i, &machines[kind]);
    }
    state_measure(cluster->state);
    cluster->brain = brain_create(cluster->state);
    cluster_tell(cluster, &(struct event){ .kind = EVENT_BOOT });
    cluster_tell(cluster, &(struct event){ .kind = EVENT_SETTINGS,
                                           .settings = { .placement = PLACEMENT_SFG,
                                                         .half_life = QUEUE_HALF_LIFE_DEFAULT,
                                                         .backfill_depth = 1 } });
}

void cluster_release(struct cluster *cluster)
{
    brain_destroy(cluster->brain);
    state_destroy(cluster->state);
    list_release(&cluster->decisions.events);
    list_release(&cluster->running);
}

static void ask(struct cluster *cluster, struct request *request)
{
    uint32_t all = 0, pod = 0;

    for (size_t i = 0; i < sizeof(pods) / sizeof(pods[0]); i++)
        all += pods[i].part;
    for (uint32_t at = cluster_dice(cluster, all); at >= pods[pod].part; pod++)
        at -= pods[pod].part;
    const struct beside *beside =
        &besides[cluster_dice(cluster, sizeof(besides) / sizeof(besides[0]))];
    struct gpu_ask *gpus = &request->gpus[0];

    request_default(request);
    request->gpu_alternatives = 1;
    gpus->count = (uint16_t)pods[pod].count;
    gpus->milli = pods[pod].milli;
    gpus->kind = pods[pod].milli < GPU_MILLI ? SHARE_FRACTION : SHARE_WHOLE;
    snprintf(gpus->model, sizeof(gpus->model), "%s", pods[pod].model);
    request->cpu_milli = beside->cpu_milli * pods[pod].count * pods[pod].milli / GPU_MILLI;
    request->memory_mib = beside->memory_mib * pods[pod].count * pods[pod].milli / GPU_MILLI;
    request->max_duration = cluster->limit;
}

uint64_t cluster_submit(struct cluster *cluster)
{
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = cluster->state->next_id,
                                       .name = "train",
                                       .user = "ana",
                                       .queue = "default" } };

    ask(cluster, &event.submit.request);
    cluster_tell(cluster, &event);
    return event.submit.id;
}

void cluster_end(struct cluster *cluster, uint64_t id)
{
    uint32_t attempt = state_job(cluster->state, id)->run->attempt;

    cluster_tell(cluster, &(struct event){ .kind = EVENT_STARTED,
                                           .started = { .job = id, .attempt = attempt } });
    cluster_tell(cluster, &(struct event){
                              .kind = EVENT_ENDED,
                              .ended = { .job = id, .attempt = attempt, .kind = ENGINE_ENDED } });
    cluster_tell(cluster, &(struct event){ .kind = EVENT_FORGET, .forget = { .id = id } });
}

/* One that finds no room goes away, so that each plan is one decision. */
void cluster_turn_away(struct cluster *cluster)
{
    uint64_t id = cluster->state->last_job->id;

    if (cluster->brain->pending.count == 0)
        return;
    cluster->turned_away++;
    cluster_tell(cluster,
                 &(struct event){ .kind = EVENT_CANCEL, .cancel = { .job = id, .user = "ana" } });
    cluster_tell(cluster, &(struct event){ .kind = EVENT_FORGET, .forget = { .id = id } });
}

void cluster_plan(struct cluster *cluster)
{
    cluster_tell(cluster, &(struct event){ .kind = EVENT_PLAN });
    LIST_EACH (const struct event, event, &cluster->decisions.events) {
        if (event->kind == EVENT_GRANT)
            list_add(&cluster->running, event->grant.job);
    }
}

void cluster_fill(struct cluster *cluster, int percent)
{
    const struct state *state = cluster->state;
    int64_t wanted = state->capacity.milli / 100 * percent;

    while (state->queues.items[QUEUE_ROOT].used.of[RESOURCE_GPUS] < wanted) {
        cluster->now += USEC_PER_MS;
        cluster_submit(cluster);
        cluster_plan(cluster);
        cluster_turn_away(cluster);
    }
}
