/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_FRAGMENT_H
#define SIM_RUN_FRAGMENT_H

/* fragment - idle GPU that typical jobs cannot use
 *
 * As FGD defines it: the typical jobs are the most frequent shapes that make up 95 % of the jobs,
 * with their frequencies. On a machine where such a job cannot run (no CPU, too few GPUs, a wrong
 * model), and for a job without GPUs, all idle GPU is a fragment; else the idle part of GPUs with
 * less than the job's share. The sum over machines, weighted, is in percent of the cluster's GPUs.
 */

#include <stdint.h>

#include "core/state/state.h"
#include "sim/trace/workload.h"

struct fragment;

struct fragment *fragment_create(const struct state *state, const struct workload *workload);
void fragment_destroy(struct fragment *fragment); /* NULL is fine */

/* All outputs may be NULL: percent; wholly free GPUs on one node; in all. */
void fragment_look(struct fragment *fragment, double *ret_percent, uint32_t *ret_largest_node,
                   uint32_t *ret_free_whole);

#endif
