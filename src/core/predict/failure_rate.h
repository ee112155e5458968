/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PREDICT_FAILURE_RATE_H
#define CORE_PREDICT_FAILURE_RATE_H

/* failure_rate - how long nodes run until something interrupts the jobs on them
 *
 * Counted separately for spot nodes and for all others: the time that nodes were up, summed over
 * them, and how often one went down or gave notice of an interruption. The prior is one
 * interruption in MTBF_PRIOR (MTBF_PRIOR_SPOT):
 *
 *   M = (prior + node time) / (1 + interruptions)
 *
 * Interruptions of several nodes add up: 1/M of a gang is the sum of 1/M of its nodes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

#define MTBF_PRIOR      (30 * USEC_PER_DAY)
#define MTBF_PRIOR_SPOT (USEC_PER_DAY / 2)

enum mtbf_kind { MTBF_OWN, MTBF_SPOT, MTBF_KINDS };

struct mtbf {
    usec_t time[MTBF_KINDS]; /* of all nodes, while they were up */
    usec_t at;               /* the time up to which it is counted */
    uint32_t up[MTBF_KINDS]; /* nodes that have been up since then */
    uint32_t interruptions[MTBF_KINDS];
};

/* Count the time of the nodes that are up; call it before their number changes. */
void mtbf_advance(struct mtbf *mtbf, usec_t now);

/* Of one node. */
usec_t mtbf_of(const struct mtbf *mtbf, enum mtbf_kind kind, usec_t now);
/* Of a gang on this many nodes of each kind; at least one in all. */
usec_t mtbf_of_gang(const struct mtbf *mtbf, const uint32_t counts[MTBF_KINDS], usec_t now);

#endif
