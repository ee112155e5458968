/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_JOB_COMMAND_H
#define WIRE_JOB_JOB_COMMAND_H

/* command - what a job runs: run, command or script, and args
 *
 * run is given to /bin/sh -c; args are then $1, $2 ... A script keeps the interpreter of its
 * first line; its path is put into argv when there is a file.
 */

#include <stdbool.h>

#include "wire/job/draft.h"

int command_read(const struct draft_source *source, struct job_draft *draft);

/* A name made from what is run: "train.py" of "python3 -u train.py --lr 1". New. */
char *command_name(char *const *argv, bool is_script);

#endif
