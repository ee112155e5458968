/* SPDX-License-Identifier: Apache-2.0 */
#include "io/net/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "io/descriptors.h"
#include "io/net/connections.h"
#include "io/net/http_head.h"
#include "io/net/peer.h"
#include "io/net/tls.h"
#include "io/net/tls_pump.h"

enum { EXPIRY_MS = 1000 };

static char too_many_parameters; /* the first context of such a request */

struct http_server {
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer;
    uv_timer_t expiry;
    struct connections connections;
    http_handler_fn *handler;
    http_admit_fn *admit;
    void *user;
    size_t body_bytes; /* of all requests being received */
    struct exchange *exchanges;
    struct map bodies; /* uid -> bytes being received */
    uid_t owner;
    unsigned handle_count;
    bool is_open;
    bool is_closing;
};

/* The peer of a connection. */
struct visitor {
    struct identity who;
    int trouble; /* below 0: the name of its user is not known now */
    struct error err;
    struct connection connection;
};

struct header {
    char *name, *value;
};

/* What a connection carries for the request on it. */
struct exchange {
    struct http_request request;
    struct identity who; /* with `admit`; else the visitor's */
    int refusal;         /* of `admit`: a negative code, or 0 */
    struct error err;
    struct exchange *next, *previous; /* of all that are open */
    struct http_server *server;
    struct MHD_Connection *connection;
    struct MHD_Response *response;
    struct http_stream *stream;
    struct http_tunnel *tunnel;
    struct tls_pump *pump; /* of the tunnel; NULL: no TLS */
    const char *protocol;
    LIST(struct header) headers; /* of the reply */
    size_t body_max;
    unsigned status;
    int passed_fd; /* -1: none */
    bool is_handled, is_suspended, is_too_large, is_too_many, is_open;
};

static struct exchange *exchange_of(const struct http_request *request)
{
    return CONTAINER_OF(request, struct exchange, request);
}

const char *http_query(const struct http_request *request, const char *key)
{
    const char *value = NULL;

    enum MHD_Result found = MHD_lookup_connection_value_n(
        exchange_of(request)->connection, MHD_GET_ARGUMENT_KIND, key, strlen(key), &value, NULL);
    return found == MHD_YES && !value ? "" : value;
}

const char *http_header(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(exchange_of(request)->connection, MHD_HEADER_KIND, name);
}

unsigned http_header_count(const struct http_request *request, const char *name)
{
    return http_head_count(exchange_of(request)->connection, name);
}

const char *http_cookie(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(exchange_of(request)->connection, MHD_COOKIE_KIND, name);
}

const char *http_address(const struct http_request *request, char buffer[HTTP_ADDRESS_SIZE])
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        exchange_of(request)->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    const struct sockaddr_in6 *six = (const void *)address;
    socklen_t size = address && address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                               : sizeof(struct sockaddr_in);

    buffer[0] = '\0';
    if (address && address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], buffer, HTTP_ADDRESS_SIZE);
        return buffer;
    }
    if (address && (address->sa_family == AF_INET || address->sa_family == AF_INET6))
        getnameinfo(address, size, buffer, HTTP_ADDRESS_SIZE, NULL, 0, NI_NUMERICHOST);
    return buffer;
}

void http_header_add(struct http_request *request, const char *name, const char *value)
{
    struct header header = { mem_string(name), mem_string(value) };

    list_add(&exchange_of(request)->headers, header);
}

struct unknown {
    const char *const *keys; /* at most 64 */
    uint64_t seen;
    const char *found;
    bool is_repeated;
};

static enum MHD_Result on_key(void *user, enum MHD_ValueKind kind, const char *key,
                              const char *value)
{
    struct unknown *unknown = user;
    (void)kind;
    (void)value;

    for (unsigned i = 0; unknown->keys[i]; i++) {
        if (strcmp(unknown->keys[i], key) != 0)
            continue;
        unknown->is_repeated = unknown->seen >> i & 1;
        unknown->seen |= UINT64_C(1) << i;
        unknown->found = unknown->is_repeated ? key : NULL;
        return unknown->is_repeated ? MHD_NO : MHD_YES;
    }
    unknown->found = key;
    return MHD_NO;
}

