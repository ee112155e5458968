/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a request that comes over the network:
 *
 *   Authorization: Bearer tarn_ID_SECRET     an access token (control/token.h)
 *   Cookie: __Host-tarn=tarn_ID_SECRET       the same, of a browser (without TLS: tarn=...)
 *   a trusted proxy's headers                the user whom the proxy has identified
 *
 * The name in the Host header must be one of this server, and a request that may change something
 * must come from a page of this server or from no page at all (Origin): other sites can neither
 * use a browser's cookie nor reach the server under a name of theirs. */
#include "api/call.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/token.h"
#include "io/net/peer.h"
#include "io/net/tls.h"
#include "io/secret.h"
#include "web/web_files.h"

static const char token_prefix[] = "tarn_", session_path[] = "/v1/session";
static const char whoami_path[] = "/v1/whoami"; /* the page asks before it changes its user */
static const char login_path[] = "/v1/login";

/* ---- where it comes from ---- */

/* "box:9443", "[::1]:9443" without the port and the brackets. */
static char *name_of_host(const char *host)
{
    const char *end = host[0] == '[' ? strchr(host, ']') : strrchr(host, ':');

    if (host[0] == '[')
        return mem_string_of(host + 1, end ? (size_t)(end - host - 1) : strlen(host + 1));
    return mem_string_of(host, end ? (size_t)(end - host) : strlen(host));
}

static bool is_address(const char *name)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* DNS rebinding needs a name: an address cannot be pointed to another machine. */
static int check_host(const struct api *api, const struct http_request *request, struct error *err)
{
    const struct api_door *door = &api->ports.door;
    const char *host = http_header(request, "Host");
    AUTO_FREE char *name = host ? name_of_host(host) : mem_string("");
    bool is_known =
        is_address(name) || strcasecmp(name, "localhost") == 0 || (door->is_tls && tls_names(name));

    for (const char *const *at = door->hosts; !is_known && at && *at; at++)
        is_known = strcasecmp(name, *at) == 0;
    return is_known ? 0
                    : error_set(err, -EACCES,
                                "the Host header does not name this server; use a name of its "
                                "certificate, or add the name with tarn serve --host");
}

/* A browser sends Origin with every request that may change something. */
static int check_origin(const struct api *api, const struct http_request *request,
                        struct error *err)
{
    const char *origin = http_header(request, "Origin"), *host = http_header(request, "Host");
    const char *scheme = api->ports.door.is_tls ? "https" : "http";

    if (!origin || strcmp(request->method, "GET") == 0)
        return 0;
    AUTO_FREE char *own = mem_printf("%s://%s", scheme, host ? host : "");
    return strcasecmp(own, origin) == 0
               ? 0
               : error_set(err, -EACCES, "the request comes from a page of another site");
}

/* ---- tokens ---- */

/* "tarn_12_SECRET" */
static const struct event_token *find_token(const struct api *api, const char *text)
{
    char hash[SECRET_HASH_SIZE], *end = NULL;
    const struct event_token *token = NULL;

    if (string_starts(text, token_prefix) && isdigit((unsigned char)text[strlen(token_prefix)])) {
        uint64_t id = strtoull(text + strlen(token_prefix), &end, 10);
        token = *end == '_' ? token_list_find(&api_state(api)->tokens, id) : NULL;
    }
    if (!token)
        return NULL;
    secret_hash(end + 1, hash);
    return secret_is_equal(token->hash, hash) ? token : NULL;
}

struct noting {
    struct change change;
    const struct api *api;
    uint64_t id;
};

static int run_note(struct change *change, struct error *err)
{
    const struct noting *noting = CONTAINER_OF(change, struct noting, change);

    (void)err;
    token_note_use(api_control(noting->api), noting->id);
    return 0;
}

static void done_note(struct change *change, int code, const struct error *err)
{
    (void)code;
    (void)err;
    free(CONTAINER_OF(change, struct noting, change));
}

