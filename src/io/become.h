/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_BECOME_H
#define IO_BECOME_H

/* become - give up the rights of the daemon for those of a user, in a process that the daemon
 * started */

#include <sys/types.h>

/* For good, without further groups and new privileges. Unless we are root, nothing changes but the
 * privileges. */
int become_user(uid_t uid, gid_t gid);

#endif
