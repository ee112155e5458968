/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

/* pages - a map from number to pointer, for dense ascending numbers
 *
 * Adjacent numbers share a page, so a full page costs little more than its pointers; a page is
 * freed with its last number. For sparse numbers a map (map.h) is smaller.
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
void pages_release(struct pages *pages); /* the items belong to the caller */

#endif
