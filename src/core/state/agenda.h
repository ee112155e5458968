/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_AGENDA_H
#define CORE_STATE_AGENDA_H

/* agenda - windows, and what depends on them: tariffs, reservations, recurring submissions
 *
 * A window (window.h) is a list of spans of journal time, computed some time ahead by a caller that
 * has a clock. While a window is open, queues and pools can have other bounds, prices another
 * factor, and machines can be reserved. A window with a blank in its name belongs to one object
 * ("tariff peak", "reservation course", "each month"); the others are those of a configuration.
 *
 * Periods are windows, too: one begins whenever "each month" opens or closes.
 *
 * The tariff's clock goes on by factor times time, so what a job costs between two moments is its
 * rate times the difference. It may wrap: only differences mean something.
 *
 * The fold is in fold_agenda.c: whenever time passes an edge, what holds is set anew.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "core/cluster/window.h"
#include "core/journal/event.h"

enum {
    AGENDA_WINDOWS_MAX = 1024, /* numbers given, also to those that are no more */
    AGENDA_TARIFFS_MAX = 64,
    AGENDA_RESERVATIONS_MAX = 256,
    AGENDA_CRONS_MAX = 1000,
    TARIFF_ONE = 1000,  /* as it is: the factor 1 */
    TARIFF_MAX = 50000, /* fifty times as dear */
    TARIFF_CHEAP = 999, /* less than usual */
};

struct tariff {
    char *name;
    uint32_t window;
    uint32_t factor_milli;
};

enum reservation_kind { RESERVATION_MAINTENANCE, RESERVATION_QUEUE, RESERVATION_USER };

struct reservation {
    char *name;
    char *owner; /* the queue or user; "" for maintenance */
    char *model; /* "": any */
    char *nodes; /* comma-separated; "": any */
    char *maker; /* user that created it; "": the configuration */
    uint32_t window;
    uint32_t user; /* number of the user in the state, for a user's */
    uint32_t gpus; /* 0: whole machines */
    uint8_t kind;  /* enum reservation_kind */
};

struct agenda {
    LIST(struct window *) windows; /* a number stays with its name */
    LIST(struct tariff) tariffs;   /* of those that are open the last counts */
    LIST(struct reservation) reservations;
    LIST(struct event_cron) crons; /* by id, with texts of their own */
    uint64_t next_cron;            /* the number of the next one */
    char *timezone;                /* "": the machine's */
    usec_t next_edge;              /* of any window */
    uint64_t passed;               /* counts up whenever what holds may be another */
    uint32_t factor_milli;         /* of the tariff now */
    uint64_t clock;                /* of the tariff, at clock_at */
    usec_t clock_at;
};

void agenda_init(struct agenda *agenda);
void agenda_release(struct agenda *agenda);

int64_t agenda_find_window(const struct agenda *agenda, const char *name);      /* -1: none */
int64_t agenda_find_reservation(const struct agenda *agenda, const char *name); /* -1: none */
struct event_cron *agenda_find_cron(const struct agenda *agenda, uint64_t id);  /* NULL: none */

/* The window of a name, made when there is none. -1: there are too many. */
int64_t agenda_claim_window(struct agenda *agenda, const char *name);

/* The factor of the tariff at a time, and until when it holds. */
uint32_t agenda_factor(const struct agenda *agenda, usec_t at, usec_t *ret_until);

/* The first time from `at` on at which the factor is at most this; USEC_NEVER: none is known. */
usec_t agenda_cheap_at(const struct agenda *agenda, uint32_t most_milli, usec_t at);

/* A moment, and where the tariff's clock stands then. */
struct agenda_time {
    usec_t at;
    uint64_t clock;
};

/* Go on to a later one. */
void agenda_advance(const struct agenda *agenda, struct agenda_time *time, usec_t to);

/* Where the tariff's clock stands; from the state's time on. */
uint64_t agenda_clock(const struct agenda *agenda, usec_t at);

/* When the period that a moment is in began, by the edges of a window; 0: before it is known. */
usec_t agenda_period_start(const struct window *window, usec_t at);

void reservation_release(struct reservation *reservation);

#endif
