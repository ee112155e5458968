/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_TIME_LIMIT_H
#define SCHED_TIME_LIMIT_H

/* deadline - time limits of running jobs: a heap, earliest first
 *
 * Entries are not removed when a job ends early: the caller checks whether an entry still applies.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/units.h"

struct time_limit {
    usec_t at;
    uint64_t job;
};

struct time_limits {
    LIST(struct time_limit) heap;
};

void time_limit_add(struct time_limits *time_limits, usec_t at, uint64_t job);
usec_t time_limit_first(const struct time_limits *time_limits); /* USEC_NEVER: none */
/* Remove and return the earliest entry if it is due. */
bool time_limit_take(struct time_limits *time_limits, usec_t now, uint64_t *ret_job);
void time_limits_release(struct time_limits *time_limits);

#endif
