/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_JOB_H
#define CORE_JOB_JOB_H

/* job - what was submitted, its progress, and what it holds
 *
 * A task of an array is a job of its own with a group. Command and environment are in a blob of the
 * journal, not here: the brain does not read them. A job stays in the state for a while after its
 * end (FORGET).
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
    STOP_RESIZE, /* to restart at once with another number of members */
    STOP_HEAL,   /* a member was lost: the gang restarts at once */
    STOP_MOVE,   /* to restart at once elsewhere, which makes room for another job */
    STOP_RESCUE, /* its device is sick: to restart on another (rescue.h) */
};

/* Whether jobs were stopped to make room for this one, in its own queue or in others, or it was
 * itself stopped to restart at once. */
enum awaited { AWAITED_NOT, AWAITED_IN_QUEUE, AWAITED_FROM_OTHERS, AWAITED_BACK };
enum stop_rule {
    STOP_IN_QUEUE,
    STOP_FOR_GUARANTEE,
    STOP_FOR_LESS,
    STOP_FOR_FAIR,
    STOP_FOR_EARLIER = 8,      /* a gang gives up members beyond its minimum, within a queue */
    STOP_FOR_RESERVATION = 16, /* its node or device is reserved for others from then on */
    STOP_FOR_WINDOW,           /* a window lowers what its queue may hold */
    STOP_FOR_BUDGET,           /* the budget of its queue is spent */
    STOP_FOR_MACHINE = 32,     /* its node is about to be interrupted */
    STOP_TO_MOVE = 48,         /* it restarts elsewhere at once */
};

/* How the number of members of an elastic gang may change after its start. */
enum resize { RESIZE_RESTART, RESIZE_NEVER };

/* What a job may be warned of (EVENT_WARN). */
enum warning { WARNING_IDLE = 1, WARNING_MEMORY = 2, WARNING_LAST = 3 /* times */ };

enum member_state { MEMBER_GRANTED, MEMBER_STARTED, MEMBER_ENDED };

/* How a member ended; for a job: how its first member that did not succeed ended. */
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
    bool is_unsound; /* its outputs or inputs are not as declared; only while the attempt ends */
};

/* What a job has only once it was granted, stopped or ended, or its wait was estimated: most
 * waiting jobs have none of it. */
struct job_run {
    struct lease *lease;    /* from GRANTED to its end; then NULL */
    uint8_t *member_states; /* beside the lease's members: enum member_state */
    struct job_end end;     /* of the last attempt */
    usec_t granted, started, ended;
    usec_t attained;    /* useful run time of earlier attempts that were stopped for others */
    usec_t foreseen_at; /* when its wait was estimated; 0: never */
    struct calibration_note foreseen; /* that estimate */
    char *cancelled_by;               /* a user or a rule; NULL: not cancelled */
    char *cancel_reason;              /* of the rule, or NULL */
    char *external;  /* its name in the engine that it was submitted to; NULL: submitted to tarn */
    uint64_t by_job; /* the job that submitted it; 0: none */
    uint64_t elder;  /* the job that by_job submitted before it; 0: none */
    uint32_t attempt;
    uint32_t retries;
    uint32_t preemptions;
    uint32_t members_started, members_ended; /* of those in the lease */
    uint32_t members_lost;                   /* of this attempt; they have left the lease */
    uint32_t gpus_milli_last;                /* what the last attempt held, for accounting */
    uint8_t idle_warnings, memory_warnings;  /* of this attempt; at 3 it is stopped */
    usec_t warned;                           /* the last time */
    struct usage *usage;                     /* of its last attempt that was watched, or NULL */
    uint32_t usage_attempt;                  /* which one that is; 0: not known */
    struct engine_isolation isolation;
    uint8_t tier; /* of its last grant (sched/preemption/preempt.h) */
    bool is_backfill;
    uint8_t stop_cause;   /* enum stop_cause */
    uint8_t stop_rule;    /* of the last time that it was stopped for others (enum stop_rule) */
    uint64_t stopped_for; /* the job that got its place that time; 0: none */
    usec_t lost;          /* run time lost and repeated, summed over those times */
    usec_t unsaved;       /* run time that the stop under way will lose */
    usec_t checkpointed;  /* when this attempt last reported its work as saved; 0: never */
    struct cost cost;     /* of all attempts so far (account.h) */
    bool is_cancel_wanted;
    bool is_requeue_wanted;
    uint32_t heals, resizes;
    uint32_t members_next;             /* stopped to restart with this number; 0: not stopped so */
    uint32_t resized_from, resized_to; /* members before and after the last time; 0: never */
    uint64_t resized_for;              /* the job that got the members given up; 0: it grew */
    uint8_t resize_rule;               /* of that (enum stop_rule) */
    usec_t resized;                    /* when that was decided */
    uint32_t moves;
    uint64_t moved_for;          /* the job that the last move made room for; 0: never moved */
    usec_t moved;                /* when that was decided */
    char *moved_from, *moved_to; /* "a:0,1", or NULL */
    uint32_t rescues;
    usec_t rescued;       /* when it last left a sick device; 0: never */
    char *rescued_from;   /* that device: "a:3", or NULL */
    char *place;          /* devices of its last attempt that ended: "a:0,1", or NULL */
    char *restarted;      /* why it was queued again the last time, in words, or NULL */
    char *rescued_reason; /* what was wrong with it, or NULL */
    uint8_t rescued_harm; /* enum harm, of it */
    struct job *active_next, *active_previous; /* of those that hold resources, by id */
    /* For the brain alone, not part of the state. */
    bool is_among_ends;   /* it is in the list of expected ends */
    bool is_yielding;     /* it is in that of jobs that are stopped for one of their queue */
    bool wants_attention; /* on the brain's list of jobs to look after */
    usec_t window;        /* how long its room is kept for it */
    usec_t usual;         /* its run time, as predicted when it was granted */
    usec_t expected_end;
};

