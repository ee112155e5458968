/* SPDX-License-Identifier: Apache-2.0 */
#include "time/span.h"

#include <stdlib.h>

void span_list_add(struct span_list *list, struct span span)
{
    struct span *last = list->count > 0 ? &list->items[list->count - 1] : NULL;

    if (span.from >= span.until)
        return;
    if (!last || span.from < last->from || span.from > last->until)
        list_add(list, span);
    else if (span.until > last->until)
        last->until = span.until;
}

static int compare(const void *a, const void *b)
{
    const struct span *left = a, *right = b;

    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return (left->until > right->until) - (left->until < right->until);
}

void span_list_sort(struct span_list *list)
{
    size_t count = list->count;

    if (count > 1)
        qsort(list->items, count, sizeof(list->items[0]), compare);
    /* Each is read before anything is written where it stands. */
    list->count = 0;
    for (size_t i = 0; i < count; i++)
        span_list_add(list, list->items[i]);
}

bool span_list_is_sorted(const struct span_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].from >= list->items[i].until)
            return false;
        if (i > 0 && list->items[i].from <= list->items[i - 1].until)
            return false;
    }
    return true;
}

void span_list_subtract(struct span_list *list, const struct span_list *without)
{
    struct span_list left = { 0 };
    size_t k = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct span span = list->items[i];

        while (k < without->count && without->items[k].until <= span.from)
            k++;
        for (size_t j = k; j < without->count && without->items[j].from < span.until; j++) {
            span_list_add(&left, (struct span){ span.from, without->items[j].from });
            span.from = without->items[j].until;
        }
        span_list_add(&left, span);
    }
    span_list_release(list);
    *list = left;
}

void span_list_clip(struct span_list *list, usec_t from, usec_t until)
{
    size_t count = list->count;

    list->count = 0;
    for (size_t i = span_list_find(&(struct span_list){ list->items, count, 0 }, from);
         i < count && list->items[i].from < until; i++) {
        struct span span = list->items[i];

        span.from = span.from < from ? from : span.from;
        span.until = span.until > until ? until : span.until;
        span_list_add(list, span);
    }
}

size_t span_list_find(const struct span_list *list, usec_t at)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].until > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void span_list_release(struct span_list *list)
{
    list_release(list);
}
