/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SLURM_H
#define CLI_SLURM_SLURM_H

/* slurm - the commands of Slurm as front ends of this program (doc/slurm.md)
 *
 * The name by which the program is called selects the front end. Options have the meaning in
 * Slurm's manual. A request that cannot be met as stated is refused; the message names the option.
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "base/error.h"

struct slurm_front {
    const char *name, *usage, *summary;
    int (*run)(int argc, char **argv); /* returns the exit status */
};

/* Find the front end by the last part of a path; NULL: it is another program. */
const struct slurm_front *slurm_find(const char *path);
int slurm_run(const struct slurm_front *front, int argc, char **argv);

extern const char *slurm_name; /* name of the running front end */
/* "squeue: error: words" on standard error; returns 1. */
int slurm_fail(const char *format, ...) PRINTF(1, 2);

/* Whether a list of clusters (NULL: not given) names this one, or all; else the message is written.
 */
bool slurm_is_own_cluster(const char *list);

#define FRONT(name, usage, summary) int slurm_##name(int argc, char **argv);
#include "cli/slurm/slurm_fronts.def"
#undef FRONT

#endif
