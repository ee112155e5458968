/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_NET_PEER_H
#define IO_NET_PEER_H

/* peer - the identity of the peer of a Unix socket, from the kernel (SO_PEERCRED)
 *
 * The only place that looks up the names and home directories of requesting users (io/names.h).
 */

#include "base/error.h"
#include "base/identity.h"

/* IDENTITY_NONE without credentials: TCP, or a peer in another user namespace. owner: the user of
 * the daemon. -ETIMEDOUT: the name is not known now (io/names.h), and the number is in its place;
 * root needs no name. */
int peer_identify(int fd, uid_t owner, struct identity *ret, struct error *err);

/* A user of this machine by name; -ENOENT: there is none. */
int peer_find(const char *name, uid_t *ret_uid, struct error *err);
/* The identity of a user of this machine, with all groups, without a connection of theirs. -ENOENT
 * if the user of this number does not exist or has another name. */
int peer_assume(const char *name, uid_t uid, enum identity_source source, uid_t owner,
                struct identity *ret, struct error *err);

/* The name of a user of this machine, or the number if there is none, or if it is not known now
 * (-ETIMEDOUT). */
int peer_name(uid_t uid, char name[IDENTITY_NAME_SIZE], struct error *err);
/* Their home directory, malloc'd; "/" if there is none. */
char *peer_home(uid_t uid);

#endif
