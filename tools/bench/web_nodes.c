/* SPDX-License-Identifier: Apache-2.0 */
/* An engine for tools/bench/web: TARN_BENCH_NODES nodes of eight GPUs, in its books only. A job
 * `sleep N` runs for N seconds; nothing is started. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "base/mem.h"
#include "core/engine.h"

enum { GPUS = 8, LOOK_MS = 200, NODES_PER_RACK = 32 };

struct member {
    struct member_id id;
    usec_t until; /* 0: it was told to be over */
    bool was_told, was_stopped;
};

struct nodes {
    struct engine engine;
    struct engine_options options;
    uv_timer_t timer;
    LIST(struct member) members;
    int count;
    bool has_told;
};

static struct nodes *nodes_of(struct engine *engine)
{
    return CONTAINER_OF(engine, struct nodes, engine);
}

static usec_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_BOOTTIME, &time);
    return time.tv_sec * USEC_PER_SEC + time.tv_nsec / 1000;
}

static int start(struct engine *engine, const struct engine_launch *launches, uint32_t count,
                 struct error *err)
{
    (void)err;
    for (uint32_t i = 0; i < count; i++) {
        const char *length = launches[i].argv[1];
        list_add(&nodes_of(engine)->members,
                 (struct member){ .id = launches[i].id,
                                  .until = now() + (length ? atoi(length) : 1) * USEC_PER_SEC });
    }
    return 0;
}

static void stop(struct engine *engine, const struct engine_attempt *attempt, usec_t grace)
{
    (void)grace;
    LIST_EACH (struct member, member, &nodes_of(engine)->members) {
        if (member->id.job == attempt->job && member->id.attempt == attempt->attempt)
            member->was_stopped = true;
    }
}

static void recover(struct engine *engine, const struct engine_attempt *attempt,
                    const bool *was_started, bool *ret_found)
{
    (void)engine;
    (void)was_started;
    memset(ret_found, 0, attempt->count);
}

static void forget(struct engine *engine, const struct engine_attempt *attempt)
{
    struct nodes *nodes = nodes_of(engine);

    for (size_t i = nodes->members.count; i-- > 0;) {
        const struct member_id *id = &nodes->members.items[i].id;
        if (id->job == attempt->job && id->attempt == attempt->attempt)
            list_remove(&nodes->members, i);
    }
}

static void destroy(struct engine *engine)
{
    uv_timer_stop(&nodes_of(engine)->timer);
    list_release(&nodes_of(engine)->members);
}

static void tell_nodes(struct nodes *nodes)
{
    for (int i = 0; i < nodes->count; i++) {
        struct probe_device devices[GPUS];
        char name[16], rack[16];
        memset(devices, 0, sizeof(devices));
        snprintf(name, sizeof(name), "n%d", i + 1);
        snprintf(rack, sizeof(rack), "r%d", i / NODES_PER_RACK + 1);
        for (int k = 0; k < GPUS; k++) {
            devices[k] = (struct probe_device){ .model = "h100",
                                                .memory_mib = 81920,
                                                .numa_node = PROBE_UNKNOWN };
            snprintf(devices[k].uuid, sizeof(devices[k].uuid), "GPU-%s-%d", name, k);
        }
        struct engine_node node = { .name = name,
                                    .rack = rack,
                                    .cpu_milli = 128000,
                                    .memory_mib = 1 << 20,
                                    .devices = devices,
                                    .device_count = GPUS };
        nodes->options.reports.node(nodes->options.reports.user, &node, i + 1 == nodes->count);
    }
}

static void tell(struct nodes *nodes, const struct member *member, enum engine_outcome_kind kind)
{
    struct engine_outcome outcome = { .id = member->id,
                                      .kind = kind,
                                      .was_stopped = member->was_stopped };

    nodes->options.reports.outcome(nodes->options.reports.user, &outcome);
}

static void on_look(uv_timer_t *timer)
{
    struct nodes *nodes = timer->data;
    usec_t at = now();

    if (!nodes->has_told)
        tell_nodes(nodes);
    for (size_t i = 0; i < nodes->members.count; i++) {
        struct member *member = &nodes->members.items[i];
        if (!member->was_told)
            tell(nodes, member, ENGINE_STARTED);
        member->was_told = true;
        if (member->until == 0 || (member->until > at && !member->was_stopped))
            continue;
        member->until = 0;
        tell(nodes, member, ENGINE_ENDED);
    }
    nodes->has_told = true;
}

static int create(const struct engine_options *options, struct engine **ret, struct error *err)
{
    static const struct engine_ops ops = { .name = "bench",
                                           .start = start,
                                           .stop = stop,
                                           .recover = recover,
                                           .forget = forget,
                                           .destroy = destroy };
    static struct nodes only;
    const char *count = getenv("TARN_BENCH_NODES");

    (void)err;
    only.engine = (struct engine){ &ops, { .has_exact_devices = true, .has_own_nodes = true } };
    only.options = *options;
    only.count = count ? atoi(count) : 1000;
    only.timer.data = &only;
    uv_timer_init(options->loop, &only.timer);
    uv_timer_start(&only.timer, on_look, 0, LOOK_MS);
    *ret = &only.engine;
    return 0;
}

extern const struct engine_module tarn_engine_module;
const struct engine_module tarn_engine_module = { ENGINE_MODULE_VERSION, create };
