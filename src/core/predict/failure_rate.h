/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PREDICT_FAILURE_RATE_H
#define CORE_PREDICT_FAILURE_RATE_H

/* failure_rate - how long machines last until something interrupts what runs on them
 *
 * For those that are ours and for spot ones apart: the time that machines were up, summed over
 * them, and how often one went (down, or with a notice that it will go). One interruption in
 * MTBF_PRIOR (MTBF_PRIOR_SPOT) is taken as seen before anything was:
 *
 *   M = (prior + machine time) / (1 + interruptions)
 *
 * Interruptions of several machines add up: 1/M of a gang is the sum of 1/M of its machines.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

#define MTBF_PRIOR      (30 * USEC_PER_DAY)
#define MTBF_PRIOR_SPOT (USEC_PER_DAY / 2)

enum mtbf_kind { MTBF_OWN, MTBF_SPOT, MTBF_KINDS };

struct mtbf {
    usec_t time[MTBF_KINDS]; /* of all machines, while they were up */
    usec_t at;               /* until when it is counted */
    uint32_t up[MTBF_KINDS]; /* machines that are up since then */
    uint32_t interruptions[MTBF_KINDS];
};

/* Count the time of those that are up until now; before their number changes. */
void mtbf_advance(struct mtbf *mtbf, usec_t now);

/* Of one machine. */
usec_t mtbf_of(const struct mtbf *mtbf, enum mtbf_kind kind, usec_t now);
/* Of a gang on so many machines of each kind; at least one. */
usec_t mtbf_of_gang(const struct mtbf *mtbf, const uint32_t counts[MTBF_KINDS], usec_t now);

#endif
