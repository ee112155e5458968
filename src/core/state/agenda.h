/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_AGENDA_H
#define CORE_STATE_AGENDA_H

/* agenda - windows, and what depends on them: tariffs, reservations, recurring submissions
 *
 * A window (window.h) is a list of spans of journal time, computed some time ahead by a caller that
 * has a clock. While a window is open, queues and pools can have other limits and prices another
 * factor, and nodes can be reserved. A window with a blank in its name belongs to one object
 * ("tariff peak", "reservation course", "each month"); the others come from the configuration.
 *
 * Periods are windows as well: one begins whenever "each month" opens or closes.
 *
 * The tariff's clock advances by factor times time, so the cost of a job between two moments is its
 * rate times the difference of the clock. The clock may wrap: only differences are meaningful.
 *
 * The fold is in fold_agenda.c: whenever time passes an edge, what is in force is set again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "core/cluster/window.h"
#include "core/journal/event.h"

enum {
    AGENDA_WINDOWS_MAX = 1024, /* numbers ever assigned, removed windows included */
    AGENDA_TARIFFS_MAX = 64,
    AGENDA_RESERVATIONS_MAX = 256,
    AGENDA_CRONS_MAX = 1000,
    TARIFF_ONE = 1000,  /* the factor 1: the usual price */
    TARIFF_MAX = 50000, /* fifty times as expensive */
    TARIFF_CHEAP = 999, /* cheaper than usual */
};

struct tariff {
    char *name;
    uint32_t window;
    uint32_t factor_milli;
};

enum reservation_kind { RESERVATION_MAINTENANCE, RESERVATION_QUEUE, RESERVATION_USER };

struct reservation {
    char *name;
    char *owner;      /* the queue or user; "" for maintenance */
    char *model;      /* "": any */
    where_list where; /* conditions on its nodes; none: any */
    char *maker;      /* the user who created it; "": the configuration */
    uint32_t window;
    uint32_t user; /* of a reservation for a user: their number in the state */
    uint32_t gpus; /* 0: whole nodes */
    uint8_t kind;  /* enum reservation_kind */
};

struct agenda {
    LIST(struct window *) windows; /* a name keeps its number */
    LIST(struct tariff) tariffs;   /* of the open ones, the last applies */
    LIST(struct reservation) reservations;
    LIST(struct event_cron) crons; /* by id, with texts of their own */
    uint64_t next_cron;            /* number for the next one */
    char *timezone;                /* "": that of the daemon's machine */
    usec_t next_edge;              /* of any window */
    uint64_t passed;               /* incremented whenever what is in force may have changed */
    uint32_t factor_milli;         /* of the current tariff */
    uint64_t clock;                /* of the tariff, at clock_at */
    usec_t clock_at;
};

void agenda_init(struct agenda *agenda);
void agenda_release(struct agenda *agenda);

int64_t agenda_find_window(const struct agenda *agenda, const char *name);      /* -1: none */
int64_t agenda_find_reservation(const struct agenda *agenda, const char *name); /* -1: none */
struct event_cron *agenda_find_cron(const struct agenda *agenda, uint64_t id);  /* NULL: none */

/* The window of a name, created if there is none. -1: there are too many. */
int64_t agenda_claim_window(struct agenda *agenda, const char *name);

/* The tariff's factor at a time, and until when it applies. */
uint32_t agenda_factor(const struct agenda *agenda, usec_t at, usec_t *ret_until);

/* The first time from `at` on when the factor is at most this; USEC_NEVER: none is known. */
usec_t agenda_cheap_at(const struct agenda *agenda, uint32_t most_milli, usec_t at);

/* A moment, and the tariff's clock at that moment. */
struct agenda_time {
    usec_t at;
    uint64_t clock;
};

/* Advance to a later moment. */
void agenda_advance(const struct agenda *agenda, struct agenda_time *time, usec_t to);

/* The tariff's clock at a time, which is not before the state's time. */
uint64_t agenda_clock(const struct agenda *agenda, usec_t at);

/* When the period of a moment began, by the edges of a window; 0: not known so far back. */
usec_t agenda_period_start(const struct window *window, usec_t at);

void reservation_release(struct reservation *reservation);

#endif
