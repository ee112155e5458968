/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_NET_HTTP_H
#define IO_NET_HTTP_H

/* http - a small HTTP/1.1 server on a Unix or TCP socket, in a libuv loop, on libmicrohttpd
 *
 * The handler gets each complete request and answers with http_reply(), at once or later, or with
 * http_stream(), which pulls bytes until the stream is over. On a Unix socket, the kernel tells the
 * identity of a peer, once per connection (io/net/peer.h). TCP peers have none: `admit` finds it in
 * the header of each request, before its body is received; without `admit`, is_open passes requests
 * to the handler as IDENTITY_NOBODY.
 *
 * Order of calls:  create, (handler: reply | stream once)*, destroy. A request is gone after its
 *                  reply; a stream after on_gone
 * Limits:          HTTP_BODY_MAX bytes of body, HTTP_CONNECTIONS_MAX connections; HTTP_TIMEOUT_S
 *                  seconds for a slow sender, less for a stranger. One user may have a part of the
 *                  connections (connections.h) and of the bytes being received only. A request on a
 *                  connection too many is refused (429) and its connection closed
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/error.h"
#include "base/identity.h"
#include "base/text.h"

enum {
    HTTP_BODY_MAX = 32 << 20,
    HTTP_BODY_STRANGER_MAX = 8 << 10, /* of a peer that `admit` does not know */
    HTTP_BODIES_MAX = 96 << 20,       /* of all requests being received */
    HTTP_BODIES_USER_MAX = 33 << 20,  /* of one user's */
    HTTP_CONNECTIONS_MAX = 1024,
    HTTP_RETRY_AFTER_S = 5, /* what a client is told with 429 and 503 */
    HTTP_TIMEOUT_S = 30,
    HTTP_QUERY_MAX = 64, /* parameters */
};

struct http_server;

struct http_request {
    const char *method, *path;
    struct text body;
    const struct identity *who; /* good until the reply */
};

typedef void http_handler_fn(void *user, struct http_request *request);

/* Fill *ret, which the server releases. Fails with -EPERM (not known: 401), -EACCES (403),
 * -EDQUOT (429) or -ETIMEDOUT (504), and a message. The request has no body yet. */
typedef int http_admit_fn(void *user, struct http_request *request, struct identity *ret,
                          struct error *err);

struct http_options {
    uv_loop_t *loop;
    int listen_fd; /* taken over */
    http_handler_fn *handler;
    http_admit_fn *admit; /* NULL: the kernel's credentials decide */
    void *user;
    uid_t owner;
    bool is_open; /* to peers without an identity */
    bool is_tls;  /* with the certificate of tls.h */
};

int http_create(const struct http_options *options, struct http_server **ret, struct error *err);
void http_destroy(struct http_server *server); /* open connections are closed */

/* A Unix socket that listens at path with these permissions. It replaces a stale socket; fails with
 * -EADDRINUSE if a server listens there. */
int http_listen(const char *path, mode_t mode, int *ret_fd, struct error *err);

/* The same on TCP: "PORT" is this machine only, "HOST:PORT" an address of it, "*:PORT" all.
 * Fails with -EINVAL (not an address of that form) or as bind(2) does. */
int http_listen_tcp(const char *address, int *ret_fd, struct error *err);

/* NULL: the query has no such key; "": the key has no value. */
const char *http_query(const struct http_request *request, const char *key);

/* A key of the query that is none of these (64 at most, NULL at the end), or that is there more
 * than once (*ret_repeated); NULL: all are fine. */
const char *http_query_odd(const struct http_request *request, const char *const *keys,
                           bool *ret_repeated);

/* A header, or a cookie; NULL: none. */
const char *http_header(const struct http_request *request, const char *name);
unsigned http_header_count(const struct http_request *request, const char *name);
const char *http_cookie(const struct http_request *request, const char *name);
/* The address of the peer without its port, of IPv4 also where it came over IPv6; "": a Unix
 * socket. */
enum { HTTP_ADDRESS_SIZE = 48 };
const char *http_address(const struct http_request *request, char buffer[HTTP_ADDRESS_SIZE]);
/* Add a header to the reply, before it; both are copied. With `admit`, a reply without a
 * Cache-Control is stored by no cache, and no browser guesses the type of one. Without a
 * Retry-After, 429 and 503 name HTTP_RETRY_AFTER_S. */
void http_header_add(struct http_request *request, const char *name, const char *value);

/* Whether the peer of an unanswered request has disconnected. */
bool http_is_left(const struct http_request *request);

/* bytes are malloc'd and taken over. */
void http_reply(struct http_request *request, unsigned status, const char *content_type,
                char *bytes, size_t length);

/* Answer with a descriptor (101, protocol "descriptor": one byte goes along), which is taken over,
 * and close the connection. Not over TCP, where none can be passed. */
void http_hand_over(struct http_request *request, int fd);

/* A connection that goes on in another protocol. */
struct http_tunnel {
    struct http_request *request;
    /* The socket carries the bytes of both directions; it is only good in this call: to be copied
     * with dup(). Not called if the peer leaves before. */
    void (*on_open)(struct http_tunnel *tunnel, int socket);
    void (*on_gone)(struct http_tunnel *tunnel); /* closed, or never opened */
};

/* Answer with 101 and this protocol, a literal. The tunnel belongs to the caller until on_gone. */
void http_tunnel(struct http_request *request, const char *protocol, struct http_tunnel *tunnel);
/* All copies of the socket are closed, and what was written to them goes out. */
void http_tunnel_close(struct http_tunnel *tunnel);

/* Append new bytes, or nothing if there are none; true: the stream is over. */
struct http_stream {
    struct http_request *request;
    bool (*pull)(struct http_stream *stream, struct text *out);
    void (*on_gone)(struct http_stream *stream); /* the peer left, or it is over */
    void *user;
    struct text waiting; /* the server's */
    bool is_over, is_suspended;
    bool is_broken; /* set by the caller: what ends it is a failure, and the peer notices */
};

/* The stream belongs to the caller until on_gone. */
void http_stream(struct http_request *request, const char *content_type,
                 struct http_stream *stream);
/* Whether the peer has disconnected; an idle stream does not notice by itself. */
bool http_stream_is_left(const struct http_stream *stream);
/* There may be something to say. */
void http_stream_wake(struct http_stream *stream);

#endif
