/* SPDX-License-Identifier: Apache-2.0 */
#include "io/net/client.h"

#include <assert.h>
#include <errno.h>
#include <http_parser.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/descriptors.h"

enum { STATUS_UPGRADED = 101 };
enum { CHUNK_BYTES = 64 * 1024, CHUNKS_AT_ONCE = 16, STREAMS_MAX = 16, TURN_MS = 1000 };

/* One request and its reply. */
struct client_transfer {
    int fd; /* -1: not connected */
    struct text request;
    size_t sent;
    http_parser parser;
    struct text *body;
    size_t body_max;
    bool is_over, is_too_large;
    bool has_beat; /* a stream of events, with a beat */
    bool is_whole; /* it ends by itself, so it has the limit of a call */
};

struct client {
    struct dial_place place;
    struct client_transfer call; /* its connection is used again for each call */
    struct client_stream *streams[STREAMS_MAX];
    unsigned stream_count;
    int watched_fd;
    bool has_news; /* the next wait ends at once */
    struct client_patience patience;
    time_t heard;   /* of the daemon, last */
    bool is_silent; /* the caller is told */
};

struct client *client_create(const struct dial_place *place)
{
    struct client *client = mem_zero(1, sizeof(*client));

    client->place = *place;
    client->call.fd = client->watched_fd = -1;
    client->patience.timeout_s = CLIENT_TIMEOUT_S;
    return client;
}

static void disconnect(struct client_transfer *transfer)
{
    if (transfer->fd >= 0)
        close(transfer->fd);
    transfer->fd = -1;
    text_release(&transfer->request);
}

void client_destroy(struct client *client)
{
    if (!client)
        return;
    assert(client->stream_count == 0);
    disconnect(&client->call);
    free(client);
}

void client_be_patient(struct client *client, const struct client_patience *patience)
{
    client->patience = *patience;
}

static time_t seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void hear(struct client *client)
{
    client->heard = seconds_now();
    client->is_silent = false;
}

static time_t silence_of(const struct client *client)
{
    return seconds_now() - client->heard;
}

static void note_silence(struct client *client, int limit_s)
{
    time_t silence = silence_of(client);

    if (client->is_silent || silence < limit_s || !client->patience.on_silence)
        return;
    client->is_silent = true;
    client->patience.on_silence(client->place.name, (unsigned)silence);
}

void client_watch(struct client *client, int fd)
{
    client->watched_fd = fd;
}

/* ---- one transfer ---- */

static int failed(const struct client *client, int code, struct error *err)
{
    if (code == -EAGAIN || code == -ETIMEDOUT)
        return error_set(err, -ETIMEDOUT,
                         "daemon at %s: no answer in time; it may be stopped, overloaded, or wait "
                         "for its disk",
                         client->place.name);
    return error_set(err, code, "daemon at %s: %s", client->place.name, strerror(-code));
}

static int on_body(http_parser *parser, const char *bytes, size_t length)
{
    struct client_transfer *transfer = parser->data;

    transfer->is_too_large = transfer->body->length + length > transfer->body_max;
    if (transfer->is_too_large)
        return 1;
    text_add_bytes(transfer->body, bytes, length);
    return 0;
}

static int on_complete(http_parser *parser)
{
    struct client_transfer *transfer = parser->data;

    transfer->is_over = true;
    return 0;
}

/* Whether a connection that was used can take another request: the daemon closes an idle one. */
static bool is_usable(const struct client_transfer *transfer)
{
    struct pollfd news = { .fd = transfer->fd, .events = POLLIN };

    return transfer->fd >= 0 && poll(&news, 1, 0) == 0;
}

int client_dial(const struct client *client, int *ret_fd, struct error *err)
{
    int code = dial(&client->place, ret_fd);

    return code < 0 ? failed(client, code, err) : 0;
}

