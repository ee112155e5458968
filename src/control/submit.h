/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_SUBMIT_H
#define CONTROL_SUBMIT_H

/* submit - turns job documents into groups and jobs with numbers, all of them or none
 *
 * A document with a schedule becomes a repeating job (repeat.h): it is stored unchanged, with the
 * submitter's environment.
 *
 * A submission with a key is accepted once (core/journal/receipt_log.h): the same again gives the
 * same numbers, another one with that key is refused.
 *
 * Order of calls:  read, run inside a change, release (also after a failure)
 */

#include <jansson.h>

#include "control/control.h"

struct job_draft;
struct submission;

struct submit {
    const struct control *control; /* only while it runs */
    const struct identity *who;    /* owned by the caller */
    json_t *body;                  /* one document, or a list of them */
    struct submission **submissions;
    uint64_t *ids; /* the result for each document: a job, a group or a repeating job */
    size_t count;
    const char *external; /* name of the one job in its engine (core/engine.h); NULL: none */
    char home[512];
    uint64_t stored;      /* bytes that it adds to the journal, and no event tells yet */
    const char *key;      /* the client's name for it; NULL: none */
    uint64_t fingerprint; /* of the documents as they were sent; with a key only */
    bool is_repeated;    /* it was accepted before, under this key: the numbers are those of then */
    uint32_t labels_new; /* upper bound of new labels of all its jobs */
    bool is_dry_run;     /* only check */
    bool lacks_nodes;    /* it is refused because no node could ever hold it */
    const struct job_draft *admitted; /* the last one that an empty cluster could hold */
    uint32_t admitted_queue;
};

/* Takes over documents, also if it fails. */
int submit_read(struct submit *submit, const struct identity *who, json_t *documents,
                struct error *err);
/* Name it: key is 1 to RECEIPT_KEY_MAX printable characters of ASCII, owned by the caller. */
int submit_name(struct submit *submit, const char *key, struct error *err);
/* Not a list, an array, a pipeline or a repeating job. */
bool submit_is_one_job(const struct submit *submit);
int submit_run(const struct control *control, struct submit *submit, struct error *err);
void submit_release(struct submit *submit);

/* Read, run and release, inside a change. The caller keeps documents. */
int submit_all(const struct control *control, const struct identity *who, const json_t *documents,
               struct error *err);

#endif
