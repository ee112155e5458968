/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { BLOCK_SIZE = 16 * 1024 };

struct arena_block {
    struct arena_block *older;
    size_t size, used;
    alignas(max_align_t) char bytes[];
};

void *arena_take(struct arena *arena, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / 2 / size)
        abort();

    size_t wanted = (count * size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    struct arena_block *block = arena->newest;
    if (!block || block->size - block->used < wanted) {
        size_t room = wanted > BLOCK_SIZE ? wanted : BLOCK_SIZE;
        block = mem_resize(NULL, 1, sizeof(*block) + room);
        *block = (struct arena_block){ .older = arena->newest, .size = room };
        arena->newest = block;
    }
    void *taken = memset(block->bytes + block->used, 0, wanted);
    block->used += wanted;
    return taken;
}

char *arena_string(struct arena *arena, const char *bytes, size_t length)
{
    char *string = arena_take(arena, length + 1, 1);

    mem_copy(string, bytes, length);
    return string;
}

void arena_clear(struct arena *arena)
{
    struct arena_block *kept = arena->newest;

    if (!kept)
        return;
    while (kept->older) {
        struct arena_block *block = kept->older;
        kept->older = block->older;
        free(block);
    }
    kept->used = 0;
}

void arena_release(struct arena *arena)
{
    arena_clear(arena);
    free(arena->newest);
    arena->newest = NULL;
}
