/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_EXPLAIN_ADVICE_H
#define SCHED_EXPLAIN_ADVICE_H

/* advise - what would make a waiting job start sooner
 *
 * Each advice was tried: the changed request was placed on what is free now, beside the promises
 * that others hold, within the limits of its queue; or it was put through the estimate. Nothing
 * is changed by asking. One thing is changed at a time.
 */

#include "sched/questions.h"

enum advice_kind {
    ADVICE_GPUS,   /* fewer of them: request */
    ADVICE_LIMIT,  /* a shorter time limit, which ends before what is promised to others */
    ADVICE_MODEL,  /* another model: request */
    ADVICE_NODES,  /* fewer machines: request */
    ADVICE_CPUS,   /* fewer of them */
    ADVICE_MEMORY, /* less of it */
    ADVICE_POOL,   /* another pool, or any: request */
    ADVICE_QUEUE,  /* another queue */
};

struct advice {
    enum advice_kind kind;
    bool is_now;  /* it would start at once */
    usec_t start; /* else about then */
    struct request request;
    uint32_t queue;
    usec_t max_duration;
};

enum { ADVICES_MAX = 8 };

/* For a job that is queued. Returns how many there are, the best of each kind. */
size_t sched_advise(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                    struct advice advices[ADVICES_MAX]);

/* When would a job like this, which nobody submitted, start? id, name, user, queue, priority,
 * max_duration and estimate of `like` count. True: at once; ret_estimate is now then. */
bool sched_estimate_like(const struct brain *brain, struct inquiry *inquiry, const struct job *like,
                         const struct request *request, struct start_estimate *ret_estimate);

#endif
