/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_VISIT_DOOR_H
#define CLI_FOLLOW_VISIT_DOOR_H

/* visit_door - what a client passes to a job's supervisor: one end of new pipes or of a new
 * terminal, and a request
 *
 * On failure:  descriptors may stay open: the process is about to end
 */

#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "shim/shim_order.h"

/* *ret_terminal: our side, which never waits. */
int visit_open_terminal(int *ret_terminal, int ret_theirs[DOOR_FDS], struct error *err);
/* ours: the input, which never waits, the output and the error output. */
int visit_open_pipes(int ret_theirs[DOOR_FDS], int ret_ours[DOOR_FDS], struct error *err);
/* term: of the terminal; "": pipes. words: of the command; NULL: attach to the job itself. */
int visit_request(const char *term, char *const *words, struct text *ret, struct error *err);
/* Closes theirs. */
int visit_ask(int door, const char *request, size_t length, const int theirs[DOOR_FDS],
              struct error *err);

#endif