const char *http_query_odd(const struct http_request *request, const char *const *keys,
                           bool *ret_repeated)
{
    struct unknown unknown = { .keys = keys };

    MHD_get_connection_values(exchange_of(request)->connection, MHD_GET_ARGUMENT_KIND, on_key,
                              &unknown);
    *ret_repeated = unknown.is_repeated;
    return unknown.found;
}

static void on_timer(uv_timer_t *timer);

/* The library runs again: soon, but not from in here. */
static void go_on(struct http_server *server)
{
    if (!server->is_closing)
        uv_timer_start(&server->timer, on_timer, 0, 0);
}

static void resume(struct exchange *exchange)
{
    MHD_resume_connection(exchange->connection);
    go_on(exchange->server);
}

/* What one user may see is for no other one, also not in a proxy that keeps replies. */
static void add_headers(const struct exchange *exchange, struct MHD_Response *response)
{
    LIST_EACH (const struct header, header, &exchange->headers)
        MHD_add_response_header(response, header->name, header->value);
    if (!exchange->server->admit)
        return;
    if (!MHD_get_response_header(response, "Cache-Control"))
        MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
}

/* Where a limit is reached, or the daemon starts again, the same request may be fine soon. */
static void add_retry(unsigned status, struct MHD_Response *response)
{
    char seconds[12];

    if ((status != MHD_HTTP_TOO_MANY_REQUESTS && status != MHD_HTTP_SERVICE_UNAVAILABLE) ||
        MHD_get_response_header(response, "Retry-After"))
        return;
    snprintf(seconds, sizeof(seconds), "%d", HTTP_RETRY_AFTER_S);
    MHD_add_response_header(response, "Retry-After", seconds);
}

static void answer(struct exchange *exchange, unsigned status, struct MHD_Response *response)
{
    add_headers(exchange, response);
    add_retry(status, response);
    exchange->status = status;
    exchange->response = response;
    if (exchange->is_suspended) {
        exchange->is_suspended = false;
        resume(exchange);
    }
}

void http_reply(struct http_request *request, unsigned status, const char *content_type,
                char *bytes, size_t length)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_FREE);

    if (!response)
        abort();
    MHD_add_response_header(response, "Content-Type", content_type);
    answer(exchange_of(request), status, response);
}

/* The socket takes this at once: the headers before it are all that it holds. */
static void on_upgraded(void *user, struct MHD_Connection *connection, void *context,
                        const char *more, size_t more_length, MHD_socket socket,
                        struct MHD_UpgradeResponseHandle *handle)
{
    struct exchange *exchange = user;

    (void)connection;
    (void)context;
    (void)more;
    (void)more_length;
    if (descriptors_send(socket, "!", 1, &exchange->passed_fd, 1) < 0)
        shutdown(socket, SHUT_RDWR);
    close(exchange->passed_fd);
    exchange->passed_fd = -1;
    MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
    go_on(exchange->server);
}

void http_hand_over(struct http_request *request, int fd)
{
    struct exchange *exchange = exchange_of(request);
    struct MHD_Response *response = MHD_create_response_for_upgrade(on_upgraded, exchange);

    if (!response)
        abort();
    exchange->passed_fd = fd;
    MHD_add_response_header(response, "Upgrade", "descriptor");
    answer(exchange, MHD_HTTP_SWITCHING_PROTOCOLS, response);
}

/* ---- tunnels: the library takes no notice of a connection while it is suspended ---- */

