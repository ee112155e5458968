/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_FORWARD_H
#define FORECAST_FORWARD_H

/* forward - simulates a state in virtual time, with the brain that decides live
 *
 * Jobs run for their usual time, the median of the draws of `tarn when` (run_time.h), without
 * predictions for their limit; `fate_of` overrides this. All jobs succeed unless `fate_of` differs.
 * A granted job starts at once, a stopped one ends at once; a preempted job keeps its work and pays
 * its restart cost at its next start. Only the jobs of `come` arrive.
 *
 * The run ends when no job waits and none will arrive, when nothing happens any more, or when its
 * limit of processor time is used up: `horizon` is the virtual time that it reached.
 *
 * While jobs wait, the brain plans only every `grain`: ends and arrivals in between happen at their
 * time, and starts are late by less than `grain`.
 *
 * Order of calls:  create, (tell)*, go, (results), destroy
 * Owner:           state and brain belong to the caller, and are changed
 * Limits:          FORWARD_EVENTS_MAX events, FORWARD_SPAN_MAX of virtual time
 */

#include "core/state/state.h"
#include "forecast/due.h"
#include "sched/sched.h"

enum { FORWARD_EVENTS_MAX = 200000000, FORWARD_PATIENCE = 2000 };
#define FORWARD_SPAN_MAX (10 * 365 * USEC_PER_DAY)

struct forward_fate {
    usec_t work; /* run time in all its attempts, without restart costs; -1: as expected */
    bool is_bad; /* it ends badly */
};

/* A job that waited, ran or came. Times are of the state's clock. */
struct forward_job {
    uint64_t id;
    usec_t submitted;
    usec_t start; /* its first start from the beginning on; -1: none */
    usec_t work;  /* as forward_fate; USEC_NEVER: unknown end */
    usec_t lost;  /* run time that its restarts cost, and what was not saved */
    usec_t end;   /* of the attempt that runs, or ran last, as planned */
    int64_t rate; /* of that one: what it costs in an hour, in micro; 0: no prices */
    double cost;  /* in micro, of all that it runs from the beginning on */
    int64_t milli;
    uint32_t attempt;
    uint32_t preemptions;
    uint32_t queue;
    bool is_bad;
    bool was_active;   /* it held resources at the beginning */
    bool was_held;     /* held by a user at that time */
    bool is_cancelled; /* and never started; known when all is over */
    bool is_new;       /* it arrived later, or was told between create and go */
};

struct forward;

struct forward_options {
    struct state *state;
    struct brain *brain;
    usec_t now;        /* not before the state's */
    usec_t processor;  /* time that it may take; 0: as much as it wants */
    usec_t grain;      /* between plans while jobs wait; 0: at once */
    uint32_t patience; /* plans one after another that decide nothing, with nothing else left to
                          come, until what waits never starts; 0: FORWARD_PATIENCE */
    void *user;
    /* What is known of a job's run; false: nothing. NULL: of none. */
    bool (*fate_of)(void *user, const struct job *job, struct forward_fate *ret);
    /* When something comes from outside, USEC_NEVER: nothing more; and tell all of then. NULL:
     * nothing ever. */
    usec_t (*next)(void *user);
    int (*come)(void *user, struct forward *forward, usec_t now, struct error *err);
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
    uint64_t events;
    usec_t from, now;
    usec_t drained; /* the last start of a waiting job; from: no job waited */
    usec_t horizon; /* what comes after it is not known; USEC_NEVER: all is */
    usec_t processor_from;
    usec_t planned;   /* when the brain was asked last */
    bool had_waiting; /* jobs waited after that */
    bool has_begun;
};

struct forward *forward_create(const struct forward_options *options);
void forward_destroy(struct forward *forward); /* NULL is fine */
DEFINE_AUTO(forward)

/* Something from outside, now. */
int forward_tell(struct forward *forward, struct event *event, struct error *err);
/* To its end. Fails with -E2BIG above the limits. */
int forward_go(struct forward *forward, struct error *err);
/* Processor time since its creation. */
usec_t forward_processor(const struct forward *forward);

#endif
