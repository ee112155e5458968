/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/time_limit.h"

#include <assert.h>

static bool is_before(const struct deadline *a, const struct deadline *b)
{
    return a->at != b->at ? a->at < b->at : a->job < b->job;
}

void deadline_add(struct deadlines *deadlines, usec_t at, uint64_t job)
{
    struct deadline added = { at, job };

    assert(at != USEC_NEVER && job != 0);
    list_add(&deadlines->heap, added);
    struct deadline *items = deadlines->heap.items;
    size_t i = deadlines->heap.count - 1;
    for (; i > 0 && is_before(&added, &items[(i - 1) / 2]); i = (i - 1) / 2)
        items[i] = items[(i - 1) / 2];
    items[i] = added;
}

usec_t deadline_first(const struct deadlines *deadlines)
{
    return deadlines->heap.count > 0 ? deadlines->heap.items[0].at : USEC_NEVER;
}

bool deadline_take(struct deadlines *deadlines, usec_t now, uint64_t *ret_job)
{
    struct deadline *items = deadlines->heap.items;

    if (deadline_first(deadlines) > now || deadlines->heap.count == 0)
        return false;
    assert(items[0].at <= now);
    *ret_job = items[0].job;

    struct deadline last = items[--deadlines->heap.count];
    size_t count = deadlines->heap.count, i = 0;
    for (size_t child = 1; child < count; child = 2 * i + 1) {
        if (child + 1 < count && is_before(&items[child + 1], &items[child]))
            child++;
        if (!is_before(&items[child], &last))
            break;
        items[i] = items[child];
        i = child;
    }
    if (count > 0)
        items[i] = last;
    return true;
}

void deadlines_release(struct deadlines *deadlines)
{
    list_release(&deadlines->heap);
}