/* A peer that has vanished without a word is noticed after a minute. */
static void keep_alive(int fd)
{
    static const int on = 1, idle_s = 30, interval_s = 10, probes = 3;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

static int connection_fd(const struct exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info ? info->connect_fd : -1;
}

static void *tls_session(const struct exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    return info ? info->tls_session : NULL;
}

/* The library finds the connection closed when it tries to reply. */
static void end_tunnel(void *user)
{
    struct exchange *exchange = user;

    if (!exchange->is_suspended)
        return;
    tls_pump_stop(TAKE(exchange->pump));
    shutdown(connection_fd(exchange), SHUT_RDWR);
    answer(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR,
           MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
}

/* The connection has nothing else to send, so it takes this as a whole. */
static bool send_head(int fd, void *session, const char *protocol)
{
    AUTO_FREE char *head = mem_printf("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                                      "Upgrade: %s\r\n\r\n",
                                      protocol);
    size_t length = strlen(head);

    ssize_t done = session ? gnutls_record_send(session, head, length)
                           : send(fd, head, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    return done == (ssize_t)length;
}

static void start_pump(struct exchange *exchange, int fd, void *session)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
        end_tunnel(exchange);
        return;
    }
    exchange->pump = tls_pump_start(&(struct tls_pump_plan){
        .loop = exchange->server->timer.loop,
        .session = session,
        .fd = fd,
        .socket = ends[0],
        .on_over = end_tunnel,
        .user = exchange,
    });
    exchange->tunnel->on_open(exchange->tunnel, ends[1]);
    close(ends[1]);
}

static void open_tunnel(struct exchange *exchange)
{
    int fd = connection_fd(exchange);
    void *session = tls_session(exchange);

    if (!exchange->tunnel || exchange->is_open)
        return;
    exchange->is_open = true;
    keep_alive(fd);
    if (!send_head(fd, session, exchange->protocol))
        end_tunnel(exchange);
    else if (session)
        start_pump(exchange, fd, session);
    else
        exchange->tunnel->on_open(exchange->tunnel, fd);
}

void http_tunnel(struct http_request *request, const char *protocol, struct http_tunnel *tunnel)
{
    struct exchange *exchange = exchange_of(request);

    tunnel->request = request;
    exchange->tunnel = tunnel;
    exchange->protocol = protocol;
    if (exchange->is_suspended)
        open_tunnel(exchange);
}

void http_tunnel_close(struct http_tunnel *tunnel)
{
    struct exchange *exchange = exchange_of(tunnel->request);

    if (exchange->pump)
        tls_pump_end(exchange->pump);
    else
        end_tunnel(exchange);
}

static ssize_t read_stream(void *user, uint64_t position, char *buffer, size_t room)
{
    struct exchange *exchange = user;
    struct http_stream *stream = exchange->stream;

    (void)position;
    if (stream->waiting.length == 0 && !stream->is_over)
        stream->is_over = stream->pull(stream, &stream->waiting);
    if (stream->waiting.length == 0) {
        if (stream->is_over)
            return stream->is_broken ? MHD_CONTENT_READER_END_WITH_ERROR
                                     : MHD_CONTENT_READER_END_OF_STREAM;
        stream->is_suspended = true;
        MHD_suspend_connection(exchange->connection);
        return 0;
    }
    size_t length = stream->waiting.length < room ? stream->waiting.length : room;
    memcpy(buffer, stream->waiting.bytes, length);
    memmove(stream->waiting.bytes, stream->waiting.bytes + length, stream->waiting.length - length);
    stream->waiting.length -= length;
    return (ssize_t)length;
}

void http_stream(struct http_request *request, const char *content_type, struct http_stream *stream)
{
    struct exchange *exchange = exchange_of(request);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 * 1024, read_stream, exchange, NULL);

    if (!response)
        abort();
    stream->request = request;
    exchange->stream = stream;
    MHD_add_response_header(response, "Content-Type", content_type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    answer(exchange, MHD_HTTP_OK, response);
}

void http_stream_wake(struct http_stream *stream)
{
    if (!stream->is_suspended)
        return;
    stream->is_suspended = false;
    resume(exchange_of(stream->request));
}

bool http_stream_is_left(const struct http_stream *stream)
{
    return http_is_left(stream->request);
}

bool http_is_left(const struct http_request *request)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        exchange_of(request)->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd peer = { .fd = info ? info->connect_fd : -1 };

    return poll(&peer, 1, 0) > 0 && (peer.revents & (POLLHUP | POLLERR)) != 0;
}

/* words: without characters that JSON would have to escape */
static void refuse(struct exchange *exchange, unsigned status, const char *code, const char *words)
{
    char *body = mem_printf("{\"error\": {\"code\": \"%s\", \"message\": \"%s\"}}\n", code, words);

    http_reply(&exchange->request, status, "application/json", body, strlen(body));
}

