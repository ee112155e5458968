/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_JOB_H
#define CORE_JOB_JOB_H

/* job - what was submitted, how far it is, what it holds
 *
 * A task of an array is a job of its own with a group. Command and environment are not here but
 * in a blob of the journal: the brain does not read them. Jobs stay in the state for a while
 * after they ended (FORGET).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "core/engine.h"
#include "core/health/usage.h"
#include "core/job/account.h"
#include "core/job/lease.h"
#include "core/predict/calibration.h"

#define STATE(ID, name, meaning) JOB_##ID,
enum job_state {
#include "core/job/job_state.def"
    JOB_STATE_COUNT,
};

#define RESULT(ID, name, meaning) RESULT_##ID,
enum job_result {
#include "core/job/job_state.def"
    RESULT_COUNT,
};

enum stop_cause {
    STOP_NONE,
    STOP_CANCEL,
    STOP_TIMEOUT,
    STOP_MEMBER,
    STOP_REQUEUE,
    STOP_PREEMPT,
    STOP_RESIZE, /* to start again at once with another number of members */
    STOP_HEAL,   /* a member was lost: the gang starts again at once */
    STOP_MOVE,   /* to start again at once elsewhere, so that another job finds room */
    STOP_RESCUE, /* its device is sick: to start again on another (rescue.h) */
};

/* Jobs were stopped to make room for it, in its own queue or in others; or it was itself stopped
 * to restart at once. */
enum awaited { AWAITED_NOT, AWAITED_IN_QUEUE, AWAITED_FROM_OTHERS, AWAITED_BACK };
enum stop_rule {
    STOP_IN_QUEUE,
    STOP_FOR_GUARANTEE,
    STOP_FOR_LESS,
    STOP_FOR_FAIR,
    STOP_FOR_EARLIER = 8,      /* a gang gives up what it has beyond its least, inside a queue */
    STOP_FOR_RESERVATION = 16, /* its machine or device is kept for others from then on */
    STOP_FOR_WINDOW,           /* its queue may hold less from then on */
    STOP_FOR_BUDGET,           /* its queue has spent all that it may */
    STOP_FOR_MACHINE = 32,     /* its machine is taken away */
    STOP_TO_MOVE = 48,         /* it goes on elsewhere at once */
};

/* How the number of members of an elastic gang may change after its start. */
enum resize { RESIZE_RESTART, RESIZE_NEVER };

/* What a job may be warned of (EVENT_WARN). */
enum warning { WARNING_IDLE = 1, WARNING_MEMORY = 2, WARNING_LAST = 3 /* times */ };

enum member_state { MEMBER_GRANTED, MEMBER_STARTED, MEMBER_ENDED };

/* What became of a member; of a job: of its first member that did not end well. */
struct job_end {
    char *reason;      /* in words, or NULL */
    int64_t user_us;   /* of all members */
    int64_t system_us; /* of all members */
    int64_t memory_kib_max;
    int32_t exit_code;
    uint32_t signal;
    uint32_t rank;
    uint8_t kind; /* enum engine_outcome_kind; 0: not over */
    bool was_stopped, was_oom, was_killed;
};

/* What a job has only when it was granted, foreseen, stopped or ended: most of many that wait have
 * none of it. */
struct job_run {
    struct lease *lease;    /* from GRANTED to its end; then NULL */
    uint8_t *member_states; /* beside the lease's members: enum member_state */
    struct job_end end;     /* of the last attempt */
    usec_t granted, started, ended;
    usec_t attained;    /* run time that earlier attempts, stopped for others, brought it */
    usec_t foreseen_at; /* when it was said how long it would wait; 0: never */
    struct calibration_note foreseen; /* and how long */
    char *cancelled_by;               /* a person or a rule; NULL: not cancelled */
    char *cancel_reason;              /* of the rule, or NULL */
    char *external; /* its name in the engine to which it was submitted; NULL: to tarn */
    uint32_t attempt;
    uint32_t retries;
    uint32_t preemptions;
    uint32_t members_started, members_ended; /* of those in the lease */
    uint32_t members_lost;                   /* of this attempt; they have left the lease */
    uint32_t gpus_milli_last;                /* what the last attempt held, for the books */
    uint8_t idle_warnings, memory_warnings;  /* of this attempt; 3: it is stopped for it */
    usec_t warned;                           /* the last time */
    struct usage *usage;                     /* of its last attempt that was watched, or NULL */
    struct engine_isolation isolation;
    uint8_t tier; /* of its last grant (sched/preemption/preempt.h) */
    bool is_backfill;
    uint8_t stop_cause;   /* enum stop_cause */
    uint8_t stop_rule;    /* of the last time that it was stopped for others (enum stop_rule) */
    uint64_t stopped_for; /* the job that got its place, then; 0: none */
    usec_t lost;          /* run time that was done again, of all those times */
    usec_t unsaved;       /* what of it the stop that is under way would cost */
    usec_t checkpointed;  /* when this attempt last said that its work is safe; 0: never */
    struct cost cost;     /* of all attempts so far (account.h) */
    bool is_cancel_wanted;
    bool is_requeue_wanted;
    uint32_t heals, resizes;
    uint32_t members_next;             /* stopped for this number; 0: for none */
    uint32_t resized_from, resized_to; /* members before and after the last time; 0: never */
    uint64_t resized_for;              /* the job that got what it gave up; 0: it grew */
    uint8_t resize_rule;               /* of that (enum stop_rule) */
    usec_t resized;                    /* when that was decided */
    uint32_t moves;
    uint64_t moved_for;          /* the job that found room by it, the last time; 0: never */
    usec_t moved;                /* when that was decided */
    char *moved_from, *moved_to; /* "a:0,1", or NULL */
    uint32_t rescues;
    usec_t rescued;       /* when its device was sick, the last time; 0: never */
    char *rescued_from;   /* that one: "a:3", or NULL */
    char *place;          /* devices of its last attempt that ended: "a:0,1", or NULL */
    char *rescued_reason; /* what was wrong with it, or NULL */
    uint8_t rescued_harm; /* enum harm, of it */
    struct job *active_next, *active_previous; /* of those that hold resources, by id */
    /* For the brain alone, not part of the state. */
    bool is_among_ends;   /* of those that hold resources */
    bool wants_attention; /* on the brain's list of jobs to look after */
    usec_t window;        /* how long its room is kept for it */
    usec_t first_promise; /* when it was first promised to start; 0: never */
    usec_t expected_end;
};

