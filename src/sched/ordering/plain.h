/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_PLAIN_H
#define SCHED_ORDERING_PLAIN_H

/* plain - protected starts: when each job would start under a plain policy
 *
 * Each queue has a virtual schedule beside the real one: EASY backfill in the order of priority and
 * turn, on a cluster of the same size, with the same arrivals and run times. It starts no jobs. It
 * gives each job a protected start, which the default order keeps:
 *
 *   turn       = submission + usual run time / 10: of jobs that come at once, the shorter first
 *   wait       = start in the plain schedule - submission
 *   protected  = submission + wait + 1 hour, or as the queue sets the slack,
 *                at least submission + 1/2 * the longest wait in the plain schedule so far
 *
 * The plain schedule counts shares of the cluster and does not model nodes, so its starts are early
 * where small jobs are scattered over the nodes. Jobs that need a node have planned starts for that
 * (plan.c).
 *
 * The schedule trails the present, because the run time of a job is known only at its end. It
 * advances to
 *
 *   reached = min over its running jobs that have not really ended of (plain start + run time so
 *             far)
 *
 * For jobs that have not started in it by then, the start is foreseen in the order of the queue
 * with predicted run times.
 *
 * Tolerance: the schedule also processes an instant that is up to TICK (0.5 s, plain.c) later than
 * that point, because some time passes between a submission and the start that follows from it. A
 * plain start may be early by that much.
 *
 * The clock of a queue runs at the rate of its part of the resources that all queues hold: a queue
 * with half of the cluster sees a cluster of half the speed. So the plain schedule bounds the order
 * of jobs within a queue; the order of queues remains a matter of fair share. With a single queue,
 * the clock is real time.
 *
 * Jobs that may be stopped. A start says little of a job that is stopped later, so a queue with
 * preemptible jobs bounds how far each job falls behind. Its line is the latest time at which it
 * has run so long:
 *
 *   line(run) = due + run                  it is not preemptible
 *               due + run + 9 * estimate   its run time is stated: then it runs to its end
 *               due + run + 9 * run        else: a tenth of the time
 *   due       = protected start, but not before the line of any job that started before it in the
 *               plain schedule, at the run time that this one had there when the job started
 *
 * So a job that another one waits for in the plain schedule ends its lines before those of the
 * other begin: jobs whose lines overlap ran together there, and they fit into the cluster together.
 * contender.c serves jobs on their lines first. A stated run time counts as the least run time of
 * a preemptible job, so that the plain schedule need not wait until it has run so long.
 *
 * Limits: there is no plain schedule while more than PLAIN_MOST jobs run; then the order of jobs
 *         alone bounds the waits. There is none either with order fifo, which does not use it.
 *
 * Sources: Lifka 1995 (EASY); Friedman and Henderson 2003 (a virtual schedule as a protection).
 */

#include "base/map.h"
#include "core/state/state.h"
#include "sched/ordering/pending.h"
#include "sched/ordering/plain_running.h"
#include "sched/ordering/plain_waiting.h"

enum {
    PLAIN_LOOK = 300,    /* jobs of a queue whose plain start is foreseen */
    PLAIN_PATIENCE = 10, /* the turn is a part of the run time after the submission */
    PLAIN_MOST = 8192,   /* running jobs; with more the plain schedule is off until half remain */
    PLAIN_BEHIND = 9,    /* a preemptible job falls behind by so many times its run time */
};

#define PLAIN_SLACK_LEAST USEC_PER_HOUR

struct plain_queue {
    usec_t clock;          /* at `at`; the plain schedule trails behind */
    usec_t at;             /* real time */
    uint32_t rate;         /* of the clock, in parts of 2^20 */
    usec_t reached;        /* by the plain schedule */
    usec_t longest;        /* wait in the plain schedule */
    usec_t due_least;      /* by lines of earlier jobs, at `due_at` */
    usec_t due_at;         /* in the plain schedule */
    bool has_preemptible;  /* it has had preemptible jobs */
    int64_t slack_percent; /* of the wait */
    usec_t slack_least;
    LIST(struct plain_job) arrivals; /* after `reached`, by time; from `arrived` on */
    size_t arrived;
    struct plain_waiting waiting;
    struct plain_running running;
    usec_t next_end; /* of those that have ended, when it advanced */
};

