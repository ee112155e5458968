/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SCHED_CHECK_H
#define TESTS_SCHED_CHECK_H

/* check - what must hold of a state and its brain, worked out again from the beginning
 *
 * Nothing here calls place, order or reserve: it counts and searches in its own, simple way.
 * Each check returns true, or false with the reason in err.
 */

#include "base/error.h"
#include "lab.h"

/* Room, pools, queues and groups are what a count over the leases gives, and never below zero. */
bool check_counts(const struct lab *lab, struct error *err);
/* Every job that holds something holds all that it asked for, on devices that it may have. */
bool check_leases(const struct lab *lab, struct error *err);
/* After a plan: no job holds more than queues, pools and arrays allow. */
bool check_grants(const struct lab *lab, struct error *err);
/* After a plan: no job that could run waits, and each waiting job has a true reason. */
bool check_waiting(const struct lab *lab, struct error *err);
/* After a plan: what is overdue was done, and the next wakeup is in time for what will be. */
bool check_wakeup(const struct lab *lab, struct error *err);

/* Listens to the state, before the brain does: only legal transitions. */
struct check_states {
    struct map last;
    char problem[200]; /* "" while all is well */
    void (*brain_on_job)(void *user, struct job *job, bool is_gone);
    void *brain_user;
};
void check_states_watch(struct check_states *states, struct lab *lab);
void check_states_release(struct check_states *states);

#endif
