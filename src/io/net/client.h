/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_NET_CLIENT_H
#define IO_NET_CLIENT_H

/* client - an HTTP client of the daemon, on http_parser
 *
 * Calls wait for their reply. Streams deliver bytes while client_wait() runs: after each wait the
 * caller consumes the received bytes and clears them. The connection of calls is reused.
 *
 * libcurl is not used here: loading it with its 40 libraries takes 6 ms, each time that a command
 * runs.
 *
 * Order of calls:  create, (call | stream_open, wait*, stream_close)*, destroy
 * Owner:           the caller; streams are closed before the client is destroyed
 * On failure:      -ENOENT and -ECONNREFUSED if no daemon listens, -EACCES without permission,
 *                  -EINTR when the watched descriptor became readable, -ETIMEDOUT, -EIO
 * Limits:          CLIENT_REPLY_MAX bytes of a reply, CLIENT_TIMEOUT_S seconds for a call unless
 *                  client_be_patient() sets another limit. A stream that ends by itself has the
 *                  same limit; one that follows something has none
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "io/net/dial.h"

enum {
    CLIENT_REPLY_MAX = 256 << 20,
    CLIENT_TIMEOUT_S = 120,
    CLIENT_SILENCE_S = 10,         /* of a call, before the caller is told */
    CLIENT_STREAM_SILENCE_S = 20,  /* of a stream of events, which has a beat every 15 s */
    CLIENT_WAITING_MAX = 64 << 20, /* of a stream, not yet taken */
};

struct client;
struct client_transfer;

struct client_request {
    const char *method; /* "GET", "POST" ... */
    const char *path;   /* with the query, escaped */
    const char *body;   /* JSON; NULL: none */
    size_t length;
    const char *headers; /* more of them, each with its CRLF; NULL: none */
    /* When more of the reply's body came; it may take bytes out of it. NULL: none. */
    void (*on_body)(void *user, struct text *body);
    void *user;
};

struct client_reply {
    long status;
    struct text body;
};

struct client_stream {
    struct text bytes; /* what has come; the caller clears it */
    size_t taken;      /* of bytes, by client_event_take */
    long status;       /* 0: nothing came yet */
    bool is_over;
    int code; /* when it is over: 0, or what went wrong */
    struct error err;
    struct client_transfer *transfer;
    struct client *client;
};

/* The place must outlive the client. */
struct client *client_create(const struct dial_place *place);
void client_destroy(struct client *client); /* NULL is fine */
DEFINE_AUTO(client)

/* How long the caller waits for a daemon. on_silence (NULL: none): it has not answered for so many
 * seconds, once for each silence. */
struct client_patience {
    unsigned timeout_s; /* of a call; one that follows something has no limit */
    void (*on_silence)(const char *place, unsigned seconds);
};
void client_be_patient(struct client *client, const struct client_patience *patience);

/* A descriptor that ends every wait when it becomes readable; -1: none. */
void client_watch(struct client *client, int fd);

/* A connection for the caller, who owns it. */
int client_dial(const struct client *client, int *ret_fd, struct error *err);
/* Connect for the calls that follow; a call does it otherwise. */
int client_connect(struct client *client, struct error *err);
/* Close that connection while it is not needed; the next call makes another one. */
void client_rest(struct client *client);
/* A reply with a status of 400 or above is a reply, not a failure. */
int client_call(struct client *client, const struct client_request *request,
                struct client_reply *ret, struct error *err);
void client_reply_release(struct client_reply *reply);

/* POST path, to be answered with a descriptor, which is the caller's. *ret has a status of 400 or
 * above when it is refused; else *ret_fd is set. */
int client_take_descriptor(struct client *client, const char *path, struct client_reply *ret,
                           int *ret_fd, struct error *err);

/* Connections to jobs from another machine (doc/spec/06-shim.md, "The bridge"). */
#define BRIDGE_PROTOCOL "tarn-bridge"

/* POST path, to go on in another protocol over the same connection, which is the caller's: *ret_fd.
 * Fails, too, with -EPROTO if the daemon goes on in HTTP; refused as client_take_descriptor(). */
int client_upgrade(struct client *client, const char *path, const char *protocol,
                   struct client_reply *ret, int *ret_fd, struct error *err);

/* GET path; the stream is zeroed first and must not move until it is closed. One that can't be
 * connected is over from the start. */
void client_stream_open(struct client *client, const char *path, struct client_stream *stream);
void client_stream_close(struct client_stream *stream); /* one that was never opened is fine */

/* Wait until something came, the watched descriptor is readable (-EINTR) or the time is over. */
int client_wait(struct client *client, int timeout_ms, struct error *err);

/* One server-sent event out of what a stream has brought. */
struct client_event {
    char *name; /* "message" when it has none */
    char *data;
};

/* The next complete event received; false: none yet. A caller that takes events must not clear
 * bytes. */
bool client_event_take(struct client_stream *stream, struct client_event *ret);
void client_event_release(struct client_event *event);

/* value as a part of a query, added to path: "?name=value" or "&name=value". */
void client_query_add(struct text *path, const char *name, const char *value);

#endif
