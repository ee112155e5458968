/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_DIAGNOSIS_H
#define CORE_HEALTH_DIAGNOSIS_H

/* diagnosis - what the readings of a job say about how well it ran, with the numbers as evidence
 *
 * Rules of thumb over means of the whole run (the list is diagnosis.def). There is no diagnosis for
 * a job that was watched for less than DIAGNOSIS_LEAST_MS of each device's time. A rule whose
 * readings are missing does not apply: an unknown value is not a fault.
 */

#include "core/health/usage.h"

/* Which device of a job holds up the others
 *
 * By clock: among the busy devices, the one with a clock below STRAGGLER_CLOCK percent of the mean
 * of the others. By use: the least used device, if its use is less than half of that of the second
 * least used one and the latter is busy. If members do different things (roles) or have only parts
 * of devices, use says nothing and is ignored.
 */

enum {
    STRAGGLER_CLOCK = 85,                       /* percent of the others' */
    STRAGGLER_USE = 50,                         /* percent of the second least used one's */
    STRAGGLER_BUSY = READING_RATIO_ONE / 10 * 3 /* the least use of the latter */
};

enum straggler_of { STRAGGLER_OF_NONE, STRAGGLER_OF_CLOCK, STRAGGLER_OF_USE };

struct straggler_ask {
    const struct usage *usage;
    bool is_lately; /* by recent readings, not over the whole run */
    bool are_alike; /* its members all do the same, each with whole devices */
};

struct straggler {
    enum straggler_of of;        /* NONE: there is no straggler; the rest is not set */
    const struct usage_gpu *gpu; /* of the usage that was asked about */
    int64_t its, others;         /* clock in MHz, or use in millionths */
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

/* The facts that a diagnosis is based on. */
struct diagnosis_ask {
    const struct usage *usage;
    int64_t run_ms;
    int64_t cpu_ms;    /* CPU time of its members; -1: not known */
    int64_t cpu_milli; /* CPUs allocated to all of them together */
    bool is_share;     /* it asked for a part of a device */
    bool has_roles;    /* its members do different things */
};

/* A diagnosis, with its evidence in words and numbers. */
struct diagnosis {
    enum diagnosis_id id;
    char evidence[120];
};

/* Up to `room` diagnoses, the worst first; returns how many. */
size_t diagnose(const struct diagnosis_ask *ask, struct diagnosis *ret, size_t room);

const char *diagnosis_name(enum diagnosis_id id);
const char *diagnosis_seen(enum diagnosis_id id);
const char *diagnosis_advice(enum diagnosis_id id);

#endif
