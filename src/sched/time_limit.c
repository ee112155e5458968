/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/time_limit.h"

#include <assert.h>

static bool is_before(const void *left, const void *right)
{
    const struct time_limit *a = left, *b = right;

    return a->at != b->at ? a->at < b->at : a->job < b->job;
}

void time_limit_add(struct time_limits *time_limits, usec_t at, uint64_t job)
{
    struct time_limit added = { at, job };

    assert(at != USEC_NEVER && job != 0);
    list_add(&time_limits->heap, added);
    struct time_limit *items = time_limits->heap.items;
    size_t i = time_limits->heap.count - 1;
    for (; i > 0 && is_before(&added, &items[(i - 1) / 2]); i = (i - 1) / 2)
        items[i] = items[(i - 1) / 2];
    items[i] = added;
}

usec_t time_limit_first(const struct time_limits *time_limits)
{
    return time_limits->heap.count > 0 ? time_limits->heap.items[0].at : USEC_NEVER;
}

bool time_limit_take(struct time_limits *time_limits, usec_t now, uint64_t *ret_job)
{
    struct time_limit *items = time_limits->heap.items;

    if (time_limit_first(time_limits) > now || time_limits->heap.count == 0)
        return false;
    *ret_job = items[0].job;
    items[0] = items[--time_limits->heap.count];
    list_sift(&time_limits->heap, 0, is_before);
    return true;
}

void time_limits_release(struct time_limits *time_limits)
{
    list_release(&time_limits->heap);
}
