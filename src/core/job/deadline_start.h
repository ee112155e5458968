/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_DEADLINE_START_H
#define CORE_JOB_DEADLINE_START_H

/* deadline_start - on which nodes a job with a deadline may be started now
 *
 * The progress of a job that prefers spot nodes and has a deadline is compared with a straight line
 * from zero at its submission to its whole estimate at the deadline:
 *
 *   line(t) = estimate (t - submitted) / (deadline - submitted)
 *
 * Ahead of the line, the job waits for spot nodes; on the line or behind it, it takes any node,
 * spot first; once the remaining work and one restart would only just be done in time, it no longer
 * takes spot nodes. "Uniform progress": Wu and others, Can't Be Late, NSDI 2024.
 */

#include "core/job/request.h"

struct progress {
    usec_t submitted, deadline; /* deadline after submitted */
    usec_t estimate;            /* above 0 */
    usec_t attained;            /* run time so far that counts towards the estimate */
    usec_t restart_cost;
};

/* ret_until: when the answer changes; USEC_NEVER: it does not. */
enum spot_rule progress_rule(const struct progress *progress, usec_t now, usec_t *ret_until);

#endif
