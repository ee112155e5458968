/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config_event.h"

#include <errno.h>
#include <inttypes.h>

#include "core/queue.h"

static int64_t plus_one(int64_t bound)
{
    return bound == QUOTA_NONE ? 0 : bound + 1;
}

static void fill_quotas(const struct config_queue *queue, struct arena *arena,
                        struct event_queue *ret)
{
    const struct quota *gpus = &queue->quotas[0].quota;
    struct event_quota *quotas = arena_take(arena, queue->quota_count, sizeof(*quotas));
    struct event_subject *subjects = arena_take(arena, queue->subject_count + 1, sizeof(*subjects));

    ret->guarantee_milli = gpus->guarantee;
    ret->limit_milli = gpus->limit == QUOTA_NONE ? QUEUE_UNLIMITED : gpus->limit;
    ret->borrow_milli = plus_one(gpus->borrow);
    ret->lend_milli = plus_one(gpus->lend);
    for (size_t i = 1; i < queue->quota_count; i++) {
        const struct config_quota *quota = &queue->quotas[i];
        quotas[ret->quotas_count++] = (struct event_quota){ .resource = quota->resource,
                                                            .guarantee = quota->quota.guarantee,
                                                            .limit = plus_one(quota->quota.limit),
                                                            .borrow = plus_one(quota->quota.borrow),
                                                            .lend = plus_one(quota->quota.lend) };
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
}

static int64_t milli_of(int64_t gpus)
{
    return gpus == CONFIG_NONE ? 0 : gpus * GPU_MILLI;
}

int config_pool_event(const struct config_pool *pool, struct text *nodes, struct event *ret,
                      struct error *err)
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
                  .nodes = text_string(nodes),
                  .gpus = pool->gpus == CONFIG_NONE ? 0 : (uint32_t)pool->gpus,
                  .milli_min = milli_of(pool->min),
                  .milli_max = milli_of(pool->max),
                  .devices = devices },
    };
    return 0;
}
