/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_RESUBMIT_H
#define CONTROL_RESUBMIT_H

/* resubmit - replaces a waiting job by one with another request, queue or time limit, as its user
 * would
 *
 * It is for hypothetical questions: the new job has no place in an array or a pipeline. Call it
 * inside a change. Refused where the user may not submit such a job, or it could never run.
 */

#include "control/control.h"

struct resubmission {
    const struct job *job;
    const struct request *request;
    uint32_t queue;
    usec_t max_duration;
};

int resubmit(const struct control *control, const struct resubmission *wish, uint64_t *ret_id,
             struct error *err);

#endif
