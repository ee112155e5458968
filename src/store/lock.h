/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

/* lock - one daemon per state directory
 *
 * The lock is on the open file DIR/lock: the kernel releases it when the process ends, for any
 * reason. The file remains and has the pid for information; only the lock counts.
 */

#include "base/error.h"

/* Fails with -EBUSY, naming the holder, or as open(). The descriptor is the lock. */
int lock_take(const char *dir, int *ret_fd, struct error *err);

#endif
