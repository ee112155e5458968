/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_ADAPT_H
#define SIM_TRACE_ADAPT_H

/* adapt - derives the jobs of one run from those of a trace
 *
 *   shuffle     sorted by name, then shuffled by the seed
 *   inflate     clones random jobs until the requested GPUs reach the stated part of the cluster;
 *               removes random jobs if there are too many (openb's published procedure)
 *   load        draws jobs at random, with replacement, as a Poisson process whose rate offers the
 *               stated part of the cluster's GPUs; keeps the run times of the trace
 *   slices      takes consecutive jobs, with their own submit times
 *   fit         splits gangs that do not fit on one node into members of whole nodes
 *
 * The same workload, options and seed give the same jobs.
 */

#include "sim/run/experiment.h"

/* slice: -1 for none. The new workload uses the strings of the old one, which must outlive it. *ret
 * must be empty. */
int adapt_workload(const struct experiment *experiment, const struct workload *from, uint64_t seed,
                   int64_t slice, struct workload *ret, struct error *err);

#endif
