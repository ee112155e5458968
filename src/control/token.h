/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_TOKEN_H
#define CONTROL_TOKEN_H

/* token - access tokens: who has one, what for, and until when
 *
 * Call all functions inside a change.
 *
 * Limits: TOKENS_USER_MAX of one user, TOKENS_MAX of all; TOKEN_LIFE_MAX until it expires
 */

#include "control/control.h"

#define TOKEN_LIFE_DEFAULT (90 * USEC_PER_DAY)
#define TOKEN_LIFE_MAX     (366 * USEC_PER_DAY)
#define TOKEN_LIFE_LOGIN   (7 * USEC_PER_DAY) /* of `tarn login --user` */
#define LOGIN_LIFE         USEC_PER_MIN
#define SESSION_LIFE       (12 * USEC_PER_HOUR)

enum { TOKENS_USER_MAX = 100, TOKENS_MAX = 10000, TOKEN_NAME_MAX = 63 };

struct token_wish {
    enum token_kind kind;
    const char *name, *user;
    uint32_t uid;
    enum identity_scope scope;
    const char *queues; /* separated by commas; "": all */
    const char *hash;
    uint64_t from; /* of a session: the access token that began it; 0: none */
    usec_t life;
};

/* Also removes those that have expired. Fails with REFUSED_NOT_FOUND (no such queue) or
 * REFUSED_TOO_MANY. */
int token_create(const struct control *control, const struct token_wish *wish, uint64_t *ret_id,
                 struct error *err);
/* A session in place of a login's code, which is used up, or beside an access token; it has the
 * rights of `from`, and does not outlive an access token. */
int token_begin_session(const struct control *control, uint64_t from, const char *hash,
                        uint64_t *ret_id, struct error *err);
/* With the sessions that it began. Allowed for its owner and administrators; with a token, only for
 * those that have no more rights, and for itself. */
int token_revoke(const struct control *control, const struct identity *who, uint64_t id,
                 struct error *err);
/* It is used now. Emits at most one event in an hour. */
void token_note_use(const struct control *control, uint64_t id);
bool token_needs_note(const struct event_token *token, usec_t now);

#endif
