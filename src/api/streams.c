/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: the output of a job while it grows, and server-sent events.
 *
 * A follower is woken when its job changes. Every 15 s all are looked at, to find closed
 * connections. A stream ends within a second after its token was revoked or has expired.
 *
 * A process reads an output. The reply to the request begins when the file system has answered: if
 * it does not, the reply says so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/concurrency.h"
#include "api/output_reader.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "base/mem.h"
#include "base/terminal_text.h"
#include "control/queue_policy.h"
#include "core/job/gang_size.h"

enum {
    TICK_MS = 1000,
    TICKS_PER_BEAT = 15,
    OUTPUT_PATIENCE_S = 10,
    TAIL_LINES_MAX = 1000000,
    PLAIN_MAX = 2 << 20 /* twice what a tail has at most: it grows while it is read */
};

struct follower {
    struct http_stream stream;
    struct api *api;
    struct follower *next, *previous;
    uint64_t first, last; /* numbers that it is about; 0: all */
    uint64_t token;       /* with which it was opened; 0: none */
    /* An output: */
    uint64_t job;
    char *path; /* NULL: it is no output */
    struct output_reader *reader;
    uid_t owner;
    struct http_request *request; /* until the file system has answered */
    const char *content;
    bool is_finished;
    bool is_plain; /* as a terminal would show it in the end */
    /* Events: */
    struct text events;
    bool is_done;
};

/* What it has not sent yet is not sent any more. */
static void shut_out(struct follower *follower)
{
    text_clear(&follower->events);
    follower->is_done = true;
    http_stream_wake(&follower->stream);
}

static void on_tick(uv_timer_t *timer);

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle);
}

static void settle_timer(struct api *api)
{
    if (api->followers && !api->timer) {
        api->timer = mem_zero(1, sizeof(*api->timer));
        uv_timer_init(api->loop, api->timer);
        api->timer->data = api;
        uv_timer_start(api->timer, on_tick, TICK_MS, TICK_MS);
    } else if (!api->followers && api->timer) {
        uv_close((uv_handle_t *)api->timer, on_timer_closed);
        api->timer = NULL;
    }
}

void followers_release(struct api *api)
{
    if (api->timer)
        uv_close((uv_handle_t *)api->timer, on_timer_closed);
    api->timer = NULL;
}

static void unlink_follower(struct follower *follower)
{
    struct api *api = follower->api;

    *(follower->previous ? &follower->previous->next : &api->followers) = follower->next;
    if (follower->next)
        follower->next->previous = follower->previous;
    output_reader_stop(follower->reader);
    free(follower->path);
    text_release(&follower->events);
    free(follower);
    settle_timer(api);
}

static void on_gone(struct http_stream *stream)
{
    unlink_follower(CONTAINER_OF(stream, struct follower, stream));
}

static struct follower *create_follower(struct call *call,
                                        bool (*pull)(struct http_stream *, struct text *))
{
    struct follower *follower = mem_zero(1, sizeof(*follower));

    follower->stream.pull = pull;
    follower->stream.on_gone = on_gone;
    follower->api = call->api;
    follower->owner = call->request->who->uid; /* of an output: its job's */
    follower->token = call->request->who->token;
    follower->next = call->api->followers;
    if (follower->next)
        follower->next->previous = follower;
    call->api->followers = follower;
    settle_timer(call->api);
    return follower;
}

static bool is_over(const struct follower *follower)
{
    const struct job *job = state_job(api_state(follower->api), follower->job);

    return !job || job->state == JOB_ENDED;
}

/* The job has ended, or the client does not follow it: what is written now is all. */
static void finish(struct follower *follower)
{
    if (!follower->is_finished)
        output_reader_finish(follower->reader);
    follower->is_finished = true;
}

/* Without a reply yet, the stream begins: its file system answers. */
static void on_ready(void *user)
{
    struct follower *follower = user;

    if (follower->request)
        http_stream(TAKE(follower->request), follower->content, &follower->stream);
    else
        http_stream_wake(&follower->stream);
}

/* Instead of the stream. */
static void refuse_output(struct follower *follower, int code, const struct error *err)
{
    reply_error(TAKE(follower->request), code, err);
    unlink_follower(follower);
}

