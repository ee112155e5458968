/* SPDX-License-Identifier: Apache-2.0 */
#include "control/token.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void drop_expired(const struct control *control)
{
    const struct state *state = control_state(control);
    usec_t now = control_now(control);

    for (size_t i = state->tokens.items.count; i-- > 0;) {
        const struct event_token *token = &state->tokens.items.items[i];
        if (token->expires <= now)
            control_emit(control, (struct event){ .kind = EVENT_TOKEN_REMOVE,
                                                  .token_remove = { .id = token->id } });
    }
}

static int check_queues(const struct state *state, const char *queues, struct error *err)
{
    AUTO_FREE char *copy = mem_string(queues);
    char *rest = copy;

    while (rest && rest[0]) {
        const char *name = strsep(&rest, ",");
        if (state_find_queue(state, name) < 0)
            return error_set(err, REFUSED_NOT_FOUND, "token: no queue '%.63s'", name);
    }
    return 0;
}

static int check_count(const struct state *state, const struct token_wish *wish, struct error *err)
{
    size_t own = 0;

    LIST_EACH (const struct event_token, token, &state->tokens.items)
        own += token->uid == wish->uid;
    if (own >= TOKENS_USER_MAX)
        return error_set(err, REFUSED_TOO_MANY, "more than %d tokens of %s; revoke some",
                         TOKENS_USER_MAX, wish->user);
    if (state->tokens.items.count >= TOKENS_MAX)
        return error_set(err, REFUSED_TOO_MANY, "more than %d tokens", TOKENS_MAX);
    return 0;
}

int token_create(const struct control *control, const struct token_wish *wish, uint64_t *ret_id,
                 struct error *err)
{
    const struct state *state = control_state(control);
    usec_t now = control_now(control);

    drop_expired(control);
    int code = check_queues(state, wish->queues, err);
    if (code == 0)
        code = check_count(state, wish, err);
    if (code < 0)
        return code;
    *ret_id = state->tokens.last + 1;
    control_emit(control, (struct event){ .kind = EVENT_TOKEN,
                                          .token = { .id = *ret_id,
                                                     .kind = (uint8_t)wish->kind,
                                                     .name = wish->name,
                                                     .user = wish->user,
                                                     .uid = wish->uid,
                                                     .hash = wish->hash,
                                                     .scope = (uint8_t)wish->scope,
                                                     .queues = wish->queues,
                                                     .from = wish->from,
                                                     .created = now,
                                                     .expires = usec_after(now, wish->life) } });
    return 0;
}

/* No longer than the token itself is valid. */
static usec_t session_life(const struct event_token *token, usec_t now)
{
    usec_t rest = token->expires - now;

    return rest < SESSION_LIFE ? rest : SESSION_LIFE;
}

int token_begin_session(const struct control *control, uint64_t from, const char *hash,
                        uint64_t *ret_id, struct error *err)
{
    const struct event_token *token = token_list_find(&control_state(control)->tokens, from);

    if (!token)
        return error_set(err, REFUSED_FORBIDDEN, "the code was used already");
    if (token->kind == TOKEN_SESSION)
        return error_set(err, REFUSED_FORBIDDEN, "a session cannot begin another one");
    bool is_code = token->kind == TOKEN_LOGIN;
    AUTO_FREE char *user = mem_string(token->user), *queues = mem_string(token->queues);
    const struct token_wish wish = {
        .kind = TOKEN_SESSION,
        .name = "session",
        .user = user,
        .uid = token->uid,
        .scope = token->scope,
        .queues = queues,
        .hash = hash,
        .from = is_code ? 0 : from,
        .life = is_code ? SESSION_LIFE : session_life(token, control_now(control)),
    };
    if (is_code)
        control_emit(control,
                     (struct event){ .kind = EVENT_TOKEN_REMOVE, .token_remove = { .id = from } });
    return token_create(control, &wish, ret_id, err);
}

/* A stolen token of few rights must not end those with more. */
static bool may_revoke(const struct identity *who, const struct event_token *token)
{
    return who->token == 0 || who->token == token->id ||
           (who->scope >= token->scope && !who->queues);
}

static void remove_with_sessions(const struct control *control, const struct identity *who,
                                 uint64_t id)
{
    const struct token_list *tokens = &control_state(control)->tokens;

    for (size_t i = tokens->items.count; i-- > 0;) {
        const struct event_token *token = &tokens->items.items[i];
        if (token->id == id || token->from == id)
            control_emit(control,
                         (struct event){ .kind = EVENT_TOKEN_REMOVE,
                                         .token_remove = { .id = token->id, .user = who->name } });
    }
}

int token_revoke(const struct control *control, const struct identity *who, uint64_t id,
                 struct error *err)
{
    const struct event_token *token = token_list_find(&control_state(control)->tokens, id);

    if (!token)
        return error_set(err, REFUSED_NOT_FOUND, "token %" PRIu64 ": there is none", id);
    if (!identity_may(who, token->uid))
        return error_set(err, REFUSED_FORBIDDEN, "token %" PRIu64 ": it is %s's", id, token->user);
    if (!may_revoke(who, token))
        return error_set(err, REFUSED_FORBIDDEN,
                         "token %" PRIu64 ": it has more rights than the token of this request",
                         id);
    remove_with_sessions(control, who, id);
    return 0;
}

bool token_needs_note(const struct event_token *token, usec_t now)
{
    return now - token->used >= USEC_PER_HOUR;
}

void token_note_use(const struct control *control, uint64_t id)
{
    const struct event_token *token = token_list_find(&control_state(control)->tokens, id);

    if (!token || !token_needs_note(token, control_now(control)))
        return;
    struct event event = { .kind = EVENT_TOKEN, .token = *token };
    event.token.used = control_now(control);
    control_emit(control, event);
}