static int transfer_connect(const struct client *client, struct client_transfer *transfer,
                            struct error *err)
{
    if (is_usable(transfer))
        return 0;
    disconnect(transfer);
    return client_dial(client, &transfer->fd, err);
}

static int transfer_begin(const struct client *client, struct client_transfer *transfer,
                          const struct client_request *request, struct error *err)
{
    int code = transfer_connect(client, transfer, err);

    if (code < 0)
        return code;
    transfer->sent = 0;
    transfer->is_over = transfer->is_too_large = false;
    http_parser_init(&transfer->parser, HTTP_RESPONSE);
    transfer->parser.data = transfer;
    text_clear(&transfer->request);
    text_printf(&transfer->request, "%s %s HTTP/1.1\r\n%s", request->method, request->path,
                client->place.headers ? client->place.headers : "Host: tarn\r\n");
    if (strcmp(request->method, "GET") != 0)
        text_printf(&transfer->request, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                    request->length);
    text_add(&transfer->request, request->headers ? request->headers : "");
    text_add(&transfer->request, "\r\n");
    text_add_bytes(&transfer->request, request->body, request->length);
    return 0;
}

/* A daemon that refuses a request early reads no more of it; its reply says why. */
static void send_more(struct client_transfer *transfer)
{
    while (transfer->sent < transfer->request.length) {
        ssize_t length =
            send(transfer->fd, transfer->request.bytes + transfer->sent,
                 transfer->request.length - transfer->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (length < 0 && errno == EAGAIN)
            return;
        transfer->sent = length < 0 ? transfer->request.length : transfer->sent + (size_t)length;
    }
}

/* Send and receive what is possible now. */
static int transfer_go(const struct client *client, struct client_transfer *transfer,
                       struct error *err)
{
    static const http_parser_settings settings = { .on_body = on_body,
                                                   .on_message_complete = on_complete };
    static char chunk[CHUNK_BYTES];

    send_more(transfer);
    for (int i = 0; i < CHUNKS_AT_ONCE && !transfer->is_over; i++) {
        ssize_t length = recv(transfer->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

        if (length < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (length < 0)
            return failed(client, -errno, err);
        http_parser_execute(&transfer->parser, &settings, chunk, (size_t)length);
        if (transfer->is_too_large)
            return error_set(err, -EFBIG, "daemon at %s: more than %zu MiB in the reply",
                             client->place.name, transfer->body_max >> 20);
        if (HTTP_PARSER_ERRNO(&transfer->parser) != HPE_OK)
            return error_set(err, -EIO, "daemon at %s: %s", client->place.name,
                             http_errno_description(HTTP_PARSER_ERRNO(&transfer->parser)));
        if (length == 0 && !transfer->is_over)
            return error_set(err, -EIO, "daemon at %s: it closed the connection without a reply",
                             client->place.name);
    }
    return 0;
}

static struct pollfd transfer_news(const struct client_transfer *transfer)
{
    bool is_sending = transfer->sent < transfer->request.length;

    return (struct pollfd){ .fd = transfer->fd,
                            .events = (short)(POLLIN | (is_sending ? POLLOUT : 0)) };
}

/* ---- calls ---- */

static int finish_call(struct client *client, const struct client_request *request,
                       struct error *err)
{
    time_t until = seconds_now() + client->patience.timeout_s;

    hear(client);
    for (;;) {
        int code = transfer_go(client, &client->call, err);

        if (code == 0 && request->on_body)
            request->on_body(request->user, client->call.body);
        if (code < 0 || client->call.is_over)
            return code;
        struct pollfd news[] = { transfer_news(&client->call),
                                 { .fd = client->watched_fd, .events = POLLIN } };
        if (poll(news, COUNT_OF(news), 1000) > 0)
            hear(client);
        note_silence(client, CLIENT_SILENCE_S);
        if (news[1].revents & POLLIN)
            return error_set(err, -EINTR, "interrupted");
        if (seconds_now() > until)
            return failed(client, -ETIMEDOUT, err);
    }
}

int client_connect(struct client *client, struct error *err)
{
    return transfer_connect(client, &client->call, err);
}

int client_call(struct client *client, const struct client_request *request,
                struct client_reply *ret, struct error *err)
{
    struct client_transfer *call = &client->call;

    *ret = (struct client_reply){ 0 };
    call->body = &ret->body;
    call->body_max = CLIENT_REPLY_MAX;
    int code = transfer_begin(client, call, request, err);
    if (code == 0)
        code = finish_call(client, request, err);
    if (code < 0 || !http_should_keep_alive(&call->parser))
        disconnect(call);
    ret->status = code < 0 ? 0 : call->parser.status_code;
    if (code < 0)
        client_reply_release(ret);
    return code;
}

void client_reply_release(struct client_reply *reply)
{
    text_release(&reply->body);
    reply->status = 0;
}

/* ---- a descriptor ---- */

/* As recv(), with the descriptor that may come along; an earlier one stays. */
static ssize_t receive(int socket, char *bytes, size_t size, int *fd)
{
    size_t count;
    int came = -1;

    ssize_t length = descriptors_receive(socket, bytes, size, &came, 1, &count);
    if (count > 0 && *fd < 0)
        *fd = came;
    else if (count > 0)
        close(came);
    return length;
}

/* The same within the limit of a call; the socket has a time limit of a second. */
static ssize_t receive_patiently(struct client *client, const struct client_transfer *transfer,
                                 char *bytes, size_t size, int *fd)
{
    for (;;) {
        ssize_t length = receive(transfer->fd, bytes, size, fd);

        if (length >= 0 || (errno != EINTR && errno != EAGAIN))
            return length;
        if (silence_of(client) > client->patience.timeout_s) {
            errno = ETIMEDOUT;
            return length;
        }
        note_silence(client, CLIENT_SILENCE_S);
    }
}

/* The reply, without reading more than it when another protocol follows: the server is silent then.
 */
static int await_reply(struct client *client, struct client_transfer *transfer, int *fd,
                       struct error *err)
{
    static const http_parser_settings settings = { .on_body = on_body,
                                                   .on_message_complete = on_complete };
    const struct timeval turn = { .tv_sec = 1 };
    char chunk[4096];

    setsockopt(transfer->fd, SOL_SOCKET, SO_RCVTIMEO, &turn, sizeof(turn));
    hear(client);
    send_more(transfer);
    while (!transfer->is_over) {
        ssize_t length = receive_patiently(client, transfer, chunk, sizeof(chunk), fd);

        if (length <= 0)
            return failed(client, length < 0 ? -errno : -ECONNRESET, err);
        http_parser_execute(&transfer->parser, &settings, chunk, (size_t)length);
        if (HTTP_PARSER_ERRNO(&transfer->parser) != HPE_OK)
            return failed(client, -EPROTO, err);
    }
    return 0;
}

static int await_descriptor(struct client *client, struct client_transfer *transfer, int *fd,
                            struct error *err)
{
    char byte;

    int code = await_reply(client, transfer, fd, err);
    while (code == 0 && transfer->parser.status_code < 400 && *fd < 0) {
        ssize_t length = receive_patiently(client, transfer, &byte, 1, fd);

        if (length <= 0)
            return failed(client, length < 0 ? -errno : -ECONNRESET, err);
    }
    return code;
}

void client_rest(struct client *client)
{
    disconnect(&client->call);
}

int client_take_descriptor(struct client *client, const char *path, struct client_reply *ret,
                           int *ret_fd, struct error *err)
{
    const struct client_request request = { .method = "POST", .path = path };
    struct client_transfer transfer = { .fd = -1,
                                        .body = &ret->body,
                                        .body_max = CLIENT_REPLY_MAX };
    int fd = -1;

    *ret = (struct client_reply){ 0 };
    int code = transfer_begin(client, &transfer, &request, err);
    if (code == 0)
        code = await_descriptor(client, &transfer, &fd, err);
    ret->status = transfer.parser.status_code;
    disconnect(&transfer);
    if (code == 0 && ret->status < 400)
        *ret_fd = fd;
    else if (fd >= 0)
        close(fd);
    if (code < 0)
        client_reply_release(ret);
    return code;
}

int client_upgrade(struct client *client, const char *path, const char *protocol,
                   struct client_reply *ret, int *ret_fd, struct error *err)
{
    AUTO_FREE char *headers = mem_printf("Connection: Upgrade\r\nUpgrade: %s\r\n", protocol);
    const struct client_request request = { .method = "POST", .path = path, .headers = headers };
    struct client_transfer transfer = { .fd = -1,
                                        .body = &ret->body,
                                        .body_max = CLIENT_REPLY_MAX };
    int none = -1;

    *ret = (struct client_reply){ 0 };
    int code = transfer_begin(client, &transfer, &request, err);
    if (code == 0)
        code = await_reply(client, &transfer, &none, err);
    ret->status = transfer.parser.status_code;
    if (code == 0 && ret->status < 400 && ret->status != STATUS_UPGRADED)
        code = error_set(err, -EPROTO, "daemon at %s: it does not speak %s", client->place.name,
                         protocol);
    if (code == 0 && ret->status == STATUS_UPGRADED) {
        setsockopt(transfer.fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ 0 },
                   sizeof(struct timeval));
        *ret_fd = transfer.fd;
        transfer.fd = -1;
    }
    disconnect(&transfer);
    if (code < 0)
        client_reply_release(ret);
    return code;
}

/* ---- streams ---- */

static void stream_take(struct client_stream *stream)
{
    struct client_transfer *transfer = stream->transfer;

    stream->code = transfer_go(stream->client, transfer, &stream->err);
    stream->is_over = transfer->is_over || stream->code < 0;
    stream->status = transfer->parser.status_code;
    hear(stream->client);
}

/* Events have a beat, so that silence means something; an output may be silent for days. */
static bool has_beat(const struct client_stream *stream)
{
    return stream->transfer->has_beat && !stream->is_over;
}

static bool is_limited(const struct client_stream *stream)
{
    return stream->transfer->is_whole && !stream->is_over;
}

/* Tell the caller about the silence, or end what it is too long for. */
static void look_at_silence(struct client *client)
{
    bool has_limit = false, is_awaited = false;

    for (unsigned i = 0; i < client->stream_count; i++) {
        struct client_stream *stream = client->streams[i];

        if (is_limited(stream) && silence_of(client) > client->patience.timeout_s) {
            stream->code = failed(client, -ETIMEDOUT, &stream->err);
            stream->is_over = true;
        }
        has_limit |= is_limited(stream);
        is_awaited |= has_beat(stream);
    }
    if (has_limit || is_awaited)
        note_silence(client, is_awaited ? CLIENT_STREAM_SILENCE_S : CLIENT_SILENCE_S);
}

int client_wait(struct client *client, int timeout_ms, struct error *err)
{
    struct pollfd news[STREAMS_MAX + 1];

    for (unsigned i = 0; i < client->stream_count; i++) {
        news[i] = transfer_news(client->streams[i]->transfer);
        if (client->streams[i]->is_over)
            news[i].fd = -1;
        if (is_limited(client->streams[i]) && timeout_ms > TURN_MS)
            timeout_ms = TURN_MS;
    }
    struct pollfd *watched = &news[client->stream_count];
    *watched = (struct pollfd){ .fd = client->watched_fd, .events = POLLIN };
    if (poll(news, client->stream_count + 1, client->has_news ? 0 : timeout_ms) < 0)
        return errno == EINTR ? 0 : error_set(err, -errno, "poll: %s", strerror(errno));
    client->has_news = false;
    for (unsigned i = 0; i < client->stream_count; i++) {
        if (news[i].revents)
            stream_take(client->streams[i]);
    }
    look_at_silence(client);
    return watched->revents & POLLIN ? error_set(err, -EINTR, "interrupted") : 0;
}

void client_stream_open(struct client *client, const char *path, struct client_stream *stream)
{
    const struct client_request request = { .method = "GET", .path = path };
    struct client_transfer *transfer = mem_zero(1, sizeof(*transfer));
    bool has_events = strstr(path, "/events") != NULL;

    assert(client->stream_count < STREAMS_MAX);
    *stream = (struct client_stream){ .client = client, .transfer = transfer };
    client->streams[client->stream_count++] = stream;
    *transfer = (struct client_transfer){ .fd = -1,
                                          .has_beat = has_events,
                                          .is_whole = !has_events && !strstr(path, "follow=1"),
                                          .body = &stream->bytes,
                                          .body_max = CLIENT_WAITING_MAX };
    hear(client);
    stream->code = transfer_begin(client, transfer, &request, &stream->err);
    stream->is_over = client->has_news = stream->code < 0;
}

void client_stream_close(struct client_stream *stream)
{
    struct client *client = stream->client;

    for (unsigned i = 0; stream->transfer && i < client->stream_count; i++) {
        if (client->streams[i] == stream)
            client->streams[i] = client->streams[--client->stream_count];
    }
    if (stream->transfer)
        disconnect(stream->transfer);
    free(stream->transfer);
    text_release(&stream->bytes);
    stream->transfer = NULL;
}

/* Forget what was taken; done once for many events, because what is left is moved. */
static void drop_taken(struct client_stream *stream)
{
    struct text *text = &stream->bytes;

    if (stream->taken == 0)
        return;
    memmove(text->bytes, text->bytes + stream->taken, text->length - stream->taken + 1);
    text->length -= stream->taken;
    stream->taken = 0;
}

static void read_fields(char *block, struct client_event *ret)
{
    struct text data = { 0 };

    for (char *line = strsep(&block, "\n"); line; line = strsep(&block, "\n")) {
        char *value = strchr(line, ':');

        line[strcspn(line, "\r")] = '\0';
        if (!value || value == line)
            continue;
        *value++ = '\0';
        if (*value == ' ')
            value++;
        if (strcmp(line, "event") == 0) {
            free(ret->name);
            ret->name = mem_string(value);
        } else if (strcmp(line, "data") == 0) {
            if (data.length > 0)
                text_add_char(&data, '\n');
            text_add(&data, value);
        }
    }
    ret->data = text_take(&data);
}

bool client_event_take(struct client_stream *stream, struct client_event *ret)
{
    for (;;) {
        const char *from = text_string(&stream->bytes) + stream->taken;
        const char *end = strstr(from, "\n\n");

        if (!end) {
            drop_taken(stream);
            return false;
        }
        AUTO_FREE char *block = mem_string_of(from, (size_t)(end - from));
        *ret = (struct client_event){ 0 };
        read_fields(block, ret);
        stream->taken += (size_t)(end - from) + 2;
        if (ret->data[0])
            break;
        client_event_release(ret); /* a comment that keeps the connection alive */
    }
    if (!ret->name)
        ret->name = mem_string("message");
    return true;
}

void client_event_release(struct client_event *event)
{
    free(event->name);
    free(event->data);
    *event = (struct client_event){ 0 };
}

void client_query_add(struct text *path, const char *name, const char *value)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~,";
    bool is_first = !strchr(text_string(path), '?');

    text_printf(path, "%c%s=", is_first ? '?' : '&', name);
    for (const char *s = value; *s; s++) {
        if (strchr(plain, *s))
            text_add_char(path, *s);
        else
            text_printf(path, "%%%02X", (unsigned char)*s);
    }
}
