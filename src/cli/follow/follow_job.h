/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_FOLLOW_JOB_H
#define CLI_FOLLOW_FOLLOW_JOB_H

/* follow - stay with a job until it has ended
 *
 * Talk goes to standard error, the job's output to standard output as it comes. The daemon may be
 * restarted meanwhile. *ret_status is the exit status for the shell.
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "cli/session.h"

struct follow_plan {
    struct session *session;
    const json_t *submitted; /* one of "submitted" of POST /v1/jobs */
    int signal_fd;           /* of interrupt_open */
    bool is_quiet;           /* no talk */
    bool is_json;            /* no talk and no output; the job as JSON at its end */
};

/* A single job. */
int follow_job(const struct follow_plan *plan, int *ret_status, struct error *err);
/* An array or a pipeline (follow_group.c): live on a terminal, a line a change elsewhere. */
int follow_group(const struct follow_plan *plan, int *ret_status, struct error *err);
/* Either, without a word. */
int follow_quietly(struct session *session, const char *id, int *ret_status, struct error *err);

/* What a signal came for. 0: go on; 1: leave, with *ret_status. */
int follow_interrupted(const struct follow_plan *plan, const char *what, int *ret_status);

#endif
