/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/client/kube_client.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "io/log.h"

#define MS            UINT64_C(1000000)
#define NOT_IN_CHARGE "this daemon is not in charge of the cluster"

enum {
    AT_ONCE = 64, /* more do not bind faster */
    PAGE = 1000,
    BODY_MAX = 256 << 20,
    CONNECT_MS = 10000,
    ANSWER_MS = 60000,
    WATCH_S = 300,  /* the server ends a watch then */
    SILENT_S = 150, /* bookmarks come every minute */
    PAUSE_MS = 100, /* doubles with each failure */
    PAUSE_MAX_MS = 10000,
    POLL_MS = 1000,
    LAST_MS = 1000,
    FOLLOW_MS = 15000,    /* a node may not serve its logs yet */
    CUT_OFF_MS = 3600000, /* the API server may be down for so long */
};

/* One transfer: a call, or the list or the stream of a watch. */
struct transfer {
    CURL *easy;
    struct curl_slist *headers;
    struct text body;
    struct call *call; /* or */
    struct watching *watch;
    bool is_writing; /* to the file of its call */
    char problem[CURL_ERROR_SIZE];
};

struct call {
    char *method, *path, *type, *body;
    uint64_t until, due; /* uv_hrtime() */
    uint32_t failures;
    bool is_refused_by_429, is_always_allowed;
    char *file; /* the answer goes there; NULL: to done() */
    int fd;
    void (*done)(void *user, const struct kube_reply *reply);
    void *user;
};

struct calls {
    struct call **items;
    size_t count, capacity;
};

struct watching {
    struct kube_watch watch;
    struct transfer *transfer; /* NULL: it begins at `due` */
    char *version, *more;      /* resourceVersion; the token of the next page */
    uint64_t due;
    uint32_t failures;
    bool is_listing, is_stale; /* is_stale: list again */
};

/* What the loop is told. */
struct news {
    const struct watching *watch;
    enum kube_event event;
    void *object;
    struct call *call; /* done, with status, json, words */
    long status;
    json_t *json;
    char *words; /* also, without watch and call: the problem of requests */
};

struct kube_client {
    uv_thread_t thread;
    uv_mutex_t mutex;
    uv_async_t async;
    CURLM *multi;
    struct kube_access *access;
    void (*on_problem)(void *user, const char *words);
    void *user;
    /* with the mutex */
    LIST(struct call *) asked;
    LIST(struct watching *) wanted;
    LIST(struct news) news;
    uint64_t allow_until; /* see kube_client_allow() */
    bool is_ending;
    /* of the thread */
    struct calls waiting; /* due later, or for a free place */
    struct calls urgent;  /* always allowed, and need no free place */
    LIST(struct watching *) watches;
    LIST(struct transfer *) transfers;
    uint32_t calls_active;
    uint64_t allowed_until; /* a copy */
    uint64_t random;
    char problem[ERROR_TEXT_SIZE];
};

bool kube_reply_is_ok(const struct kube_reply *reply)
{
    return reply->status >= 200 && reply->status < 300;
}

static void call_destroy(struct call *call)
{
    free(call->method);
    free(call->path);
    free(call->type);
    free(call->body);
    free(call->file);
    if (call->fd >= 0)
        close(call->fd);
    free(call);
}

static void watching_destroy(struct watching *watch)
{
    free(watch->version);
    free(watch->more);
    free(watch);
}

/* ---- in the thread ---- */

static void tell(struct kube_client *client, const struct news *news)
{
    uv_mutex_lock(&client->mutex);
    list_add(&client->news, *news);
    uv_mutex_unlock(&client->mutex);
    uv_async_send(&client->async);
}

static void tell_problem(struct kube_client *client, const char *words)
{
    if (strcmp(client->problem, words) == 0)
        return;
    snprintf(client->problem, sizeof(client->problem), "%s", words);
    tell(client, &(struct news){ .words = mem_string(words) });
}

/* Doubled with each failure, and spread: many clients must not come back together. */
static uint64_t pause_after(struct kube_client *client, uint32_t failures)
{
    uint64_t pause = PAUSE_MS;

    for (uint32_t i = 1; i < failures && pause < PAUSE_MAX_MS; i++)
        pause *= 2;
    client->random = client->random * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (pause / 2 + (client->random >> 33) % pause) * MS;
}

