/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIME_SPAN_H
#define TIME_SPAN_H

/* span - intervals of time, and lists of them
 *
 * A span is half open: [from, until). A normalised list is sorted, and its spans are not empty, do
 * not overlap and do not touch: equal sets of moments have equal lists.
 *
 * Owner: the code that declares the list; zeroed is empty
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/units.h"

struct span {
    usec_t from, until; /* until may be USEC_NEVER */
};

struct span_list {
    struct span *items;
    size_t count;
    size_t capacity;
};

/* Add at the end; one that begins within the last or where it ends makes that longer. Spans that
 * are added by their beginning give a list in order. An empty span is left out. */
void span_list_add(struct span_list *list, struct span span);

/* Bring any list in order. */
void span_list_sort(struct span_list *list);
bool span_list_is_sorted(const struct span_list *list);

/* Take out what is in `without`; both lists are in order. */
void span_list_subtract(struct span_list *list, const struct span_list *without);

/* Leave only what is within [from, until); the list is in order. */
void span_list_clip(struct span_list *list, usec_t from, usec_t until);

/* The first that ends after that moment: count when there is none. The list is in order. */
size_t span_list_find(const struct span_list *list, usec_t at);

void span_list_release(struct span_list *list);

#endif
