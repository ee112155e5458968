/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config_event.h"

#include <errno.h>
#include <inttypes.h>

#include "core/queue.h"

void config_queue_event(const struct config *config, const struct config_queue *queue,
                        struct event *ret)
{
    *ret = (struct event){
        .kind = EVENT_QUEUE,
        .queue = { .name = queue->name,
                   .parent = queue->parent >= 0 ? config->queues[queue->parent].name : "",
                   .weight = queue->weight,
                   .guarantee_milli = queue->guarantee_milli,
                   .limit_milli =
                       queue->limit_milli == CONFIG_NONE ? QUEUE_UNLIMITED : queue->limit_milli },
    };
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
