/* SPDX-License-Identifier: Apache-2.0 */
/* GET, POST /v1/login: the password of an account of this machine becomes a token, or the session
 * of a browser. A process checks it (password_check.h). A refusal has one text and one time,
 * whether or not there is such an account: what was wrong is in the log only. */
#include "api/login/login.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/deferred.h"
#include "api/login/login_rate.h"
#include "api/login/password_check.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "base/mem.h"
#include "control/token.h"
#include "io/log.h"
#include "io/net/peer.h"
#include "io/secret.h"
#include "wire/json.h"
#include "wire/reader.h"

enum { LOGINS_MAX = 32 }; /* whose password is being checked */

struct login {
    struct deferred deferred;
    struct login *next;
    struct password_check *check; /* NULL: done */
    struct login_keys keys;
    struct identity who;
    char address[HTTP_ADDRESS_SIZE], user[IDENTITY_NAME_SIZE]; /* as they came */
    char secret[SECRET_SIZE], hash[SECRET_HASH_SIZE];
    bool is_session;
    uint64_t id;
};

json_t *handle_login_ways(struct call *call)
{
    return json_pack("{s:b}", "password", call->api->ports.door.login != NULL);
}

/* ---- what follows a right password ---- */

static int run_login(struct deferred *deferred, struct error *err)
{
    struct login *login = CONTAINER_OF(deferred, struct login, deferred);
    const struct token_wish wish = {
        .kind = login->is_session ? TOKEN_SESSION : TOKEN_ACCESS,
        .name = login->is_session ? "session" : "login",
        .user = login->who.name,
        .uid = login->who.uid,
        .scope = login->who.is_admin ? SCOPE_ADMIN : SCOPE_QUEUES,
        .queues = "",
        .hash = login->hash,
        .life = login->is_session ? SESSION_LIFE : TOKEN_LIFE_LOGIN,
    };

    return token_create(api_control(deferred->api), &wish, &login->id, err);
}

static json_t *answer_login(struct deferred *deferred)
{
    struct login *login = CONTAINER_OF(deferred, struct login, deferred);

    return login->is_session ? session_answer(deferred, login->id, login->secret, login->who.name)
                             : token_answer(deferred->api, login->id, login->secret);
}

static void release_login(struct deferred *deferred)
{
    struct login *login = CONTAINER_OF(deferred, struct login, deferred);

    explicit_bzero(login->secret, sizeof(login->secret));
    identity_release(&login->who);
}

/* ---- the answer of the check ---- */

static void unlink_login(struct login *login)
{
    struct login **at = &login->deferred.api->logins;

    while (*at != login)
        at = &(*at)->next;
    *at = login->next;
    login->check = NULL;
}

static void go_on(struct login *login, int code, const struct error *err)
{
    struct deferred *deferred = &login->deferred;

    if (code == 0)
        control_enqueue(api_control(deferred->api), &deferred->change);
    else
        deferred->change.done(&deferred->change, code, err);
}

/* A name that no account has may be a password in the wrong field. */
static void log_refusal(const struct login *login, const char *reason)
{
    uid_t uid;

    log_line(LOG_WARNING, "login refused user=%s from=%s reason='%s'",
             peer_find(login->user, &uid, NULL) == 0 ? login->user : "unknown", login->address,
             reason);
}

static int refuse_password(struct error *err)
{
    return error_set(err, REFUSED_UNKNOWN,
                     "login: wrong user or password, or the account may not log in%s",
                     geteuid() == 0 ? ""
                                    : "; this daemon does not run as root, and so can check the "
                                      "password of its own user only");
}

static void on_checked(void *object, const struct password_result *result)
{
    struct login *login = object;
    const struct api *api = login->deferred.api;
    struct error err;
    int code = 0;

    unlink_login(login);
    if (!result->is_right) {
        log_refusal(login, result->reason);
        code = refuse_password(&err);
    } else if (call_check_owner(api, result->uid, &err) < 0 ||
               peer_assume(result->name, result->uid, IDENTITY_PASSWORD, api_control(api)->owner,
                           &login->who, &err) < 0) {
        log_refusal(login, err.text);
        code = refuse_password(&err);
    } else {
        login_rate_return(&login->deferred.api->login_rate, login->keys);
        log_line(LOG_INFO, "login user=%s from=%s", login->who.name, login->address);
    }
    go_on(login, code, &err);
}

void logins_shut(struct api *api)
{
    static const struct error stopping = { "the daemon is stopping" };

    while (api->logins) {
        struct login *login = api->logins;

        password_check_stop(login->check);
        unlink_login(login);
        go_on(login, REFUSED_STOPPING, &stopping);
    }
}

