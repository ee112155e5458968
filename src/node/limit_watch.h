/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_LIMIT_WATCH_H
#define NODE_LIMIT_WATCH_H

/* limit_watch - jobs that leave their GPUs idle, or use more memory of a shared GPU than allocated
 *
 * By the rules of the configuration (core/health/watch_rules.h). Idle: the job is warned, warned
 * again half way, then requeued or cancelled; activity in between resets this. Memory, where
 * neither MIG nor MPS bounds it: the job is warned at once, and ended as out of memory when it
 * goes on past the grace period. A job that is stopped is told the numbers. Warnings are events, so
 * they survive a restart.
 */

#include "core/health/tally.h"
#include "core/node_port.h"
#include "core/state/state.h"

/* What a job has on one device now, for as long as the devices are as they are. */
struct limit_hold {
    uint64_t job;
    uint32_t attempt, device;
    int64_t memory_mib, given_mib; /* -1: not known */
    bool is_enforced;              /* the device refuses more by itself */
};

struct limit_over {
    uint64_t job;
    uint32_t device;
    usec_t since;
    bool is_seen;
};

struct limit_watch {
    const struct node_port *port;
    const struct tally *tally;
    LIST(struct limit_over) over; /* jobs above their memory limit, since when */
};

/* Look at one job that runs. */
void limit_watch_idle(struct limit_watch *limits, const struct job *job, usec_t now);
/* Look at all that is held; times as of one clock. */
void limit_watch_memory(struct limit_watch *limits, const struct limit_hold *holds, size_t count,
                        usec_t now);
void limit_watch_release(struct limit_watch *limits);

#endif
