/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEVICE_WATCH_H
#define CORE_DEVICE_WATCH_H

/* device_watch - the port through which views and exporters read the condition of the devices
 *
 * What is behind the pointers is good until the next turn of the loop.
 */

#include "core/health/health.h"
#include "core/health/usage.h"
#include "core/probe.h"

enum { WATCH_XIDS_MAX = 16, WATCH_FOREIGN_MAX = 4, WATCH_NAME_SIZE = 20 };

/* How often a driver reported something of a device, since the daemon runs. */
struct watch_xid {
    uint32_t xid;
    uint64_t count;
};

/* Once more; what is new when WATCH_XIDS_MAX are known is not counted. */
void watch_count_xid(struct watch_xid *xids, uint32_t *count, uint32_t xid);

/* Used on a device, and none of these processes has it, in MiB; -1: not known. */
int64_t watch_unowned(const struct reading *reading, const struct probe_process *processes,
                      uint32_t count);

/* A process that was not started here. */
struct watch_foreign {
    uint32_t pid;
    int64_t memory_mib;
    char name[WATCH_NAME_SIZE]; /* of its program; "": not known */
};

struct watch_device {
    struct reading reading; /* at: when it was taken, journal time; 0: never */
    usec_t age;             /* of it */
    usec_t silent;          /* the device has not answered for so long */
    const char *trouble;    /* why it said nothing the last time, or NULL */
    const struct health *health;
    const struct probe_process *processes;
    uint32_t process_count;
    bool has_processes;                              /* else its processes are not known */
    int64_t foreign_mib;                             /* of processes that were not started here, */
    uint32_t foreign_count;                          /* of so many */
    struct watch_foreign foreign[WATCH_FOREIGN_MAX]; /* the largest users first */
    uint64_t askings, failures;                      /* since the daemon runs */
    usec_t took;                                     /* the last time, in the driver */
    struct watch_xid xids[WATCH_XIDS_MAX];
    uint32_t xid_count;
};

/* Whether its reading says how it is now; one that failed, or hangs, only how it was. */
static inline bool watch_is_fresh(const struct watch_device *device)
{
    return device->reading.at > 0 && !device->trouble &&
           device->silent < HEALTH_SILENT_S * USEC_PER_SEC;
}

struct watch;

struct watch_ops {
    /* False: nothing is known of this device (its number in the state). */
    bool (*device)(const struct watch *watch, uint32_t device, struct watch_device *ret);
    /* What a job that runs did so far; NULL: nothing is known. */
    const struct usage *(*usage)(const struct watch *watch, uint64_t job, uint32_t attempt);
    struct probe_link (*link)(const struct watch *watch, uint32_t a, uint32_t b);
};

struct watch {
    const struct watch_ops *ops;
};

#endif
