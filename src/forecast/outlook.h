/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_OUTLOOK_H
#define FORECAST_OUTLOOK_H

/* outlook - compares two simulations of the same state, without and with a change
 *
 * Each simulation ran in its own process, and one reads the result of the other as bytes. Jobs are
 * matched by id, queues by name. A wait is the time from submission to the first start. If one did
 * not reach its end, the comparison covers the time that both reached; later starts are `beyond`.
 *
 * Spec: doc/spec/05-api.md, "What if"
 */

#include <jansson.h>

#include "forecast/forward.h"

enum { OUTLOOK_SHOWN = 100, OUTLOOK_SHOWN_MAX = 100000 };

/* One of the two simulations. */
struct outlook_side {
    LIST(struct forward_job) jobs; /* by id, ascending */
    LIST(char *) queues;
    usec_t drained, horizon; /* forward.h */
    uint64_t events;
    uint8_t has_prices;
};

void outlook_take(const struct forward *forward, struct outlook_side *ret);
void outlook_encode(const struct outlook_side *side, struct text *out);
int outlook_decode(const struct text *bytes, struct outlook_side *ret, struct error *err);
void outlook_side_release(struct outlook_side *side);

struct outlook_ask {
    const struct outlook_side *now, *change;
    void *user;
    /* Whether to count and show a job; NULL: all jobs that waited or arrived. */
    bool (*counts)(void *user, const struct forward_job *job);
    /* Add the description of a job: label, name ... */
    void (*describe)(void *user, uint64_t id, json_t *view);
    usec_t from;       /* the time of the state from which seconds are counted */
    usec_t wall_ahead; /* wall time minus the time of the state */
    usec_t grain;      /* differences up to this are ignored (forward.h) */
    uint32_t shown;    /* jobs in the list */
};

/* {jobs, job_count, sooner, later, same, queues, total, horizon, events}; new. */
json_t *outlook_view(const struct outlook_ask *ask);

/* Simulate a state without and with a change, in parallel: the first in a copy of this process
 * (io/copy.h), the second in this one. Both start from the same state and brain, and consume them.
 */
struct twice_ask {
    struct forward_options forward;
    /* Tell events before the start; for the first simulation in the copy. */
    int (*prepare)(void *user, struct forward *forward, bool is_change, struct error *err);
    void *user;
};

int twice_go(const struct twice_ask *ask, struct outlook_side *ret_now,
             struct outlook_side *ret_change, struct error *err);

#endif
