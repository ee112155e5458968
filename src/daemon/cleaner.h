/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_CLEANER_H
#define DAEMON_CLEANER_H

/* cleaner - removes the files of forgotten jobs from the state directory
 *
 * These are folders, scripts and outputs (launcher.h lists them); files that a job named itself are
 * kept. A separate rm process removes them, because it may take long, and rm follows no links.
 */

#include <uv.h>

#include "daemon/retention.h"

void cleaner_remove(uv_loop_t *loop, const char *state_dir, const struct forgotten *jobs,
                    size_t count);

#endif
