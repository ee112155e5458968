/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_USAGE_H
#define CORE_HEALTH_USAGE_H

/* usage - how a job used the devices that it held, as sums of readings over time
 *
 * A device's time counts for the job that holds it. On a shared device, a job is charged with what
 * its own processes did where the driver reports it by process (use, memory); other values (power)
 * are divided in proportion to use, or in equal parts if the device is idle, so that the jobs of a
 * device sum up to the device's own reading. Sums are integers: many small steps add up to the same
 * as one large one.
 *
 * Means are over device-time: two GPUs for an hour, one of them idle, have a mean of half.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/record.h"
#include "base/units.h"
#include "core/health/reading.h"

enum usage_kind {
    USAGE_GPU,    /* a ratio in millionths; so are the next four */
    USAGE_SM,     /* multiprocessors that had work */
    USAGE_TENSOR, /* tensor cores */
    USAGE_FP32,
    USAGE_DRAM,   /* of the memory's bandwidth */
    USAGE_MEMORY, /* MiB */
    USAGE_LINKS,  /* MiB per second over NVLink and PCIe */
    USAGE_POWER,  /* milliwatts */
    USAGE_KINDS,
};

struct usage_sum {
    int64_t sum; /* value x ms */
    int64_t ms;  /* device-time in which it was read; 0: it never was */
    int64_t peak;
};

/* One device of a job. */
struct usage_gpu {
    uint32_t device; /* number in the state */
    uint32_t rank;
    int64_t watched_ms;
    int64_t use;        /* mean, in millionths */
    int64_t memory_mib; /* peak */
    int64_t clock_mhz;  /* mean while it was busy; 0: not known */
    /* In the last half minute or so; only of running jobs. */
    int64_t use_lately;       /* -1: not known */
    int64_t clock_lately_mhz; /* 0: not known, or not busy */
};

struct usage {
    struct usage_sum sums[USAGE_KINDS];
    uint32_t sums_count; /* USAGE_KINDS */
    int64_t watched_ms;  /* device-time in which it was watched */
    int64_t low_ms;      /* the part of it in which use was below 10 % */
    int64_t swings;      /* how often use rose from below 10 % to above */
    int64_t energy_mj;
    int64_t idle_ms;        /* the latest period in which all its devices were idle */
    int64_t device_mib;     /* memory of its largest device; 0: not known */
    struct usage_gpu *gpus; /* at most USAGE_GPUS_MAX */
    uint32_t gpus_count;
};

enum { USAGE_GPUS_MAX = 64, USAGE_LOW = READING_RATIO_ONE / 10 };

extern const struct record_type usage_record;

/* One block of memory, including gpus. */
struct usage *usage_copy(const struct usage *usage);
void usage_destroy(struct usage *usage); /* NULL is fine */

void usage_add(struct usage_sum *sum, int64_t value, int64_t ms);
/* PROBE_UNKNOWN (-1): it was never read. */
int64_t usage_mean(const struct usage *usage, enum usage_kind kind);
int64_t usage_peak(const struct usage *usage, enum usage_kind kind);

#endif