static void refuse_stopping(struct exchange *exchange)
{
    refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "stopping", "the daemon is stopping");
}

static void refuse_visitor(struct exchange *exchange)
{
    if (exchange->refusal == -EPERM) {
        http_header_add(&exchange->request, "WWW-Authenticate", "Bearer");
        refuse(exchange, MHD_HTTP_UNAUTHORIZED, "unauthorized", exchange->err.text);
    } else if (exchange->refusal == -EDQUOT)
        refuse(exchange, MHD_HTTP_TOO_MANY_REQUESTS, "too_many", exchange->err.text);
    else if (exchange->refusal == -ETIMEDOUT)
        refuse(exchange, MHD_HTTP_GATEWAY_TIMEOUT, "timeout", exchange->err.text);
    else
        refuse(exchange, MHD_HTTP_FORBIDDEN, "forbidden", exchange->err.text);
}

static void refuse_size(struct exchange *exchange)
{
    refuse(exchange, MHD_HTTP_CONTENT_TOO_LARGE, "too_large",
           exchange->body_max == HTTP_BODY_MAX ? "request: larger than 32 MiB"
                                               : "request: larger than 8 KiB, and without a token");
}

static void take_body(struct exchange *exchange, const char *bytes, size_t length)
{
    struct http_server *server = exchange->server;

    uint64_t own = 0;

    if (exchange->refusal != 0)
        return;
    bool is_stranger = server->admit && exchange->who.source == IDENTITY_NOBODY;
    exchange->body_max = is_stranger ? HTTP_BODY_STRANGER_MAX : HTTP_BODY_MAX;
    map_get(&server->bodies, exchange->request.who->uid, &own);
    if (exchange->request.body.length + length > exchange->body_max)
        exchange->is_too_large = true;
    else if (own + length > HTTP_BODIES_USER_MAX || server->body_bytes + length > HTTP_BODIES_MAX)
        exchange->is_too_many = true;
    if (exchange->is_too_large || exchange->is_too_many)
        return;
    text_add_bytes(&exchange->request.body, bytes, length);
    map_set(&server->bodies, exchange->request.who->uid, own + length);
    server->body_bytes += length;
}

static struct visitor *visitor_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* The user, or the remote network. */
static uint64_t key_of(struct MHD_Connection *connection, const struct identity *who)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;

    return who->has_uid || !address ? who->uid : network_of(address);
}

static enum holder_kind kind_of(const struct http_server *server, const struct identity *who)
{
    if (!who->is_admin)
        return HOLDER_USER;
    return server->admit ? HOLDER_ADMIN : HOLDER_OWNER;
}

static enum claim claim(struct http_server *server, struct visitor *visitor,
                        const struct identity *who)
{
    return who->has_uid ? connections_claim(&server->connections, &visitor->connection,
                                            kind_of(server, who), who->uid)
                        : CLAIM_HELD;
}

static uint64_t from_now(const struct http_server *server, unsigned seconds)
{
    return uv_now(server->timer.loop) + seconds * UINT64_C(1000);
}

/* The deadline of what the visitor does from now on, however slowly its bytes come. */
static void expect(struct http_server *server, struct visitor *visitor, unsigned seconds)
{
    connection_extend(&visitor->connection, from_now(server, seconds));
}

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = user;
    struct visitor *visitor = *context;

    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        connections_remove(&server->connections, &visitor->connection);
        identity_release(&visitor->who);
        free(visitor);
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *context = visitor = mem_zero(1, sizeof(*visitor));
    visitor->connection.fd = info ? info->connect_fd : -1;
    visitor->trouble =
        peer_identify(visitor->connection.fd, server->owner, &visitor->who, &visitor->err);
    visitor->connection.key = key_of(connection, &visitor->who);
    connections_add(&server->connections, &visitor->connection, from_now(server, STRANGER_HEAD_S));
    claim(server, visitor, &visitor->who); /* if there is no room, its first request is refused */
}

