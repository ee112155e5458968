/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_COPY_H
#define IO_COPY_H

/* copy - a copy of this process that works something out and says it
 *
 * The copy has our memory as it is now, and whatever it does to it is its own. It has standard
 * error and the descriptor to write to, and no other; signals do what they do in a new program; it
 * is nice, first to go when memory runs out, and dies with us. It never returns: when the function
 * is done it is gone, without handlers, buffers or locks of ours being touched.
 *
 * A pidfd stands for it: nobody else has its number.
 *
 * On failure:  there is no copy
 */

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

struct copy {
    int pidfd, fd; /* fd: to read from, until its end */
};

typedef void copy_fn(void *user, int fd);

int copy_start(copy_fn *fn, void *user, struct copy *ret, struct error *err);

/* Read what there is; false: that was all, or no more can be read. Waits unless fd is set not to.
 */
bool copy_read(struct copy *copy, struct text *out);
/* Ends it if it still runs. Returns its wait status. */
int copy_end(struct copy *copy);

/* All of it, in the copy; false: nobody reads. */
bool copy_write(int fd, const void *bytes, size_t length);

#endif
