/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_SLURM_SLURM_FILES_H
#define WIRE_SLURM_SLURM_FILES_H

/* slurm_files - the forms of Slurm's files: slurm.conf, and what sacctmgr prints
 *
 * The readers take any text; what has no meaning in the form is skipped.
 *
 * Owner: the caller; lines are released with slurm_lines_release()
 */

#include "base/mem.h"

struct slurm_pair {
    char *key, *value; /* value: "" if there was none */
};

struct slurm_line {
    unsigned number; /* from 1; the first of continued lines */
    LIST(struct slurm_pair) pairs;
};

struct slurm_lines {
    LIST(struct slurm_line) all;
};

/* slurm.conf: KEY=VALUE pairs, comments, continued lines. */
void slurm_lines_of_conf(const char *text, struct slurm_lines *ret);
/* A table with a header, as of sacctmgr -p and sacct -p: each line has the names of the header. */
void slurm_lines_of_table(const char *text, struct slurm_lines *ret);
/* sacctmgr dump: "Account - 'physics':Fairshare=10": the first pair is Account=physics. */
void slurm_lines_of_dump(const char *text, struct slurm_lines *ret);
void slurm_lines_release(struct slurm_lines *lines);

/* The value of the last pair with this key, whatever its case; NULL: none, or empty. */
const char *slurm_line_get(const struct slurm_line *line, const char *key);

#endif
