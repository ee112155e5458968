/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_RETENTION_H
#define DAEMON_RETENTION_H

/* retention - jobs that are over leave the state after a while; the journal keeps them
 *
 * The last RETENTION_KEPT stay. A job of a group goes only when its outermost group is over,
 * because others may still take its outputs; a group goes after its last job.
 */

#include "base/mem.h"
#include "core/state/state.h"

enum { RETENTION_KEPT = 20000, RETENTION_STEP = 1000 };

struct forgotten {
    uint64_t job;
    uint32_t uid, members;
};

struct retention {
    uint32_t above;                   /* ended jobs, before some are forgotten; 0: not set yet */
    LIST(struct forgotten) forgotten; /* of this batch */
};

/* Emit a FORGET for each that may go, when there are enough. */
void retention_run(struct retention *retention, const struct state *state,
                   void (*emit)(void *user, struct event *event), void *user);

#endif
