/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_TALLY_H
#define CORE_HEALTH_TALLY_H

/* tally - device usage of running jobs, summed up by job (usage.h)
 *
 * Input: the readings of a device over an interval, and the jobs that hold it. A single holder gets
 * all of the usage. Several holders share it in proportion to the use of their processes; if the
 * driver does not report use by process, or there was none, in equal parts. The parts always sum up
 * to the device's own reading. Memory is that of a job's own processes and is never estimated.
 */

#include "base/map.h"
#include "base/mem.h"
#include "core/health/usage.h"

/* The usage of one holder's processes. */
struct tally_part {
    uint64_t job;
    uint32_t attempt, rank;
    int64_t use;        /* millionths; -1: not known */
    int64_t memory_mib; /* -1: not known */
};

struct tally_ask {
    uint32_t device;
    const struct reading *now;
    const struct reading *before; /* the previous reading, for counters; NULL: none */
    int64_t ms;                   /* between the two */
    const struct tally_part *parts;
    uint32_t count;
};

struct tally_job;

struct tally {
    LIST(struct tally_job *) jobs;
    struct map by_id; /* -> place, plus one */
};

void tally_add(struct tally *tally, const struct tally_ask *ask);
/* Go on from the usage that was reported before a restart. */
void tally_restore(struct tally *tally, uint64_t job, uint32_t attempt, const struct usage *usage);
/* Whether the usage has grown so much since it was reported that it should be again; then it counts
 * as reported. */
bool tally_is_due(struct tally *tally, uint64_t job);
/* The usage so far; NULL: none. Valid until the next call. */
const struct usage *tally_look(const struct tally *tally, uint64_t job, uint32_t attempt);
/* How long all devices of a job have been idle; 0: one is busy, or nothing is known. */
int64_t tally_idle_ms(const struct tally *tally, uint64_t job);
void tally_forget(struct tally *tally, uint64_t job);
void tally_release(struct tally *tally);

#endif
