/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_EXPLAIN_WANTED_NODES_H
#define SCHED_EXPLAIN_WANTED_NODES_H

/* wanted_nodes - advice on capacity: nodes that would help waiting jobs, and unneeded ones
 *
 * Waiting jobs, sorted by GPUs, CPUs and memory (most first), age and id, are assigned to what
 * will be free when a node of a type would be there (free now, or held by jobs that are
 * expected to end by then). Jobs without room are assigned to the cheapest nodes that could be
 * added, first fit. A job counts if it has waited for at least the boot time of the type and its
 * queue and user may hold more. Types are considered from the cheapest hour on; a job counts once.
 *
 * A node may go if it was empty for the idle time of its type, no waiting job was assigned to
 * it, and no node of its type is wanted.
 *
 * It is advice: nothing is decided here. The shape is Karpenter's.
 *
 * Limits: the first SCALE_JOBS_MAX jobs; quotas are checked against what is held now and what was
 *         assigned to jobs of the same queue before
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/units.h"

enum { SCALE_JOBS_MAX = 1024, SCALE_TOLD_MAX = 32 };

struct brain;
struct inquiry;

struct scale_wish {
    uint32_t type; /* index of the node type */
    bool is_spot;
    uint32_t count;
    uint32_t jobs;       /* jobs that could start on them */
    uint64_t first_job;  /* one of them */
    int64_t price_micro; /* of all of them, per hour */
    usec_t saved;        /* total wait of the first SCALE_TOLD_MAX jobs; USEC_NEVER: no end */
};

struct scale_plan {
    LIST(struct scale_wish) wishes;
    LIST(uint32_t) may_go;       /* indices of nodes */
    LIST(uint64_t) unblocked;    /* jobs; unblocked_by has the wish of each */
    LIST(uint32_t) unblocked_by; /* indices of wishes */
};

/* Nodes that are not there, but could be had now: each is like the nodes of its kind. */
struct scale_call {
    const uint32_t *nodes; /* indices; all of them are down */
    uint32_t count;
    uint32_t most; /* of them can be had */
};

/* How many of each kind the waiting jobs need: ret_wanted[i] of the nodes that are like nodes[i],
 * and 0 for all of that kind but the first. */
void sched_want_nodes(const struct brain *brain, struct inquiry *inquiry, usec_t now,
                      const struct scale_call *call, uint32_t *ret_wanted);

/* now: the time of the latest event, or later. */
void sched_scale(const struct brain *brain, struct inquiry *inquiry, usec_t now,
                 struct scale_plan *ret);
void scale_release(struct scale_plan *plan);

#endif