static void tell_object(struct kube_client *client, const struct watching *watch,
                        enum kube_event event, const json_t *object)
{
    void *value = object ? watch->watch.read(object) : NULL;

    if (!object || value)
        tell(client, &(struct news){ .watch = watch, .event = event, .object = value });
}

static const char *version_of(const json_t *object)
{
    return json_string_value(
        json_object_get(json_object_get(object, "metadata"), "resourceVersion"));
}

static void set_text(char **at, const char *text)
{
    free(*at);
    *at = text && text[0] ? mem_string(text) : NULL;
}

/* One line of a stream: {"type": "MODIFIED", "object": {...}} */
static void read_line(struct kube_client *client, struct watching *watch, char *line, size_t length)
{
    json_error_t why;
    json_t *change = json_loadb(line, kube_json_trim(line, length), 0, &why);
    const json_t *object = json_object_get(change, "object");
    const char *type = json_string_value(json_object_get(change, "type"));

    if (!type || !object) {
        watch->is_stale = true;
    } else if (strcmp(type, "ERROR") == 0) { /* 410: that version is forgotten */
        watch->is_stale = true;
    } else {
        if (strcmp(type, "BOOKMARK") != 0)
            tell_object(client, watch, strcmp(type, "DELETED") == 0 ? KUBE_GONE : KUBE_OBJECT,
                        object);
        set_text(&watch->version, version_of(object));
        watch->failures = 0;
    }
    json_decref(change);
}

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written <= 0 && errno != EINTR)
            return false;
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* What an earlier try wrote is replaced when this one has something. */
static bool write_output(struct transfer *transfer, const char *bytes, size_t length)
{
    int fd = transfer->call->fd;

    if (!transfer->is_writing && (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0))
        return false;
    transfer->is_writing = true;
    return write_all(fd, bytes, length);
}

static size_t on_stream(const char *bytes, size_t size, size_t count, void *user)
{
    struct transfer *transfer = user;
    size_t from = 0;

    if (transfer->call && transfer->call->file)
        return write_output(transfer, bytes, size * count) ? size * count : 0;

    if (transfer->body.length + size * count > BODY_MAX)
        return 0;
    text_add_bytes(&transfer->body, bytes, size * count);
    long status = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200 || !transfer->watch || transfer->watch->is_listing)
        return size * count;
    struct kube_client *client = NULL;
    curl_easy_getinfo(transfer->easy, CURLINFO_PRIVATE, (char **)&client);
    for (const char *end;
         (end = memchr(transfer->body.bytes + from, '\n', transfer->body.length - from));) {
        size_t length = (size_t)(end - transfer->body.bytes) - from;
        if (length > 0)
            read_line(client, transfer->watch, transfer->body.bytes + from, length);
        from += length + 1;
    }
    memmove(transfer->body.bytes, transfer->body.bytes + from, transfer->body.length - from);
    transfer->body.length -= from;
    return size * count;
}

static struct transfer *transfer_create(struct kube_client *client, const char *method,
                                        const char *path, const char *type, const char *body,
                                        struct error *err)
{
    const char *credentials = NULL;

    if (kube_access_header(client->access, &credentials, err) < 0)
        return NULL;
    struct transfer *transfer = mem_zero(1, sizeof(*transfer));
    AUTO_FREE char *url = mem_printf("%s%s", kube_access_server(client->access), path);
    CURL *easy = transfer->easy = curl_easy_init();
    if (credentials)
        transfer->headers = curl_slist_append(transfer->headers, credentials);
    if (body) {
        AUTO_FREE char *header = mem_printf("Content-Type: %s", type ? type : "application/json");
        transfer->headers = curl_slist_append(transfer->headers, header);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
        curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body);
    }
    transfer->headers = curl_slist_append(transfer->headers, "Accept: application/json");
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "tarn");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->problem);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_stream);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, client);
    kube_access_apply(client->access, easy);
    return transfer;
}

static void begin(struct kube_client *client, struct transfer *transfer)
{
    list_add(&client->transfers, transfer);
    curl_multi_add_handle(client->multi, transfer->easy);
}

