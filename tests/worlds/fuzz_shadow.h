/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_SHADOW_H
#define WORLDS_FUZZ_SHADOW_H

/* fuzz_shadow - an independent second account of jobs, allocations and nodes
 *
 * Computed from the events alone, by the specification (doc/spec/01, 02, core/cluster/pool.h,
 * core/cluster/mig.h), in the simplest way. It calls neither the state nor the brain, so both
 * accounts must agree. Of core it uses plain values: events, requests, leases.
 *
 * Numbers of machines, devices, pools and queues are the state's: in the order of their first
 * event.
 */

#include "base/arena.h"
#include "base/map.h"
#include "core/job/job.h"
#include "core/state/rescue.h"
#include "core/state/state.h"
#include "worlds/fuzz_quota.h"

enum { SHADOW_SLICES = 8 };

struct shadow_profile {
    const char *name; /* in full: "3g.40gb" */
    const char *brief;
    uint8_t compute, memory; /* slices */
    uint8_t starts;          /* bit i: may begin at memory slice i */
    bool has_media;
};

struct shadow_board {
    const char *model;
    int64_t mib; /* of a device */
    uint8_t compute, memory, profile_count;
    struct shadow_profile profiles[8];
};

struct shadow_node {
    char *name, *rack;
    int64_t cpu_milli, memory_mib; /* that it has */
    int64_t cpu_free, memory_free;
    int64_t price; /* of each of its devices for an hour; 0: that of its model */
    uint8_t state;
    LIST(uint32_t) devices;
};

struct shadow_device {
    char *uuid, *model, *labels;
    uint32_t node, index, island;
    int64_t memory_mib, memory_free;
    int64_t milli_free;
    uint8_t held[SHADOW_SLICES]; /* MIG: instances on each memory slice */
    uint32_t compute, media;     /* MIG: slices and instances */
    const struct shadow_board *board;
    uint32_t owner; /* static pool; 0: shared */
    bool is_sick, is_synthetic, has_mig;
    uint8_t harm; /* enum harm */
};

/* Other sizes while a window is open. -1: not said. */
struct shadow_pool_during {
    uint32_t window;
    int64_t min, max;
};

struct shadow_pool {
    char *name, *queue, *model, *nodes, *labels;
    uint64_t devices;
    uint32_t gpus;
    int64_t min, max, held;     /* milli-GPUs; of min and max those that hold now, */
    int64_t base_min, base_max; /* and while no window is open */
    LIST(struct shadow_pool_during) during;
    bool is_static, is_removed;
};

struct shadow_group {
    uint64_t id, last, parent;
    uint32_t max_running, jobs, started, active, ended, bad;
};

struct shadow_need {
    uint64_t on;
    uint8_t kind;
};

struct shadow_job {
    uint64_t id, group;
    uint32_t request; /* number of its shape */
    uint32_t queue;
    uint32_t kind; /* number of its shape in its queue */
    int32_t priority;
    char *user;
    uint32_t gid;
    usec_t begin, max_duration, estimate, deadline, restart_cost;
    usec_t grace, checkpoint_every;
    uint32_t tariff_most; /* of the factor, plus one; 0: any */
    int64_t rate;         /* what it holds costs so much an hour; */
    wide_t cost;          /* so far, in parts of a millionth (shadow_parts) */
    usec_t submitted, granted, started, queued;
    usec_t granted_for; /* its limit then */
    uint32_t retry_max, retries, preemptions, attempt;
    LIST(struct shadow_need) needs; /* open ones */
    uint32_t needs_left, needs_expected;
    uint8_t state, result, stop_cause;
    bool goes_on;    /* without lost members */
    bool is_awaited; /* jobs of other queues were stopped for it, and it has not started since */
    bool is_held, is_preemptible, no_requeue, is_cancel_wanted, is_requeue_wanted;
    struct job_end end;
    struct lease *lease;
    uint8_t *member_states;
    uint32_t *ranks; /* of the members that are left */
    uint32_t members_started, members_ended;
    struct shadow_job *next, *previous; /* of all that are queued, by id */
    usec_t promised;                    /* the earliest start that it was promised; 0: none */
    uint64_t stopped_for;               /* preempted: for this job */
    uint64_t stopped_in; /* the plan that stopped it for another queue; 0: none did */
    uint32_t moves, rescues;
    uint8_t rescued_harm;   /* enum harm, of the device that it was stopped to leave */
    usec_t moved;           /* when it was moved last; 0: never */
    uint64_t moved_under;   /* shadow.changes then, of one that is to go on; 0: it does */
    uint64_t awaited_under; /* the same of one for which others are moved */
    int64_t work;           /* seconds of the whole cluster that it takes at most, in millionths */
};

