/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_IDENTITY_H
#define BASE_IDENTITY_H

/* identity - the user who sends a request, and their rights
 *
 * Each source of identities has one place that fills it (io/peer.h: the kernel's credentials). Only
 * this file decides rights: an administrator may do everything; a job, a repeating job and their
 * output belong to their owner.
 *
 * Owner: the code that fills it; groups stays valid as long as the connection
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { IDENTITY_NAME_SIZE = 64 };

/* The source of an identity. */
enum identity_source {
    IDENTITY_NOBODY, /* not known: only public requests are allowed */
    IDENTITY_PEER,   /* from the kernel, for the peer of a Unix socket */
    IDENTITY_ENGINE, /* from the engine to which the job was submitted */
    IDENTITY_STORED, /* recorded when a repeating job was submitted */
};

struct identity {
    char name[IDENTITY_NAME_SIZE]; /* the number if the user has no name; "": not known */
    enum identity_source source;
    bool has_uid, is_admin;
    uid_t uid; /* (uid_t)-1: none */
    gid_t gid;
    gid_t *groups; /* supplementary */
    size_t group_count;
};

#define IDENTITY_NONE ((struct identity){ .uid = (uid_t)-1, .gid = (gid_t)-1 })

/* A user of this machine. owner: the user of the daemon, who is an administrator like root. name:
 * NULL or "": the number. */
void identity_set(struct identity *identity, enum identity_source source, const char *name,
                  uid_t uid, gid_t gid, uid_t owner);

/* Whether an object of user `uid` belongs to this identity. */
bool identity_owns(const struct identity *identity, uid_t uid);
/* Whether this identity may change such an object and read its output. */
bool identity_may(const struct identity *identity, uid_t uid);

#endif