/* ---- the request ---- */

/* A form of another site can send neither this type nor, in a browser that tells, this header. */
static int check_sender(struct call *call)
{
    const char *type = http_header(call->request, "Content-Type");
    const char *site = http_header(call->request, "Sec-Fetch-Site");

    if (!type || !string_starts(type, "application/json"))
        return error_set(&call->err, REFUSED_BAD,
                         "login: expected the header Content-Type: application/json");
    return !site || strcmp(site, "same-origin") == 0
               ? 0
               : error_set(&call->err, REFUSED_FORBIDDEN,
                           "login: the request comes from a page of another site");
}

static int check_way(struct call *call)
{
    if (call->request->who->source != IDENTITY_NOBODY)
        return error_set(&call->err, REFUSED_BAD,
                         "login: only over the network; on this socket the kernel says who it is");
    return call->api->ports.door.login
               ? 0
               : error_set(&call->err, REFUSED_FORBIDDEN,
                           "login: this daemon takes no passwords; an administrator starts it with "
                           "tarn serve --login pam, or use a token");
}

static int check_room(struct call *call, struct login *login)
{
    struct login_rate *rate = &call->api->login_rate;
    unsigned count = 0;

    for (const struct login *at = call->api->logins; at; at = at->next)
        count++;
    if (count >= LOGINS_MAX)
        return error_set(&call->err, REFUSED_TOO_MANY, "login: %d are being checked; try again",
                         LOGINS_MAX);
    login->keys = login_keys_of(login->user, login->address);
    usec_t now = (usec_t)uv_now(call->api->loop) * USEC_PER_MS;
    usec_t wait = login_rate_take(rate, login->keys, now);
    if (wait == 0)
        return 0;
    AUTO_FREE char *seconds = mem_printf("%" PRId64, wait / USEC_PER_SEC + 1);
    http_header_add(call->request, "Retry-After", seconds);
    return error_set(&call->err, REFUSED_TOO_MANY,
                     "login: too many attempts for this user or from this address; try again in "
                     "%s s",
                     seconds);
}

static int start(struct call *call, struct login *login, const char *password)
{
    const struct password_question question = { .loop = call->api->loop,
                                                .program = call->api->ports.door.login,
                                                .user = login->user,
                                                .password = password,
                                                .address = login->address,
                                                .done = on_checked,
                                                .object = login };

    int code = check_room(call, login);
    if (code == 0)
        code = password_check_start(&question, &login->check, &call->err);
    if (code == 0) {
        login->next = call->api->logins;
        call->api->logins = login;
    }
    return code;
}

static int read_and_start(struct call *call, struct login *login)
{
    static const char *const keys[] = { "user", "password", NULL };
    const struct reader reader = { .where = "login", .err = &call->err };
    const char *user = NULL, *password = NULL;

    int code = reader_check_keys(&reader, call->body, keys);
    if (code == 0)
        code = reader_string(&reader, call->body, "user", sizeof(login->user) - 1, &user);
    if (code == 0)
        code = reader_string(&reader, call->body, "password", PASSWORD_MAX, &password);
    if (code == 0 && (!user || !user[0] || string_has_control(user)))
        code = reader_fail(&reader, REFUSED_BAD, call->body, "user", "expected a user name");
    if (code == 0 && (!password || !password[0]))
        code = reader_fail(&reader, REFUSED_BAD, call->body, "password", "expected a password");
    if (code == 0) {
        memcpy(login->user, user, strlen(user) + 1);
        code = start(call, login, password);
    }
    return code;
}

/* It is in the body twice: as it came, and as it was read. */
static void forget_password(struct call *call)
{
    const char *password = json_string_value(json_object_get(call->body, "password"));
    struct text *body = &call->request->body;

    if (password)
        explicit_bzero((char *)(uintptr_t)password, strlen(password));
    if (body->length > 0)
        explicit_bzero(body->bytes, body->length);
}

json_t *handle_login(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_login,
                                             .answer = answer_login,
                                             .release = release_login };
    struct login *login = deferred_create(call, sizeof(*login), &ops);

    login->deferred.who = &login->who;
    login->who = IDENTITY_NONE;
    login->is_session = query_is_on(call, "session");
    http_address(call->request, login->address);
    secret_make(login->secret);
    secret_hash(login->secret, login->hash);
    int code = check_way(call);
    if (code == 0)
        code = check_sender(call);
    if (code == 0)
        code = read_body(call);
    if (code == 0)
        code = read_and_start(call, login);
    forget_password(call);
    if (code < 0)
        deferred_drop(&login->deferred);
    return refuse(call, code);
}
