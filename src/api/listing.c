/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/jobs
 *
 * A list is written while it is sent, some jobs at a time: as one JSON value of ten thousand jobs
 * it would take 60 MB and keep the daemon busy for half a second.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/job_filter.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "base/mem.h"
#include "wire/json.h"

enum { LIMIT_DEFAULT = 1000, AGO_MAX = 1000000000, CHUNK = 64 * 1024 };

/* RESULT_COUNT: it is none. */
static size_t find_result(const char *name, size_t length)
{
    size_t i = RESULT_NONE + 1;

    while (i < RESULT_COUNT && (strlen(job_result_name((enum job_result)i)) != length ||
                                strncmp(job_result_name((enum job_result)i), name, length) != 0))
        i++;
    return i;
}

static int read_states(const char *names, struct job_filter *filter, struct error *err)
{
    uint32_t states = 0, results = 0;

    while (*names) {
        size_t length = strcspn(names, ","), i = 0;
        while (i < JOB_STATE_COUNT &&
               (strlen(job_state_name((enum job_state)i)) != length ||
                strncmp(job_state_name((enum job_state)i), names, length) != 0))
            i++;
        size_t result = i == JOB_STATE_COUNT ? find_result(names, length) : RESULT_COUNT;
        if (i == JOB_STATE_COUNT && result == RESULT_COUNT)
            return error_set(
                err, -EINVAL,
                "state '%.*s': expected held, waiting, queued, granted, running, stopping, ended, "
                "ok, failed, cancelled, timeout, out_of_memory or lost",
                (int)(length < 40 ? length : 40), names);
        if (i == JOB_ENDED)
            results = UINT32_MAX;
        else if (result < RESULT_COUNT)
            results |= 1u << result;
        states |= 1u << (result < RESULT_COUNT ? (size_t)JOB_ENDED : i);
        names += length + (names[length] == ',');
    }
    filter->states = states;
    filter->results = results;
    return 0;
}

static usec_t seconds_ago(const struct call *call, const char *key, uint64_t fallback)
{
    return api_now(call->api) - (usec_t)query_number(call, key, fallback) * USEC_PER_SEC;
}

static int read_filter(struct call *call, struct job_filter *filter, struct error *err)
{
    const char *states = http_query(call->request, "state");
    uint64_t group = query_number(call, "group", 0);

    filter->queue = http_query(call->request, "queue");
    filter->user = http_query(call->request, "user");
    filter->name = http_query(call->request, "name");
    filter->is_newest = query_is_on(call, "newest");
    filter->is_rows = query_is_on(call, "rows");
    filter->limit = query_number(call, "limit", LIMIT_DEFAULT);
    filter->after = query_number(call, "after", 0);
    filter->since = seconds_ago(call, "since", AGO_MAX);
    filter->until = seconds_ago(call, "until", 0);
    filter->states = query_is_on(call, "all") ? UINT32_MAX : ~(1u << JOB_ENDED);
    filter->results = UINT32_MAX;
    int code = states ? read_states(states, filter, err) : 0;
    if (code < 0)
        return code;
    const struct group *found = group ? state_group(api_state(call->api), group) : NULL;
    if (group && !found)
        return error_set(err, -ENOENT, "group %" PRIu64 ": no such array, stage or pipeline",
                         group);
    filter->group = group;
    filter->group_last = found ? found->last : 0;
    return 0;
}

/* ---- the list ---- */

struct listing {
    struct http_stream stream;
    const struct api *api;
    struct job_filter filter;
    uint64_t last;  /* the last job that was looked at */
    uint64_t count; /* rows so far */
    bool has_older;
};

static void add_rest(struct text *out, const struct listing *listing, bool has_more)
{
    const struct state *state = api_state(listing->api);
    json_t *rest = json_pack("{s:b, s:o, s:o, s:o}", "older", listing->has_older, "next",
                             has_more ? json_integer((json_int_t)listing->last) : json_null(),
                             "counts", view_counts(state), "gpus", view_gpus_given(state));

    text_add(out, listing->count == 0 ? "{\"jobs\":[]," : "],");
    size_t from = out->length;
    json_add(rest, out);
    memmove(out->bytes + from, out->bytes + from + 1, out->length - from); /* its brace */
    out->bytes[out->length - 1] = '\n';
    json_decref(rest);
}

static bool pull(struct http_stream *stream, struct text *out)
{
    struct listing *listing = CONTAINER_OF(stream, struct listing, stream);
    const struct state *state = api_state(listing->api);
    const struct job_filter *filter = &listing->filter;

    while (out->length < CHUNK) {
        const struct job *job = job_filter_next(state, filter, listing->last);

        if (!job || listing->count == filter->limit) {
            add_rest(out, listing, job != NULL);
            return true;
        }
        const struct job *end = job_filter_row_end(state, filter, job);
        text_add(out, listing->count == 0 ? "{\"jobs\":[" : ",");
        if (filter->is_rows)
            view_row(listing->api, job, end, out);
        else {
            AUTO(json) json_t *view = view_job(listing->api, job, false);
            json_add(view, out);
        }
        listing->last = end->id;
        listing->count++;
    }
    return false;
}

static void on_gone(struct http_stream *stream)
{
    free(CONTAINER_OF(stream, struct listing, stream));
}

json_t *handle_list(struct call *call)
{
    struct job_filter filter = { 0 };

    int code = read_filter(call, &filter, &call->err);
    if (code < 0)
        return refuse(call, code);
    struct listing *listing = mem_zero(1, sizeof(*listing));
    *listing = (struct listing){ .stream = { .pull = pull, .on_gone = on_gone },
                                 .api = call->api,
                                 .filter = filter,
                                 .last = filter.after };
    uint64_t older = filter.is_newest ? job_filter_newest(api_state(call->api), &filter) : 0;
    listing->has_older = older > 0;
    listing->last = older > 0 ? older : listing->last;
    http_stream(call->request, content_type(call->operation->content), &listing->stream);
    return NULL;
}
