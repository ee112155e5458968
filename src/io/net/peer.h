/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_NET_PEER_H
#define IO_NET_PEER_H

/* peer - the identity of the peer of a Unix socket, from the kernel (SO_PEERCRED)
 *
 * The only place that looks up the names and home directories of requesting users.
 */

#include "base/identity.h"

/* IDENTITY_NONE without credentials: TCP, or a peer in another user namespace. owner: the user of
 * the daemon. */
void peer_identify(int fd, uid_t owner, struct identity *ret);

/* A user of this machine by name; false: there is none. */
bool peer_find(const char *name, uid_t *ret_uid);
/* The identity of a user of this machine without a connection of theirs. False if the user of this
 * number does not exist or has another name. */
bool peer_assume(const char *name, uid_t uid, enum identity_source source, uid_t owner,
                 struct identity *ret);

/* The name of a user of this machine, or the number if there is none. */
void peer_name(uid_t uid, char name[IDENTITY_NAME_SIZE]);
/* Their home directory, malloc'd; "/" if there is none. */
char *peer_home(uid_t uid);

#endif