/* A reply that has begun can only be cut off. */
static void give_up(struct follower *follower)
{
    struct error err;
    int code = error_set(&err, REFUSED_TIMEOUT,
                         "job %" PRIu64 ": the file system of %s has not answered for %d s; other "
                         "requests are not affected",
                         follower->job, follower->path, OUTPUT_PATIENCE_S);

    if (follower->request) {
        refuse_output(follower, code, &err);
        return;
    }
    follower->stream.is_broken = true;
    shut_out(follower);
}

void followers_shut(struct api *api)
{
    struct error err;
    int code = error_set(&err, REFUSED_STOPPING, "the daemon is stopping");

    for (struct follower *at = api->followers, *next; at; at = next) {
        next = at->next;
        if (at->request)
            refuse_output(at, code, &err);
    }
}

/* While the job runs, whoever follows its output waits for the file system. */
static bool is_stuck(const struct follower *follower)
{
    bool can_wait = !follower->request && !follower->is_finished;

    return !can_wait &&
           output_reader_silent_ms(follower->reader) > OUTPUT_PATIENCE_S * UINT64_C(1000);
}

static bool pull_bytes(struct http_stream *stream, struct text *out)
{
    struct follower *follower = CONTAINER_OF(stream, struct follower, stream);

    return follower->is_done || output_reader_take(follower->reader, out);
}

static void beat_output(struct follower *follower)
{
    if (!follower->request && http_stream_is_left(&follower->stream))
        shut_out(follower);
}

static void on_tick(uv_timer_t *timer)
{
    struct api *api = timer->data;
    static unsigned ticks;
    bool is_beat = ++ticks % TICKS_PER_BEAT == 0;

    for (struct follower *at = api->followers, *next; at; at = next) {
        next = at->next;
        if (at->path && is_stuck(at))
            give_up(at);
        else if (!at->request && !token_has_access(api, at->token))
            shut_out(at);
        else if (is_beat && at->path)
            beat_output(at);
        else if (is_beat) {
            text_add(&at->events, ": still here\n\n");
            http_stream_wake(&at->stream);
        }
    }
}

static bool pull_output(struct http_stream *stream, struct text *out)
{
    struct follower *follower = CONTAINER_OF(stream, struct follower, stream);

    if (!follower->is_plain)
        return pull_bytes(stream, out);
    struct text *all = &follower->events;
    size_t before;
    bool is_last;
    do { /* until the reader has to be waited for */
        before = all->length;
        is_last = pull_bytes(stream, all) || all->length >= PLAIN_MAX;
    } while (!is_last && all->length > before);
    if (is_last)
        terminal_text_add(out, follower->events.bytes, follower->events.length);
    return is_last;
}

/* The last lines (tail); as a terminal shows them, not all of a file can be. */
static uint32_t lines_wanted(const struct call *call)
{
    uint32_t lines = (uint32_t)query_number(call, "tail", UINT32_MAX);

    return query_is_on(call, "plain") && lines == UINT32_MAX ? TAIL_LINES_MAX : lines;
}

