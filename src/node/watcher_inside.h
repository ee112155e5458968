/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_WATCHER_INSIDE_H
#define NODE_WATCHER_INSIDE_H

/* watcher_inside - declarations that the watcher's files share */

#include "core/health/handover.h"
#include "core/health/tally.h"
#include "device/sampler.h"
#include "node/health_command.h"
#include "node/limit_watch.h"
#include "node/watcher.h"

enum { WATCHER_WORDS_SIZE = 192 };

/* The member that a process belongs to. Pids are reused, so an entry is valid for a short time. */
struct known_process {
    uint32_t pid;
    bool is_ours;   /* of the job with this ID */
    bool is_server; /* the MPS server of the device, which is no job's */
    struct member_id id;
    usec_t asked;
};

struct watched {
    uint32_t device; /* its number in the state; UINT32_MAX: not in the state */
    char uuid[PROBE_UUID_SIZE];
    struct reading reading, before;
    struct probe_process *processes;
    uint32_t process_count;
    bool has_processes;
    LIST(struct known_process) known;
    int64_t foreign_mib;
    int code;
    struct error err;
    usec_t took;
    uint64_t askings, failures;
    LIST(struct limit_hold) holds; /* according to the last reading */
    struct health health;
    struct watch_xid xids[WATCH_XIDS_MAX];
    uint32_t xid_count;
    struct probe_link *links; /* to each other device */
    struct handover handover;
    uint32_t checks;                  /* number of running health commands */
    char checked[WATCHER_WORDS_SIZE]; /* output of the last one that failed */
    char said[WATCHER_WORDS_SIZE];    /* what the log says of it last; "": that it is well */
    bool was_reset;      /* a reset of its compute mode was requested since the last job */
    bool has_left;       /* leftovers of an ended job are on it */
    usec_t told_at;      /* is_remote: when its node last answered */
    bool is_remote;      /* its node reports the readings; it is not queried here */
    bool is_silent_node; /* is_remote, and its node does not answer: nothing is known now */
};

/* The devices that a job held when it was last seen. */
struct held_job {
    uint64_t id;
    uint32_t attempt;
    uint32_t *devices;
    uint32_t count;
};

/* A job that holds a device, as in struct held_job. */
struct holder {
    uint32_t device;
    uint64_t job;
};

struct watcher {
    struct watch watch;
    struct watcher_options options;
    struct sampler *sampler;
    struct watched *devices;
    uint32_t device_count;
    struct map by_device;     /* its number in the state -> place */
    const struct state *seen; /* whose numbers these are */
    struct tally tally;
    struct limit_watch limits;
    LIST(struct held_job) held;  /* jobs that hold devices */
    LIST(struct holder) holders; /* the same by device, if is_indexed */
    bool is_indexed;
    struct health_commands *commands;
    struct kubelet_devices *kubelet; /* NULL: not asked */
    uv_timer_t timer, soon;
    uv_async_t wake;
    unsigned closing;
};

const struct state *watcher_state(const struct watcher *watcher);
/* The member that a process belongs to. A mark in the environment counts only if the process runs
 * as the job's user. */
bool watcher_member(const struct watcher *watcher, uint32_t pid, struct member_id *ret);
const struct known_process *watcher_owner(struct watcher *watcher, struct watched *watched,
                                          uint32_t pid);
struct watched *watcher_find(const struct watcher *watcher, uint32_t device);
/* Used memory that no process holds, in MiB; -1: not known. */
int64_t watcher_unowned(const struct watched *watched);
/* The name of a process's program, WATCH_NAME_SIZE bytes; false: no such process. */
bool watcher_name(uint32_t pid, char *ret);
/* The event that brings the journal up to date; false: none is needed. sick: WATCHER_WORDS_SIZE
 * bytes that must live as long as the event. */
bool watcher_news(struct watcher *watcher, struct watched *watched, char *sick, struct event *ret);
/* Emit that event, if one is needed. */
void watcher_report(struct watcher *watcher, struct watched *watched);

/* What tarn had on the device between two jobs has ended: read it now, so that a job that waits for
 * the device need not wait for the next look. */
void watcher_look_again(void *watcher, uint32_t device);
/* Read the device now. */
void watcher_ask(struct watcher *watcher, const struct watched *watched);

/* watcher_handover.c */
void watcher_hold(struct watcher *watcher, const struct job *job);
/* Those of the device, in the order of their jobs; valid until a job changes. */
const struct holder *watcher_holders(struct watcher *watcher, uint32_t device, size_t *ret_count);
/* Look for leftovers of an ended job in the last reading, and request the usual compute mode if the
 * mode differs. Sets has_left. */
void watcher_examine(struct watcher *watcher, struct watched *watched);
/* After each reading: hand the device over to the next job, or read it again. */
void watcher_hand_over(struct watcher *watcher, struct watched *watched);

#endif
