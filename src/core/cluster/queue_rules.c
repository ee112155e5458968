/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/queue_rules.h"

#include "core/cluster/queue.h"

struct queue_rules queue_rules_of(const struct queue *queues, uint32_t number)
{
    struct queue_rules rules = queues[number].rules;

    for (uint32_t at = queue_above(queues, number); at != QUEUE_NONE;
         at = queue_above(queues, at)) {
        const struct queue_rules *above = &queues[at].rules;
#define INHERIT(member) rules.member = rules.member ? rules.member : above->member
        INHERIT(preemptible);
        INHERIT(priority_most);
        INHERIT(duration_default);
        INHERIT(duration_most);
        INHERIT(gpus_most);
        INHERIT(slack_percent);
        INHERIT(slack_least);
        INHERIT(oom_factor);
        INHERIT(oom_most);
#undef INHERIT
    }
    return rules;
}

/* Whether this queue itself has a name in one of `count` lists from `list` on. */
static bool queue_lists(const struct queue *queue, enum queue_list list, uint32_t count)
{
    for (size_t i = 0; i < queue->names.count; i++) {
        uint8_t at = queue->names.items[i].list;
        if (at >= list && at < list + count)
            return true;
    }
    return false;
}

const struct queue *queue_that_lists(const struct queue *queues, uint32_t number,
                                     enum queue_list list, uint32_t count)
{
    for (uint32_t at = number; at != QUEUE_NONE; at = queue_above(queues, at)) {
        if (queue_lists(&queues[at], list, count))
            return &queues[at];
    }
    return NULL;
}
