/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SBATCH_GIVEN_H
#define WIRE_JOB_SBATCH_GIVEN_H

/* sbatch_given - the options as they were given, before they become keys
 *
 * Only sbatch.c and sbatch_finish.c use this.
 */

#include <stdbool.h>

#define OPTION(ID, letter, name, argument, group, meaning) SBATCH_##ID,
enum sbatch_id {
#include "wire/job/sbatch_options.def"
    SBATCH_OPTION_COUNT,
};

struct sbatch_given {
    char *value; /* NULL: given without one */
    char *place; /* "train.sh:4", NULL: on the command line */
    const char *name;
    bool is_set;
    bool is_argument; /* on the command line, which wins */
};

struct sbatch;

/* Add to the notes; place: NULL on the command line. */
void sbatch_note(struct sbatch *sbatch, const char *place, const char *text);

#endif
