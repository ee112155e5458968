/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/due.h"

static bool is_before(const struct due *a, const struct due *b)
{
    return a->at != b->at ? a->at < b->at : a->job < b->job;
}

void due_add(struct dues *dues, struct due end)
{
    list_add(&dues->heap, end);
    size_t at = dues->heap.count - 1;
    struct due *heap = dues->heap.items;
    while (at > 0 && is_before(&end, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = end;
}

usec_t due_first(const struct dues *dues)
{
    return dues->heap.count > 0 ? dues->heap.items[0].at : USEC_NEVER;
}

bool due_take(struct dues *dues, usec_t now, struct due *ret)
{
    struct due *heap = dues->heap.items;
    size_t at = 0;

    if (due_first(dues) > now || dues->heap.count == 0)
        return false;
    *ret = heap[0];
    struct due last = heap[--dues->heap.count];
    size_t count = dues->heap.count;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return true;
}
