/* SPDX-License-Identifier: Apache-2.0 */
/* A job as a row of a table: what view_job() has of it, without what is absent (null, false, 0).
 *
 * It is written as bytes: lists have up to ten thousand rows, and building values of jansson first
 * took more than half of their time.
 */
#include <inttypes.h>
#include <string.h>

#include "api/estimates.h"
#include "api/view/view.h"
#include "wire/json.h"

struct row {
    struct text *out;
    bool has_key;
};

static void add_key(struct row *row, const char *key)
{
    text_add(row->out, row->has_key ? ",\"" : "{\"");
    text_add(row->out, key);
    text_add(row->out, "\":");
    row->has_key = true;
}

static void add_value(struct text *out, json_t *value)
{
    json_add(value, out);
    json_decref(value);
}

/* Takes the value over. NULL is none: what it is made of has bytes that are no UTF-8. */
static void add_json(struct row *row, const char *key, json_t *value)
{
    if (!value || json_is_null(value) || (json_is_array(value) && json_array_size(value) == 0)) {
        json_decref(value);
        return;
    }
    add_key(row, key);
    add_value(row->out, value);
}

static bool is_plain(const char *text)
{
    for (; *text; text++) {
        if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
            return false;
    }
    return true;
}

static void add_text(struct row *row, const char *key, const char *text)
{
    if (!text || !text[0])
        return;
    if (!is_plain(text)) {
        add_json(row, key, text_or_null(text));
        return;
    }
    add_key(row, key);
    text_add_char(row->out, '"');
    text_add(row->out, text);
    text_add_char(row->out, '"');
}

static void add_number(struct row *row, const char *key, int64_t number)
{
    if (number == 0)
        return;
    add_key(row, key);
    text_printf(row->out, "%" PRId64, number);
}

static void add_thousandths(struct text *out, int64_t value)
{
    text_printf(out, value % 1000 ? "%" PRId64 ".%03" PRId64 : "%" PRId64, value / 1000,
                value % 1000);
}

static void add_seconds(struct row *row, const char *key, usec_t duration)
{
    if (duration <= 0 || duration == USEC_NEVER)
        return;
    add_key(row, key);
    add_thousandths(row->out, duration / 1000);
}

static void add_time(struct row *row, const char *key, const struct api *api, usec_t at)
{
    if (at == 0 || at == USEC_NEVER)
        return;
    add_key(row, key);
    text_add_char(row->out, '"');
    json_time_add(at + control_wall_ahead(api_control(api)), row->out);
    text_add_char(row->out, '"');
}

static void add_label(struct row *row, const struct state *state, const struct job *first,
                      const struct job *last)
{
    add_key(row, "label");
    text_add_char(row->out, '"');
    if (first == last)
        say_job(state, first, row->out);
    else
        text_printf(row->out, "%" PRIu64 "_[%" PRIu32 "-%" PRIu32 "]", first->group, first->index,
                    last->index);
    text_add_char(row->out, '"');
    add_number(row, "tasks", first == last ? 0 : last->index - first->index + 1);
}

static void add_gpus(struct row *row, const struct api *api, const struct job *job)
{
    const struct state *state = api_state(api);
    AUTO_RELEASE(text) struct text gpus = { 0 };
    int64_t count = view_gpu_milli(state, job);

    request_format_gpus(state_request(state, job), &gpus);
    add_text(row, "gpus", text_string(&gpus));
    if (count > 0) {
        add_key(row, "gpu_count");
        add_thousandths(row->out, count);
    }
    add_number(row, "members", (int64_t)state_request(state, job)->members);
    if (job->run->lease)
        add_json(row, "gpu_indices", view_gpu_indices(state, job));
    if (job_is_active(job))
        add_json(row, "gpu_nodes", view_gpu_nodes(api, job));
    if (view_is_synthetic(state, job)) {
        add_key(row, "synthetic");
        text_add(row->out, "true");
    }
}

/* What happened to it, of which most jobs have nothing. */
static void add_history(struct row *row, const struct api *api, const struct job *job)
{
    const struct job_run *run = job->run;

    if (run->attempt == 0)
        return;
    add_number(row, "heals", run->heals);
    add_number(row, "preemptions", run->preemptions);
    add_json(row, "resized", view_resized(api, job));
    add_json(row, "preempted_for", view_preempted_for(api, job));
    add_json(row, "moved", view_moved(api, job));
    add_json(row, "rescued", view_rescued(api, job));
    add_text(row, "restarted", run->restarted);
    add_seconds(row, "attained_seconds", run->attained);
    if (job_is_active(job))
        add_json(row, "warnings", view_warnings(api, job));
}

static void add_end(struct row *row, const struct api *api, const struct job *job)
{
    const struct job_end *end = &job->run->end;

    if (job->state != JOB_ENDED)
        return;
    add_text(row, "result", job_result_name(job->result));
    if (end->kind == ENGINE_ENDED)
        add_number(row, "signal", (int64_t)end->signal);
    if (end->kind == ENGINE_ENDED && end->signal == 0)
        add_number(row, "exit_code", end->exit_code);
    add_json(row, "failed_rank", view_failed_rank(api, job));
    add_text(row, "cancelled_by", job->run->cancelled_by);
    add_text(row, "cancel_reason", job->run->cancel_reason);
}

static void add_why(struct row *row, const struct api *api, const struct job *job)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct row inner = { row->out, false };
    struct start_estimate start;
    struct why why;

    sched_why(api_brain(api), api->inquiry, job, &why, NULL);
    if (why.kind == WHY_NONE)
        return;
    bool is_known = api_start_beside(api, job, &why, &start);
    why_say(api, job, &why, 0, &text);
    add_key(row, "why");
    add_text(&inner, "kind", why_name(why.kind));
    add_text(&inner, "text", text_string(&text));
    add_time(&inner, "expected_start", api, is_known ? start.median : why_start_at(&why));
    add_time(&inner, "low", api, is_known ? start.low : 0);
    add_time(&inner, "high", api, is_known ? start.high : 0);
    text_add_char(row->out, '}');
}

void view_row(const struct api *api, const struct job *first, const struct job *last,
              struct text *out)
{
    const struct state *state = api_state(api);
    struct row row = { out, false };

    add_number(&row, "id", (int64_t)first->id);
    add_label(&row, state, first, last);
    add_text(&row, "name", first->name);
    add_text(&row, "user", state_user(state, first->user));
    add_text(&row, "queue", state->queues.items[first->queue].name);
    add_text(&row, "state", job_state_name(first->state));
    add_gpus(&row, api, first);
    add_history(&row, api, first);
    add_end(&row, api, first);
    add_text(&row, "reason", job_end_reason(first->run));
    add_seconds(&row, "wait_seconds", view_waited(api, first));
    add_seconds(&row, "run_seconds", view_ran(api, first));
    add_why(&row, api, first);
    text_add_char(out, '}');
}
