/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

/* session - one command's talk with the daemon
 *
 * Order of calls:  open, (get | send)*, release
 * On failure:      words ready to be said; what the daemon refuses is its own message
 */

#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "io/client.h"
#include "io/paths.h"
#include "wire/json.h"

struct session {
    struct client *client;
    struct paths paths;
};

/* Finds where the daemon would be; asks nothing yet. */
int session_open(struct session *session, struct error *err);
/* Starts a daemon when none listens; devices: what it is to take for GPUs, or NULL. */
int session_start(struct session *session, const char *devices, struct error *err);
void session_release(struct session *session);

/* *ret is new. -ENOENT: there is no such thing; -ENODATA: no daemon is running; -EREMOTEIO:
 * refused for another reason. */
int session_get(struct session *session, const char *path, json_t **ret, struct error *err);
/* body may be NULL. */
int session_send(struct session *session, const struct client_request *request, json_t **ret,
                 struct error *err);
int session_post(struct session *session, const char *path, const json_t *body, json_t **ret,
                 struct error *err);

/* All that a command with a single request needs: open a session, send body (or NULL), release it.
 * 0, or the exit status 1 when the failure was said. */
int session_ask(const char *method, const char *path, const json_t *body, json_t **ret);

/* The message in the body of a refusal. */
int refusal_read(long status, const char *body, size_t length, struct error *err);

/* Print a reply as the API has it, on one line. */
void reply_print(const json_t *reply);

#endif
