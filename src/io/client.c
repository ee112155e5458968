/* SPDX-License-Identifier: Apache-2.0 */
#include "io/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct client {
    char *socket;
    CURLM *multi;
    CURL *call; /* used again for each call */
    struct curl_slist *headers;
    int watched_fd;
    bool has_news; /* something came since the last wait began */
};

/* A call in flight. */
struct call {
    struct client_reply *reply;
    bool is_over;
    CURLcode result;
};

int client_create(const char *socket, struct client **ret, struct error *err)
{
    static bool is_ready;

    if (!is_ready && curl_global_init(CURL_GLOBAL_NOTHING) != 0)
        return error_set(err, -EIO, "libcurl can't be used");
    is_ready = true;
    struct client *client = mem_zero(1, sizeof(*client));
    *client = (struct client){
        .socket = mem_string(socket),
        .multi = curl_multi_init(),
        .call = curl_easy_init(),
        .watched_fd = -1,
    };
    client->headers = curl_slist_append(NULL, "Content-Type: application/json");
    client->headers = curl_slist_append(client->headers, "Expect:");
    if (!client->multi || !client->call || !client->headers) {
        client_destroy(client);
        return error_set(err, -ENOMEM, "libcurl can't be used: out of memory");
    }
    *ret = client;
    return 0;
}

void client_destroy(struct client *client)
{
    if (!client)
        return;
    if (client->call)
        curl_easy_cleanup(client->call);
    if (client->multi)
        curl_multi_cleanup(client->multi);
    curl_slist_free_all(client->headers);
    free(client->socket);
    free(client);
}

void client_watch(struct client *client, int fd)
{
    client->watched_fd = fd;
}

/* What every transfer has; the host is a word that the server does not look at. */
static void prepare(const struct client *client, CURL *handle, const char *path)
{
    AUTO_FREE char *url = mem_printf("http://tarn%s", path);

    curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, client->socket);
    curl_easy_setopt(handle, CURLOPT_URL, url);
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, client->headers);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, 10L);
    curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
}

static int failed(const struct client *client, CURL *handle, CURLcode result, struct error *err)
{
    long number = 0;

    if (result == CURLE_OPERATION_TIMEDOUT)
        return error_set(err, -ETIMEDOUT, "daemon at %s: no answer in time", client->socket);
    if (result == CURLE_WRITE_ERROR)
        return error_set(err, -EFBIG, "daemon at %s: more than %d MiB of answer", client->socket,
                         CLIENT_REPLY_MAX >> 20);
    if (result != CURLE_COULDNT_CONNECT)
        return error_set(err, -EIO, "daemon at %s: %s", client->socket, curl_easy_strerror(result));
    curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &number);
    int code = number > 0 ? (int)number : ECONNREFUSED;
    return error_set(err, -code, "daemon at %s: %s", client->socket, strerror(code));
}

static size_t on_reply(char *bytes, size_t size, size_t count, void *user)
{
    struct client_reply *reply = user;

    if (reply->body.length + size * count > CLIENT_REPLY_MAX)
        return 0;
    text_add_bytes(&reply->body, bytes, size * count);
    return size * count;
}

/* What libcurl says has ended: the call, or a stream. */
static void take_messages(struct client *client)
{
    int left;

    for (;;) {
        const CURLMsg *message = curl_multi_info_read(client->multi, &left);
        void *user = NULL;

        if (!message)
            return;
        if (message->msg != CURLMSG_DONE)
            continue;
        client->has_news = true;
        CURL *handle = message->easy_handle;
        CURLcode result = message->data.result;
        curl_easy_getinfo(handle, CURLINFO_PRIVATE, (char **)&user);
        if (handle == client->call) {
            struct call *call = user;
            call->is_over = true;
            call->result = result;
            continue;
        }
        struct client_stream *stream = user;
        stream->is_over = true;
        curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &stream->status);
        stream->code = result == CURLE_OK ? 0 : failed(client, handle, result, &stream->err);
    }
}

