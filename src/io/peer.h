/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_PEER_H
#define IO_PEER_H

/* peer - who is at the other end of a Unix socket, as the kernel says (SO_PEERCRED)
 *
 * The only place where the name of who asks is looked up.
 */

#include "base/identity.h"

/* IDENTITY_NONE where the kernel says nothing: TCP, or a user of another user namespace. owner:
 * whom the daemon runs as. */
void peer_identify(int fd, uid_t owner, struct identity *ret);
void peer_release(struct identity *identity);

/* The name of a user of this machine, or the number where there is none. */
void peer_name(uid_t uid, char name[IDENTITY_NAME_SIZE]);

#endif
