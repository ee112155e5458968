/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

/* pages - from a number to a pointer, for numbers that count up
 *
 * Neighbours share a page, so a full one costs little more than its pointers; a page goes with the
 * last of its numbers. Where numbers lie far apart a map (map.h) takes less.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct pages {
    struct map pages; /* number / PAGE_ITEMS -> struct page * */
    size_t count;
};

void *pages_get(const struct pages *pages, uint64_t number);      /* NULL: none */
void pages_set(struct pages *pages, uint64_t number, void *item); /* item is not NULL */
void pages_remove(struct pages *pages, uint64_t number);          /* none: nothing happens */
void pages_release(struct pages *pages); /* what they point to is the caller's */

#endif