struct plain {
    LIST(struct plain_queue) queues; /* by number */
    struct map early;                /* by number of the job: what it did before its plain start */
    bool is_off;                     /* too many jobs run, or the order does not use it */
};

/* The start of a waiting job that the order of its queue must keep. */
struct plain_claim {
    uint64_t job;
    usec_t start; /* in the plain schedule; real time, as the next */
    usec_t protected;
    uint64_t work;    /* usual run time (ms) x share (2^10) */
    bool is_foreseen; /* it has not started in the plain schedule yet */
};

typedef LIST(struct plain_claim) plain_claim_list;

/* A run time of which nothing is known counts as an hour. */
static inline usec_t plain_usual(usec_t usual)
{
    return usual == USEC_NEVER ? USEC_PER_HOUR : usual;
}

/* The work of a job: of more than half a cluster, all of it. */
static inline uint64_t plain_work(uint32_t share, usec_t usual)
{
    uint64_t part = share > QUEUE_SHARE_ONE / 2 ? QUEUE_SHARE_ONE : share;

    return (part / 1024 + 1) * ((uint64_t)plain_usual(usual) / 1000);
}

/* So much work fills the cluster for so long. */
static inline usec_t plain_work_time(uint64_t work)
{
    return (usec_t)(work / (QUEUE_SHARE_ONE / 1024)) * 1000;
}

/* A job that has started in the plain schedule of a queue with preemptible jobs. */
struct plain_due {
    uint64_t job;
    usec_t start, due; /* real time */
};

typedef LIST(struct plain_due) plain_due_list;

/* The latest time at which a job that is due then has run so long. */
static inline usec_t plain_line(bool is_preemptible, usec_t estimate, usec_t due, usec_t run)
{
    usec_t behind = is_preemptible ? PLAIN_BEHIND * (estimate > 0 ? estimate : run) : 0;

    return usec_after(due, usec_after(behind, run));
}

/* The properties of a waiting job that determine its order and size in the plain schedule. */
struct plain_key {
    usec_t limit;
    uint32_t queue, class;
    int32_t priority;
};

static inline struct plain_key plain_key_of(const struct job *job)
{
    const struct pending_bucket *bucket = job->pending_bucket;

    if (!bucket)
        return (struct plain_key){ 0 };
    return (struct plain_key){ bucket->max_duration, bucket->queue, bucket->class,
                               bucket->priority };
}

static inline bool plain_is_same(struct plain_key a, struct plain_key b)
{
    return a.limit == b.limit && a.queue == b.queue && a.class == b.class &&
           a.priority == b.priority;
}

/* The job has changed, or is gone. */
void plain_note(struct plain *plain, const struct state *state, struct job *job, bool is_gone);
/* Its limit, size or priority has changed. */
void plain_renew(struct plain *plain, const struct state *state, struct job *job);
/* Bring the schedules up to now: before a plan. running: jobs that hold resources. */
void plain_advance(struct plain *plain, const struct state *state, size_t running);
/* Set the rates of the clocks: after a plan. */
void plain_set_rates(struct plain *plain, const struct state *state);
/* The waiting jobs of a queue that have started in its plain schedule, or are foreseen to, by
 * protected start. */
void plain_list(const struct plain *plain, const struct state *state, uint32_t queue,
                plain_claim_list *ret);
/* Those of a queue that are due some time, by number. */
void plain_list_due(const struct plain *plain, uint32_t queue, plain_due_list *ret);
/* When the schedule of a queue with preemptible jobs advances if all that run in it now run on;
 * USEC_NEVER: not before something happens. */
usec_t plain_next(const struct plain *plain, uint32_t queue, usec_t now);
void plain_release(struct plain *plain);

#endif
