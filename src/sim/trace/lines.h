/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_LINES_H
#define SIM_TRACE_LINES_H

/* lines - a text file line by line, plain or gzipped
 *
 * A byte order mark at the beginning, and a CR at the end of a line, are not part of the text.
 *
 * Order of calls:  open, next*, close
 * Limits:          LINES_LENGTH_MAX bytes per line, LINES_BYTES_MAX bytes in total, uncompressed
 */

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"

enum { LINES_LENGTH_MAX = 1 << 20 };
#define LINES_BYTES_MAX (INT64_C(16) << 30)

struct lines {
    const char *path;
    void *file;
    struct text line;
    uint32_t number; /* of the line that was read last, from 1 */
};

/* path must outlive lines. */
int lines_open(struct lines *lines, const char *path, struct error *err);
void lines_close(struct lines *lines); /* also if it was never opened */

/* Returns 1 and a line, which may be modified and is valid until the next call; 0 at the end; or a
 * failure (-EBADMSG: a NUL, a line that is too long, a damaged archive). */
int lines_next(struct lines *lines, char **ret_line, struct error *err);

/* Read the whole file; fails with -EFBIG above bytes_max. */
int lines_read_all(const char *path, size_t bytes_max, struct text *text, struct error *err);

#endif
