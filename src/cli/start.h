/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_START_H
#define CLI_START_H

/* start - starts a daemon in the background
 *
 * It runs this program with `serve --notify-fd 3` in a new session; its log goes to
 * STATE/daemon.log. Descriptor 3 delivers "ready" or a line with the error. If two commands start a
 * daemon at the same time, both find the winner.
 */

#include "base/error.h"
#include "io/paths.h"

enum { START_TIMEOUT_S = 60, START_OTHER_S = 5, START_LOG_LINES = 5 };

/* devices may be NULL. Reports the start on standard error. */
int daemon_start(const struct paths *paths, const char *devices, struct error *err);

#endif
