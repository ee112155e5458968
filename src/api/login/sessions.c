/* SPDX-License-Identifier: Apache-2.0 */
/* POST, DELETE /v1/session: the login of a browser. The session is a token in a cookie that no
 * script can read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "control/token.h"
#include "io/secret.h"

struct beginning {
    struct deferred deferred;
    char secret[SECRET_SIZE], hash[SECRET_HASH_SIZE];
    uint64_t from, id;
};

static void set_cookie(struct deferred *deferred, const char *value, usec_t life)
{
    AUTO_FREE char *cookie =
        mem_printf("%s=%s; Path=/; Max-Age=%lld; HttpOnly; Secure; SameSite=Strict",
                   api_cookie_name(deferred->api), value, (long long)(life / USEC_PER_SEC));

    http_header_add(deferred->request, "Set-Cookie", cookie);
    explicit_bzero(cookie, strlen(cookie));
}

static int run_begin(struct deferred *deferred, struct error *err)
{
    struct beginning *beginning = CONTAINER_OF(deferred, struct beginning, deferred);

    return token_begin_session(api_control(deferred->api), beginning->from, beginning->hash,
                               &beginning->id, err);
}

json_t *session_answer(struct deferred *deferred, uint64_t id, const char *secret, const char *user)
{
    const struct event_token *token = token_list_find(&api_state(deferred->api)->tokens, id);
    AUTO_FREE char *value = mem_printf("tarn_%" PRIu64 "_%s", id, secret);

    set_cookie(deferred, value, SESSION_LIFE);
    explicit_bzero(value, strlen(value));
    return json_pack("{s:s, s:o}", "user", user, "expires",
                     view_time(deferred->api, token ? token->expires : 0));
}

static json_t *answer_begin(struct deferred *deferred)
{
    struct beginning *beginning = CONTAINER_OF(deferred, struct beginning, deferred);

    return session_answer(deferred, beginning->id, beginning->secret, deferred->request->who->name);
}

static void release_begin(struct deferred *deferred)
{
    struct beginning *beginning = CONTAINER_OF(deferred, struct beginning, deferred);

    explicit_bzero(beginning->secret, sizeof(beginning->secret));
}

json_t *handle_session_begin(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_begin,
                                             .answer = answer_begin,
                                             .release = release_begin };
    struct beginning *beginning = deferred_create(call, sizeof(*beginning), &ops);
    int code = 0;

    beginning->from = call->request->who->token;
    secret_make(beginning->secret);
    secret_hash(beginning->secret, beginning->hash);
    if (beginning->from == 0)
        code = error_set(&call->err, REFUSED_BAD, "session: expected a token or a login's code");
    return deferred_begin(call, &beginning->deferred, code);
}

static int run_end(struct deferred *deferred, struct error *err)
{
    const struct identity *who = deferred->request->who;

    return token_revoke(api_control(deferred->api), who, who->token, err);
}

static json_t *answer_end(struct deferred *deferred)
{
    set_cookie(deferred, "", 0);
    return json_pack("{s:b}", "ended", 1);
}

json_t *handle_session_end(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_end, .answer = answer_end };

    return deferred_begin(call, deferred_create(call, sizeof(struct deferred), &ops), 0);
}