struct shadow {
    usec_t now;
    uint64_t next_id;
    struct settings settings;
    LIST(struct shadow_node) nodes;
    LIST(struct shadow_device) devices;
    LIST(struct shadow_queue) queues;
    LIST(struct shadow_payer) payers;
    LIST(char *) resources; /* names */
    int64_t prices[SHADOW_RESOURCES];
    struct shadow_times times;
    LIST(struct shadow_pool) pools;
    LIST(struct shadow_job *) jobs;     /* by id; NULL: none */
    LIST(struct shadow_group *) groups; /* by id; NULL: none */
    LIST(struct request) requests;      /* shapes, without a time limit */
    struct arena roles;                 /* of these, and their conditions */
    struct map request_numbers;         /* hash -> number plus one */
    struct map kind_numbers;            /* request and queue -> number; so many there are */
    LIST(uint64_t) needers;             /* jobs with open needs */
    LIST(uint64_t) active;              /* jobs that hold resources */
    LIST(uint64_t) waiting;             /* that are waiting: for needs, or their begin time */
    struct shadow_job *first_queued, *last_queued;
    uint32_t job_counts[JOB_STATE_COUNT];
    bool has_predicted;      /* at any time */
    uint64_t plans;          /* so far */
    usec_t planned;          /* when the last one was */
    uint64_t changes;        /* of machines, queues, settings, so far */
    struct moves moved;      /* what moves lost in the hour that runs */
    uint64_t more_room;      /* counts up whenever something may fit that did not before */
    int64_t work, work_most; /* of all that are not over: now, and ever */
};

struct shadow *shadow_create(void);
void shadow_destroy(struct shadow *shadow); /* NULL is fine */

/* Whether this event may be sent now: what an API refuses is not told to a brain. */
bool shadow_accepts(const struct shadow *shadow, const struct event *event);
/* Also of decisions. */
void shadow_apply(struct shadow *shadow, const struct event *event);

struct shadow_job *shadow_job(const struct shadow *shadow, uint64_t id);     /* NULL: none */
struct shadow_group *shadow_group(const struct shadow *shadow, uint64_t id); /* NULL: none */
int64_t shadow_find_node(const struct shadow *shadow, const char *name);     /* -1: none */
int64_t shadow_find_queue(const struct shadow *shadow, const char *name);    /* -1: none */
int64_t shadow_find_pool(const struct shadow *shadow, const char *name);     /* -1: none */
bool shadow_is_below(const struct shadow *shadow, uint32_t queue, uint32_t above);
bool shadow_is_usable(const struct shadow *shadow, const struct shadow_device *device);
bool shadow_pool_has(const struct shadow *shadow, const struct shadow_pool *pool,
                     const struct shadow_device *device);
/* May jobs of this queue have devices of this static pool? */
bool shadow_owns(const struct shadow *shadow, uint32_t queue, const struct shadow_pool *pool);
/* The innermost group around it that bounds how many run; NULL: none. */
struct shadow_group *shadow_bound(const struct shadow *shadow, const struct shadow_job *job);
/* The worst that a device which it holds does to it (enum harm), and whether it may leave that. */
uint8_t shadow_harm(const struct shadow *shadow, const struct shadow_job *job);
bool shadow_may_leave(const struct shadow *shadow, const struct shadow_job *job, uint8_t harm);
/* Holds resources. */
bool shadow_is_active(const struct shadow_job *job);
/* NULL: the board has no such profile. */
const struct shadow_profile *shadow_find_profile(const struct shadow_board *board,
                                                 const char *name);

/* fuzz_jobs.c */
void shadow_apply_job(struct shadow *shadow, const struct event *event);
void shadow_release_job(struct shadow_job *job);

/* fuzz_shadow.c, for fuzz_jobs.c */
void shadow_hold(struct shadow *shadow, const struct shadow_job *job, int sign);

/* fuzz_fit.c: could it run?
 *
 * A simple search: all members of a job are alike, so it is enough to count how many each machine
 * takes. True is certain. False is not where the machines are counted (nodes_max), or where a pool
 * has a min or a max and may be used. */
/* All conditions of a request hold for the device, or for the node alone. */
bool shadow_where_holds(const struct request *request, const struct shadow_node *node,
                        const struct shadow_device *device);
/* Anti-affinity: they share no node. */
bool shadow_are_apart(const struct shadow *shadow, const struct request *request,
                      const struct shadow_job *other);
/* For such a request, because of the jobs that are there. */
bool shadow_is_closed(const struct shadow *shadow, const struct request *request, uint32_t node);

struct shadow_fit {
    bool is_empty;                /* on machines with nothing on them */
    bool with_sick;               /* also on those that are not well */
    bool is_free;                 /* of quotas, and of the min and max of pools */
    const struct shadow_job *job; /* beside what reservations keep from it; NULL: from no job */
};

bool shadow_fits(const struct shadow *shadow, const struct request *request, uint32_t queue,
                 const struct shadow_fit *fit);
/* At most so many milli-GPUs for all members. */
int64_t shadow_most_milli(const struct request *request, uint32_t alternative);
/* The slice is what the ask asks for, of this device. NULL: yes; else what is wrong. */
const char *shadow_misfit(const struct gpu_ask *ask, const struct shadow_device *device,
                          const struct slice *slice);

#endif
