/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_ADAPT_H
#define SIM_TRACE_ADAPT_H

/* adapt - a trace's jobs made into those of one run
 *
 *   shuffle     sorted by name, then shuffled by the seed
 *   inflate     jobs cloned at random and appended until the GPUs asked for reach that part of the
 *               cluster's; a list that is above it is pruned at random (openb's published
 * procedure) load        jobs drawn at random, with replacement, arriving as a Poisson process
 * whose rate offers that part of the cluster's GPUs; run times are the trace's slices      some
 * consecutive jobs, by their own submit times fit         gangs wider than a machine become members
 * of whole machines
 *
 * Same workload, options and seed: same jobs.
 */

#include "sim/run/experiment.h"

/* slice: -1 for none. Strings of the new workload are those of the old one, which must live as
 * long. ret is empty. */
int adapt_workload(const struct experiment *experiment, const struct workload *from, uint64_t seed,
                   int64_t slice, struct workload *ret, struct error *err);

#endif
