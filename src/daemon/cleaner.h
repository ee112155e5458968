/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_CLEANER_H
#define DAEMON_CLEANER_H

/* cleaner - removes what forgotten jobs have left in the state directory
 *
 * Their folders, scripts and outputs (launcher.h lists them); files that a job named itself stay.
 * rm does it, in a process of its own: there may be much, and it follows no link.
 */

#include <uv.h>

#include "daemon/retention.h"

void cleaner_remove(uv_loop_t *loop, const char *state_dir, const struct forgotten *jobs,
                    size_t count);

#endif
