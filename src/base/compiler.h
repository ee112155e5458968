/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

/* compiler - the extensions of gcc and clang that tarn uses, each behind one macro; and tables of
 * names of an enum */

#include <stddef.h>

#define PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))

/* AUTO(pool) struct pool *pool = ...;   destroyed when the scope ends */
#define AUTO(type) __attribute__((cleanup(type##_auto_destroy)))
#define DEFINE_AUTO(type)                                                                          \
    static inline void type##_auto_destroy(struct type **object)                                   \
    {                                                                                              \
        type##_destroy(*object);                                                                   \
    }

/* AUTO_RELEASE(text) struct text text = ...;   for an object that is initialised in place */
#define AUTO_RELEASE(type) __attribute__((cleanup(type##_release)))

/* AUTO_FREE char *path = ...; */
#define AUTO_FREE __attribute__((cleanup(mem_auto_free)))

/* Pass the pointer on and set the variable to NULL, so that its cleanup does nothing. */
#define TAKE(pointer)                                                                              \
    (__extension__({                                                                               \
        __typeof__(pointer) taken_ = (pointer);                                                    \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    }))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A function that gives the name of a number; "unknown" if it has none. */
#define DEFINE_NAMES(function, type, ...)                                                          \
    const char *function(type value)                                                               \
    {                                                                                              \
        static const char *const names[] = { __VA_ARGS__ };                                        \
                                                                                                   \
        return (size_t)value < COUNT_OF(names) ? names[value] : "unknown";                         \
    }

/* The same for the name and the meaning of a number, from a table of both. */
#define DEFINE_WORDS(prefix, type, table)                                                          \
    const char *prefix##_name(type value)                                                          \
    {                                                                                              \
        return (size_t)value < COUNT_OF(table) && (table)[value].name ? (table)[value].name        \
                                                                      : "unknown";                 \
    }                                                                                              \
    const char *prefix##_meaning(type value)                                                       \
    {                                                                                              \
        return (size_t)value < COUNT_OF(table) && (table)[value].name ? (table)[value].meaning     \
                                                                      : "";                        \
    }

#define CONTAINER_OF(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
