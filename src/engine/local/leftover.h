/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_LEFTOVER_H
#define ENGINE_LOCAL_LEFTOVER_H

/* leftover - what a killed shim left running
 *
 * With a control group the kernel kills it whole. Without one there is the
 * session of the job's first process, and the marker that every process of
 * the job has in its environment unless it took it out. A pid is only used
 * while a pidfd holds it, so that no later process with the same number is hit.
 */

#include <stdbool.h>

#include "engine/local/status_file.h"

/* Kill once. True when nothing is left; false: call again in a moment. was_watched: the shim has
 * died just now, so that no session can have got the number of the job's since. */
bool leftover_kill(const struct status *status, const char *marker, bool was_watched);

/* The control groups themselves, once they are empty. */
void leftover_remove(const struct status *status);

#endif
