/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_EXPLAIN_ADVICE_H
#define SCHED_EXPLAIN_ADVICE_H

/* advice - changes of a waiting job that would make it start sooner
 *
 * Each advice was tried: the changed request was placed on what is free now, beside the promises
 * of other jobs and within the limits of its queue, or it was estimated. One thing is changed at a
 * time. Asking changes nothing.
 */

#include "sched/explain/questions.h"

enum advice_kind {
    ADVICE_GPUS,   /* fewer GPUs: request */
    ADVICE_LIMIT,  /* a shorter time limit, which ends before the promises of other jobs */
    ADVICE_MODEL,  /* another model: request */
    ADVICE_NODES,  /* fewer nodes: request */
    ADVICE_CPUS,   /* fewer CPUs */
    ADVICE_MEMORY, /* less memory */
    ADVICE_POOL,   /* another pool, or any: request */
    ADVICE_QUEUE,  /* another queue */
};

struct advice {
    enum advice_kind kind;
    bool is_now;  /* the job would start at once */
    usec_t start; /* else the estimated start */
    struct request request;
    uint32_t queue;
    usec_t max_duration;
};

enum { ADVICES_MAX = 8 };

/* For a queued job. Returns their number; the best of each kind, and of queues as many as there is
 * room for. */
size_t sched_advise(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                    struct advice advices[ADVICES_MAX]);

/* Estimate the start of a hypothetical job: id, name, user, queue, priority, max_duration and
 * estimate of `like` count. True: at once; ret_estimate is now then. */
bool sched_estimate_like(const struct brain *brain, struct inquiry *inquiry, const struct job *like,
                         const struct request *request, struct start_estimate *ret_estimate);

#endif
