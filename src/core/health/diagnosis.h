/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_DIAGNOSIS_H
#define CORE_HEALTH_DIAGNOSIS_H

/* diagnosis - what the readings of a job say about how well it ran, with the numbers that say it
 *
 * Rules of thumb over means of the whole run (the list is diagnosis.def). Nothing is said of a job
 * that was watched for less than DIAGNOSIS_LEAST_MS of each device's time. A rule without
 * readings says nothing: what is not known is no fault.
 */

#include "core/health/usage.h"

/* Which device of a job holds up the others
 *
 * By its clock: of the devices that were busy, the one with a clock below STRAGGLER_CLOCK percent
 * of the mean of the others. By its use: the one that is busy for less than half of the time of the
 * next idler one, while that is busy. Where members do different things (roles), or have parts of
 * devices only, use says nothing, and is not looked at.
 */

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

#define DIAGNOSIS(ID, name, seen, advice) DIAGNOSIS_##ID,
enum diagnosis_id {
#include "core/health/diagnosis.def"
    DIAGNOSES,
};
#undef DIAGNOSIS

enum { DIAGNOSIS_LEAST_MS = 60000 };

/* What else is known of the job. */
struct diagnosis_ask {
    const struct usage *usage;
    int64_t run_ms;
    int64_t cpu_ms;    /* that its members used; -1: not known */
    int64_t cpu_milli; /* that they were given, all together */
    bool is_share;     /* it asked for a part of a device */
    bool has_roles;    /* its members do different things */
};

/* An answer: the evidence is in words and in the numbers that they have. */
struct diagnosis {
    enum diagnosis_id id;
    char evidence[120];
};

/* Up to `room`, the worst first; returns how many. */
size_t diagnose(const struct diagnosis_ask *ask, struct diagnosis *ret, size_t room);

const char *diagnosis_name(enum diagnosis_id id);
const char *diagnosis_seen(enum diagnosis_id id);
const char *diagnosis_advice(enum diagnosis_id id);

#endif
