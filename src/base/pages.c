/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pages.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

enum { PAGE_ITEMS = 64 };

struct page {
    void *items[PAGE_ITEMS];
    uint32_t count;
};

static struct page *find(const struct pages *pages, uint64_t number)
{
    uint64_t value = 0;

    map_get(&pages->pages, number / PAGE_ITEMS, &value);
    return (struct page *)(uintptr_t)value;
}

void *pages_get(const struct pages *pages, uint64_t number)
{
    const struct page *page = find(pages, number);

    return page ? page->items[number % PAGE_ITEMS] : NULL;
}

void pages_set(struct pages *pages, uint64_t number, void *item)
{
    struct page *page = find(pages, number);

    assert(item);
    if (!page) {
        page = mem_zero(1, sizeof(*page));
        map_set(&pages->pages, number / PAGE_ITEMS, (uintptr_t)page);
    }
    if (!page->items[number % PAGE_ITEMS]) {
        page->count++;
        pages->count++;
    }
    page->items[number % PAGE_ITEMS] = item;
}

void pages_remove(struct pages *pages, uint64_t number)
{
    struct page *page = find(pages, number);

    if (!page || !page->items[number % PAGE_ITEMS])
        return;
    page->items[number % PAGE_ITEMS] = NULL;
    pages->count--;
    if (--page->count > 0)
        return;
    map_remove(&pages->pages, number / PAGE_ITEMS);
    free(page);
}

void pages_release(struct pages *pages)
{
    struct map_slot page;

    for (size_t at = 0; map_next(&pages->pages, &at, &page);)
        free((void *)(uintptr_t)page.value);
    map_release(&pages->pages);
    pages->count = 0;
}
