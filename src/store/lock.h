/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

/* lock - one daemon a state directory
 *
 * The lock is of the open file DIR/lock: the kernel gives it back when the process ends, however
 * it ends. The file holds the pid for people and stays; only the lock counts.
 */

#include "base/error.h"

/* Fails with -EBUSY, naming who has it, or what open() says. The descriptor is the lock. */
int lock_take(const char *dir, int *ret_fd, struct error *err);

#endif
