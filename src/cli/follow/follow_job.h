/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_FOLLOW_JOB_H
#define CLI_FOLLOW_FOLLOW_JOB_H

/* follow_job - follows a job until it has ended
 *
 * Messages go to standard error, the job's output to standard output as it is written. The daemon
 * may restart meanwhile. *ret_status is the exit status for the shell.
 */

#include <jansson.h>
#include <stdbool.h>
#include <time.h>

#include "base/error.h"
#include "cli/select.h"
#include "cli/session.h"
#include "core/engine.h"
#include "io/net/client.h"

struct follow_plan {
    struct session *session;
    const json_t *submitted;  /* one of "submitted" of POST /v1/jobs */
    int signal_fd;            /* of interrupt_open */
    enum engine_attach input; /* what the job is connected to */
    unsigned tail;            /* lines of output to begin with; 0: all */
    bool cancels;             /* a signal cancels the job */
    bool is_quiet;            /* no messages */
    bool is_json;             /* no messages and no output; the job as JSON at its end */
};

/* A single job. */
int follow_job(const struct follow_plan *plan, int *ret_status, struct error *err);
/* An array or a pipeline (follow_group.c): live on a terminal, else one line per change. */
int follow_group(const struct follow_plan *plan, int *ret_status, struct error *err);
/* Either, without its output; tells: report restarts and the failure of a job. */
int follow_quietly(struct session *session, const char *id, bool tells, int *ret_status,
                   struct error *err);

/* Handle a signal. 0: continue; 1: detach, with *ret_status. */
int follow_interrupted(const struct follow_plan *plan, const char *what, int *ret_status);

/* ---- the changes of a job or group, also across a restart of the daemon ----
 *
 * Order of calls:  open, (client_wait, take*, mend if the stream ends early)*, close
 * Limits:          WATCH_AWAY_S seconds without a daemon. One that refuses a stream because too
 * many are open is asked again every WATCH_CROWDED_S seconds: others end
 */

enum { WATCH_AWAY_S = 60, WATCH_PAUSE_MS = 100, WATCH_CROWDED_S = 2 };

/* It was refused because too many are open. */
bool stream_is_crowded_out(const struct client_stream *stream);

struct watch {
    struct session *session;
    char id[ID_SIZE];
    struct client_stream events;
    time_t away_since;   /* 0: connected */
    time_t connected_at; /* or tried to */
    bool is_told;        /* the user, that too many are open */
};

void watch_open(struct watch *watch, struct session *session, const char *id);
void watch_close(struct watch *watch);

/* The next change that was received, new; NULL: none yet. *ret_is_group: it is about a group. */
json_t *watch_take(struct watch *watch, bool *ret_is_group);

/* The stream ended before the job: check whether that is final, else reconnect. */
int watch_mend(struct watch *watch, struct error *err);

#endif
