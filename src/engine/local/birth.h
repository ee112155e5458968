/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_BIRTH_H
#define ENGINE_LOCAL_BIRTH_H

/* birth - a lock that shims hold from their start until they have a status file and control groups
 *
 * A member without a status file has not run, and may be started. That holds only when no shim was
 * started for it before: a late shim would find the file of the second one removed, and run the
 * member again. So the engine locks STATE/run/birth, and each shim inherits the lock's descriptor
 * and keeps it until it has its status file and its control groups, or has failed. The next engine
 * waits for the lock before it reads any status. Who leaves last removes the folders of the control
 * groups: the engine when it stops, else the last shim, which then can share the lock.
 *
 * Fails with -EBUSY when a shim does not come to its file within BIRTH_WAIT_MS.
 */

#include "base/error.h"

enum { BIRTH_WAIT_MS = 20000 };

/* The descriptor is the lock; closed on exec, 10 or above. */
int birth_take(const char *run_dir, int *ret_fd, struct error *err);
/* Share the lock with shims that leave, once it was closed: while the descriptor is open, no engine
 * and no shim begins. -1: one has begun, and removes the control groups when it ends. */
int birth_share(const char *run_dir);

#endif
