/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_LEFTOVER_H
#define ENGINE_LOCAL_LEFTOVER_H

/* leftover - kills the processes that a killed shim left running
 *
 * With a control group, the kernel kills all of them. Without one, they are found by the session of
 * the job's first process, and by the marker that each process of the job has in its environment
 * (unless the process removed it). A PID is used only while a pidfd refers to it, so that no later
 * process with the same number is killed.
 */

#include <stdbool.h>

#include "engine/local/status_file.h"

/* Kill once. True: nothing is left; false: call again soon. was_watched: the shim has just died, so
 * the number of the job's session cannot have been reused. */
bool leftover_kill(const struct status *status, const char *marker, bool was_watched);

/* Remove the control groups when they are empty. */
void leftover_remove(const struct status *status);

#endif
