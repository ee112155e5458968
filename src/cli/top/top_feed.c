/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_feed.h"

#include <errno.h>
#include <inttypes.h>

#include "cli/top/top_world.h"

static const char gpus_path[] = "/v1/gpus";

void feed_open(struct top_feed *feed, struct session *session, const char *user)
{
    *feed = (struct top_feed){ .session = session };
    text_add(&feed->jobs_path, "/v1/jobs");
    if (user)
        client_query_add(&feed->jobs_path, "user", user);
}

static void stop_asking(struct top_feed *feed)
{
    if (!feed->is_asking)
        return;
    client_stream_close(&feed->gpus);
    if (feed->asks_jobs)
        client_stream_close(&feed->jobs);
    feed->is_asking = false;
}

static void stop_listening(struct top_feed *feed)
{
    if (feed->has_events)
        client_stream_close(&feed->events);
    feed->has_events = false;
}

/* Whether a job may have changed since they were asked for. */
static bool look_at_events(struct top_feed *feed)
{
    if (!feed->has_events || feed->events.is_over) {
        stop_listening(feed);
        return true;
    }
    feed->has_changed = feed->has_changed || feed->events.bytes.length > 0;
    text_clear(&feed->events.bytes);
    return feed->has_changed;
}

void feed_close(struct top_feed *feed)
{
    stop_asking(feed);
    stop_listening(feed);
    text_release(&feed->jobs_path);
}

int feed_get(struct top_feed *feed, json_t **ret_gpus, json_t **ret_jobs, struct error *err)
{
    json_t *gpus = NULL;

    int code = session_get(feed->session, gpus_path, &gpus, err);
    if (code == 0)
        code = session_get(feed->session, text_string(&feed->jobs_path), ret_jobs, err);
    if (code < 0)
        json_decref(gpus);
    else
        *ret_gpus = gpus;
    return code;
}

int feed_history(struct top_feed *feed, const char *uuid, int64_t step_s, json_t **ret,
                 struct error *err)
{
    AUTO_FREE char *path =
        mem_printf("/v1/gpus/%s/history?last=%" PRId64 "s&step=%" PRId64 "s&keys=" TOP_HISTORY_KEYS,
                   uuid, step_s * HISTORY_MAX, step_s);

    return session_get(feed->session, path, ret, err);
}

static void ask_jobs(struct top_feed *feed, usec_t now)
{
    struct client *client = feed->session->client;

    feed->asked_jobs = now;
    feed->has_changed = false;
    if (!feed->has_events) {
        /* What changes before it listens is seen by asking once more. */
        client_stream_open(client, "/v1/events", &feed->events);
        feed->has_events = feed->has_changed = true;
    }
    client_stream_open(client, text_string(&feed->jobs_path), &feed->jobs);
}

void feed_ask(struct top_feed *feed, usec_t now)
{
    stop_asking(feed);
    feed->asked = now;
    feed->asks_jobs = look_at_events(feed) || now - feed->asked_jobs >= FEED_JOBS_S * USEC_PER_SEC;
    client_stream_open(feed->session->client, gpus_path, &feed->gpus);
    if (feed->asks_jobs)
        ask_jobs(feed, now);
    feed->is_asking = true;
}

static int read_reply(const struct client_stream *stream, json_t **ret, struct error *err)
{
    const struct text *bytes = &stream->bytes;

    if (stream->code < 0)
        return error_set(err, stream->code, "%s", stream->err.text);
    if (stream->status >= 400)
        return refusal_read(stream->status, text_string(bytes), bytes->length, err);
    return json_parse(text_string(bytes), bytes->length, CLIENT_REPLY_MAX, "answer of the daemon",
                      ret, err);
}

enum feed_answer feed_take(struct top_feed *feed, usec_t now, json_t **ret_gpus, json_t **ret_jobs,
                           struct error *err)
{
    json_t *gpus = NULL, *jobs = NULL;

    look_at_events(feed);
    if (!feed->is_asking)
        return FEED_NONE;
    if (!feed->gpus.is_over || (feed->asks_jobs && !feed->jobs.is_over)) {
        if (now - feed->asked < FEED_PATIENCE_S * USEC_PER_SEC)
            return FEED_NONE;
        error_set(err, -ETIMEDOUT, "no answer in time");
        stop_asking(feed);
        return FEED_FAILED;
    }
    int code = read_reply(&feed->gpus, &gpus, err);
    if (code == 0 && feed->asks_jobs)
        code = read_reply(&feed->jobs, &jobs, err);
    stop_asking(feed);
    if (code < 0) {
        feed->has_changed = true;
        json_decref(gpus);
        return FEED_FAILED;
    }
    *ret_gpus = gpus;
    *ret_jobs = jobs;
    return FEED_CAME;
}
