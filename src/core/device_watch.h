/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEVICE_WATCH_H
#define CORE_DEVICE_WATCH_H

/* device_watch - the port through which views and exporters read the condition of the devices
 *
 * Data behind the pointers are valid until the next turn of the loop.
 */

#include "core/health/health.h"
#include "core/health/usage.h"
#include "core/probe.h"

enum {
    WATCH_XIDS_MAX = 16,
    WATCH_FOREIGN_MAX = 4,
    WATCH_NAME_SIZE = 20,
    WATCH_STEP_SIZE = 16,
    WATCH_POD_SIZE = 64,
};

/* How often the driver has reported an XID of a device since the start of the daemon. */
struct watch_xid {
    uint32_t xid;
    uint64_t count;
};

/* Count an XID; when WATCH_XIDS_MAX are known, new ones are not counted. */
void watch_count_xid(struct watch_xid *xids, uint32_t *count, uint32_t xid);

/* Used memory of a device that none of these processes holds, in MiB; -1: not known. */
int64_t watch_unowned(const struct reading *reading, const struct probe_process *processes,
                      uint32_t count);

/* A foreign process: tarn did not start it. */
struct watch_foreign {
    uint32_t pid;
    int64_t memory_mib;
    char name[WATCH_NAME_SIZE]; /* of its program; "": not known */
};

/* The Slurm job of a process. */
struct watch_slurm {
    uint32_t job;
    char step[WATCH_STEP_SIZE]; /* "0", "batch", "extern" ...; "": not known */
};

struct watch_device {
    struct reading reading; /* at: when it was taken, journal time; 0: never */
    usec_t age;             /* of the reading */
    usec_t silent;          /* how long the device has not answered */
    const char *trouble;    /* why the last reading failed, or NULL */
    const struct health *health;
    const struct probe_process *processes;
    uint32_t process_count;
    bool has_processes;     /* false: its processes are not known */
    bool has_owners;        /* has_processes, and it is known which of them are foreign */
    int64_t foreign_mib;    /* memory of foreign processes */
    uint32_t foreign_count; /* number of foreign processes */
    struct watch_foreign foreign[WATCH_FOREIGN_MAX]; /* the largest users first */
    uint64_t askings, failures;                      /* readings and failures since the start */
    usec_t took;                                     /* time of the last reading in the driver */
    struct watch_xid xids[WATCH_XIDS_MAX];
    uint32_t xid_count;
};

/* Whether the reading is current; false if the device hangs or the last reading failed. */
static inline bool watch_is_fresh(const struct watch_device *device)
{
    return device->reading.at > 0 && !device->trouble &&
           device->silent < HEALTH_SILENT_S * USEC_PER_SEC;
}

struct watch;

struct watch_ops {
    /* False: nothing is known about this device (its number in the state). */
    bool (*device)(const struct watch *watch, uint32_t device, struct watch_device *ret);
    /* The usage of a running job so far; NULL: not known. */
    const struct usage *(*usage)(const struct watch *watch, uint64_t job, uint32_t attempt);
    struct probe_link (*link)(const struct watch *watch, uint32_t a, uint32_t b);
    /* False: a process of this machine belongs to no Slurm job. NULL: not known. */
    bool (*slurm)(const struct watch *watch, uint32_t pid, struct watch_slurm *ret);
    /* The UID of the Kubernetes pod that has a device; false: none. NULL: not known. */
    bool (*pod)(const struct watch *watch, uint32_t device, char ret[WATCH_POD_SIZE]);
};

struct watch {
    const struct watch_ops *ops;
};

#endif
