/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_COPY_H
#define IO_COPY_H

/* copy - a forked copy of this process that computes something and writes the result
 *
 * The copy has a private snapshot of our memory. It keeps standard error and the descriptor to
 * write to, and no other; signal handlers are reset; it runs at low priority, is the first victim
 * when memory runs out, and dies with its parent. It never returns: it exits when the function is
 * done, without running handlers, flushing buffers or touching locks of the parent.
 *
 * A pidfd identifies it, because a pid can be reused.
 *
 * On failure:  no copy exists
 */

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

struct copy {
    int pidfd, fd; /* fd: to read from, until its end */
};

typedef void copy_fn(void *user, int fd);

int copy_start(copy_fn *fn, void *user, struct copy *ret, struct error *err);

/* Read the available bytes; false: end of data, or an error. Blocks unless fd is non-blocking.
 */
bool copy_read(struct copy *copy, struct text *out);
/* Ends it if it still runs. Returns its wait status. */
int copy_end(struct copy *copy);

/* Write all bytes, in the copy; false: the reader has closed. */
bool copy_write(int fd, const void *bytes, size_t length);
/* In the copy: the processor time of it and of the copies that it made and that have ended. */
usec_t copy_processor_time(void);

#endif
