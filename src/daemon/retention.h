/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_RETENTION_H
#define DAEMON_RETENTION_H

/* retention - removes ended jobs from the state after a while; the journal keeps them
 *
 * The last RETENTION_KEPT jobs stay. A job of a group is removed only after its outermost group has
 * ended, because other jobs may still read its outputs; a group is removed after its last job.
 */

#include "base/mem.h"
#include "core/state/state.h"

enum { RETENTION_KEPT = 20000, RETENTION_STEP = 1000 };

struct forgotten {
    uint64_t job;
    uint32_t uid, members;
};

struct retention {
    uint32_t above;                   /* number of ended jobs at which to remove; 0: not set yet */
    LIST(struct forgotten) forgotten; /* of this batch */
};

/* Emit a FORGET for each job that can be removed, if there are enough of them. */
void retention_run(struct retention *retention, const struct state *state,
                   void (*emit)(void *user, struct event *event), void *user);

#endif
