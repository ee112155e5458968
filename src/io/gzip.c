/* SPDX-License-Identifier: Apache-2.0 */
#include "io/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/mem.h"

enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

void gzip_pack(const void *bytes, size_t length, struct text *ret)
{
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)length };

    /* Out of memory is the only failure. */
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    size_t most = deflateBound(&stream, (uLong)length);
    text_clear(ret);
    ret->bytes = mem_reserve(ret->bytes, most + 1, &ret->capacity, 1);
    stream.next_out = (Bytef *)ret->bytes;
    stream.avail_out = (uInt)most;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    ret->length = most - stream.avail_out;
    ret->bytes[ret->length] = '\0';
    deflateEnd(&stream);
}
