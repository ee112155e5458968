/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_STRAGGLER_H
#define CORE_HEALTH_STRAGGLER_H

/* straggler - which device of a job holds up the others
 *
 * By its clock: of the devices that were busy, the one whose clock is below STRAGGLER_CLOCK percent
 * of the mean of the others. By its use: the one that is busy for less than half of the time of the
 * next idler one, while that is busy. Where members do different things (roles), or have parts of
 * devices only, use says nothing, and is not looked at.
 */

#include "core/health/usage.h"

enum {
    STRAGGLER_CLOCK = 85,                       /* percent of the others' */
    STRAGGLER_USE = 50,                         /* percent of the next one's */
    STRAGGLER_BUSY = READING_RATIO_ONE / 10 * 3 /* which has at least this */
};

enum straggler_of { STRAGGLER_OF_NONE, STRAGGLER_OF_CLOCK, STRAGGLER_OF_USE };

struct straggler_ask {
    const struct usage *usage;
    bool is_lately; /* as it is now, not over the whole run */
    bool are_alike; /* its members do the same, each with whole devices */
};

struct straggler {
    enum straggler_of of;        /* NONE: there is no straggler, and nothing else holds */
    const struct usage_gpu *gpu; /* of the usage that was asked about */
    int64_t its, others;         /* MHz; parts of time in millionths */
};

struct straggler straggler_find(const struct straggler_ask *ask);

const char *straggler_of_name(enum straggler_of of); /* "clock", "use" */

#endif