static void transfer_destroy(struct kube_client *client, struct transfer *transfer)
{
    for (size_t i = 0; i < client->transfers.count; i++) {
        if (client->transfers.items[i] == transfer) {
            list_remove(&client->transfers, i);
            break;
        }
    }
    curl_multi_remove_handle(client->multi, transfer->easy);
    curl_easy_cleanup(transfer->easy);
    curl_slist_free_all(transfer->headers);
    text_release(&transfer->body);
    free(transfer);
}

/* ---- watches ---- */

static void begin_watch(struct kube_client *client, struct watching *watch)
{
    AUTO_FREE char *path = NULL, *more = NULL;
    struct error err;

    if (watch->is_stale)
        set_text(&watch->version, NULL);
    if (watch->is_stale)
        set_text(&watch->more, NULL);
    watch->is_stale = false;
    watch->is_listing = !watch->version;
    if (watch->is_listing) {
        more = watch->more ? curl_easy_escape(NULL, watch->more, 0) : NULL;
        path = mem_printf("%s?limit=%d%s%s", watch->watch.path, PAGE, more ? "&continue=" : "",
                          more ? more : "");
        if (!more)
            tell_object(client, watch, KUBE_LIST_BEGINS, NULL);
    } else {
        path =
            mem_printf("%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%s",
                       watch->watch.path, WATCH_S, watch->version);
    }
    struct transfer *transfer = transfer_create(client, "GET", path, NULL, NULL, &err);
    if (!transfer) {
        tell_problem(client, err.text);
        watch->due = uv_hrtime() + pause_after(client, ++watch->failures);
        return;
    }
    if (watch->is_listing) {
        curl_easy_setopt(transfer->easy, CURLOPT_TIMEOUT_MS, (long)ANSWER_MS);
    } else {
        curl_easy_setopt(transfer->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(transfer->easy, CURLOPT_LOW_SPEED_TIME, (long)SILENT_S);
    }
    watch->transfer = transfer;
    transfer->watch = watch;
    begin(client, transfer);
}

static void end_page(struct kube_client *client, struct watching *watch, json_t *page)
{
    const json_t *about = json_object_get(page, "metadata");
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(page, "items"), i, item)
        tell_object(client, watch, KUBE_OBJECT, item);
    set_text(&watch->more, json_string_value(json_object_get(about, "continue")));
    watch->failures = 0;
    if (watch->more)
        return;
    set_text(&watch->version, version_of(page));
    tell_object(client, watch, KUBE_LIST_ENDS, NULL);
}

/* Why a request failed: the server's words, or those of the transfer. */
static char *words_of(const struct transfer *transfer, CURLcode code, long status,
                      const json_t *body)
{
    const char *message = json_string_value(json_object_get(body, "message"));

    if (code != CURLE_OK && status < 300)
        return mem_printf("the API server does not answer: %s",
                          transfer->problem[0] ? transfer->problem : curl_easy_strerror(code));
    if (message)
        return mem_string(message);
    return mem_printf("the API server answered with status %ld", status);
}

static void end_watch(struct kube_client *client, struct transfer *transfer, CURLcode code,
                      long status)
{
    struct watching *watch = transfer->watch;
    size_t length = kube_json_trim(transfer->body.bytes, transfer->body.length);
    json_error_t why;
    json_t *body = watch->is_listing || status != 200
                       ? json_loadb(text_string(&transfer->body), length, 0, &why)
                       : NULL;
    bool is_ok = status == 200 && (code == CURLE_OK || !watch->is_listing);

    watch->transfer = NULL;
    watch->due = 0;
    if (status == 401)
        kube_access_renew(client->access);
    if (is_ok && watch->is_listing && json_object_get(body, "items")) {
        end_page(client, watch, body);
        tell_problem(client, "");
    } else if (!is_ok || watch->is_listing) {
        AUTO_FREE char *words = words_of(transfer, code, status, body);
        if (status == 410)
            watch->is_stale = true;
        tell_problem(client, words);
        watch->due = uv_hrtime() + pause_after(client, ++watch->failures);
    } else if (watch->is_stale) {
        watch->due = uv_hrtime() + pause_after(client, ++watch->failures);
    }
    json_decref(body);
}

/* ---- calls ---- */

static void finish(struct kube_client *client, struct call *call, long status, json_t *body,
                   char *words)
{
    tell(client, &(struct news){ .call = call, .status = status, .json = body, .words = words });
}

