/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_LOOKAHEAD_H
#define FORECAST_LOOKAHEAD_H

/* lookahead - chooses the slack of protected starts by simulating the waiting jobs ahead
 *
 * Which slack is better (sched/ordering/plain.h) depends on the workload: a wide one lets short
 * jobs pass for longer, which shortens most waits and may lengthen the longest. So the present
 * state is simulated with both slacks (forward.h), each in a copy of the process:
 *
 *   - jobs run for their predicted times;
 *   - the last LOOKAHEAD_AGAIN submissions come again, at the same distances and with the run times
 *     that they had: a choice for the waiting jobs alone would ignore those that pass them;
 *   - the simulation ends when no job waits.
 *
 * Of the jobs that start in both simulations,
 *
 *   score = ln(mean bounded slowdown) + ln(mean wait)
 *           + LOOKAHEAD_TAIL * (ln(99th percentile of the waits) + ln(longest wait))
 *
 * The smaller score wins, but the slack of the present is only given up for a score that is smaller
 * by LOOKAHEAD_MARGIN. The wide slack is not taken if it makes the longest wait longer, and given
 * up as soon as it does. The choice is an event (SLACK): a replay of the journal repeats it.
 *
 * Units:   microseconds of the state's clock
 * Source:  roll-out of a few policies from the present state (Bertsekas, Tsitsiklis and Wu 1997)
 */

#include "forecast/forward.h"

enum {
    LOOKAHEAD_AGAIN = 64,  /* submissions that come again */
    LOOKAHEAD_EVERY = 8,   /* numbers of jobs and groups between two choices */
    LOOKAHEAD_WAITING = 8, /* with fewer waiting jobs nothing is chosen, */
    LOOKAHEAD_MOST = 4096, /* with more of them neither: it would take too long */
    LOOKAHEAD_TAIL = 8,
};

#define LOOKAHEAD_MARGIN 0.05
#define LOOKAHEAD_WIDE   USEC_PER_DAY /* the other slack is that of plain.h */

/* What a simulation says of a job. */
struct lookahead_job {
    usec_t wait; /* -1: it does not start */
    usec_t work;
};

typedef LIST(struct lookahead_job) lookahead_jobs;

/* Of the jobs that start in both. */
struct lookahead_score {
    double score;
    usec_t mean, longest; /* wait */
};

struct lookahead_ask {
    struct state *state;
    struct brain *brain;
    usec_t now;       /* not before the time of the state */
    usec_t processor; /* processor time for both simulations; 0: no limit */
};

struct lookahead {
    bool is_other; /* the other slack is better: */
    struct event_slack choice;
    uint64_t events;  /* of both simulations */
    usec_t processor; /* the same */
};

/* Whether enough jobs wait, and enough have come since `next_id` was the number of the next. */
bool lookahead_is_due(const struct state *state, uint64_t next_id);

/* Fails if a simulation failed or its processor time was used up; then nothing is chosen. The state
 * and the brain are unchanged. */
int lookahead_make(const struct lookahead_ask *ask, struct lookahead *ret, struct error *err);

/* Two simulations of the same jobs, in the same order. False: no job starts in both. */
bool lookahead_compare(const lookahead_jobs *now, const lookahead_jobs *other,
                       struct lookahead_score *ret_now, struct lookahead_score *ret_other);

/* Whether the other slack is taken, which is the wider one of the two or the narrower. */
bool lookahead_is_better(const struct lookahead_score *other, const struct lookahead_score *now,
                         bool is_wider);

#endif
