/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_FEED_H
#define CLI_TOP_TOP_FEED_H

/* top_feed - requests GPUs and jobs from the daemon, without blocking
 *
 * The list of jobs is long: it is requested after the daemon reported a change, and every
 * FEED_JOBS_S seconds. If the daemon does not report changes, it is requested each time.
 *
 * Order of calls:  open, (ask, take until it is no longer asking)*, close
 * Owner:           the session must outlive the feed, which must not move while it is asking
 * Limits:          an answer must arrive within FEED_PATIENCE_S seconds
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
    struct client_stream events; /* only their arrival matters, not their content */
    bool is_asking, asks_jobs, has_events, has_changed;
    usec_t asked, asked_jobs; /* monotonic time */
};

enum feed_answer { FEED_NONE, FEED_CAME, FEED_FAILED };

void feed_open(struct top_feed *feed, struct session *session, const char *user);
void feed_close(struct top_feed *feed);

/* Request both and wait for them: for the first frame. New references. */
int feed_get(struct top_feed *feed, json_t **ret_gpus, json_t **ret_jobs, struct error *err);

/* The recent history of a GPU, in steps of some seconds; waits for it. */
int feed_history(struct top_feed *feed, const char *uuid, int64_t step_s, json_t **ret,
                 struct error *err);

void feed_ask(struct top_feed *feed, usec_t now);
/* Take what client_wait() received; *ret_... are new if they arrived. NULL jobs: unchanged. */
enum feed_answer feed_take(struct top_feed *feed, usec_t now, json_t **ret_gpus, json_t **ret_jobs,
                           struct error *err);

#endif