/* What follows on the connection may be anything: it is closed, and its bytes are not read. */
static bool refuse_head(struct exchange *exchange, const char *version)
{
    const char *trouble = http_head_trouble(exchange->connection, version);

    if (!trouble)
        return false;
    AUTO_FREE char *words = mem_printf("request: %s", trouble);
    http_header_add(&exchange->request, "Connection", "close");
    refuse(exchange, MHD_HTTP_BAD_REQUEST, "bad_request", words);
    return true;
}

/* The library closes a connection without a word if it has no memory for all parameters: so it
 * gets none of them. What is returned is the first context of the request. */
static void *on_uri(void *user, const char *uri, struct MHD_Connection *connection)
{
    char *query = strchr((char *)(uintptr_t)uri, '?'); /* the library parses in place */
    unsigned count = 1;

    (void)user;
    (void)connection;
    for (const char *at = query; at && *at; at++)
        count += *at == '&';
    if (count <= HTTP_QUERY_MAX)
        return NULL;
    query[1] = '\0';
    return &too_many_parameters;
}

static bool refuse_query(struct exchange *exchange, bool is_too_long)
{
    AUTO_FREE char *words =
        mem_printf("request: more than %d parameters in the query", HTTP_QUERY_MAX);

    if (is_too_long)
        refuse(exchange, MHD_HTTP_URI_TOO_LONG, "too_long", words);
    return is_too_long;
}

/* Before its body is received; the connection is closed. */
static void refuse_crowd(struct exchange *exchange, enum claim claim)
{
    enum holder_kind kind = kind_of(exchange->server, exchange->request.who);
    const struct connection_limits *limits = &connection_limits[kind];
    AUTO_FREE char *words =
        claim == CLAIM_HOLDER_FULL
            ? mem_printf("connections: this user has %u open already, the most of one user; "
                         "close some, or try again later",
                         limits->each)
            : mem_printf("connections: all %s together have %u open already; try again later",
                         kind == HOLDER_USER ? "users" : "administrators", limits->all);

    if (claim == CLAIM_HELD)
        return;
    http_header_add(&exchange->request, "Connection", "close");
    refuse(exchange, MHD_HTTP_TOO_MANY_REQUESTS, "too_many_connections", words);
}

static void begin(struct exchange *exchange, const char *method, const char *path,
                  const char *version, bool is_too_long)
{
    struct http_server *server = exchange->server;

    exchange->passed_fd = -1;
    exchange->next = server->exchanges;
    if (exchange->next)
        exchange->next->previous = exchange;
    server->exchanges = exchange;
    exchange->request.method = method;
    exchange->request.path = path;
    struct visitor *visitor = visitor_of(exchange->connection);
    exchange->request.who = &visitor->who;
    exchange->refusal = visitor->trouble;
    exchange->err = visitor->err;
    expect(server, visitor, STRANGER_BODY_S);
    if (refuse_head(exchange, version) || refuse_query(exchange, is_too_long))
        return;
    if (server->admit) {
        exchange->who = IDENTITY_NONE;
        exchange->request.who = &exchange->who;
        exchange->refusal =
            server->admit(server->user, &exchange->request, &exchange->who, &exchange->err);
    }
    refuse_crowd(exchange, claim(server, visitor, exchange->request.who));
}

static enum MHD_Result send_response(struct exchange *exchange)
{
    enum MHD_Result result =
        MHD_queue_response(exchange->connection, exchange->status, exchange->response);

