/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_COPY_READER_H
#define IO_COPY_READER_H

/* copy_reader - reads on a loop what a copy of this process says (io/copy.h)
 *
 * Order of calls:  start; then done is called once, unless stop comes first; then start again
 * Owner:           the caller, for as long as the copy runs; all zero: none runs
 */

#include <uv.h>

#include "io/copy.h"

/* All that the copy said; it has ended. The bytes are the caller's: text_release(). */
typedef void copy_done_fn(void *user, struct text bytes);

struct copy_reader {
    bool is_running;
    struct copy copy;
    uv_poll_t *poll;
    struct text bytes;
    copy_done_fn *done;
    void *user;
};

/* The copy runs fn(user). */
int copy_reader_start(struct copy_reader *reader, uv_loop_t *loop, copy_fn *fn, copy_done_fn *done,
                      void *user, struct error *err);
/* End the copy now, if one runs, and call done with what it has said so far. */
void copy_reader_finish(struct copy_reader *reader);
/* The same without the call. */
void copy_reader_stop(struct copy_reader *reader);

#endif
