/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_TALLY_H
#define CORE_HEALTH_TALLY_H

/* tally - who used what of a device, added up while jobs run (usage.h)
 *
 * Told what a device said over a stretch of time, and who held it. One holder has all of it. Of
 * several each has the part that its processes' use was of all use; when the driver does not tell
 * them apart, or nobody did anything, equal parts. So the parts always sum up to the device's own
 * reading. Memory is what each one's processes have, never guessed.
 */

#include "base/map.h"
#include "base/mem.h"
#include "core/health/usage.h"

/* What a holder's own processes did. */
struct tally_part {
    uint64_t job;
    uint32_t attempt, rank;
    int64_t use;        /* millionths; -1: not known */
    int64_t memory_mib; /* -1: not known */
};

struct tally_ask {
    uint32_t device;
    const struct reading *now;
    const struct reading *before; /* of the time before, for counters; NULL: there is none */
    int64_t ms;                   /* between them */
    const struct tally_part *parts;
    uint32_t count;
};

struct tally_job;

struct tally {
    LIST(struct tally_job *) jobs;
    struct map by_id; /* -> place plus one */
};

void tally_add(struct tally *tally, const struct tally_ask *ask);
/* What is known so far; NULL: nothing. Good until the next call. */
const struct usage *tally_look(const struct tally *tally, uint64_t job, uint32_t attempt);
/* For how long none of its devices has done anything; 0: one did, or nothing is known. */
int64_t tally_idle_ms(const struct tally *tally, uint64_t job);
void tally_forget(struct tally *tally, uint64_t job);
void tally_release(struct tally *tally);

#endif
