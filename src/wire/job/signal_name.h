/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SIGNAL_NAME_H
#define WIRE_JOB_SIGNAL_NAME_H

/* signal_name - signals that ask a job to save its work: "USR1", "SIGUSR1", "10" */

#include "base/error.h"

/* The number, or -EINVAL with words: no such signal, or one that cannot be caught. */
int signal_parse(const char *text, struct error *err);
/* "USR1"; NULL for a number that has no name here. */
const char *signal_name(int number);

#endif