json_t *handle_output(struct call *call)
{
    const struct api_attempts *attempts = &call->api->ports.attempts;
    const struct job *job = call_job(call);
    AUTO_RELEASE(text) struct text path = { 0 };
    uint32_t rank = (uint32_t)query_number(call, "rank", 0);
    bool is_error = string_equal(http_query(call->request, "stream"), "error");
    int code = 0;

    if (!job)
        return NULL;
    if (!identity_may(call->request->who, job->uid))
        code = error_set(&call->err, REFUSED_FORBIDDEN,
                         "job %" PRIu64 ": only its owner and administrators can read its output",
                         job->id);
    if (code == 0)
        code = queue_policy_check_reach(api_state(call->api), call->request->who, job->queue,
                                        &call->err);
    if (code == 0 && query_is_on(call, "plain") && query_is_on(call, "follow"))
        code = error_set(&call->err, REFUSED_BAD, "plain: not with follow; expected one of them");
    if (code == 0 && rank >= request_most(state_request(api_state(call->api), job)))
        code = error_set(&call->err, REFUSED_BAD, "job %" PRIu64 ": has no rank %" PRIu32, job->id,
                         rank);
    if (code == 0)
        code = attempts->output_path(attempts->user, job, rank, is_error, &path, &call->err);
    if (code < 0)
        return refuse(call, code);
    struct output_plan plan = {
        .loop = call->api->loop,
        .path = path.bytes,
        .owner = job->uid,
        .group = job->gid,
        .is_for_admin = call->request->who->is_admin,
        .offset = query_number(call, "offset", 0),
        .tail = lines_wanted(call),
        .is_following = query_is_on(call, "follow"),
        .ready = on_ready,
    };
    struct follower *follower = create_follower(call, pull_output);
    plan.user = follower;
    code = output_reader_start(&plan, &follower->reader, &call->err);
    if (code < 0) {
        unlink_follower(follower);
        return refuse(call, code);
    }
    follower->job = job->id;
    follower->path = text_take(&path);
    follower->owner = job->uid;
    follower->request = call->request;
    follower->content = content_type(call->operation->content);
    follower->is_finished = !plan.is_following;
    follower->is_plain = query_is_on(call, "plain");
    if (is_over(follower))
        finish(follower);
    return NULL;
}

static char *event_bytes(json_t *data)
{
    char *bytes = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(9));

    json_decref(data);
    return bytes;
}

/* bytes: NULL: it cannot be encoded, and nothing is sent. */
static void add_bytes(struct follower *follower, const char *kind, const char *bytes)
{
    if (bytes && follower->first == 0)
        text_printf(&follower->events, "id: %" PRIx64 "-%" PRIu64 "\n",
                    follower->api->changes.daemon, follower->api->changes.told);
    if (bytes)
        text_printf(&follower->events, "event: %s\ndata: %s\n\n", kind, bytes);
}

static void add_event(struct follower *follower, const char *kind, json_t *data)
{
    AUTO_FREE char *bytes = event_bytes(data);

    add_bytes(follower, kind, bytes);
}

static void add_job(struct follower *follower, const struct job *job)
{
    add_event(follower, "job", view_job(follower->api, job, false));
}

static bool pull_events(struct http_stream *stream, struct text *out)
{
    struct follower *follower = CONTAINER_OF(stream, struct follower, stream);

    if (follower->events.length > 0)
        text_add_bytes(out, follower->events.bytes, follower->events.length);
    text_clear(&follower->events);
    return follower->is_done;
}

enum { EVENTS_WAITING_MAX = 8 << 20 };

/* Close the stream of a client that does not read. shared: the job as all followers see it; made
 * for the first one. */
static void notify(struct follower *follower, const struct job *job, char **shared)
{
    if (follower->is_done)
        return;
    if (follower->events.length > EVENTS_WAITING_MAX) {
        follower->is_done = true;
        return;
    }
    if (!*shared)
        *shared = event_bytes(view_job(follower->api, job, false));
    add_bytes(follower, "job", *shared);
}

static void add_group(struct follower *follower, const struct group *group)
{
    add_event(follower, "group", view_group(follower->api, group));
    follower->is_done = group_is_over(group);
}

/* After all jobs that changed at once: the last event of a group is the group with its result. */
static void notify_end(struct follower *follower, const struct job *job)
{
    if (follower->is_done || follower->first == 0)
        return;
    const struct group *group = state_group(api_state(follower->api), follower->first);
    if (group)
        add_group(follower, group);
    else
        follower->is_done = job->state == JOB_ENDED;
}

static void remember(struct changes *changes, const uint64_t *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        changes->jobs[changes->count++ % CHANGES_KEPT] = jobs[i];
}

