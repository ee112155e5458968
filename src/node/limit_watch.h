/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_LIMIT_WATCH_H
#define NODE_LIMIT_WATCH_H

/* warden - jobs that leave their GPUs idle, or take more of a shared one than they were given
 *
 * By the rules of the configuration (core/health/watch_rules.h). Idle: warned, warned again half
 * way, then requeued or cancelled; whoever does something in between begins anew. Memory, where
 * neither MIG nor MPS bounds it: warned at once, ended when it goes on past the grace, as out of
 * memory. Who is stopped is told the numbers; a neighbour never is. Warnings are events: a restart
 * forgets none.
 */

#include "core/health/tally.h"
#include "core/node_port.h"
#include "core/state/state.h"

/* What a job has on one device now, for as long as the devices are as they are. */
struct warden_hold {
    uint64_t job;
    uint32_t attempt, device;
    int64_t memory_mib, given_mib; /* -1: not known */
    bool is_enforced;              /* the device refuses more by itself */
};

struct warden_over {
    uint64_t job;
    uint32_t device;
    usec_t since;
    bool is_seen;
};

struct warden {
    const struct node_port *port;
    const struct tally *tally;
    LIST(struct warden_over) over; /* who has too much, since when */
};

/* Look at one job that runs. */
void warden_look_idle(struct warden *warden, const struct job *job, usec_t now);
/* Look at all that is held; times as of one clock. */
void warden_look_memory(struct warden *warden, const struct warden_hold *holds, size_t count,
                        usec_t now);
void warden_release(struct warden *warden);

#endif
