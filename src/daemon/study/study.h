/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STUDY_STUDY_H
#define DAEMON_STUDY_STUDY_H

/* study - what-ifs, rehearsals and reports, each in a process of its own beside the daemon
 *
 * A what-if runs in a copy of the daemon, on its present state (io/copy.h); a rehearsal and a
 * report run this program again, which reads the journal. A study is killed when it takes too long,
 * when its client has left, and when the daemon ends for any reason.
 *
 * Order of calls:  create, start*, destroy. done is called from the loop, and by destroy
 * Limits:          STUDIES_MAX at a time, one of a user who is no administrator. Questions with an
 *                  answer of their own (api_study.answer) are short: up to STUDIES_WAITING_MAX wait
 */

#include <uv.h>

#include "api/ports.h"

enum { STUDIES_MAX = 2, STUDIES_WAITING_MAX = 100 };

struct forecaster;
struct hub;
struct studies;

struct studies_options {
    uv_loop_t *loop;
    struct hub *hub;
    struct forecaster *forecaster;
    const char *state_dir;
    usec_t limit; /* how long one may take */
    usec_t grace; /* of jobs that say nothing */
    uid_t owner;  /* the user of the daemon */
};

struct studies *studies_create(const struct studies_options *options);
void studies_destroy(struct studies *studies); /* NULL is fine; before the loop ends */

/* Of a struct studies (api/ports.h). REFUSED_TOO_MANY when there are too many. */
int studies_start(void *studies, struct api_study *study, struct error *err);

/* For the program that a study is: question on standard input, answer on standard output. Returns
 * the exit status. */
typedef int study_answer_fn(const json_t *question, json_t **ret, struct error *err);
int study_answer(study_answer_fn *answer);

int run_rehearsal(void);

#endif
