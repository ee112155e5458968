/* SPDX-License-Identifier: Apache-2.0 */
/* GET, POST /v1/tokens; DELETE /v1/tokens/ID: access tokens for the network. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "control/token.h"
#include "io/net/peer.h"
#include "io/secret.h"
#include "wire/json.h"
#include "wire/reader.h"

enum { QUEUES_MAX = 100 };

struct issuing {
    struct deferred deferred;
    struct token_wish wish;
    char name[TOKEN_NAME_MAX + 1], user[IDENTITY_NAME_SIZE];
    char secret[SECRET_SIZE], hash[SECRET_HASH_SIZE];
    struct text queues;
    uint64_t id;
};

static json_t *view_token(const struct api *api, const struct event_token *token)
{
    static const char *const kinds[TOKEN_KINDS] = { "token", "login", "session" };

    return json_pack("{s:I, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:b}", "id",
                     (json_int_t)token->id, "kind",
                     kinds[token->kind < TOKEN_KINDS ? token->kind : TOKEN_ACCESS], "name",
                     token->name, "user", token->user, "scope", identity_scope_name(token->scope),
                     "queues", json_names(token->queues), "created", view_time(api, token->created),
                     "expires", view_time(api, token->expires), "used", view_time(api, token->used),
                     "expired", token->expires <= api_now(api));
}

json_t *handle_tokens(struct call *call)
{
    const struct identity *who = call->request->who;
    bool is_all = query_is_on(call, "all");
    json_t *list = json_array();
    int code = 0;

    if (is_all && !who->is_admin)
        code = error_set(&call->err, REFUSED_FORBIDDEN,
                         "tokens: only administrators see those of others");
    LIST_EACH (const struct event_token, token, &api_state(call->api)->tokens.items) {
        if (code == 0 && (is_all || identity_owns(who, token->uid)))
            json_array_append_new(list, view_token(call->api, token));
    }
    if (code == 0)
        return json_pack("{s:o}", "tokens", list);
    json_decref(list);
    return refuse(call, code);
}

/* ---- a new one ---- */

static int run_issue(struct deferred *deferred, struct error *err)
{
    struct issuing *issuing = CONTAINER_OF(deferred, struct issuing, deferred);

    return token_create(api_control(deferred->api), &issuing->wish, &issuing->id, err);
}

json_t *token_answer(const struct api *api, uint64_t id, const char *secret)
{
    const struct event_token *token = token_list_find(&api_state(api)->tokens, id);
    json_t *view = token ? view_token(api, token) : json_object();
    AUTO_FREE char *text = mem_printf("tarn_%" PRIu64 "_%s", id, secret);

    json_object_set_new(view, "token", json_string(text));
    explicit_bzero(text, strlen(text));
    return view;
}

static json_t *answer_issue(struct deferred *deferred)
{
    const struct issuing *issuing = CONTAINER_OF(deferred, struct issuing, deferred);

    return token_answer(deferred->api, issuing->id, issuing->secret);
}

static void release_issue(struct deferred *deferred)
{
    struct issuing *issuing = CONTAINER_OF(deferred, struct issuing, deferred);

    explicit_bzero(issuing->secret, sizeof(issuing->secret));
    text_release(&issuing->queues);
}

static int read_scope(const struct reader *reader, const json_t *body, const struct identity *who,
                      struct token_wish *wish)
{
    const char *scope = NULL;

    int code = reader_string(reader, body, "scope", TOKEN_NAME_MAX, &scope);
    wish->scope = scope ? identity_scope_find(scope) : SCOPE_SUBMIT;
    if (code == 0 && wish->scope == SCOPE_NONE)
        code = reader_fail(reader, REFUSED_BAD, body, "scope",
                           "'%.20s'; expected read, submit, queues or admin", scope);
    if (code == 0 && wish->scope == SCOPE_ADMIN && !who->is_admin)
        code = reader_fail(reader, REFUSED_FORBIDDEN, body, "scope",
                           "only administrators make tokens for administration");
    return code;
}

/* Of oneself; administrators make them for others, too. */
static int read_user(const struct reader *reader, const json_t *body, const struct identity *who,
                     struct issuing *issuing)
{
    const char *user = NULL;
    uid_t uid = who->uid;
    struct error err;

    int code = reader_string(reader, body, "user", IDENTITY_NAME_SIZE - 1, &user);
    if (code == 0 && user && strcmp(user, who->name) != 0) {
        if (!who->is_admin)
            code = reader_fail(reader, REFUSED_FORBIDDEN, body, "user",
                               "only administrators make tokens for others");
        else
            code = peer_find(user, &uid, &err);
        if (code == -ENOENT || code == -ETIMEDOUT)
            code = reader_fail(reader, code, body, "user", "%s", err.text);
    }
    snprintf(issuing->user, sizeof(issuing->user), "%s", code == 0 && user ? user : who->name);
    issuing->wish.uid = uid;
    return code;
}

