/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_BIRTH_H
#define ENGINE_LOCAL_BIRTH_H

/* birth - no shim of an engine before this one is still on its way to its status file
 *
 * A member without a status file has not run, and may be started. That holds only when nobody
 * started it already: a shim that is late would find the file of the second one removed, and run
 * the member again. So the engine has a lock on STATE/run/birth, and each shim holds it too, by
 * the descriptor that it is given, until it has its status file or has given up. The next engine
 * waits for the lock before it looks at anything.
 *
 * Fails with -EBUSY when a shim does not come to its file within BIRTH_WAIT_MS.
 */

#include "base/error.h"

enum { BIRTH_WAIT_MS = 20000 };

/* The descriptor is the lock; closed on exec, 10 or above. */
int birth_take(const char *run_dir, int *ret_fd, struct error *err);

#endif
