/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_FRAGMENT_H
#define SIM_RUN_FRAGMENT_H

/* fragment - idle GPU capacity that typical jobs cannot use
 *
 * The definition is that of FGD. Typical jobs are the most frequent shapes, which make up 95 % of
 * the jobs, with their frequencies. On a node where such a job cannot run (no CPU, too few GPUs, a
 * wrong model), and for a job without GPUs, all idle GPU capacity is a fragment. Otherwise the
 * fragment is the idle part of GPUs with less than the job's share. The weighted sum over the nodes
 * is in percent of the cluster's GPUs.
 */

#include <stdint.h>

#include "core/state/state.h"
#include "sim/trace/workload.h"

struct fragment;

struct fragment *fragment_create(const struct state *state, const struct workload *workload);
void fragment_destroy(struct fragment *fragment); /* NULL is fine */

/* All outputs may be NULL: percent; wholly free GPUs on one node; wholly free GPUs in total. */
void fragment_look(struct fragment *fragment, double *ret_percent, uint32_t *ret_largest_node,
                   uint32_t *ret_free_whole);

#endif
