/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_BENCH_CLUSTER_H
#define TOOLS_BENCH_CLUSTER_H

/* cluster - a brain with many machines and jobs as openb's pods, for benches and tests of growth
 *
 * The machines are put into the state at once, as a snapshot would: 100,000 events that each
 * measure the whole cluster anew are not what is measured. All draws follow from one seed.
 *
 * On failure: the program ends with a message.
 */

#include <stdint.h>

#include "base/mem.h"
#include "core/state/state.h"
#include "sched/sched.h"

struct cluster {
    struct state *state;
    struct brain *brain;
    struct decisions decisions;
    usec_t now;
    uint64_t seed;
    uint64_t turned_away;
    usec_t limit; /* time limit of jobs that are submitted */
    LIST(uint64_t) running;
};

/* count nodes; with plans, placement sfg, and a promise for one job. */
void cluster_make(struct cluster *cluster, uint32_t count);
void cluster_release(struct cluster *cluster);
uint32_t cluster_dice(struct cluster *cluster, uint32_t below);
/* Fold an event, now. */
void cluster_tell(struct cluster *cluster, const struct event *event);
/* A job as openb's pods; returns its number. */
uint64_t cluster_submit(struct cluster *cluster);
/* It starts, ends and is forgotten. */
void cluster_end(struct cluster *cluster, uint64_t id);
/* Whatever the plan granted runs. */
void cluster_plan(struct cluster *cluster);
/* A job that found no room goes away, so that each plan is one decision. */
void cluster_turn_away(struct cluster *cluster);
/* Until so many percent of the GPUs are allocated. */
void cluster_fill(struct cluster *cluster, int percent);

#endif
