/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_IDENTITY_H
#define BASE_IDENTITY_H

/* identity - who sends a request, and what they may do
 *
 * Filled in one place per way of knowing (io/peer.h for the kernel's credentials) and read
 * everywhere else. Rights are decided here and nowhere else: an administrator may do everything; a
 * job, a repeating job and their output belong to their owner.
 *
 * Owner:  whoever fills it; groups is theirs, and good as long as the connection
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { IDENTITY_NAME_SIZE = 64 };

/* How it is known. */
enum identity_source {
    IDENTITY_NOBODY, /* it is not: what is open to everybody is all that there is */
    IDENTITY_PEER,   /* the kernel says it, of the other end of a Unix socket */
    IDENTITY_STORED, /* it was known when a repeating job was submitted */
};

struct identity {
    char name[IDENTITY_NAME_SIZE]; /* the number where the user has no name; "": nobody */
    enum identity_source source;
    bool has_uid, is_admin;
    uid_t uid; /* (uid_t)-1: none */
    gid_t gid;
    gid_t *groups; /* supplementary */
    size_t group_count;
};

#define IDENTITY_NONE ((struct identity){ .uid = (uid_t)-1, .gid = (gid_t)-1 })

/* A user of this machine. owner: whom the daemon runs as; they and root are administrators. name:
 * NULL or "": the number. */
void identity_set(struct identity *identity, enum identity_source source, const char *name,
                  uid_t uid, gid_t gid, uid_t owner);

/* Whether something of this user is theirs. */
bool identity_owns(const struct identity *identity, uid_t uid);
/* Whether they may change it and read its output. */
bool identity_may(const struct identity *identity, uid_t uid);

#endif
