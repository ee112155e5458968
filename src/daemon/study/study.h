/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STUDY_STUDY_H
#define DAEMON_STUDY_STUDY_H

/* study - runs what-ifs, rehearsals and reports, each in its own process
 *
 * A what-if runs in a copy of the daemon, on its present state (io/copy.h). A rehearsal or a report
 * runs this program again, which reads the journal. A study is killed if it takes too long, if its
 * client disconnects, and if the daemon ends for any reason.
 *
 * Order of calls:  create, start*, destroy. done is called from the loop, and by destroy
 * Limits:          STUDIES_MAX at a time, and one for each user who is not an administrator.
 *                  Questions with their own answer (api_study.answer) are short: up to
 *                  STUDIES_WAITING_MAX of them wait. Beside these, STUDIES_OF_TURNS_MAX questions
 *                  with several changes (api_study.turns) run
 */

#include <uv.h>

#include "api/ports.h"

enum { STUDIES_MAX = 2, STUDIES_OF_TURNS_MAX = 2, STUDIES_WAITING_MAX = 100 };

struct forecaster;
struct hub;
struct planned;
struct studies;

struct studies_options {
    uv_loop_t *loop;
    struct hub *hub;
    struct forecaster *forecaster;
    struct planned *planned;
    const char *state_dir;
    usec_t limit; /* time limit of a study */
    usec_t grace; /* default grace period of jobs */
    uid_t owner;  /* the user of the daemon */
};

struct studies *studies_create(const struct studies_options *options);
void studies_destroy(struct studies *studies); /* NULL is fine; before the loop ends */

/* studies: a struct studies; fills a port (api/ports.h). Fails with REFUSED_TOO_MANY. */
int studies_start(void *studies, struct api_study *study, struct error *err);

/* The main function of a study process: reads the question from standard input, writes the answer
 * to standard output. Returns the exit status. */
typedef int study_answer_fn(const json_t *question, json_t **ret, struct error *err);
int study_answer(study_answer_fn *answer);

int run_rehearsal(void);

#endif
