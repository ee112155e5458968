/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SCHED_TEXTBOOK_H
#define TESTS_SCHED_TEXTBOOK_H

/* textbook - EASY backfill as the textbooks have it, on random workloads
 *
 * One machine of equal GPUs, one queue, in the order of turns, one promise, a profile of counts.
 */

#include <stdbool.h>

#include "sched/sched.h"

enum { WORKLOADS = 300, JOBS = 60 };

struct work {
    usec_t submitted, limit, runs;
    usec_t behind; /* so long after its submission is its turn */
    uint32_t gpus;
    usec_t start; /* USEC_NEVER: not yet */
};

struct workload {
    struct work works[JOBS];
    uint32_t gpus;
};

struct workload random_workload(uint64_t seed);
/* When something ends or is submitted after now; USEC_NEVER: nothing is. */
usec_t next_time(const struct workload *workload, usec_t now);
uint32_t free_at(const struct workload *workload, usec_t now);
/* When it is free enough for the job, if what runs now ends at its limit. */
usec_t shadow_of(const struct workload *workload, const struct work *head, usec_t now);
/* Sets the starts. */
void run_textbook(struct workload *workload);

#endif
