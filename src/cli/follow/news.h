/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_NEWS_H
#define CLI_FOLLOW_NEWS_H

/* news - what a follower of a job says of its restarts and of its failure
 *
 * Order of calls:  (restarts_hear)*, restarts_release
 */

#include <jansson.h>
#include <stdbool.h>

#include "cli/session.h"

enum { LAST_LINES = 10 };

struct restarts {
    json_t *before; /* details of the attempt that was heard of last; NULL: none */
};

/* A running job. details: of GET /v1/jobs/ID. What is said of a restart is added to text: nothing
 * for the attempt that was heard of last, or for the first. */
void restarts_add(struct restarts *restarts, const json_t *details, struct text *text);
/* The same of a change of the job: get the details, and say it on standard error. */
void restarts_tell(struct restarts *restarts, struct session *session, const json_t *job);
void restarts_release(struct restarts *restarts);

/* Of a job that failed: the last lines of the member that failed first, on standard error.
 * was_shown: the output of rank 0 was printed already. */
void last_lines_tell(struct session *session, const json_t *job, unsigned lines, bool was_shown);

#endif
