/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_NEWS_H
#define CLI_FOLLOW_NEWS_H

/* news - messages about restarts and the failure of a followed job
 *
 * Order of calls:  (restarts_hear)*, restarts_release
 */

#include <jansson.h>
#include <stdbool.h>

#include "cli/session.h"

enum { LAST_LINES = 10 };

struct restarts {
    json_t *before; /* details of the last known attempt; NULL: none */
};

/* A job runs; details: the reply of GET /v1/jobs/ID. Add the message about a restart to text, if
 * this is neither the last known attempt nor the first one. */
void restarts_add(struct restarts *restarts, const json_t *details, struct text *text);
/* The same for a change of the job: get the details, and print the message on standard error. */
void restarts_tell(struct restarts *restarts, struct session *session, const json_t *job);
void restarts_release(struct restarts *restarts);

/* Print the last lines of the member of a failed job that failed first, on standard error.
 * was_shown: the output of rank 0 has already been printed. */
void last_lines_tell(struct session *session, const json_t *job, unsigned lines, bool was_shown);

#endif
