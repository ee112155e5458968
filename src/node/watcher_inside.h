/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_WATCHER_INSIDE_H
#define NODE_WATCHER_INSIDE_H

/* watcher_inside - what the watcher's own files share */

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
    bool is_ours;
    struct member_id id;
    usec_t asked;
};

struct watched {
    uint32_t device; /* its number in the state; UINT32_MAX: it is not there */
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
    LIST(struct limit_hold) holds; /* by the last reading */
    struct health health;
    struct watch_xid xids[WATCH_XIDS_MAX];
    uint32_t xid_count;
    struct probe_link *links; /* to each */
    struct handover handover;
    uint32_t checks;                  /* health commands that run */
    char checked[WATCHER_WORDS_SIZE]; /* what the last that failed said */
    bool was_reset;                   /* that was asked for since the last job */
    bool has_left;                    /* something of a job that is over is there */
    bool is_remote;                   /* its node reports readings by itself; nothing is asked */
};

/* What a job holds, as it was seen last. */
struct held_job {
    uint64_t id;
    uint32_t attempt;
    uint32_t *devices;
    uint32_t count;
};

struct watcher {
    struct watch watch;
    struct watcher_options options;
    struct sampler *sampler;
    struct watched *devices;
    uint32_t device_count;
    struct tally tally;
    struct limit_watch limits;
    LIST(struct held_job) held; /* jobs that hold devices */
    struct health_commands *commands;
    uv_timer_t timer, soon;
    uv_async_t wake;
    unsigned closing;
};

const struct state *watcher_state(const struct watcher *watcher);
/* To which member a process belongs. What only its environment says is believed when its user is
 * the one that the job runs as. */
bool watcher_member(const struct watcher *watcher, uint32_t pid, struct member_id *ret);
const struct known_process *watcher_owner(struct watcher *watcher, struct watched *watched,
                                          uint32_t pid);
struct watched *watcher_find(const struct watcher *watcher, uint32_t device);
/* Used, and no process has it, in MiB; -1: not known. */
int64_t watcher_unowned(const struct watched *watched);
/* The name of a process' program, of WATCH_NAME_SIZE; false: it is not there. */
bool watcher_name(uint32_t pid, char *ret);
/* What the journal does not know yet; false: nothing. sick: WATCHER_WORDS_SIZE bytes that live as
 * long as the event. */
bool watcher_news(struct watcher *watcher, struct watched *watched, char *sick, struct event *ret);
/* Tell the journal when it differs from what that knows. */
void watcher_report(struct watcher *watcher, struct watched *watched);

/* Ask its driver now. */
void watcher_ask(struct watcher *watcher, const struct watched *watched);

/* watcher_handover.c */
void watcher_hold(struct watcher *watcher, const struct job *job);
/* Look for what is left of a job that is over, by what the device said last, and ask for its usual
 * compute mode where that is another. Sets has_left. */
void watcher_examine(struct watcher *watcher, struct watched *watched);
/* After each look: it may be given on, or is looked at again. */
void watcher_hand_over(struct watcher *watcher, struct watched *watched);

#endif