static bool is_transient(const struct call *call, long status)
{
    return status == KUBE_STATUS_NONE || status == 401 || status == 500 || status == 502 ||
           status == 503 || status == 504 || (status == 429 && !call->is_refused_by_429);
}

static void wait_again(struct kube_client *client, struct call *call)
{
    struct calls *calls = call->is_always_allowed ? &client->urgent : &client->waiting;

    list_add(calls, call);
}

/* True: it will be repeated. */
static bool repeat(struct kube_client *client, struct call *call, long status)
{
    uint64_t due = uv_hrtime() + pause_after(client, call->failures + 1);

    if (!is_transient(call, status) || due > call->until)
        return false;
    call->failures++;
    call->due = due;
    wait_again(client, call);
    return true;
}

static void begin_call(struct kube_client *client, struct call *call)
{
    struct error err;

    if (call->file && call->fd < 0) {
        call->fd = open(call->file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (call->fd < 0) {
            finish(client, call, KUBE_STATUS_NONE, NULL,
                   mem_printf("%s: %s", call->file, strerror(errno)));
            return;
        }
    }

    struct transfer *transfer =
        transfer_create(client, call->method, call->path, call->type, call->body, &err);
    if (!transfer) {
        tell_problem(client, err.text);
        if (!repeat(client, call, KUBE_STATUS_NONE))
            finish(client, call, KUBE_STATUS_NONE, NULL, mem_string(err.text));
        return;
    }
    transfer->call = call;
    if (call->file) {
        curl_easy_setopt(transfer->easy, CURLOPT_FAILONERROR, 1L);
    } else {
        curl_easy_setopt(transfer->easy, CURLOPT_TIMEOUT_MS, (long)ANSWER_MS);
        client->calls_active++;
    }
    begin(client, transfer);
}

static void end_call(struct kube_client *client, struct transfer *transfer, CURLcode code,
                     long status)
{
    struct call *call = transfer->call;
    json_error_t why;
    json_t *body = json_loadb(text_string(&transfer->body), transfer->body.length, 0, &why);

    client->calls_active -= !call->file;
    if (call->file && code != CURLE_OK && code != CURLE_WRITE_ERROR &&
        status == 200) /* it was cut off: from the beginning */
        call->until = uv_hrtime() + CUT_OFF_MS * MS;
    if (code != CURLE_OK && status < 300)
        status = KUBE_STATUS_NONE;
    if (status == 401)
        kube_access_renew(client->access);
    AUTO_FREE char *words =
        status >= 200 && status < 300 ? NULL : words_of(transfer, code, status, body);
    if (status == KUBE_STATUS_NONE || status == 401)
        tell_problem(client, words);
    if (code != CURLE_WRITE_ERROR && repeat(client, call, status)) {
        json_decref(body);
        return;
    }
    finish(client, call, status, body, TAKE(words));
}

static bool is_full(const struct kube_client *client)
{
    return client->calls_active >= AT_ONCE;
}

static void take_asked(struct kube_client *client)
{
    uv_mutex_lock(&client->mutex);
    for (size_t i = 0; i < client->asked.count; i++)
        wait_again(client, client->asked.items[i]);
    for (size_t i = 0; i < client->wanted.count; i++)
        list_add(&client->watches, client->wanted.items[i]);
    client->asked.count = client->wanted.count = 0;
    client->allowed_until = client->allow_until;
    uv_mutex_unlock(&client->mutex);
}

/* Many may wait: those behind the last free place are not looked at. begin_call() may let the call
 * wait again, behind the others. */
static void begin_calls(struct kube_client *client, struct calls *calls, uint64_t now)
{
    bool is_urgent = calls == &client->urgent;
    bool is_allowed = is_urgent || now < client->allowed_until;
    size_t count = calls->count, kept = 0, i;

    for (i = 0; i < count && (is_urgent || !is_allowed || !is_full(client)); i++) {
        struct call *call = calls->items[i];
        if (!is_allowed && now > call->until)
            finish(client, call, KUBE_STATUS_NONE, NULL, mem_string(NOT_IN_CHARGE));
        else if (call->due <= now && is_allowed)
            begin_call(client, call);
        else
            calls->items[kept++] = call;
    }
    if (kept < i && i < calls->count)
        memmove(calls->items + kept, calls->items + i,
                (calls->count - i) * sizeof(calls->items[0]));
    calls->count -= i - kept;
}

static void begin_due(struct kube_client *client)
{
    uint64_t now = uv_hrtime();

    LIST_EACH (struct watching *, watch, &client->watches)
        if (!(*watch)->transfer && (*watch)->due <= now)
            begin_watch(client, *watch);
    begin_calls(client, &client->urgent, now);
    begin_calls(client, &client->waiting, now);
}

static void end_finished(struct kube_client *client)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(client->multi, &left))) {
        struct transfer *transfer = NULL;
        CURLcode code = message->data.result;
        long status = 0;
        for (size_t i = 0; i < client->transfers.count && !transfer; i++) {
            if (client->transfers.items[i]->easy == message->easy_handle)
                transfer = client->transfers.items[i];
        }
        if (message->msg != CURLMSG_DONE || !transfer)
            continue;
        curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
        if (transfer->call)
            end_call(client, transfer, code, status);
        else
            end_watch(client, transfer, code, status);
        transfer_destroy(client, transfer);
    }
}

