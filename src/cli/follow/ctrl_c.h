/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_CTRL_C_H
#define CLI_FOLLOW_CTRL_C_H

/* ctrl_c - handles Ctrl-C while a job is followed, without losing the job
 *
 * Order of calls:  open before anything is submitted, ask when the descriptor is readable, close
 */

#include "base/error.h"

enum interrupt_answer { INTERRUPT_GO_ON, INTERRUPT_LEAVE, INTERRUPT_CANCEL };

enum { INTERRUPT_STATUS = 128 }; /* plus the signal: the exit status after detaching */

/* Block SIGINT, SIGTERM and SIGHUP and receive them through a descriptor. */
int interrupt_open(int *ret_fd, struct error *err);
void interrupt_close(int fd);

/* The next pending signal of a signalfd; 0: none. */
int interrupt_take(int fd);

/* Take the pending signal (*ret_signal; 0: none). On a terminal SIGINT asks what to do with `what`
 * ("job 7"); a second one, and any signal without a terminal, leaves the job running. */
enum interrupt_answer interrupt_ask(int fd, const char *what, int *ret_signal);

#endif
