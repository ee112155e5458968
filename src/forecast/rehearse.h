/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_REHEARSE_H
#define FORECAST_REHEARSE_H

/* rehearse - the last days of a journal once more, under two configurations
 *
 * The journal is folded up to the first of these days. From there on the brain decides anew, twice:
 * machines come, go and change as they did, jobs come as they did and run as long as they did in
 * all their attempts. Who gave up waiting is cancelled when he was, if he still waits; who ended
 * badly does so again; who runs to this day is taken to end now, who waits to this day runs as
 * long as he usually would. Jobs of a queue that a configuration does not have go to `default`.
 *
 * So that many jobs do not take long, of more than EXACT_JOBS (10,000) those that wait start up to
 * a ten-thousandth of the time late, or a tenth of the run time that three in four exceed (`grain`,
 * forward.h).
 *
 * Limits: REHEARSE_EVENTS_MAX events of those days
 */

#include <jansson.h>

#include "core/journal_port.h"
#include "forecast/twice.h"

enum { REHEARSE_EVENTS_MAX = 50000000 };

struct rehearsal {
    const char *dir; /* of the journal */
    journal_read_fn *read_journal;
    usec_t now, last; /* journal time, and how long ago it begins */
    usec_t wall_ahead;
    usec_t processor; /* forward.h */
    uint32_t shown;
    /* Whose names may be said of jobs that nobody lists any more; NULL: everybody's. */
    const char *user;
    void *config;
    /* Tell what puts the configuration into force: the one there is, or the new one. */
    int (*configure)(void *config, struct forward *forward, bool is_change, struct error *err);
};

/* *ret: as outlook_view(), with {from, moved, grain_seconds}; new. */
int rehearse(const struct rehearsal *rehearsal, json_t **ret, struct error *err);

#endif