static int wait_ms(const struct kube_client *client)
{
    uint64_t now = uv_hrtime(), next = now + POLL_MS * MS;

    LIST_EACH (struct watching *const, watch, &client->watches)
        if (!(*watch)->transfer && (*watch)->due < next)
            next = (*watch)->due;
    LIST_EACH (struct call *const, call, &client->urgent)
        if ((*call)->due < next)
            next = (*call)->due;
    if (now < client->allowed_until && !is_full(client))
        LIST_EACH (struct call *const, call, &client->waiting)
            if ((*call)->due < next)
                next = (*call)->due;
    return next <= now ? 0 : (int)((next - now + MS - 1) / MS);
}

static void run(void *arg)
{
    struct kube_client *client = arg;
    bool is_ending = false;
    int running;

    while (!is_ending) {
        take_asked(client);
        begin_due(client);
        curl_multi_perform(client->multi, &running);
        end_finished(client);
        curl_multi_poll(client->multi, NULL, 0, wait_ms(client), NULL);
        uv_mutex_lock(&client->mutex);
        is_ending = client->is_ending;
        uv_mutex_unlock(&client->mutex);
    }
}

/* ---- in the thread of the loop ---- */

static void deliver(struct kube_client *client, const struct news *news)
{
    if (news->call) {
        const struct kube_reply reply = { news->status, news->json, news->words };
        if (news->call->done)
            news->call->done(news->call->user, &reply);
        else if (!kube_reply_is_ok(&reply) && reply.status != KUBE_NOT_FOUND &&
                 strcmp(reply.words, NOT_IN_CHARGE) != 0)
            log_line(LOG_WARNING, "the API server refused a request path=%s reason='%s'",
                     news->call->path, reply.words);
        call_destroy(news->call);
    } else if (news->watch) {
        news->watch->watch.on_event(news->watch->watch.user, news->event, news->object);
    } else {
        client->on_problem(client->user, news->words);
    }
    json_decref(news->json);
    free(news->words);
}

static void on_async(uv_async_t *async)
{
    struct kube_client *client = async->data;

    uv_mutex_lock(&client->mutex);
    LIST(struct news)
    news = { client->news.items, client->news.count, client->news.capacity };
    memset(&client->news, 0, sizeof(client->news));
    uv_mutex_unlock(&client->mutex);
    LIST_EACH (const struct news, item, &news)
        deliver(client, item);
    list_release(&news);
}

void kube_client_watch(struct kube_client *client, const struct kube_watch *watch)
{
    struct watching *made = mem_zero(1, sizeof(*made));

    made->watch = *watch;
    uv_mutex_lock(&client->mutex);
    list_add(&client->wanted, made);
    uv_mutex_unlock(&client->mutex);
    curl_multi_wakeup(client->multi);
}

static void ask(struct kube_client *client, struct call *call)
{
    uv_mutex_lock(&client->mutex);
    list_add(&client->asked, call);
    uv_mutex_unlock(&client->mutex);
    curl_multi_wakeup(client->multi);
}

