/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_EXPLAIN_WANTED_NODES_H
#define SCHED_EXPLAIN_WANTED_NODES_H

/* scale - which machines more would let waiting jobs start, and which could go
 *
 * Waiting jobs, by GPUs, CPUs and memory (most first), age and id, are poured into what will be
 * free when a machine of a type would be there (free now, or held by jobs that are expected to end
 * by then), and those that find no room into the cheapest machines that could be had, first fit.
 * A job counts when it has waited for at least the type's boot time and its queue and user may
 * have more. Types are looked at from the cheapest hour on; a job counts once.
 *
 * A machine may go when nobody has held anything on it for its type's idle time, it was given
 * no waiting job above, and none of its type is wanted.
 *
 * It is advice: nothing is decided here. Shape after Karpenter; policies 2.12.
 *
 * Limits: the first SCALE_JOBS_MAX jobs; quotas are checked against what is held now and what jobs
 *         of the same queue were poured before
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/units.h"

enum { SCALE_JOBS_MAX = 1024, SCALE_TOLD_MAX = 32 };

struct brain;
struct inquiry;

struct scale_wish {
    uint32_t type; /* number of the node type */
    bool is_spot;
    uint32_t count;
    uint32_t jobs;       /* that could start on them */
    uint64_t first_job;  /* one of them */
    int64_t price_micro; /* of all of them, an hour */
    usec_t saved; /* wait of the first SCALE_TOLD_MAX of them, together; USEC_NEVER: no end */
};

struct scale_plan {
    LIST(struct scale_wish) wishes;
    LIST(uint32_t) may_go;       /* numbers of nodes */
    LIST(uint64_t) unblocked;    /* jobs, each with the wish at the same place */
    LIST(uint32_t) unblocked_by; /* numbers of wishes */
};

/* now: the latest event, or later. */
void sched_scale(const struct brain *brain, struct inquiry *inquiry, usec_t now,
                 struct scale_plan *ret);
void scale_release(struct scale_plan *plan);

#endif
