/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CMD_CMD_SUBMIT_H
#define CLI_CMD_CMD_SUBMIT_H

/* cmd_submit - submits a job and follows it until its end */

#include <stdbool.h>

#include "cli/send.h"

/* With `cancels`, a signal cancels the job; otherwise the job continues. *ret_status: the exit
 * status of the job, or 128 plus the signal. */
int submit_and_follow(struct sending *sending, bool cancels, int *ret_status, struct error *err);

#endif
