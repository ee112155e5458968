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

struct deadline {
    usec_t at;
    uint64_t job;
};

struct deadlines {
    LIST(struct deadline) heap;
};

void deadline_add(struct deadlines *deadlines, usec_t at, uint64_t job);
usec_t deadline_first(const struct deadlines *deadlines); /* USEC_NEVER: none */
/* Remove and return the earliest entry if it is due. */
bool deadline_take(struct deadlines *deadlines, usec_t now, uint64_t *ret_job);
void deadlines_release(struct deadlines *deadlines);

#endif
