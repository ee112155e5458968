/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_FORWARD_H
#define FORECAST_FORWARD_H

/* forward - simulates a state in virtual time, with the brain that decides live
 *
 * A job runs for the median of its drawn run times (run_time.h), or up to its limit if there is no
 * prediction; `fate_of` overrides this. All jobs succeed unless `fate_of` states otherwise.
 * A granted job starts at once, and a stopped job ends at once. A preempted job keeps its work and
 * pays its restart cost at its next start. Only the jobs that `come` submits arrive. If these are
 * ambient, the simulation ends when none of the other jobs waits.
 *
 * The simulation ends when no job waits and none will arrive, when nothing happens any more, or
 * when its processor time is used up; `horizon` is the virtual time that it reached.
 *
 * While jobs wait, the brain plans only once per `grain`. Ends and arrivals in between occur at
 * their exact time; starts are late by less than `grain`.
 *
 * Order of calls:  create, (tell)*, go, (results), destroy
 * Owner:           the caller owns state and brain, which are changed
 * Limits:          FORWARD_EVENTS_MAX events, FORWARD_SPAN_MAX of virtual time
 */

#include "core/state/state.h"
#include "forecast/due.h"
#include "sched/sched.h"

enum { FORWARD_EVENTS_MAX = 200000000, FORWARD_PATIENCE = 2000 };
#define FORWARD_SPAN_MAX (10 * 365 * USEC_PER_DAY)

struct forward_fate {
    usec_t work; /* run time in all its attempts, without restart costs; -1: as expected */
    bool is_bad; /* it fails */
};

/* A job that waited, ran or arrived. Times are of the state's clock. */
struct forward_job {
    uint64_t id;
    usec_t submitted;
    usec_t start; /* its first start in the simulation; -1: none */
    usec_t work;  /* as forward_fate; USEC_NEVER: unknown end */
    usec_t lost;  /* run time lost to restarts, and unsaved work */
    usec_t end;   /* planned end of its current or last attempt */
    int64_t rate; /* cost of that attempt per hour, in micro; 0: no prices */
    double cost;  /* in micro, of its run time in the simulation */
    int64_t milli;
    uint32_t attempt;
    uint32_t preemptions;
    uint32_t queue;
    bool is_bad;
    bool was_active;   /* it held resources at the beginning */
    bool was_held;     /* held by a user at that time */
    bool is_cancelled; /* without a start; set at the end of the simulation */
    bool is_new;       /* it arrived in the simulation, or was told between create and go */
};

struct forward;

struct forward_options {
    struct state *state;
    struct brain *brain;
    usec_t now;        /* not before the time of the state */
    usec_t processor;  /* limit of processor time; 0: none */
    usec_t grain;      /* time between plans while jobs wait; 0: plan at once */
    uint32_t patience; /* after so many plans without a decision, and with no event to come,
                          waiting jobs never start; 0: FORWARD_PATIENCE */
    void *user;
    /* What is known about a job's run; false: nothing. NULL: nothing about any job. */
    bool (*fate_of)(void *user, const struct job *job, struct forward_fate *ret);
    /* next: the time of the next events from outside; USEC_NEVER: none. come: tell all events of
     * that time. NULL: no such events. */
    usec_t (*next)(void *user);
    int (*come)(void *user, struct forward *forward, usec_t now, struct error *err);
    bool is_ambient;
    /* Each event in order, decisions too. NULL: not wanted. */
    void (*told)(void *user, const struct event *event);
};

struct forward {
    struct forward_options options;
    struct state *state;
    struct brain *brain;
    struct decisions decisions;
    struct dues dues;
    LIST(struct forward_job) jobs; /* by id, ascending */
    struct map places;             /* id -> index */
    struct map guesses;            /* bucket -> work */
    uint64_t last_id;
    size_t first_come; /* of the jobs: the first that `come` submitted */
    uint64_t events;
    usec_t from, now;
    usec_t drained; /* the last start of a waiting job; equal to `from`: no job waited */
    usec_t horizon; /* the time that the simulation reached; USEC_NEVER: its end */
    usec_t processor_from;
    usec_t planned;   /* time of the last plan */
    bool had_waiting; /* jobs waited after that plan */
    bool has_begun;
};

struct forward *forward_create(const struct forward_options *options);
void forward_destroy(struct forward *forward); /* NULL is fine */
DEFINE_AUTO(forward)

/* An event from outside, now. */
int forward_tell(struct forward *forward, struct event *event, struct error *err);
/* Run the simulation to its end. Fails with -E2BIG above the limits. */
int forward_go(struct forward *forward, struct error *err);
/* Processor time since forward_create(). */
usec_t forward_processor(const struct forward *forward);

#endif
