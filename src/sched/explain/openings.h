/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_EXPLAIN_OPENINGS_H
#define SCHED_EXPLAIN_OPENINGS_H

/* openings - when the calendar lets a waiting job start, whatever else runs
 *
 * Asked of an empty cluster: the begin time of the job, reservations, the windows and the tariff of
 * its queues, the sizes of pools in windows, and budgets that are spent. Outside of the openings
 * the job certainly does not start.
 *
 * A window is known for some time ahead (window.h). After its last span it is taken to repeat: if
 * none of the known gaps between its spans is long enough for the job, no later one is. A size of a
 * pool holds for starts only: a job may outlast the window.
 */

#include "sched/explain/questions.h"

/* Whether the job may start at a time. False: ret_why (may be NULL) is BEGIN, RESERVATION, WINDOW,
 * TARIFF, BUDGET, POOL_MAX or POOL_MIN. */
bool sched_may_start_at(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                        usec_t at, struct why *ret_why);

/* The first time from `from` on at which it may start. USEC_NEVER: there is none, as the calendar
 * repeats; ret_why (may be NULL) is what is in its way at `from`. */
usec_t sched_first_opening(const struct brain *brain, struct inquiry *inquiry,
                           const struct job *job, usec_t from, struct why *ret_why);

/* The last time in [from, until] at which it may start; USEC_NEVER: none. */
usec_t sched_last_opening(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                          usec_t from, usec_t until);

/* What of its calendar comes next. */
enum { EDGES_NEXT = 8 };
struct sched_edges {
    usec_t at[EDGES_NEXT]; /* when something opens or shuts, in order */
    uint32_t count;
    usec_t longest_gap; /* that all its windows leave now and then; USEC_NEVER: not known */
};

void sched_next_edges(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                      struct sched_edges *ret);

/* Up to when the windows are known that repeat and decide on its start; USEC_NEVER: there are none.
 */
usec_t sched_calendar_end(const struct brain *brain, struct inquiry *inquiry,
                          const struct job *job);

#endif
