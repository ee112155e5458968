/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *block)
{
    if (!block)
        abort();
    return block;
}

void *mem_zero(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size));
}

void *mem_resize(void *block, size_t count, size_t size)
{
    if (count == 0) {
        free(block);
        return NULL;
    }
    return checked(reallocarray(block, count, size));
}

char *mem_string(const char *string)
{
    return string ? checked(strdup(string)) : NULL;
}

char *mem_string_of(const char *bytes, size_t length)
{
    return checked(strndup(bytes, length));
}

char *mem_vprintf(const char *format, va_list args)
{
    char *string = NULL;

    if (vasprintf(&string, format, args) < 0)
        abort();
    return string;
}

char *mem_printf(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *string = mem_vprintf(format, args);
    va_end(args);
    return string;
}

void mem_auto_free(void *pointer_to_pointer)
{
    void *block;

    memcpy(&block, pointer_to_pointer, sizeof(block));
    free(block);
}

void mem_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    if (count > 1)
        qsort(items, count, size, compare);
}

void mem_sift(void *items, size_t count, size_t size, size_t at, mem_before_fn *before)
{
    char *bytes = items, swap[64];

    assert(size <= sizeof(swap));
    for (;;) {
        size_t first = at;
        for (size_t below = 2 * at + 1; below <= 2 * at + 2 && below < count; below++)
            first = before(bytes + below * size, bytes + first * size) ? below : first;
        if (first == at)
            return;
        memcpy(swap, bytes + at * size, size);
        memcpy(bytes + at * size, bytes + first * size, size);
        memcpy(bytes + first * size, swap, size);
        at = first;
    }
}

void mem_heap(void *items, size_t count, size_t size, mem_before_fn *before)
{
    for (size_t at = count / 2; at-- > 0;)
        mem_sift(items, count, size, at, before);
}

void mem_insert(void *items, size_t count, size_t index, size_t size, const void *item)
{
    char *at = (char *)items + index * size;

    assert(index <= count);
    memmove(at + size, at, (count - index) * size);
    memcpy(at, item, size);
}

void *mem_reserve(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count <= *capacity)
        return items;

    size_t wanted = *capacity ? *capacity * 2 : 8;
    if (wanted < count)
        wanted = count;
    *capacity = wanted;
    return mem_resize(items, wanted, size);
}

void mem_remove(void *items, size_t *count, size_t index, size_t size)
{
    char *bytes = items;

    assert(index < *count);
    memmove(bytes + index * size, bytes + (index + 1) * size, (*count - index - 1) * size);
    (*count)--;
}

void mem_remove_first(void *items, size_t *count, size_t wanted, size_t size)
{
    assert(wanted <= *count);
    *count -= wanted;
    if (wanted > 0)
        memmove(items, (char *)items + wanted * size, *count * size);
}
