/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

/* mem - allocation that succeeds or ends the process
 *
 * Out of memory ends the process. Callers bound every size that a user controls, and the journal
 * makes a restart cheap.
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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
#define list_remove(list, index)                                                                   \
    mem_remove((list)->items, &(list)->count, (index), sizeof((list)->items[0]))
#define list_release(list)                                                                         \
    (free((list)->items), (list)->items = NULL, (list)->count = (list)->capacity = 0)

void *mem_reserve(void *items, size_t count, size_t *capacity, size_t size);
void mem_remove(void *items, size_t *count, size_t index, size_t size);

#endif
