/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_CLIENT_KUBE_CLIENT_H
#define ENGINE_KUBE_CLIENT_KUBE_CLIENT_H

/* kube_client - requests to the API server, and lists that are kept up to date
 *
 * A thread speaks HTTP/2 with the server and parses its JSON, so that a list of 50,000 pods does
 * not delay the event loop. All functions below belong to the thread of the loop, and all results
 * arrive there, in the order in which the server sent them.
 *
 * A watch lists all objects in pages, then follows the changes by resourceVersion and bookmarks; if
 * the server has forgotten that version (410), it lists again. A call that gets no answer, or a
 * transient refusal, is repeated until its time is over, with increasing and random pauses.
 *
 * Order of calls:  create, (watch* | call*)*, destroy
 * Owner:           the caller of create
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/kube/client/kube_access.h"

struct uv_loop_s;
struct kube_client;

enum { KUBE_STATUS_NONE = 0, KUBE_CONFLICT = 409, KUBE_NOT_FOUND = 404, KUBE_TOO_MANY = 429 };

struct kube_reply {
    long status;        /* of HTTP; KUBE_STATUS_NONE: there was no answer */
    const json_t *body; /* NULL: none */
    const char *words;  /* if it is no success: why */
};

/* Whether it succeeded. */
bool kube_reply_is_ok(const struct kube_reply *reply);

struct kube_call {
    const char *method, *path; /* "POST", "/api/v1/..." */
    const char *type;          /* media type of the body; NULL: application/json */
    json_t *body;              /* the call takes it over; NULL: none */
    uint32_t patience_ms;      /* how long it is repeated; 0: not at all */
    bool is_refused_by_429;    /* this code is an answer, not overload */
    bool is_always_allowed;    /* see kube_client_allow() */
    void (*done)(void *user, const struct kube_reply *reply); /* NULL: nothing depends on it */
    void *user;
};

enum kube_event {
    KUBE_LIST_BEGINS, /* a list of all objects follows; object NULL */
    KUBE_OBJECT,      /* it exists, or has changed */
    KUBE_GONE,        /* it was deleted: its last state */
    KUBE_LIST_ENDS,   /* what was not listed does not exist; object NULL */
};

/* What is watched. read() runs in the thread and makes a value of the API's object, which release()
 * frees; on_event gets it on the loop and takes it over. NULL of read(): it is ignored. */
struct kube_watch {
    const char *path; /* "/api/v1/pods"; must stay valid */
    void *(*read)(const json_t *object);
    void (*on_event)(void *user, enum kube_event event, void *object);
    void (*release)(void *object);
    void *user;
};

/* on_problem: a request failed ("": the last one did not), when that changes. Takes access over,
 * also on failure. */
int kube_client_create(struct uv_loop_s *loop, struct kube_access *access,
                       void (*on_problem)(void *user, const char *words), void *user,
                       struct kube_client **ret, struct error *err);
/* Calls that are not done will not be. last: a call that is made before, without done(), for a
 * second at most; NULL: none. NULL client is fine. */
void kube_client_destroy(struct kube_client *client, const struct kube_call *last);

void kube_client_watch(struct kube_client *client, const struct kube_watch *watch);
void kube_client_call(struct kube_client *client, const struct kube_call *call);
/* Write what the server sends into a file from its beginning, until it ends. done(): it has ended,
 * or failed. */
struct kube_follow {
    const char *path, *file;
    void (*done)(void *user, const struct kube_reply *reply);
    void *user;
};
void kube_client_follow(struct kube_client *client, const struct kube_follow *follow);
/* Calls begin until uv_hrtime() is `until`; after it, they wait. A program that was stopped for
 * long sends nothing when it goes on. 0: calls wait. */
void kube_client_allow(struct kube_client *client, uint64_t until);

#endif
