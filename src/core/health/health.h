/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_HEALTH_H
#define CORE_HEALTH_HEALTH_H

/* health - whether a device may be allocated, by its readings and the reports of its driver
 *
 * A device has a set of faults. A fault either clears when the readings are normal again (heat, a
 * link), or lasts until the device is reset. A reset shows in the readings (a restarted driver
 * counts from 0), or an administrator declares it. fault.def lists which faults keep a device
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
    HARM_NONE,  /* jobs on it continue */
    HARM_LEAVE, /* it still works: jobs that save their work go elsewhere */
    HARM_DIE,   /* no job can continue there */
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
    HEALTH_SILENT_S = 10,     /* a device silent for this long is not allocated */
    HEALTH_HOT_S = 120,       /* this long above its limit */
    HEALTH_SLOW_S = 600,      /* this long slowed down by the hardware */
    HEALTH_ECC_STORM = 1000,  /* corrected errors in ten minutes */
    HEALTH_LINK_ERRORS = 10,  /* replays and recoveries in ten minutes */
    HEALTH_HOT_MARGIN = 5000, /* millidegrees below the limit */
    HEALTH_HOT_ANY = 90000,   /* if the device states no limit */
    HEALTH_FOREIGN_MIB = 64,  /* less may be the driver's own */
    HEALTH_LEFT_S = 10,       /* leftovers of a job are still there this long after it */
    HEALTH_LEFT_MIB = 512,    /* less memory beyond the usual without jobs is ignored */
    HEALTH_CONTEXT_MIB =
        1024, /* used on an idle device without a process: more than a driver's own */
};

struct health {
    uint32_t faults;      /* bit i: fault i is present */
    uint32_t xid;         /* the XID behind the fault; 0: none */
    usec_t since[FAULTS]; /* of present and of pending faults */
    uint32_t pending;     /* bit i: the cause of fault i is seen, but not for long enough yet */
    struct reading first; /* the counters at the first reading, or after a reset */
    struct reading mark;  /* the counters at most ten minutes ago */
    int64_t energy;       /* at the last reading; -1: none */
    uint32_t links_most;  /* the most links that were ever up */
    bool is_known;
};

/* What a judgement is based on. */
struct health_ask {
    usec_t now;
    const struct reading *reading; /* NULL: none */
    int code;                      /* of the last query: -ENODEV, -EIO ... */
    usec_t silent;                 /* how long it has not answered */
    bool is_leased;                /* a job holds at least a part of it */
    int64_t foreign_mib;           /* memory of foreign processes */
    int64_t unowned_mib;           /* memory in use by no process; -1: not known */
    bool has_left;                 /* a job that no longer holds it has left something there */
};

/* Update the faults. Returns the new ones. */
uint32_t health_judge(struct health *health, const struct health_ask *ask);

/* The driver reported this XID; returns the fault that it causes, or FAULTS. */
enum health_fault health_xid(struct health *health, uint32_t xid, usec_t now);

/* The health command failed. */
void health_check_failed(struct health *health, usec_t now);

/* Whether this fault is present or pending. */
bool health_is_seen(const struct health *health, enum health_fault fault);

/* A change of its MIG mode begins, or is over. */
void health_change(struct health *health, bool is_changing, usec_t now);

/* An administrator declares the device healthy: faults that last are cleared. */
void health_clear(struct health *health);

/* The worst present fault that keeps it from being allocated; FAULTS: none. */
enum health_fault health_worst(const struct health *health);

/* The worst harm of the faults that keep it from being allocated. */
enum harm health_harm(const struct health *health);

/* "XID 79: fell off the bus; reboot needed", or the fault's words. */
enum { HEALTH_WORDS_SIZE = 160 };
void health_say(const struct health *health, enum health_fault fault, char *ret, size_t size);
/* Whether the fault was caused by an XID. */
bool health_is_of_xid(const struct health *health, enum health_fault fault);

const char *fault_name(enum health_fault fault);
const char *fault_words(enum health_fault fault);
enum health_severity fault_severity(enum health_fault fault);
bool fault_drains(enum health_fault fault);
uint32_t fault_mask_stays(void); /* bits of the faults that last until a reset */

enum xid_action xid_action(uint32_t xid);
const char *xid_words(uint32_t xid);                 /* "": not known */
const char *xid_action_name(enum xid_action action); /* "restart_app", "reset_gpu" ... */

#endif
