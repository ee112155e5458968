/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SLURM_OPTIONS_H
#define CLI_SLURM_SLURM_OPTIONS_H

/* slurm_options - getopt_long() that knows all options of Slurm's manual
 *
 * The options of slurm_options.def for the running front end are read beside its own: those that
 * change nothing are passed over, the others are refused by name.
 */

#include <getopt.h>

/* As getopt_long(); '?' after a message. */
int slurm_option(int argc, char **argv, const char *letters, const struct option *own);

#endif
