/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SLURM_H
#define CLI_SLURM_SLURM_H

/* slurm - the commands of Slurm as front ends of this program (doc/slurm.md)
 *
 * Which one it is says the name by which the program is called. Options mean what Slurm's manual
 * says; what cannot be done as asked is refused by the name of the option.
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "base/error.h"

struct slurm_front {
    const char *name, *usage, *summary;
    int (*run)(int argc, char **argv); /* returns the exit status */
};

/* By the last part of a path; NULL: it is another program. */
const struct slurm_front *slurm_find(const char *path);
int slurm_run(const struct slurm_front *front, int argc, char **argv);

extern const char *slurm_name; /* of the front end that runs */
/* "squeue: error: words" on standard error; returns 1. */
int slurm_fail(const char *format, ...) PRINTF(1, 2);

#define FRONT(name, usage, summary) int slurm_##name(int argc, char **argv);
#include "cli/slurm/slurm_fronts.def"
#undef FRONT

#endif
