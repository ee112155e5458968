/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_JOB_OUTPUTS_H
#define NODE_JOB_OUTPUTS_H

/* job_outputs - the files of a job that ended well: its outputs are complete, and its inputs as
 * they were
 *
 * Each declared output exists and is not empty. Of a stage, whose outputs others read, they become
 * read-only. Modes do not hold back root: for it a digest of names, sizes and times of each output
 * is kept in OUT.sealed, and its inputs are compared with theirs.
 *
 * A file system of the user may hang: only for a process of its own, which has become that user.
 */

#include <stdbool.h>

#include "base/text.h"

struct job_outputs {
    const char *out;    /* the folder of its outputs */
    const char *in;     /* the folder with links to its inputs; NULL: none */
    char *const *names; /* of its outputs; NULL-terminated */
    bool is_stage;      /* others may read its outputs */
};

/* False, with the reason: "output model: empty", "input data: changed after job 7 wrote it". */
bool job_outputs_settle(const struct job_outputs *outputs, struct text *ret_reason);

#endif