void followers_notify(struct api *api, const uint64_t *jobs, size_t count)
{
    uint64_t before = api->changes.count;
    char **shared = mem_zero(count + 1, sizeof(*shared));

    remember(&api->changes, jobs, count);
    for (struct follower *at = api->followers, *next; at; at = next) {
        const struct job *last = NULL;
        bool is_told = false;
        next = at->next;
        for (size_t i = 0; i < count; i++) {
            bool is_repeated = i > 0 && jobs[i] == jobs[i - 1];
            const struct job *job;
            if (at->path && jobs[i] != at->job)
                continue;
            if (!at->path && at->first != 0 && (jobs[i] < at->first || jobs[i] > at->last))
                continue;
            is_told = true;
            api->changes.told = before + i + 1;
            job = at->path || is_repeated ? NULL : state_job(api_state(api), jobs[i]);
            if (job)
                notify(at, job, &shared[i]);
            last = job ? job : last;
        }
        if (last)
            notify_end(at, last);
        if (is_told && at->path && is_over(at))
            finish(at);
        else if (is_told && !at->path)
            http_stream_wake(&at->stream);
    }
    api->changes.told = api->changes.count;
    for (size_t i = 0; i < count; i++)
        free(shared[i]);
    free(shared);
}

/* Each stream renders every change. */
static bool has_too_many_streams(struct call *call)
{
    static const struct concurrency limits = {
        .what = "events: streams", .each = 16, .users = 256, .most = 320
    };
    const struct identity *who = call->request->who;
    unsigned count = 0, own = 0;

    for (const struct follower *at = call->api->followers; at; at = at->next) {
        count += !at->path;
        own += !at->path && at->owner == who->uid;
    }
    call->code =
        concurrency_check(&limits, who->is_admin, who->is_admin ? 0 : own, count, &call->err);
    return call->code < 0;
}

json_t *handle_job_events(struct call *call)
{
    const struct state *state = api_state(call->api);
    const struct group *group = call_group(call);
    const struct job *job = group ? NULL : call_job(call);

    if ((!group && !job) || has_too_many_streams(call))
        return NULL;
    struct follower *follower = create_follower(call, pull_events);
    follower->first = group ? group->id : job->id;
    follower->last = group ? group->last : job->id;
    if (job) {
        add_job(follower, job);
        follower->is_done = job->state == JOB_ENDED;
    } else {
        add_event(follower, "group", view_group(call->api, group));
        for (uint64_t id = group->id + 1; id <= group->last; id++) {
            const struct job *part = state_job(state, id);
            if (part)
                add_job(follower, part);
        }
        if (group_is_over(group))
            add_group(follower, group);
    }
    http_stream(call->request, content_type(call->operation->content), &follower->stream);
    return NULL;
}

/* "DAEMON-COUNT" of the last event that a client has; false: the changes since then are not known.
 */
static bool read_last_event(const struct changes *changes, const char *id, uint64_t *ret)
{
    uint64_t daemon;

    return sscanf(id, "%" SCNx64 "-%" SCNu64, &daemon, ret) == 2 && daemon == changes->daemon &&
           *ret <= changes->count && changes->count - *ret <= CHANGES_KEPT;
}

/* Whether the job of this change has a later one. */
static bool changes_again(const struct changes *changes, uint64_t change)
{
    for (uint64_t i = change + 1; i < changes->count; i++) {
        if (changes->jobs[i % CHANGES_KEPT] == changes->jobs[change % CHANGES_KEPT])
            return true;
    }
    return false;
}

/* What a client that comes back has missed: the present state of each job that changed. */
static void add_missed(struct follower *follower, const char *id)
{
    const struct changes *changes = &follower->api->changes;
    uint64_t last;

    if (!read_last_event(changes, id, &last)) {
        add_event(follower, "lost", json_object());
        return;
    }
    for (uint64_t i = last; i < changes->count; i++) {
        const struct job *job =
            changes_again(changes, i)
                ? NULL
                : state_job(api_state(follower->api), changes->jobs[i % CHANGES_KEPT]);
        if (job)
            add_job(follower, job);
    }
}

json_t *handle_events(struct call *call)
{
    const char *last = http_header(call->request, "Last-Event-ID");

    if (has_too_many_streams(call))
        return NULL;
    struct follower *follower = create_follower(call, pull_events);

    text_add(&follower->events, ": welcome\n\n");
    if (last)
        add_missed(follower, last);
    http_stream(call->request, content_type(call->operation->content), &follower->stream);
    return NULL;
}
