/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_FASTER_H
#define SCHED_FASTER_H

/* faster - jobs that leave free GPUs to others, because they end sooner on a model that is busy
 *
 * Only for a job that states its speeds and its run time, has one member and asks for whole GPUs of
 * any model. It leaves what is free if, on a model that it prefers (model_score.h), its wait and
 * run together take at most 3/4 of its run on what is free. The wait is that of a list schedule:
 * GPUs become free at the expected ends of their jobs, and those that left before it in the same
 * plan come first. Of jobs that are alike, all leave or none.
 *
 * It does not wait for ever: once the time is over at which the GPU should have become free when it
 * left first, it takes what is free. So does a job that is urgent or has a deadline, so protected
 * starts stay.
 *
 * Limits: nothing leaves where the busy GPUs may be for others alone: with static pools or
 *         reservations, or if the job has conditions on nodes or names a pool.
 */

#include "base/mem.h"
#include "base/units.h"

struct brain;
struct pending_bucket;
struct why;

/* A GPU that is held, and when it is expected to become free. */
struct faster_gpu {
    usec_t at;
    uint64_t job;
};

/* Those of a model. */
struct faster_line {
    LIST(struct faster_gpu) gpus; /* a heap, the earliest first */
};

/* Its head leaves what is free now: why says what for. A plan is made again when it could start
 * there. */
bool faster_leaves(struct brain *brain, struct pending_bucket *bucket, struct why *ret_why);

#endif
