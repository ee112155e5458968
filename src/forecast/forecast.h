/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_FORECAST_H
#define FORECAST_FORECAST_H

/* forecast - when waiting jobs will start and when jobs and pipelines will end
 *
 * The present state is driven on in virtual time with the brain that decides live (forward.h):
 * once with all run times at their limits, then several times with run times that are drawn
 * (run_time.h). So it knows what the brain knows: reclaim, preemption, shrinking, windows,
 * reservations, budgets, dependencies. It does not know future submissions and faults.
 *
 * Of the drawn runs, median and range (one of ten is below, one above) are taken for each job. A
 * run stops at its share of processor time; a job that did not start in each of the runs by then is
 * not in the forecast.
 *
 * Each run is in a copy of the copy that calls forecast_make() (io/copy.h): state and brain are not
 * changed.
 *
 * Units: microseconds of the state's clock
 */

#include "sched/sched.h"

enum { FORECAST_SAMPLES_MIN = 5, FORECAST_SAMPLES_MAX = 15 };
/* More than the least number of samples are drawn as long as they take less than this. */
#define FORECAST_ENOUGH (50 * USEC_PER_MS)

/* The run by limits did not come so far. */
#define FORECAST_NOT_KNOWN (-1)

/* A job that has not ended, or a group with such jobs. USEC_NEVER: not as things are. */
struct forecast_row {
    uint64_t id;
    usec_t low, median, high;             /* of its first start from now on; 0: it runs */
    usec_t end_low, end_median, end_high; /* of its end */
    usec_t by_limits, end_by_limits;      /* if all run to their limits; or FORECAST_NOT_KNOWN */
};

struct forecast {
    LIST(struct forecast_row) rows; /* by id, ascending */
    usec_t at;                      /* the time that it was made for */
    usec_t processor;               /* time that it took, of all runs */
    uint32_t samples;
};

struct forecast_ask {
    struct state *state; /* and brain: of the copy */
    struct brain *brain;
    usec_t now;       /* not before the state's */
    usec_t processor; /* time for all runs; 0: as much as they want */
};

void forecast_make(const struct forecast_ask *ask, struct forecast *ret);
void forecast_release(struct forecast *forecast);
/* NULL: it is not in the forecast. */
const struct forecast_row *forecast_find(const struct forecast *forecast, uint64_t id);

/* As bytes, for the same program. False: they are not complete. */
void forecast_encode(const struct forecast *forecast, struct text *out);
bool forecast_decode(const struct text *bytes, struct forecast *ret);

#endif
