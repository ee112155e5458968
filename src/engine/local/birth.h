/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_BIRTH_H
#define ENGINE_LOCAL_BIRTH_H

/* birth - a lock that shims hold from their start until they have a status file
 *
 * A member without a status file has not run, and may be started. That holds only when no shim was
 * started for it before: a late shim would find the file of the second one removed, and run the
 * member again. So the engine locks STATE/run/birth, and each shim inherits the lock's descriptor
 * and keeps it until it has its status file or has failed. The next engine waits for the lock
 * before it reads any status.
 *
 * Fails with -EBUSY when a shim does not come to its file within BIRTH_WAIT_MS.
 */

#include "base/error.h"

enum { BIRTH_WAIT_MS = 20000 };

/* The descriptor is the lock; closed on exec, 10 or above. */
int birth_take(const char *run_dir, int *ret_fd, struct error *err);

#endif
