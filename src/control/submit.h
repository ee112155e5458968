/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_SUBMIT_H
#define CONTROL_SUBMIT_H

/* submit - job documents become groups and jobs with numbers, all of them or none
 *
 * A document with a schedule becomes a repeating job (repeat.h): it is stored as it was sent, with
 * the submitter's environment.
 *
 * Order of calls:  read, run inside a change, release. release also after a failure
 */

#include <jansson.h>

#include "control/control.h"

struct submission;

struct submit {
    const struct control *control; /* while it runs */
    const struct identity *who;    /* the caller's */
    json_t *body;                  /* one document, or a list of them */
    struct submission **submissions;
    uint64_t *ids; /* the result of each: a job, a group or a repeating job */
    size_t count;
    const char *external; /* name of the one job in its engine (core/engine.h); NULL: none */
    char home[512];
    uint32_t labels_new; /* of its jobs together, at most */
    bool is_dry_run;     /* checked only */
};

/* documents is taken over, also when it fails. */
int submit_read(struct submit *submit, const struct identity *who, json_t *documents,
                struct error *err);
/* Not a list, an array, a pipeline or a repeating job. */
bool submit_is_one_job(const struct submit *submit);
int submit_run(const struct control *control, struct submit *submit, struct error *err);
void submit_release(struct submit *submit);

/* All of it at once, inside a change. documents stays the caller's. */
int submit_all(const struct control *control, const struct identity *who, const json_t *documents,
               struct error *err);

#endif
