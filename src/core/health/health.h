/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_HEALTH_H
#define CORE_HEALTH_HEALTH_H

/* health - whether a device may be allocated, by its readings and the reports of its driver
 *
 * A device has a set of faults. A fault either clears when the readings are normal again (heat, a
 * link), or lasts until the device is reset. A reset shows in the readings (a driver that starts
 * anew counts from 0), or an administrator declares it. fault.def lists which faults keep a device
 * from being allocated, and their effect on jobs that run there.
 *
 * FAULT(ID, name, severity, DRAINS or TELLS, STAYS or PASSES, harm, words)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/health/reading.h"

/* What a fault of a device does to the jobs on it (core/state/rescue.h). */
enum harm {
    HARM_NONE,  /* jobs on it run on */
    HARM_LEAVE, /* it works yet: those that save their work go elsewhere */
    HARM_DIE,   /* no job can go on there */
    HARMS,
};

enum health_severity { HEALTH_INFO, HEALTH_WARNING, HEALTH_CRITICAL };

#define FAULT(ID, name, severity, effect, end, harm, words) FAULT_##ID,
enum health_fault {
#include "core/health/fault.def"
    FAULTS,
};
#undef FAULT

_Static_assert(FAULTS <= 32, "one bit each");

enum xid_action { XID_NONE, XID_APP, XID_RESET, XID_REBOOT, XID_ASK, XID_SUPPORT };

enum {
    HEALTH_SILENT_S = 10,     /* a device that does not answer for so long is not given out */
    HEALTH_HOT_S = 120,       /* so long above its limit */
    HEALTH_SLOW_S = 600,      /* so long slowed down by the hardware */
    HEALTH_ECC_STORM = 1000,  /* corrected errors in ten minutes */
    HEALTH_LINK_ERRORS = 10,  /* replays and recoveries in ten minutes */
    HEALTH_HOT_MARGIN = 5000, /* millidegrees below the limit */
    HEALTH_HOT_ANY = 90000,   /* where the device says no limit */
    HEALTH_FOREIGN_MIB = 64,  /* less is what a driver needs for itself */
    HEALTH_LEFT_S = 10,       /* what a job left is there for so long after it */
    HEALTH_LEFT_MIB = 512,    /* memory beyond what there was without jobs: less is no news */
    HEALTH_CONTEXT_MIB =
        1024, /* used on an idle device without a process: more than a driver's own */
};

struct health {
    uint32_t faults;      /* bit i: fault i holds */
    uint32_t xid;         /* the one that made a fault of it; 0: none */
    usec_t since[FAULTS]; /* of those that hold, and of pending ones */
    uint32_t pending;     /* bit i: what makes fault i is seen, not for long enough yet */
    struct reading first; /* the counters as they were when it was watched first, or reset */
    struct reading mark;  /* as they were ten minutes ago at the most */
    int64_t energy;       /* when it was asked last; -1: it did not say */
    uint32_t links_most;  /* links that were ever up */
    bool is_known;
};

/* What a judgement goes by. */
struct health_ask {
    usec_t now;
    const struct reading *reading; /* NULL: none */
    int code;                      /* of the last asking: -ENODEV, -EIO ... */
    usec_t silent;                 /* it has not answered for so long */
    bool is_leased;                /* a job holds some of it */
    int64_t foreign_mib;           /* of foreign processes */
    int64_t unowned_mib;           /* used, and no process has it; -1: not known */
    bool has_left;                 /* something of a job that does not hold it any more is there */
};

/* Bring it up to date. Returns the faults that are new. */
uint32_t health_judge(struct health *health, const struct health_ask *ask);

/* The driver reported this; returns the fault that it makes, or FAULTS. */
enum health_fault health_xid(struct health *health, uint32_t xid, usec_t now);

/* The health command failed. */
void health_check_failed(struct health *health, usec_t now);

/* Whether this fault holds, or may after a while. */
bool health_is_seen(const struct health *health, enum health_fault fault);

/* Its MIG mode is about to be changed, or that is over. */
void health_change(struct health *health, bool is_changing, usec_t now);

/* An administrator declares the device healthy: faults that last are cleared. */
void health_clear(struct health *health);

/* Of those that hold, the worst that keeps it from being given out; FAULTS: it may be. */
enum health_fault health_worst(const struct health *health);

/* The worst that the faults which keep it from being given out do to jobs on it. */
enum harm health_harm(const struct health *health);

/* "XID 79: fell off the bus; reboot needed", or the fault's words. */
enum { HEALTH_WORDS_SIZE = 160 };
void health_say(const struct health *health, enum health_fault fault, char *ret, size_t size);
/* Whether the driver's own number stands behind the fault. */
bool health_is_of_xid(const struct health *health, enum health_fault fault);

const char *fault_name(enum health_fault fault);
const char *fault_words(enum health_fault fault);
enum health_severity fault_severity(enum health_fault fault);
bool fault_drains(enum health_fault fault);
uint32_t fault_mask_stays(void); /* bits of those that stay until a reset */

enum xid_action xid_action(uint32_t xid);
const char *xid_words(uint32_t xid);                 /* "" when nothing is known of it */
const char *xid_action_name(enum xid_action action); /* "restart_app", "reset_gpu" ... */

#endif