/* Many jobs can be waiting at a time: each byte added here costs memory a million times. */
/* Stated as a date or a time of day. */
enum wall_time { WALL_BEGIN = 1, WALL_DEADLINE = 2 };

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
    usec_t restart_cost;     /* run time that a stop and restart costs */
    usec_t checkpoint_every; /* 0: it saves its work when it is stopped; USEC_NEVER: never */
    usec_t fair_from;        /* the fair clock (pressure.h) when it was submitted */
    uint32_t user;           /* number in the state */
    uint32_t uid, gid;
    uint32_t queue, class;
    int32_t priority;
    uint32_t index;               /* in its array */
    uint32_t checkpoint_takes_ms; /* time to save a checkpoint; 0: not stated */
    uint32_t needs_left, needs_expected;
    uint8_t state;  /* enum job_state */
    uint8_t result; /* enum job_result */
    bool is_held;
    bool is_preemptible;
    uint8_t spot;       /* enum spot_rule, as submitted; that of its class follows its progress */
    uint8_t is_awaited; /* others were stopped for it, and it has not been granted since (enum) */
    bool no_requeue;    /* not restarted after it was lost */
    bool checkpoint_is_auto; /* checkpoint_interval.h sets checkpoint_every at each start */
    uint16_t retry_max;
    uint8_t resize;       /* of an elastic gang: enum resize */
    bool goes_on;         /* an elastic gang that may lose members down to its minimum */
    uint16_t heal_max;    /* how often the gang may restart after it lost a member */
    uint16_t oom_factor;  /* memory for a retry after it ran out, in thousandths; 0: none */
    uint16_t tariff_most; /* it waits for a tariff factor of at most this, plus one; 0: any */
    uint8_t wall_times;   /* which of its times follow the wall clock (enum wall_time) */
    uint8_t plain_real;   /* for the brain alone: what it last did, to plain.h */
    /* For the brain alone, not part of the state: its place among the pending. */
    uint32_t preempt_place; /* the queue that it is counted in (preempt.h), plus one; 0: none */
    uint32_t plain_turn;    /* in plain.h; s */
    struct pending_bucket *pending_bucket;
    struct job *pending_next, *pending_previous;
    struct job *line_next, *line_previous; /* of all jobs waiting in its queue, by id */
};

/* The reason in journals and snapshots; job_end_reason() puts it in other words. */
#define JOB_NEEDS_BROKEN "what it needs can't happen any more"

extern const struct job_run job_no_run; /* all zero */

struct job *job_create(const char *name); /* all else zero; NULL is "" */
void job_destroy(struct job *job);
/* Set the user or rule that cancels the job, and the rule's reason; NULL clears both. Older
 * journals and snapshots have "RULE: REASON" in one text, which is split. */
void job_set_cancel(struct job_run *run, const char *by, const char *reason);

/* Why the job is queued again: it takes the words over. */
void job_note_restart(struct job *job, char *words);
/* By a user or a rule; "": not known. */
void job_note_requeue(struct job *job, const char *by);
/* How the last attempt ended: "exit status 3", "signal 9". */
char *job_end_words(const struct job *job);

/* Run time of this attempt that a stop at `now` would lose. */
usec_t job_unsaved(const struct job *job, usec_t now);
/* Whether it saves its work in intervals, of checkpoint_every. */
bool job_has_interval(const struct job *job);

enum { JOB_OOM_RETRIES = 3 }; /* retries with more memory, even if `retry` allows fewer */

/* Whether 90 % of its time limit have passed. */
bool job_is_near_limit(const struct job *job, usec_t now);

/* Whether its last start included its restart cost. */
static inline bool job_has_restarted(const struct job *job)
{
    return job->run->preemptions + job->run->resizes + job->run->heals + job->run->moves +
               job->run->rescues >
           0;
}

/* Whether the gang, one of whose members failed, restarts without using up a retry. */
bool job_may_heal(const struct job *job);

/* The time that a checkpoint takes, as submitted or by default. */
usec_t job_checkpoint_takes(const struct job *job);

/* job->run, made writable. */
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

bool stop_rule_is_of_time(uint8_t rule); /* for a reservation, a window or a budget */
/* Name of the rule: "guarantee"; its meaning in words: "is within its guarantee". */
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
