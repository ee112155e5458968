/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_COMPRESS_H
#define STORE_COMPRESS_H

/* compress - compresses bytes if that saves space
 *
 * Short content, and content that would not shrink, is not compressed. The packed bytes belong to
 * the packer and are valid until its next call.
 */

#include <stddef.h>

#include "base/text.h"

enum { PACK_BYTES_MIN = 512 };

/* Stored on disk: never renumber. */
enum pack_codec { PACK_PLAIN = 0, PACK_ZSTD = 1 };

struct packer {
    struct ZSTD_CCtx_s *compress; /* made when first needed */
    struct ZSTD_DCtx_s *expand;
    struct text scratch;
};

struct packed {
    enum pack_codec codec;
    const void *bytes;
    size_t length;
    size_t plain_length;
};

struct packed pack(struct packer *packer, const void *bytes, size_t length);

/* Append the original bytes. Fails with -EBADMSG, and appends nothing, if the input is not the
 * result of pack() for plain_length bytes. The caller must limit plain_length first. */
int unpack(struct packer *packer, const struct packed *packed, struct text *ret);

void packer_release(struct packer *packer);

#endif