static int read_queues(const struct reader *reader, const json_t *body, struct issuing *issuing)
{
    char **names = NULL;
    size_t count = 0;

    int code = reader_names(reader, body, "queues", QUEUES_MAX, &names, &count);
    for (size_t i = 0; code == 0 && i < count; i++)
        text_printf(&issuing->queues, "%s%s", i > 0 ? "," : "", names[i]);
    string_list_destroy(names);
    return code;
}

static int read_issue(struct call *call, struct issuing *issuing)
{
    static const char *const keys[] = { "name", "scope", "queues", "expires_in", "user", NULL };
    const struct identity *who = call->request->who;
    struct reader reader = { .where = "token", .err = &call->err };
    struct token_wish *wish = &issuing->wish;
    const char *name = NULL;

    wish->life = TOKEN_LIFE_DEFAULT;
    int code = read_body(call);
    if (code == 0)
        code = reader_check_keys(&reader, call->body, keys);
    if (code == 0)
        code = reader_line(&reader, call->body, "name", TOKEN_NAME_MAX, &name);
    if (code == 0 && name && !name[0])
        code = reader_fail(&reader, REFUSED_BAD, call->body, "name", "expected one line");
    if (code == 0)
        code = read_scope(&reader, call->body, who, wish);
    if (code == 0)
        code = read_user(&reader, call->body, who, issuing);
    if (code == 0)
        code = read_queues(&reader, call->body, issuing);
    if (code == 0)
        code = reader_duration(&reader, call->body, "expires_in", &wish->life);
    if (code == 0 && (wish->life < USEC_PER_SEC || wish->life > TOKEN_LIFE_MAX))
        code =
            reader_fail(&reader, REFUSED_BAD, call->body, "expires_in", "expected 1s to 366 days");
    snprintf(issuing->name, sizeof(issuing->name), "%s", code == 0 && name ? name : "token");
    return code;
}

/* The code of one login has all rights of its user, for a minute. */
static int read_login(struct call *call, struct issuing *issuing)
{
    const struct identity *who = call->request->who;

    issuing->wish.kind = TOKEN_LOGIN;
    issuing->wish.scope = who->is_admin ? SCOPE_ADMIN : SCOPE_QUEUES;
    issuing->wish.life = LOGIN_LIFE;
    issuing->wish.uid = who->uid;
    snprintf(issuing->user, sizeof(issuing->user), "%s", who->name);
    snprintf(issuing->name, sizeof(issuing->name), "login");
    return 0;
}

static int check_owner(struct call *call, const struct issuing *issuing)
{
    int code = call_check_owner(call->api, issuing->wish.uid, &call->err);

    return code < 0 ? error_prefix(&call->err, code, "token of %s", issuing->user) : 0;
}

json_t *handle_token_create(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_issue,
                                             .answer = answer_issue,
                                             .release = release_issue };
    struct issuing *issuing = deferred_create(call, sizeof(*issuing), &ops);

    int code = call->request->who->source == IDENTITY_TOKEN
                   ? error_set(&call->err, REFUSED_FORBIDDEN,
                               "token: a token cannot make another one; log in on the machine of "
                               "the daemon")
               : query_is_on(call, "login") ? read_login(call, issuing)
                                            : read_issue(call, issuing);
    if (code == 0)
        code = check_owner(call, issuing);
    secret_make(issuing->secret);
    secret_hash(issuing->secret, issuing->hash);
    issuing->wish.name = issuing->name;
    issuing->wish.user = issuing->user;
    issuing->wish.hash = issuing->hash;
    issuing->wish.queues = text_string(&issuing->queues);
    return deferred_begin(call, &issuing->deferred, code);
}

/* ---- the end of one ---- */

static int run_revoke(struct deferred *deferred, struct error *err)
{
    return token_revoke(api_control(deferred->api), deferred->request->who, deferred->id, err);
}

static json_t *answer_revoke(struct deferred *deferred)
{
    return json_pack("{s:I}", "revoked", (json_int_t)deferred->id);
}

json_t *handle_token_revoke(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_revoke, .answer = answer_revoke };

    return deferred_begin(call, deferred_create(call, sizeof(struct deferred), &ops), 0);
}

bool token_has_access(const struct api *api, uint64_t id)
{
    const struct event_token *token = id > 0 ? token_list_find(&api_state(api)->tokens, id) : NULL;

    return id == 0 || (token && token->expires > api_now(api));
}
