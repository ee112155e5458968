/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SBATCH_GIVEN_H
#define WIRE_JOB_SBATCH_GIVEN_H

/* sbatch_given - the options as they were given, before they become keys
 *
 * Only the files of this folder use this.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/job/sbatch/sbatch.h"

#define OPTION(ID, letter, name, argument, group, meaning) SBATCH_##ID,
enum sbatch_id {
#include "wire/job/sbatch/sbatch_options.def"
    SBATCH_OPTION_COUNT,
};

struct sbatch_given {
    char *value; /* NULL: given without one */
    char *place; /* "train.sh:4", NULL: on the command line */
    const char *name;
    bool is_set;
    bool is_argument; /* on the command line, which wins */
};

/* NULL: not given */
const struct sbatch_given *given_find(const struct sbatch *sbatch, enum sbatch_id id);
/* The one that is given of two that mean the same. */
const struct sbatch_given *given_either(const struct sbatch *sbatch, enum sbatch_id first,
                                        enum sbatch_id second);
/* Whether this option means what Slurm's manual says: in a script, and on the command line of
 * sbatch and srun. */
bool given_is_slurms(const struct sbatch *sbatch, const struct sbatch_given *option);
int given_parse_count(const struct sbatch_given *option, int64_t max, int64_t *ret,
                      struct error *err);

/* Put the option and its place before the words of err. */
int given_prefix(const struct sbatch_given *option, int code, struct error *err);
int given_fail(const struct sbatch_given *option, struct error *err, const char *format, ...)
    PRINTF(3, 4);

void sbatch_set_string(struct sbatch *sbatch, const char *key, const char *value);
/* Add to the notes; place: NULL on the command line. */
void sbatch_note(struct sbatch *sbatch, const char *place, const char *text);

#endif
