/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PREDICT_PRESSURE_H
#define CORE_PREDICT_PRESSURE_H

/* pressure - demand for GPUs: current, and over recent time
 *
 * The fair clock runs as fast as a job would progress if all GPUs were shared evenly among all jobs
 * that want some: one of its seconds takes max(1, wanted / capacity) seconds. A job that arrives at
 * fair time F and would run for T alone has had its fair share when the clock shows F + T. So what
 * counts is the contention during the job's own time, not a measured average.
 *
 * Arrivals are the work that was submitted with an estimate, as sums that halve in 1 min, 2 min,
 * 4 min ..., from which the work of any recent period follows. Part of the state.
 */

#include <stdint.h>

#include "base/units.h"

enum { PRESSURE_LEVELS = 22 }; /* up to four years */

struct pressure {
    usec_t clock; /* fair time, as of clock_at */
    usec_t clock_at;
    int64_t wanted_milli; /* GPUs of all waiting and running jobs; counted, not saved */
    uint64_t arrived[PRESSURE_LEVELS]; /* milli-GPU x ms, as of arrived_at */
    usec_t arrived_at;
};

/* The fair time now. */
usec_t pressure_clock(const struct pressure *pressure, usec_t now, int64_t capacity_milli);
/* Advance the clock to now; call it before demand or capacity changes. */
void pressure_advance(struct pressure *pressure, usec_t now, int64_t capacity_milli);

/* Work was submitted. */
void pressure_arrival(struct pressure *pressure, usec_t now, uint64_t work);
/* The sums as of now, for pressure_lately. */
void pressure_arrivals(const struct pressure *pressure, usec_t now, uint64_t ret[PRESSURE_LEVELS]);
/* Work that arrived in the last `window`, from the result of pressure_arrivals. */
uint64_t pressure_lately(const uint64_t arrivals[PRESSURE_LEVELS], usec_t window);

#endif
