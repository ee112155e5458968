/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_feed.h"

#include <errno.h>
#include <inttypes.h>

#include "base/mem.h"
#include "cli/top_world.h"
#include "wire/json.h"

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
    client_stream_close(&feed->jobs);
    feed->is_asking = false;
}

void feed_close(struct top_feed *feed)
{
    stop_asking(feed);
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

int feed_ask(struct top_feed *feed, usec_t now, struct error *err)
{
    struct client *client = feed->session->client;

    stop_asking(feed);
    feed->asked = now;
    int code = client_stream_open(client, gpus_path, &feed->gpus, err);
    if (code < 0)
        return code;
    code = client_stream_open(client, text_string(&feed->jobs_path), &feed->jobs, err);
    if (code < 0) {
        client_stream_close(&feed->gpus);
        return code;
    }
    feed->is_asking = true;
    return 0;
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

    if (!feed->is_asking)
        return FEED_NONE;
    if (!feed->gpus.is_over || !feed->jobs.is_over) {
        if (now - feed->asked < FEED_PATIENCE_S * USEC_PER_SEC)
            return FEED_NONE;
        error_set(err, -ETIMEDOUT, "no answer in time");
        stop_asking(feed);
        return FEED_FAILED;
    }
    int code = read_reply(&feed->gpus, &gpus, err);
    if (code == 0)
        code = read_reply(&feed->jobs, &jobs, err);
    stop_asking(feed);
    if (code < 0) {
        json_decref(gpus);
        return FEED_FAILED;
    }
    *ret_gpus = gpus;
    *ret_jobs = jobs;
    return FEED_CAME;
}