void kube_client_call(struct kube_client *client, const struct kube_call *call)
{
    struct call *made = mem_zero(1, sizeof(*made));

    *made = (struct call){ .method = mem_string(call->method),
                           .path = mem_string(call->path),
                           .type = mem_string(call->type),
                           .body = call->body ? json_dumps(call->body, JSON_COMPACT) : NULL,
                           .until = uv_hrtime() + call->patience_ms * MS,
                           .is_refused_by_429 = call->is_refused_by_429,
                           .is_always_allowed = call->is_always_allowed,
                           .fd = -1,
                           .done = call->done,
                           .user = call->user };
    json_decref(call->body);
    ask(client, made);
}

void kube_client_follow(struct kube_client *client, const struct kube_follow *follow)
{
    struct call *made = mem_zero(1, sizeof(*made));

    *made = (struct call){ .method = mem_string("GET"),
                           .path = mem_string(follow->path),
                           .file = mem_string(follow->file),
                           .until = uv_hrtime() + FOLLOW_MS * MS,
                           .fd = -1,
                           .done = follow->done,
                           .user = follow->user };
    ask(client, made);
}

void kube_client_allow(struct kube_client *client, uint64_t until)
{
    uv_mutex_lock(&client->mutex);
    client->allow_until = until;
    uv_mutex_unlock(&client->mutex);
    curl_multi_wakeup(client->multi);
}

int kube_client_create(uv_loop_t *loop, struct kube_access *access,
                       void (*on_problem)(void *user, const char *words), void *user,
                       struct kube_client **ret, struct error *err)
{
    struct kube_client *client = mem_zero(1, sizeof(*client));

    client->access = access;
    client->on_problem = on_problem;
    client->user = user;
    if (getrandom(&client->random, sizeof(client->random), 0) < 0)
        client->random = uv_hrtime();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    client->multi = curl_multi_init();
    curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    uv_mutex_init(&client->mutex);
    uv_async_init(loop, &client->async, on_async);
    client->async.data = client;
    int code = uv_thread_create(&client->thread, run, client);
    if (code < 0)
        return error_set(err, code, "engine kube: no thread: %s", uv_strerror(code));
    *ret = client;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void release_news(struct kube_client *client)
{
    LIST_EACH (struct news, news, &client->news) {
        if (news->object)
            news->watch->watch.release(news->object);
        if (news->call)
            call_destroy(news->call);
        json_decref(news->json);
        free(news->words);
    }
    list_release(&client->news);
}

static void make_last(struct kube_client *client, const struct kube_call *last)
{
    char *body = last->body ? json_dumps(last->body, JSON_COMPACT) : NULL;
    struct error err;

    struct transfer *transfer =
        transfer_create(client, last->method, last->path, last->type, body, &err);
    free(body);
    json_decref(last->body);
    if (!transfer)
        return;
    curl_easy_setopt(transfer->easy, CURLOPT_TIMEOUT_MS, (long)LAST_MS);
    curl_easy_perform(transfer->easy);
    transfer_destroy(client, transfer);
}

void kube_client_destroy(struct kube_client *client, const struct kube_call *last)
{
    if (!client)
        return;
    uv_mutex_lock(&client->mutex);
    client->is_ending = true;
    uv_mutex_unlock(&client->mutex);
    curl_multi_wakeup(client->multi);
    uv_thread_join(&client->thread);
    take_asked(client);
    while (client->transfers.count > 0) {
        struct transfer *transfer = client->transfers.items[0];
        if (transfer->call)
            call_destroy(transfer->call);
        transfer_destroy(client, transfer);
    }
    for (size_t i = 0; i < client->waiting.count; i++)
        call_destroy(client->waiting.items[i]);
    for (size_t i = 0; i < client->urgent.count; i++)
        call_destroy(client->urgent.items[i]);
    release_news(client);
    if (last)
        make_last(client, last);
    for (size_t i = 0; i < client->watches.count; i++)
        watching_destroy(client->watches.items[i]);
    list_release(&client->waiting);
    list_release(&client->urgent);
    list_release(&client->watches);
    list_release(&client->transfers);
    list_release(&client->asked);
    list_release(&client->wanted);
    curl_multi_cleanup(client->multi);
    kube_access_destroy(client->access);
    uv_mutex_destroy(&client->mutex);
    uv_close((uv_handle_t *)&client->async, on_closed);
}
