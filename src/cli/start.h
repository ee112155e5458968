/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_START_H
#define CLI_START_H

/* start - a daemon in the background, for who has none
 *
 * It is this same program with `serve --notify-fd 3`, in a session of its own; what it says goes
 * to STATE/daemon.log, whether it came up comes back over descriptor 3: "ready", or a line of what
 * went wrong. Of two that start one at the same time, both find the one that won.
 */

#include "base/error.h"
#include "io/paths.h"

enum { START_TIMEOUT_S = 60, START_OTHER_S = 5, START_LOG_LINES = 5 };

/* devices may be NULL. Says on standard error that it has started one. */
int daemon_start(const struct paths *paths, const char *devices, struct error *err);

#endif
