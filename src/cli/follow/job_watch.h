/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_JOB_WATCH_H
#define CLI_FOLLOW_JOB_WATCH_H

/* job_watch - the changes of a job or group, also across a restart of the daemon
 *
 * Order of calls:  open, (client_wait, take*, mend if the stream ends early)*, close
 * Limits:          WATCH_AWAY_S seconds without a daemon
 */

#include <jansson.h>
#include <stdbool.h>
#include <time.h>

#include "base/error.h"
#include "cli/select.h"
#include "cli/session.h"
#include "io/client.h"

enum { WATCH_AWAY_S = 60, WATCH_PAUSE_MS = 100 };

struct watch {
    struct session *session;
    char id[ID_SIZE];
    struct client_stream events;
    time_t away_since; /* 0: connected */
};

int watch_open(struct watch *watch, struct session *session, const char *id, struct error *err);
void watch_close(struct watch *watch);

/* The next change received, new; NULL: none yet. *ret_is_group: it is of a group. */
json_t *watch_take(struct watch *watch, bool *ret_is_group);

bool watch_is_over(const struct watch *watch);

/* The stream ended before the job: check whether that is final, else reconnect. */
int watch_mend(struct watch *watch, struct error *err);

#endif
