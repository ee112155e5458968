/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_IDENTITY_H
#define BASE_IDENTITY_H

/* identity - the user who sends a request, and their rights
 *
 * Each source of identities has one place that fills it (io/net/peer.h: the kernel's credentials;
 * api/login/admission.c: what comes over the network). Only this file decides rights: an
 * administrator may do everything; a job, a repeating job and their output belong to their owner. A
 * token has the rights of its owner, within its scope.
 *
 * Owner: the code that fills it, which calls identity_release()
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { IDENTITY_NAME_SIZE = 64 };

/* The source of an identity. */
enum identity_source {
    IDENTITY_NOBODY,   /* not known: only public requests are allowed */
    IDENTITY_PEER,     /* from the kernel, for the peer of a Unix socket */
    IDENTITY_ENGINE,   /* from the engine to which the job was submitted */
    IDENTITY_STORED,   /* recorded when a repeating job was submitted */
    IDENTITY_TOKEN,    /* from an access token */
    IDENTITY_PROXY,    /* from a proxy that is trusted */
    IDENTITY_PASSWORD, /* from the password of an account, for the login itself */
};

/* What a request may do at most; each scope includes those before it. */
enum identity_scope {
    SCOPE_NONE,
    SCOPE_READ,
    SCOPE_SUBMIT, /* and change jobs */
    SCOPE_QUEUES, /* and administer queues */
    SCOPE_ADMIN,
    SCOPES,
};

struct identity {
    char name[IDENTITY_NAME_SIZE]; /* the number if the user has no name; "": not known */
    enum identity_source source;
    enum identity_scope scope;
    bool has_uid, is_admin;
    uid_t uid; /* (uid_t)-1: none */
    gid_t gid;
    gid_t *groups; /* supplementary */
    size_t group_count;
    uint64_t token; /* its number; 0: none */
    char *queues;   /* it changes jobs in these queues only, separated by commas; NULL: in all */
};

#define IDENTITY_NONE ((struct identity){ .scope = SCOPE_READ, .uid = (uid_t)-1, .gid = (gid_t)-1 })

/* "peer", "token", "proxy" ... */
const char *identity_source_name(enum identity_source source);

/* A user of this machine. owner: the user of the daemon, who is an administrator like root. name:
 * NULL or "": the number. */
void identity_set(struct identity *identity, enum identity_source source, const char *name,
                  uid_t uid, gid_t gid, uid_t owner);

void identity_release(struct identity *identity);

/* Restrict it to a scope and to queues (NULL or "": all; copied). Only for all queues can it remain
 * an administrator. */
void identity_narrow(struct identity *identity, enum identity_scope scope, const char *queues);

/* "read", "submit", "queues", "admin"; the second returns SCOPE_NONE for another word. */
const char *identity_scope_name(enum identity_scope scope);
enum identity_scope identity_scope_find(const char *name);

/* Whether an object of user `uid` belongs to this identity. */
bool identity_owns(const struct identity *identity, uid_t uid);
/* Whether this identity may change such an object and read its output. */
bool identity_may(const struct identity *identity, uid_t uid);

#endif
