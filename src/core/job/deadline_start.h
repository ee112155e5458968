/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_DEADLINE_START_H
#define CORE_JOB_DEADLINE_START_H

/* deadline_start - on which machines a job with a deadline may be started now
 *
 * A job that prefers spot machines and has a deadline keeps to the straight line from nothing at
 * its submission to all of its estimate at the deadline:
 *
 *   line(t) = estimate (t - submitted) / (deadline - submitted)
 *
 * Above the line it waits for spot machines; on it or behind, it takes what comes, spot first;
 * when what is left, with one restart, would just be done in time, it takes no more risk.
 * "Uniform progress": Wu and others, Can't Be Late, NSDI 2024. Policies 2.11.
 */

#include "core/job/request.h"

struct progress {
    usec_t submitted, deadline; /* deadline after submitted */
    usec_t estimate;            /* above 0 */
    usec_t attained;            /* of it, so far */
    usec_t restart_cost;
};

/* ret_until: when it changes; USEC_NEVER: it stays. */
enum spot_rule progress_rule(const struct progress *progress, usec_t now, usec_t *ret_until);

#endif
