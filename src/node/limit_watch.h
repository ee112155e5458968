/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_LIMIT_WATCH_H
#define NODE_LIMIT_WATCH_H

/* limit_watch - jobs that leave their GPUs idle, or use more memory of a shared GPU than allocated
 *
 * The rules are in the configuration (core/health/watch_rules.h). An idle job is warned, warned
 * again halfway, then requeued or cancelled; activity in between resets this. Memory is watched if
 * neither MIG nor MPS limits it: the job is warned at once, and ended as out of memory if it still
 * exceeds its share after the grace period. The reason contains the measured values. Warnings are
 * events, so they survive a restart.
 */

#include "core/health/tally.h"
#include "core/node_port.h"
#include "core/state/state.h"

/* The memory of a job on one device; valid until the devices change. */
struct limit_hold {
    uint64_t job;
    uint32_t attempt, device;
    int64_t memory_mib, given_mib; /* -1: not known */
    bool is_enforced;              /* MIG or MPS enforces the limit */
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
    LIST(struct limit_over) over; /* jobs above their memory limit, and since when */
};

/* Check one running job. */
void limit_watch_idle(struct limit_watch *limits, const struct job *job, usec_t now);
/* Check everything that jobs hold; all times are of one clock. */
void limit_watch_memory(struct limit_watch *limits, const struct limit_hold *holds, size_t count,
                        usec_t now);
void limit_watch_release(struct limit_watch *limits);

#endif