int client_wait(struct client *client, int timeout_ms, struct error *err)
{
    struct curl_waitfd watched = { .fd = client->watched_fd, .events = CURL_WAIT_POLLIN };
    unsigned watched_count = client->watched_fd >= 0 ? 1 : 0;
    int running;

    CURLMcode code = curl_multi_perform(client->multi, &running);
    take_messages(client);
    /* What has come already, also before this call, is not to wait for more. */
    if (client->has_news)
        timeout_ms = 0;
    if (code == CURLM_OK)
        code = curl_multi_poll(client->multi, &watched, watched_count, timeout_ms, NULL);
    if (code == CURLM_OK)
        code = curl_multi_perform(client->multi, &running);
    take_messages(client);
    client->has_news = false;
    if (code != CURLM_OK)
        return error_set(err, -EIO, "daemon at %s: %s", client->socket, curl_multi_strerror(code));
    if (watched_count > 0 && (watched.revents & CURL_WAIT_POLLIN))
        return error_set(err, -EINTR, "interrupted");
    return 0;
}

static void prepare_call(struct client *client, const struct client_request *request,
                         struct call *call)
{
    bool is_get = strcmp(request->method, "GET") == 0;

    curl_easy_reset(client->call);
    prepare(client, client->call, request->path);
    curl_easy_setopt(client->call, CURLOPT_PRIVATE, call);
    curl_easy_setopt(client->call, CURLOPT_TIMEOUT, (long)CLIENT_TIMEOUT_S);
    curl_easy_setopt(client->call, CURLOPT_WRITEFUNCTION, on_reply);
    curl_easy_setopt(client->call, CURLOPT_WRITEDATA, call->reply);
    if (is_get)
        return;
    curl_easy_setopt(client->call, CURLOPT_POST, 1L);
    curl_easy_setopt(client->call, CURLOPT_POSTFIELDS, request->body ? request->body : "");
    curl_easy_setopt(client->call, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->length);
    curl_easy_setopt(client->call, CURLOPT_CUSTOMREQUEST, request->method);
}

int client_call(struct client *client, const struct client_request *request,
                struct client_reply *ret, struct error *err)
{
    struct call call = { .reply = ret };
    int code = 0, running;

    *ret = (struct client_reply){ 0 };
    prepare_call(client, request, &call);
    curl_multi_add_handle(client->multi, client->call);
    while (!call.is_over && code == 0) {
        /* Data that is already available needs no wait. */
        curl_multi_perform(client->multi, &running);
        take_messages(client);
        if (!call.is_over)
            code = client_wait(client, 1000, err);
    }
    curl_easy_getinfo(client->call, CURLINFO_RESPONSE_CODE, &ret->status);
    curl_multi_remove_handle(client->multi, client->call);
    if (call.is_over)
        code = call.result == CURLE_OK ? 0 : failed(client, client->call, call.result, err);
    if (code < 0)
        client_reply_release(ret);
    return code;
}

void client_reply_release(struct client_reply *reply)
{
    text_release(&reply->body);
    reply->status = 0;
}

/* A slow consumer makes the daemon wait, and does not make this process grow. */
static size_t on_bytes(char *bytes, size_t size, size_t count, void *user)
{
    struct client_stream *stream = user;

    if (stream->bytes.length + size * count > CLIENT_WAITING_MAX)
        return 0;
    stream->client->has_news = true;
    curl_easy_getinfo(stream->handle, CURLINFO_RESPONSE_CODE, &stream->status);
    text_add_bytes(&stream->bytes, bytes, size * count);
    return size * count;
}

int client_stream_open(struct client *client, const char *path, struct client_stream *stream,
                       struct error *err)
{
    *stream = (struct client_stream){ .client = client };

    CURL *handle = curl_easy_init();
    if (!handle)
        return error_set(err, -ENOMEM, "libcurl: out of memory");
    prepare(client, handle, path);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, stream);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, stream);
    curl_multi_add_handle(client->multi, handle);
    stream->handle = handle;
    return 0;
}

void client_stream_close(struct client_stream *stream)
{
    if (stream->handle) {
        curl_multi_remove_handle(stream->client->multi, stream->handle);
        curl_easy_cleanup(stream->handle);
    }
    text_release(&stream->bytes);
    stream->handle = NULL;
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
