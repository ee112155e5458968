/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_DIAGNOSIS_H
#define CORE_HEALTH_DIAGNOSIS_H

/* diagnosis - what the readings of a job say about how well it ran, with the numbers that say it
 *
 * Rules of thumb over means of the whole run (the list is diagnosis.def). Nothing is said of a job
 * that was watched for less than DIAGNOSIS_LEAST_MS of each device's time. A rule whose readings
 * were never there says nothing: what is not known is no fault.
 */

#include "core/health/usage.h"

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
