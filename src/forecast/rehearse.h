/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_REHEARSE_H
#define FORECAST_REHEARSE_H

/* rehearse - repeats the last days of a journal under two configurations
 *
 * The journal is folded up to the first of these days. From there the brain decides again, twice.
 * Nodes and jobs arrive, leave and change as recorded; a job runs as long as it did in all its
 * attempts. A job that was cancelled while waiting is cancelled at the same time if it still waits.
 * A failed job fails again. A job that still runs ends now; one that still waits runs for its usual
 * time. Jobs of a queue that a configuration lacks go to `default`.
 *
 * With more than EXACT_JOBS (10,000) jobs, starts are late to limit the computing time: by at most
 * 1/10,000 of the period, or a tenth of the run time that three of four jobs exceed (`grain`,
 * forward.h).
 *
 * Limits: REHEARSE_EVENTS_MAX events in the period
 */

#include <jansson.h>

#include "core/journal_port.h"
#include "forecast/outlook.h"

enum { REHEARSE_EVENTS_MAX = 50000000 };

struct rehearsal {
    const char *dir; /* of the journal */
    journal_read_fn *read_journal;
    usec_t now, last; /* journal time, and the length of the period before it */
    usec_t wall_ahead;
    usec_t processor; /* forward.h */
    uint32_t shown;
    /* For jobs that are no longer listed, only this user may be named; NULL: all users. */
    const char *user;
    void *config;
    /* Tell the events that apply the current configuration, or with is_change the new one. */
    int (*configure)(void *config, struct forward *forward, bool is_change, struct error *err);
};

/* *ret: as outlook_view(), with {from, moved, grain_seconds}; new. */
int rehearse(const struct rehearsal *rehearsal, json_t **ret, struct error *err);

#endif
