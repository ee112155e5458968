/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STUDY_STUDY_H
#define DAEMON_STUDY_STUDY_H

/* study - questions about what would be, worked out beside the daemon
 *
 * Each in a process of its own, so that the loop goes on: a what-if in a copy of the daemon, on
 * its state as it is (io/copy.h); a rehearsal by this program anew, which reads the journal. It is
 * ended when it takes too long, when who asked has left, and when the daemon ends, however that
 * does.
 *
 * Order of calls:  create, start*, destroy. done is called from the loop, and by destroy
 * Limits:          STUDIES_MAX at a time, one of a user who is no administrator
 */

#include <uv.h>

#include "api/ports.h"

enum { STUDIES_MAX = 2 };

struct hub;
struct studies;

struct studies_options {
    uv_loop_t *loop;
    struct hub *hub;
    const char *state_dir;
    usec_t limit; /* how long one may take */
    usec_t grace; /* of jobs that say nothing */
    uid_t owner;  /* whom the daemon runs as */
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
