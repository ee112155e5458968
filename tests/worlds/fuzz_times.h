/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_TIMES_H
#define WORLDS_FUZZ_TIMES_H

/* fuzz_times - windows, tariffs and reservations: the shadow's own
 *
 * Every query scans all spans. Windows are numbered as in the state, in the order of their first
 * use; reservations by their place in the state.
 */

#include "base/mem.h"
#include "core/journal/event.h"

struct shadow;
struct shadow_job;
struct shadow_queue;

struct shadow_window {
    char *name;
    LIST(struct event_span) spans;
};

struct shadow_tariff {
    char *name;
    uint32_t window, factor;
};

struct shadow_reservation {
    char *name, *owner, *model, *nodes;
    uint32_t window, gpus; /* gpus 0: whole machines */
    uint8_t kind;          /* enum reservation_kind */
};

struct shadow_times {
    LIST(struct shadow_window) windows;
    LIST(struct shadow_tariff) tariffs; /* of those that are open the last counts */
    LIST(struct shadow_reservation) reservations;
    LIST(uint64_t) crons;
    uint64_t next_cron;
};

void shadow_times_release(struct shadow_times *times);
bool shadow_times_accept(const struct shadow_times *times, const struct event *event);
/* WINDOW to TARIFF, and what is submitted again and again. */
void shadow_times_apply(struct shadow_times *times, const struct event *event);
uint32_t shadow_times_claim(struct shadow_times *times, const char *window); /* its number */

bool shadow_is_open(const struct shadow_times *times, uint32_t window, usec_t at);
/* The first moment after `at` when it opens or closes; USEC_NEVER: none. */
usec_t shadow_edge_after(const struct shadow_times *times, uint32_t window, usec_t at);
/* The last one, up to `at`; 0: none. */
usec_t shadow_edge_before(const struct shadow_times *times, uint32_t window, usec_t at);
usec_t shadow_any_edge_after(const struct shadow_times *times, usec_t at); /* of all windows */
/* Whether any moment of [from, until) is inside. */
bool shadow_is_open_in(const struct shadow_times *times, uint32_t window, usec_t from,
                       usec_t until);

uint32_t shadow_factor(const struct shadow_times *times, usec_t at);
/* The first moment from `at` on with at most this factor; USEC_NEVER: none is known. */
usec_t shadow_cheap_at(const struct shadow_times *times, uint32_t most, usec_t at);

/* ---- with what jobs hold ---- */

/* How long a job that starts may count on staying. */
usec_t shadow_stay_of(const struct shadow_job *job);
usec_t shadow_end_of(const struct shadow_job *job); /* by its limit, of one that holds something */
bool shadow_is_owner(const struct shadow *shadow, const struct shadow_reservation *reservation,
                     const struct shadow_job *job);
/* Not its owner, and it may still be there when it is open. */
bool shadow_is_barred(const struct shadow *shadow, const struct shadow_reservation *reservation,
                      const struct shadow_job *job);
bool shadow_keeps_node(const struct shadow *shadow, const struct shadow_reservation *reservation,
                       uint32_t node); /* whole */
bool shadow_may_keep(const struct shadow *shadow, const struct shadow_reservation *reservation,
                     uint32_t device);
/* No other one keeps anything while this one does. */
bool shadow_is_alone(const struct shadow_times *times, size_t reservation);
bool shadow_is_named(const char *names, const char *name); /* among names with commas */

/* Whatever windows bound is set to what holds at shadow->now. */
void shadow_set_times(struct shadow *shadow);

#endif
