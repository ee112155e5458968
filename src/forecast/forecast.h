/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_FORECAST_H
#define FORECAST_FORECAST_H

/* forecast - when waiting jobs will start and when jobs and pipelines will end
 *
 * A forecast simulates the present state in virtual time, with the brain that decides live
 * (forward.h): once with all run times at their limits, then several times with random run times
 * (run_time.h). So it includes reclaim, preemption, shrinking, windows, reservations, budgets and
 * dependencies, and submissions that are planned already. It does not include other future
 * submissions and faults.
 *
 * For each job, the random simulations give the median and the range (of ten results, one is below
 * it, one above). A simulation stops when its share of processor time is used up. A job that has
 * not started in every simulation by then is not in the forecast.
 *
 * Each simulation runs in a copy of the process that calls forecast_make() (io/copy.h), so that
 * process's state and brain do not change.
 *
 * Units: microseconds of the state's clock
 */

#include "sched/sched.h"

struct forward;

enum { FORECAST_SAMPLES_MIN = 5, FORECAST_SAMPLES_MAX = 15 };
/* Samples beyond the minimum are drawn as long as all take less than this. */
#define FORECAST_ENOUGH (50 * USEC_PER_MS)

/* The simulation with limits did not reach that time. */
#define FORECAST_NOT_KNOWN (-1)

/* A job that has not ended, or a group with such jobs. USEC_NEVER: never, in the present state. */
struct forecast_row {
    uint64_t id;
    usec_t low, median, high;             /* of its first start from now on; 0: it runs */
    usec_t end_low, end_median, end_high; /* of its end */
    usec_t by_limits, end_by_limits;      /* if all jobs run to their limits; FORECAST_NOT_KNOWN */
};

struct forecast {
    LIST(struct forecast_row) rows; /* by id, ascending */
    usec_t at;                      /* the time for which it was made */
    usec_t processor;               /* processor time of all simulations */
    uint32_t samples;
};

struct forecast_ask {
    struct state *state; /* state and brain of the copy */
    struct brain *brain;
    usec_t now;       /* not before the time of the state */
    usec_t processor; /* processor time for all simulations; 0: no limit */
    /* Planned submissions, as forward_options; NULL: there are none. */
    void *user;
    usec_t (*next)(void *user);
    int (*come)(void *user, struct forward *forward, usec_t now, struct error *err);
};

void forecast_make(const struct forecast_ask *ask, struct forecast *ret);
void forecast_release(struct forecast *forecast);
/* NULL: it is not in the forecast. */
const struct forecast_row *forecast_find(const struct forecast *forecast, uint64_t id);

/* Bytes for the same version of the program. False: they are incomplete. */
void forecast_encode(const struct forecast *forecast, struct text *out);
bool forecast_decode(const struct text *bytes, struct forecast *ret);

#endif