    MHD_destroy_response(exchange->response);
    exchange->response = NULL;
    return result;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **context)
{
    bool is_too_long = *context == &too_many_parameters;
    struct exchange *exchange = is_too_long ? NULL : *context;

    if (!exchange) {
        exchange = mem_zero(1, sizeof(*exchange));
        exchange->server = user;
        exchange->connection = connection;
        *context = exchange;
        begin(exchange, method, url, version, is_too_long);
        return exchange->response ? send_response(exchange) : MHD_YES;
    }
    if (*upload_size > 0) {
        take_body(exchange, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (!exchange->is_handled) {
        exchange->is_handled = true;
        expect(exchange->server, visitor_of(connection), STRANGER_REPLY_S);
        exchange->request.method = method;
        exchange->request.path = url;
        if (exchange->refusal != 0)
            refuse_visitor(exchange);
        else if (exchange->is_too_large)
            refuse_size(exchange);
        else if (exchange->is_too_many)
            refuse(exchange, MHD_HTTP_TOO_MANY_REQUESTS, "too_many",
                   "request: too many large requests at once; try again");
        else if (!exchange->server->admit && !exchange->server->is_open &&
                 exchange->request.who->source == IDENTITY_NOBODY)
            refuse(exchange, MHD_HTTP_FORBIDDEN, "forbidden",
                   "the kernel does not report the user of this process");
        else if (exchange->server->is_closing)
            refuse_stopping(exchange);
        else
            exchange->server->handler(exchange->server->user, &exchange->request);
    }
    if (!exchange->response) {
        exchange->is_suspended = true;
        MHD_suspend_connection(connection);
        open_tunnel(exchange);
        return MHD_YES;
    }
    return send_response(exchange);
}

static void release_body(struct exchange *exchange)
{
    struct http_server *server = exchange->server;
    uint64_t own = 0;

    if (exchange->request.body.length == 0)
        return;
    server->body_bytes -= exchange->request.body.length;
    if (map_get(&server->bodies, exchange->request.who->uid, &own) &&
        own > exchange->request.body.length)
        map_set(&server->bodies, exchange->request.who->uid, own - exchange->request.body.length);
    else
        map_remove(&server->bodies, exchange->request.who->uid);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct exchange *exchange = *context;

    (void)code;
    if (!exchange || *context == &too_many_parameters)
        return;
    *context = NULL;
    expect(user, visitor_of(connection), STRANGER_HEAD_S);
    *(exchange->previous ? &exchange->previous->next : &exchange->server->exchanges) =
        exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    release_body(exchange);
    if (exchange->stream) {
        text_release(&exchange->stream->waiting);
        exchange->stream->on_gone(exchange->stream);
    }
    tls_pump_stop(exchange->pump);
    if (exchange->tunnel)
        exchange->tunnel->on_gone(exchange->tunnel);
    if (exchange->response)
        MHD_destroy_response(exchange->response);
    if (exchange->passed_fd >= 0)
        close(exchange->passed_fd);
    LIST_EACH (struct header, header, &exchange->headers) {
        free(header->name);
        free(header->value);
    }
    list_release(&exchange->headers);
    text_release(&exchange->request.body);
    identity_release(&exchange->who);
    free(exchange);
}

static void run(struct http_server *server)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms;

    if (server->is_closing)
        return;
    MHD_run(server->daemon);
    if (MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES)
        uv_timer_start(&server->timer, on_timer, timeout_ms, 0);
    else
        uv_timer_stop(&server->timer);
}

static void on_timer(uv_timer_t *timer)
{
    run(timer->data);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    run(poll->data);
}

static void on_expiry(uv_timer_t *timer)
{
    struct http_server *server = timer->data;

    connections_expire(&server->connections, uv_now(timer->loop));
}

static void watch(struct http_server *server, uv_loop_t *loop)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);

    uv_poll_init(loop, &server->poll, info->epoll_fd);
    uv_timer_init(loop, &server->timer);
    uv_timer_init(loop, &server->expiry);
    server->poll.data = server->timer.data = server->expiry.data = server;
    server->handle_count = 3;
    uv_timer_start(&server->expiry, on_expiry, EXPIRY_MS, EXPIRY_MS);
    uv_poll_start(&server->poll, UV_READABLE, on_readable);
}

/* A NUL would end a path or a value early: it is none of ours, and nothing may match it. */
static size_t unescape(void *user, struct MHD_Connection *connection, char *text)
{
    size_t length = MHD_http_unescape(text);

    (void)user;
    (void)connection;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\0')
            text[i] = '?';
    }
    return length;
}

int http_create(const struct http_options *options, struct http_server **ret, struct error *err)
{
    struct http_server *server = mem_zero(1, sizeof(*server));

    server->handler = options->handler;
    server->user = options->user;
    server->owner = options->owner;
    server->is_open = options->is_open;
    server->admit = options->admit;
    const struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_retrieve() },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES },
#if MHD_VERSION >= 0x00097701
        { MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1, NULL },
