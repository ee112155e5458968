/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

/* session - the connection of one command to the daemon
 *
 * Order of calls:  open, (get | send)*, release
 * On failure:      a printable message; a refusal has the message of the daemon
 */

#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/remote.h"
#include "io/net/client.h"
#include "io/paths.h"
#include "wire/json.h"

struct session {
    struct client *client;
    struct paths paths;   /* of this machine */
    struct remote remote; /* is used if it has a name */
};

/* Finds the socket of the daemon, or logs in to the machine that TARN_HOST names; sends nothing
 * yet. */
int session_open(struct session *session, struct error *err);
/* Starts a daemon if none listens; devices: its --devices, or NULL. */
int session_start(struct session *session, const char *devices, struct error *err);
void session_release(struct session *session);
/* Whether the daemon is on another machine. */
bool session_is_remote(const struct session *session);
/* Whether a daemon holds the state, as far as this user can know. */
bool session_is_held(const struct session *session);

/* body may be NULL. *ret is new; ret NULL: ignore the reply. Fails with -ENOENT (no such object),
 * -EALREADY (not allowed in the present state), -ENODATA (no daemon is running) or -EREMOTEIO
 * (refused for another reason). */
int session_send(struct session *session, const char *method, const char *path, const json_t *body,
                 json_t **ret, struct error *err);
/* The daemon has not looked at the request, because too many connections are open: say so at the
 * first time, and wait a moment. False: it is another error, or has been so for 10 s. */
bool session_tries_again(int code, const struct error *why, unsigned *tries);
/* One request with a reply of any type. *ret is only set on success; the caller releases it. Fails
 * as session_send(). */
int session_call(struct session *session, const struct client_request *request,
                 struct client_reply *ret, struct error *err);
/* POST a submission under a key of its own: when the connection is lost, it is sent again for some
 * seconds, and accepted once. */
int session_submit(struct session *session, const char *path, const json_t *body, json_t **ret,
                   struct error *err);
int session_get(struct session *session, const char *path, json_t **ret, struct error *err);

/* What takes the list of a reply, which is {"KEY":[...], ...}, item by item while it arrives: ten
 * thousand jobs as one value would be 50 MB. */
struct session_list {
    const char *key;
    void (*on_item)(void *user, const json_t *item);
    void *user;
};
/* GET path. *ret is the reply with an empty list. */
int session_get_list(struct session *session, const char *path, struct session_list *list,
                     json_t **ret, struct error *err);

/* POST path. The reply is a connection to a job's supervisor, which the caller owns; of another
 * machine, through a bridge. */
int session_enter(struct session *session, const char *path, int *ret_fd, struct error *err);

/* A whole session with one request: open it, send body (or NULL), print a failure, release it.
 * Returns the exit status, 0 or 1. */
int session_ask(const char *method, const char *path, const json_t *body, json_t **ret);
int session_ask_list(const char *path, struct session_list *list, json_t **ret);

/* The message in the body of a refusal. -EUSERS: too many connections are open. */
int refusal_read(long status, const char *body, size_t length, struct error *err);

/* Print a reply of the API unchanged, on one line. */
void reply_print(const json_t *reply);
/* Print it unchanged with --json, or the id with -q; false: neither option is given. */
bool reply_is_shown(const json_t *reply, const char *id, const struct options *options);

#endif
