/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_DRAFT_H
#define WIRE_JOB_DRAFT_H

/* draft - one job out of the keys of its stage, the defaults and the pipeline's top
 *
 * Only submission.c uses this; draft_request.c, draft_roles.c, draft_checkpoint.c and command.c are
 * parts of it.
 */

#include <stdbool.h>
#include <stddef.h>

#include "wire/job/matrix.h"
#include "wire/job/submission.h"
#include "wire/reader.h"

enum { SCOPE_LAYERS_MAX = 4 };

#define DRAFT_GRACE_MAX USEC_PER_DAY

/* Where a key is looked for: the stage first, then what it inherits from. */
struct scope {
    struct scope_layer {
        struct reader reader;
        const json_t *object;
    } layers[SCOPE_LAYERS_MAX];
    size_t count;
};

/* The innermost layer that has the key; the first one when none has it. */
const struct scope_layer *scope_find(const struct scope *scope, const char *key);

struct draft_source {
    const struct scope *scope;
    const struct matrix *matrix;
    size_t combination;
    const char *name;         /* unless it has one; NULL: made from the command */
    const json_t *sender_env; /* NULL: none */
    const char *sender_cwd;   /* NULL: none */
};

/* Text of a key with the matrix' values in it, new; NULL when it failed. */
char *draft_substitute(const struct draft_source *source, const struct scope_layer *layer,
                       const char *key, const char *text, size_t length_max);

/* What is run, and roles (draft_roles.c). */
int draft_read_roles(const struct draft_source *source, struct job_draft *draft);
size_t draft_roles_size(const struct job_draft *draft); /* bytes of arguments and variables */
void draft_release_roles(struct job_draft *draft);
/* The variables of the innermost layer alone, new. */
int draft_read_own_env(const struct draft_source *source, char ***ret);
/* The variables of all layers, over those of the sender. */
int draft_read_env(const struct draft_source *source, struct job_draft *draft);

/* gpus, cpus and memory of a member (draft_request.c). */
int draft_read_member(const struct draft_source *source, struct job_draft *draft);
/* The same, ranks and nodes; with roles those of the whole. */
int draft_read_request(const struct draft_source *source, struct job_draft *draft);

/* checkpoint; after grace (draft_checkpoint.c). */
int draft_read_checkpoint(const struct draft_source *source, struct job_draft *draft);

/* spot; after preemptible (the same file). */
int draft_read_spot(const struct draft_source *source, struct job_draft *draft);

/* Fill a zeroed draft. What was filled is to be released also after a failure. */
int draft_read(const struct draft_source *source, struct job_draft *draft);
void draft_release(struct job_draft *draft);

/* Bytes that the draft's arguments, environment and script take. */
size_t draft_size(const struct job_draft *draft);

#endif
