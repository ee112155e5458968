/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_FEED_H
#define CLI_TOP_TOP_FEED_H

/* top_feed - asks the daemon for GPUs and jobs, without waiting for it
 *
 * The list of jobs is long: it is asked for when the daemon said that one has changed, and every
 * FEED_JOBS_S seconds besides. Where it does not want to say that, each time.
 *
 * Order of calls:  open, (ask, take until it is no longer asking)*, close
 * Owner:           the session must outlive it; a feed must not move while it is asking
 * Limits:          an answer that takes longer than FEED_PATIENCE_S is given up
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/session.h"

enum { FEED_PATIENCE_S = 10, FEED_JOBS_S = 5 };

struct top_feed {
    struct session *session;
    struct text jobs_path;
    struct client_stream gpus, jobs;
    struct client_stream events; /* of which only counts that there were any */
    bool is_asking, asks_jobs, has_events, has_changed;
    usec_t asked, asked_jobs; /* when, of a clock that only goes on */
};

enum feed_answer { FEED_NONE, FEED_CAME, FEED_FAILED };

void feed_open(struct top_feed *feed, struct session *session, const char *user);
void feed_close(struct top_feed *feed);

/* Both at once, and wait for them: for the first picture. New references. */
int feed_get(struct top_feed *feed, json_t **ret_gpus, json_t **ret_jobs, struct error *err);

/* How a GPU did lately, in steps of so many seconds; waits for it. */
int feed_history(struct top_feed *feed, const char *uuid, int64_t step_s, json_t **ret,
                 struct error *err);

int feed_ask(struct top_feed *feed, usec_t now, struct error *err);
/* Look what client_wait() brought; *ret_... are new when they came. The jobs may be NULL: they are
 * as they were. */
enum feed_answer feed_take(struct top_feed *feed, usec_t now, json_t **ret_gpus, json_t **ret_jobs,
                           struct error *err);

#endif
