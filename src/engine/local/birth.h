/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_BIRTH_H
#define ENGINE_LOCAL_BIRTH_H

/* birth - a lock that shims hold from their start until they have a status file and control groups
 *
 * A member without a status file has not run, and may be started. This is true only if no shim for
 * it is still starting: otherwise a late shim could find the file of a second shim removed, and run
 * the member again. Therefore the engine locks STATE/run/birth. Each shim inherits the descriptor
 * of the lock, and keeps it until it has its status file and its control groups, or has failed. The
 * next engine waits for the lock before it reads any status. The last process to end removes the
 * folders of the control groups: the engine when it stops, or the last shim, which can then share
 * the lock.
 *
 * Fails with -EBUSY if a shim does not create its file within BIRTH_WAIT_MS.
 */

#include "base/error.h"

enum { BIRTH_WAIT_MS = 20000 };

/* The descriptor is the lock; closed on exec, 10 or above. */
int birth_take(const char *run_dir, int *ret_fd, struct error *err);
/* Share the lock with other ending shims, after the engine has closed it: while the descriptor is
 * open, no engine and no shim starts. -1: one has started, and removes the control groups at its
 * end. */
int birth_share(const char *run_dir);

#endif
