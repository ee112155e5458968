/* SPDX-License-Identifier: Apache-2.0 */
#include "store/compress.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/mem.h"

/* Fast on purpose: it runs between a request and its acknowledgement. */
enum { LEVEL = 1 };

static void text_room(struct text *text, size_t more)
{
    text->bytes = mem_reserve(text->bytes, text->length + more + 1, &text->capacity, 1);
}

struct packed pack(struct packer *packer, const void *bytes, size_t length)
{
    struct packed plain = { PACK_PLAIN, bytes, length, length };

    if (length < PACK_BYTES_MIN)
        return plain;
    if (!packer->compress)
        packer->compress = ZSTD_createCCtx();
    if (!packer->compress)
        abort();

    text_clear(&packer->scratch);
    text_room(&packer->scratch, length);
    size_t packed = ZSTD_compressCCtx(packer->compress, packer->scratch.bytes, length - 1, bytes,
                                      length, LEVEL);
    if (ZSTD_isError(packed))
        return plain; /* it did not shrink */
    return (struct packed){ PACK_ZSTD, packer->scratch.bytes, packed, length };
}

int unpack(struct packer *packer, const struct packed *packed, struct text *ret)
{
    if (packed->codec == PACK_PLAIN) {
        if (packed->length != packed->plain_length)
            return -EBADMSG;
        text_add_bytes(ret, packed->bytes, packed->length);
        return 0;
    }
    if (packed->codec != PACK_ZSTD)
        return -EBADMSG;
    if (!packer->expand)
        packer->expand = ZSTD_createDCtx();
    if (!packer->expand)
        abort();

    text_room(ret, packed->plain_length);
    size_t length = ZSTD_decompressDCtx(packer->expand, ret->bytes + ret->length,
                                        packed->plain_length, packed->bytes, packed->length);
    if (ZSTD_isError(length) || length != packed->plain_length) {
        ret->bytes[ret->length] = '\0';
        return -EBADMSG;
    }
    ret->length += length;
    ret->bytes[ret->length] = '\0';
    return 0;
}

void packer_release(struct packer *packer)
{
    ZSTD_freeCCtx(packer->compress);
    ZSTD_freeDCtx(packer->expand);
    text_release(&packer->scratch);
    *packer = (struct packer){ 0 };
}
