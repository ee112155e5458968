/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_CTRL_C_H
#define CLI_FOLLOW_CTRL_C_H

/* interrupt - Ctrl-C while a job is followed: it never loses the job
 *
 * Order of calls:  open before anything is submitted, ask when the descriptor is readable, close
 */

#include "base/error.h"

enum interrupt_answer { INTERRUPT_GO_ON, INTERRUPT_LEAVE, INTERRUPT_CANCEL };

enum { INTERRUPT_STATUS = 128 }; /* and the signal: the status of who leaves */

/* Block SIGINT, SIGTERM and SIGHUP and have them come over a descriptor. */
int interrupt_open(int *ret_fd, struct error *err);
void interrupt_close(int fd);

/* Take the signal that is there (*ret_signal; 0: none). On a terminal SIGINT asks what to do with
 * what ("job 7"); a second one, and everything elsewhere, leaves it running. */
enum interrupt_answer interrupt_ask(int fd, const char *what, int *ret_signal);

#endif