static void note_use(const struct api *api, const struct event_token *token)
{
    if (!token_needs_note(token, api_now(api)))
        return;
    struct noting *noting = mem_zero(1, sizeof(*noting));
    *noting = (struct noting){ .change = { .run = run_note, .done = done_note },
                               .api = api,
                               .id = token->id };
    control_enqueue(api_control(api), &noting->change);
}

static int admit_token(const struct api *api, const char *text, const char *path,
                       struct identity *ret, struct error *err)
{
    const struct event_token *token = find_token(api, text);
    uid_t owner = api_control(api)->owner;

    if (!token)
        return error_set(err, -EPERM, "the token is not valid; it may have been revoked");
    if (token->expires <= api_now(api))
        return error_set(err, -EPERM, "token %" PRIu64 " has expired", token->id);
    if (token->kind == TOKEN_LOGIN && strcmp(path, session_path) != 0 &&
        strcmp(path, whoami_path) != 0)
        return error_set(err, -EPERM, "the code of a login is only for %s and %s", session_path,
                         whoami_path);
    int code = peer_assume(token->user, token->uid, IDENTITY_TOKEN, owner, ret, err);
    if (code == -ENOENT)
        return error_set(err, -EPERM, "the owner of token %" PRIu64 " is no user here any more",
                         token->id);
    if (code < 0)
        return code;
    identity_narrow(ret, token->scope, token->queues);
    ret->token = token->id;
    note_use(api, token);
    return 0;
}

/* ---- a trusted proxy ---- */

/* 1: it is the proxy's; 0: it is not; or a failure. */
static int admit_proxy(const struct api *api, const struct http_request *request,
                       struct identity *ret, struct error *err)
{
    const struct api_door *door = &api->ports.door;
    char address[HTTP_ADDRESS_SIZE];
    const char *secret = http_header(request, "Tarn-Proxy-Secret");
    uid_t uid = 0;

    if (!door->proxy_secret || !secret)
        return 0;
    const char *user = http_header(request, door->proxy_header);
    if (http_header_count(request, "Tarn-Proxy-Secret") > 1 ||
        http_header_count(request, door->proxy_header) > 1)
        return error_set(err, -EPERM,
                         "a header of the proxy is there twice; the proxy must remove what its "
                         "clients send of them");
    if (strcmp(http_address(request, address), door->proxy_from) != 0 ||
        !secret_is_equal(door->proxy_secret, secret))
        return error_set(err, -EPERM, "this is not the trusted proxy, or its secret is wrong");
    int code = user ? peer_find(user, &uid, err) : -ENOENT;
    if (code == 0)
        code = peer_assume(user, uid, IDENTITY_PROXY, api_control(api)->owner, ret, err);
    if (code == -ENOENT)
        return error_set(err, -EACCES, "the proxy names nobody who is a user of this machine");
    return code < 0 ? code : 1;
}

/* Browsers take a cookie with this prefix from this server alone, over TLS. One of another name in
 * the domain could plant a cookie else, and so log a browser in as its own user. */
const char *api_cookie_name(const struct api *api)
{
    return api->ports.door.is_tls ? "__Host-tarn" : "tarn";
}

int api_admit(void *user, struct http_request *request, struct identity *ret, struct error *err)
{
    static const char bearer[] = "Bearer ";
    const struct api *api = user;
    const char *authorization = http_header(request, "Authorization");
    const char *cookie = http_cookie(request, api_cookie_name(api));

    int code = check_host(api, request, err);
    if (code == 0)
        code = check_origin(api, request, err);
    if (code == 0 && strcmp(request->path, login_path) == 0)
        return 0; /* nobody is known there yet */
    if (code == 0)
        code = admit_proxy(api, request, ret, err);
    if (code != 0)
        return code < 0 ? code : 0;
    if (authorization && strncasecmp(authorization, bearer, strlen(bearer)) == 0)
        return admit_token(api, authorization + strlen(bearer), request->path, ret, err);
    if (strcmp(request->method, "GET") == 0 && web_file_find(request->path))
        return 0; /* the page itself shows nothing of anybody */
    if (cookie)
        return admit_token(api, cookie, request->path, ret, err);
    return error_set(err, -EPERM, "expected an access token; tarn token create makes one");
}