/* Many wait at a time: what is added here is paid for a million times. */
struct job {
    uint64_t id;
    uint64_t group;              /* 0: none */
    uint64_t launch;             /* blob */
    struct job *next, *previous; /* of all jobs, by id */
    char *name;                  /* in the same block of memory */
    const struct job_run *run;   /* never NULL; written through job_claim_run() */
    usec_t submitted, begin, queued;
    usec_t grace;
    usec_t max_duration;     /* USEC_NEVER: no limit */
    usec_t estimate;         /* estimated run time, as submitted; 0: none */
    usec_t deadline;         /* 0: none */
    usec_t restart_cost;     /* run time that a stop and new start costs */
    usec_t checkpoint_every; /* 0: it saves its work when it is stopped; also of `auto`, then */
    usec_t fair_from;        /* the fair clock (pressure.h) when it was submitted */
    uint32_t user;           /* number in the state */
    uint32_t uid, gid;
    uint32_t queue, class;
    int32_t priority;
    uint32_t index;               /* in its array */
    uint32_t checkpoint_takes_ms; /* what saving costs it; 0: it does not say */
    uint32_t needs_left, needs_expected;
    uint8_t state;  /* enum job_state */
    uint8_t result; /* enum job_result */
    bool is_held;
    bool is_preemptible;
    uint8_t spot;       /* enum spot_rule, as it asked; that of its class follows its progress */
    uint8_t is_awaited; /* others were stopped for it, and it has not been granted since (enum) */
    bool no_requeue;    /* not tried again after it was lost */
    bool checkpoint_is_auto; /* checkpoint_interval.h sets checkpoint_every at each start */
    uint16_t retry_max;
    uint8_t resize;       /* of an elastic gang: enum resize */
    bool goes_on;         /* of an elastic gang: without a lost member, while its least are left */
    uint16_t heal_max;    /* how often the gang is healed after it lost a member */
    uint16_t oom_factor;  /* of its memory after it ran out of it, in thousandths; 0: none */
    uint16_t tariff_most; /* it waits for hours with at most this factor, plus one; 0: any */
    /* For the brain alone, not part of the state: its place among the pending. */
    uint32_t preempt_place; /* the queue that it is counted in (preempt.h), plus one; 0: none */
    struct pending_bucket *pending_bucket;
    struct job *pending_next, *pending_previous;
    struct job *line_next, *line_previous; /* of all that wait in its queue, by id */
};

/* The reason in journals and snapshots; job_end_reason() puts it in other words. */
#define JOB_NEEDS_BROKEN "what it needs can't happen any more"

extern const struct job_run job_no_run; /* all zero */

struct job *job_create(const char *name); /* all else zero; NULL is "" */
void job_destroy(struct job *job);
/* Set the user or rule that cancels the job, and the rule's reason; NULL clears both. Older
 * journals and snapshots have "RULE: REASON" in one text, which is split. */
void job_set_cancel(struct job_run *run, const char *by, const char *reason);

/* Run time of this attempt that would be lost if it were stopped at `now`. */
usec_t job_unsaved(const struct job *job, usec_t now);

enum { JOB_OOM_RETRIES = 3 }; /* with more memory, where `retry` allows fewer */

/* Whether nine tenths of its time limit have passed. */
bool job_is_near_limit(const struct job *job, usec_t now);

/* Whether its last start paid its restart cost. */
static inline bool job_has_restarted(const struct job *job)
{
    return job->run->preemptions + job->run->resizes + job->run->heals + job->run->moves +
               job->run->rescues >
           0;
}

/* Whether the gang, of which a member did not end well, is to start again without a retry. */
bool job_may_heal(const struct job *job);

/* What saving costs it, as it says or as is assumed. */
usec_t job_checkpoint_takes(const struct job *job);

/* The same as run, to be written to. */
struct job_run *job_claim_run(struct job *job);

/* granted, running or stopping: holds resources */
static inline bool job_state_is_active(enum job_state state)
{
    return state >= JOB_GRANTED && state <= JOB_STOPPING;
}

static inline bool job_is_active(const struct job *job)
{
    return job_state_is_active((enum job_state)job->state);
}

/* "guarantee": the rule's name; in words: "is within its guarantee" */
bool stop_rule_is_of_time(uint8_t rule); /* for a reservation, a window or a budget */
const char *stop_rule_name(uint8_t rule);
const char *stop_rule_meaning(uint8_t rule);
const char *job_end_reason(const struct job_run *run); /* in words, or NULL */
const char *job_state_name(enum job_state state);
const char *job_result_name(enum job_result result);
/* In words, for the documents (tools/gen_spec.c). */
const char *job_state_meaning(enum job_state state);
const char *job_result_meaning(enum job_result result);
bool job_may_become(enum job_state from, enum job_state to);

#endif
