/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

/* mem - allocation that succeeds or ends the process
 *
 * Out of memory ends the process. Callers bound every size that a user controls, and the journal
 * makes a restart cheap.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

void *mem_zero(size_t count, size_t size);                /* zeroed */
void *mem_resize(void *block, size_t count, size_t size); /* contents kept; count 0 frees */
char *mem_string(const char *string);                     /* NULL gives NULL */
char *mem_string_of(const char *bytes, size_t length);    /* adds the NUL */
char *mem_printf(const char *format, ...) PRINTF(1, 2);
char *mem_vprintf(const char *format, va_list args) PRINTF(1, 0);
void mem_auto_free(void *pointer_to_pointer); /* for AUTO_FREE */

/* A growing array of plain values: LIST(struct node) nodes = { 0 }. */
#define LIST(type)                                                                                 \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count;                                                                              \
        size_t capacity;                                                                           \
    }

/* LIST_EACH (struct node, node, &nodes): node points to each item in turn. */
#define LIST_EACH(type, item, list)                                                                \
    for (type *item = (list)->items; (size_t)(item - (list)->items) < (list)->count; item++)

/* Append a value; pointers into the list become invalid. */
#define list_add(list, ...)                                                                        \
    do {                                                                                           \
        (list)->items = mem_reserve((list)->items, (list)->count + 1, &(list)->capacity,           \
                                    sizeof((list)->items[0]));                                     \
        (list)->items[(list)->count++] = __VA_ARGS__;                                              \
    } while (0)
/* Make room for count values in all. */
#define list_reserve(list, wanted)                                                                 \
    ((list)->items =                                                                               \
         mem_reserve((list)->items, (wanted), &(list)->capacity, sizeof((list)->items[0])))
/* The same before the item at `index`, or at the end. */
#define list_insert(list, index, ...)                                                              \
    do {                                                                                           \
        __typeof__((list)->items[0]) inserted_ = __VA_ARGS__;                                      \
        list_reserve(list, (list)->count + 1);                                                     \
        mem_insert((list)->items, (list)->count, (index), sizeof(inserted_), &inserted_);          \
        (list)->count++;                                                                           \
    } while (0)
/* Set the number of items; those that are new have no value yet. */
#define list_resize(list, wanted) (list_reserve(list, wanted), (void)((list)->count = (wanted)))
/* As many items as wanted, all zero. */
#define list_zero(list, wanted)                                                                    \
    (list_resize(list, wanted), mem_clear((list)->items, (list)->count * sizeof((list)->items[0])))
/* The items of another list of the same type. */
#define list_copy(list, from)                                                                      \
    (list_resize(list, (from)->count),                                                             \
     mem_copy((list)->items, (from)->items, (list)->count * sizeof((list)->items[0])))
#define list_sort(list, compare)                                                                   \
    mem_sort((list)->items, (list)->count, sizeof((list)->items[0]), (compare))
/* A heap: the item at `at` goes down to where none below comes before it. */
#define list_sift(list, at, before)                                                                \
    mem_sift((list)->items, (list)->count, sizeof((list)->items[0]), (at), (before))
/* Make it a heap. */
#define list_heap(list, before)                                                                    \
    mem_heap((list)->items, (list)->count, sizeof((list)->items[0]), (before))
#define list_remove(list, index)                                                                   \
    mem_remove((list)->items, &(list)->count, (index), sizeof((list)->items[0]))
#define list_remove_first(list, wanted)                                                            \
    mem_remove_first((list)->items, &(list)->count, (wanted), sizeof((list)->items[0]))
#define list_release(list)                                                                         \
    (free((list)->items), (list)->items = NULL, (list)->count = (list)->capacity = 0)

/* As memset(), memcpy() and qsort(), also for a NULL without items. */
static inline void mem_clear(void *items, size_t size)
{
    if (size > 0)
        memset(items, 0, size);
}
static inline void mem_copy(void *to, const void *from, size_t size)
{
    if (size > 0)
        memcpy(to, from, size);
}
void mem_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));
typedef bool mem_before_fn(const void *a, const void *b);
void mem_sift(void *items, size_t count, size_t size, size_t at, mem_before_fn *before);
void mem_heap(void *items, size_t count, size_t size, mem_before_fn *before);

void *mem_reserve(void *items, size_t count, size_t *capacity, size_t size);
/* Put an item of `size` bytes before the one at `index`, of count items; there is room. */
void mem_insert(void *items, size_t count, size_t index, size_t size, const void *item);
void mem_remove(void *items, size_t *count, size_t index, size_t size);
void mem_remove_first(void *items, size_t *count, size_t wanted, size_t size);

#endif