#endif
        { MHD_OPTION_END, 0, NULL },
    };
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE |
            (options->is_tls ? MHD_USE_TLS : 0),
        0, NULL, NULL, on_request, server, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, server, MHD_OPTION_LISTEN_SOCKET, options->listen_fd,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_TIMEOUT_S,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(64 * 1024), MHD_OPTION_ARRAY,
        options->is_tls ? tls : &tls[2], MHD_OPTION_END);
    if (!server->daemon) {
        free(server);
        return error_set(err, -EIO, "http: the server cannot be started");
    }
    watch(server, options->loop);
    *ret = server;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct http_server *server = handle->data;

    if (--server->handle_count == 0)
        free(server);
}

/* The library wants no connection suspended when it stops. */
static void let_go(struct http_server *server)
{
    for (struct exchange *at = server->exchanges; at; at = at->next) {
        if (at->stream) {
            at->stream->is_over = true;
            http_stream_wake(at->stream);
        } else if (at->tunnel)
            end_tunnel(at);
        else if (at->is_suspended)
            refuse_stopping(at);
    }
}

void http_destroy(struct http_server *server)
{
    if (!server)
        return;
    uv_poll_stop(&server->poll);
    server->is_closing = true; /* refuse later requests instead of letting them wait */
    let_go(server);
    MHD_run(server->daemon);
    MHD_stop_daemon(server->daemon);
    map_release(&server->bodies);
    uv_close((uv_handle_t *)&server->poll, on_closed);
    uv_close((uv_handle_t *)&server->timer, on_closed);
    uv_close((uv_handle_t *)&server->expiry, on_closed);
}

static bool is_alive(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    bool alive = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
    if (fd >= 0)
        close(fd);
    return alive;
}

int http_listen(const char *path, mode_t mode, int *ret_fd, struct error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, -ENAMETOOLONG, "socket %s: longer than %zu bytes", path,
                         sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (is_alive(&address))
        return error_set(err, -EADDRINUSE, "socket %s: another daemon listens there", path);

    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set(err, -errno, "socket %s: %s", path, strerror(errno));
    unlink(path);
    mode_t before = umask(0777 & ~mode);
    int code = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
    umask(before);
    if (code == 0 && listen(fd, 512) < 0)
        code = -errno;
    if (code < 0) {
        close(fd);
        return error_set(err, code, "socket %s: %s", path, strerror(-code));
    }
    *ret_fd = fd;
    return 0;
}

/* The host of "HOST:PORT", "[::1]:PORT" or "PORT", into ret; gives the port's name. */
static const char *split_address(const char *address, char *ret, size_t size)
{
    const char *colon = strrchr(address, ':');
    size_t length = colon ? (size_t)(colon - address) : 0;

    if (colon && length > 2 && address[0] == '[' && colon[-1] == ']') {
        address++;
        length -= 2;
    }
    snprintf(ret, size, "%.*s", (int)length, address);
    if (!colon)
        snprintf(ret, size, "127.0.0.1");
    return colon ? colon + 1 : address;
}

/* The C library takes the last 16 bits of a larger one. */
static bool is_port(const char *text)
{
    char *end;
    unsigned long port = strtoul(text, &end, 10);

    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && port > 0 && port <= 65535;
}

static int bind_one(const struct addrinfo *place)
{
    int one = 1, fd = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, place->ai_addr, place->ai_addrlen) == 0 && listen(fd, 512) == 0)
        return fd;
    int code = -errno;
    close(fd);
    return code;
}

int http_listen_tcp(const char *address, int *ret_fd, struct error *err)
{
    struct addrinfo wanted = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                               .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char host[256];
    int fd = -EINVAL;

    const char *port = split_address(address, host, sizeof(host));
    int code = host[0] && is_port(port)
                   ? getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, port, &wanted, &found)
                   : EAI_NONAME;
    if (code != 0)
        return error_set(err, -EINVAL, "address '%.200s': %s; expected HOST:PORT", address,
                         gai_strerror(code));
    for (const struct addrinfo *place = found; place && fd < 0; place = place->ai_next)
        fd = bind_one(place);
    freeaddrinfo(found);
    if (fd < 0)
        return error_set(err, fd, "address %.200s: %s", address, strerror(-fd));
    *ret_fd = fd;
    return 0;
}
