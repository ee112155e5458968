/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_DRAFT_H
#define WIRE_JOB_DRAFT_H

/* draft - one job out of the keys of its stage, the defaults and the pipeline's top
 *
 * draft.c has the table of the keys in the order in which they are read; the functions that read
 * them are in draft_*.c and job_command.c. Only submission.c uses this.
 */

#include <stdbool.h>
#include <stddef.h>

#include "wire/job/matrix.h"
#include "wire/job/sender.h"
#include "wire/job/submission.h"
#include "wire/reader.h"

enum { SCOPE_LAYERS_MAX = 4 };

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
    const char *name; /* unless it has one; NULL: made from the command */
    const struct sender *sender;
};

/* A key that is read into a draft. */
struct draft_key {
    const struct draft_source *source;
    const struct scope_layer *layer; /* the innermost that has it; the first when none has it */
    const struct reader *reader;     /* of the layer */
    const json_t *object;            /* the same */
    const struct draft_row *row;
    const char *name;
    const json_t *value; /* NULL: no layer has it */
    const char *text;    /* of a scalar; NULL: it is none, or not there */
};

typedef int draft_key_fn(const struct draft_key *key, struct job_draft *draft);

struct draft_row {
    const char *name;
    draft_key_fn *read;
    const char *expected; /* a string or number that is read as text; NULL: something else */
    size_t offset;        /* of the member, for the functions of draft_scope.c */
    int64_t least, most;
    const char *range; /* what is said of a duration that is not within */
    bool is_always;    /* read also where no layer has it */
    bool may_be_map;   /* instead of a scalar */
};

#define OF_DRAFT(member) offsetof(struct job_draft, member)
#define UP_TO_A_DAY      .most = USEC_PER_DAY, .range = "longer than a day"

/* draft_scope.c */
int draft_read_keys(const struct draft_source *source, const struct draft_row *rows, size_t count,
                    struct job_draft *draft);
/* The value is a map with these keys and no others. */
int draft_read_map(const struct draft_key *key, const struct draft_row *rows, size_t count,
                   struct job_draft *draft);
struct draft_key draft_key_of(const struct draft_source *source, const char *name);
#define key_fail(key, code, ...)                                                                   \
    reader_fail((key)->reader, code, (key)->object, (key)->name, __VA_ARGS__)
/* Put the place before what a parser has put into the error; code 0 stays 0. */
int key_check(const struct draft_key *key, int code);
/* The layer of the map that the key has. */
struct scope_layer layer_inside(const struct scope_layer *layer, const char *name);

/* By the row's offset and bounds: a bool, a uint32_t, a duration, a new text with the matrix'
 * values. */
draft_key_fn read_flag, read_count, read_duration, read_text;

/* Text of a key with the matrix' values in it, new; NULL when it failed. */
char *draft_substitute(const struct draft_source *source, const struct scope_layer *layer,
                       const char *key, const char *text, size_t length_max);

/* What is run (job_command.c). */
int command_read(const struct draft_source *source, struct job_draft *draft);
/* A name made from what is run: "train.py" of "python3 -u train.py --lr 1". New. */
char *command_name(char *const *argv, bool is_script);

/* What is run, and roles (draft_roles.c). */
int draft_read_roles(const struct draft_source *source, struct job_draft *draft);
void draft_release_roles(struct job_draft *draft);
/* The variables of the innermost layer alone, new. */
int draft_read_own_env(const struct draft_source *source, char ***ret);
/* `export`: the variables of all layers, over those of the sender. */
draft_key_fn draft_read_env;
/* `slurm`: SLURM_* variables of what Slurm's options request. */
draft_key_fn draft_read_slurm;

/* gpus, cpus and memory of a member (draft_request.c). */
int draft_read_member(const struct draft_source *source, struct job_draft *draft);
/* The same, ranks and nodes; with roles those of the whole. */
int draft_read_request(const struct draft_source *source, struct job_draft *draft);

draft_key_fn draft_read_warn;       /* (draft_request.c) */
draft_key_fn draft_read_checkpoint; /* after grace (draft_request.c) */

/* Fill a zeroed draft. What was filled is to be released also after a failure. */
int draft_read(const struct draft_source *source, struct job_draft *draft);
void draft_release(struct job_draft *draft);

/* Bytes that the draft's arguments, environment and script take. */
size_t draft_size(const struct job_draft *draft);

#endif
