/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

/* arena - scratch memory that is freed all at once
 *
 * Order of calls:  zeroed, arena_take*, arena_clear (keeps one block) or arena_release
 */

#include <stddef.h>

struct arena {
    struct arena_block *newest;
};

void *arena_take(struct arena *arena, size_t count, size_t size); /* zeroed, aligned for any type */
char *arena_string(struct arena *arena, const char *bytes, size_t length); /* adds the NUL */
void arena_clear(struct arena *arena);
void arena_release(struct arena *arena);

#endif
