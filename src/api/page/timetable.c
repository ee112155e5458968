/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/forecast: what runs and what is expected next, on which devices, and the times that are
 * set: reservations and windows. */
#include <stdlib.h>

#include "api/estimates.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "base/mem.h"

enum { LIMIT_DEFAULT = 200, LOOKED_AT_MAX = 2000, SPANS_MAX = 200 };
#define AHEAD (14 * USEC_PER_DAY)

/* A waiting job that has an expected start. */
struct expected {
    const struct job *job;
    struct start_estimate start;
};

struct timetable {
    const struct api *api;
    LIST(struct expected) waiting;
    uint64_t unknown; /* waiting jobs without an expected start, or beyond LOOKED_AT_MAX */
    json_t *jobs;
};

static int compare_starts(const void *a, const void *b)
{
    const struct expected *left = a, *right = b;

    if (left->start.median != right->start.median)
        return left->start.median < right->start.median ? -1 : 1;
    return left->job->id < right->job->id ? -1 : 1;
}

static void find_waiting(struct timetable *table)
{
    uint32_t looked_at = 0;

    for (const struct job *job = api_state(table->api)->first_job; job; job = job->next) {
        struct expected expected = { .job = job };
        if (job->state != JOB_QUEUED && job->state != JOB_WAITING && job->state != JOB_HELD)
            continue;
        if (looked_at++ < LOOKED_AT_MAX && api_start(table->api, job, &expected.start) &&
            expected.start.median != USEC_NEVER)
            list_add(&table->waiting, expected);
        else
            table->unknown++;
    }
    if (table->waiting.count > 0)
        qsort(table->waiting.items, table->waiting.count, sizeof(table->waiting.items[0]),
              compare_starts);
}

static void add_job(struct timetable *table, const struct job *job,
                    const struct start_estimate *start, const struct lease *lease)
{
    const struct api *api = table->api;
    const struct state *state = api_state(api);
    AUTO_RELEASE(text) struct text label = { 0 };
    struct end_estimate end;
    bool has_end = api_end(api, job->id, &end) && end.median != USEC_NEVER;

    say_job(state, job, &label);
    json_array_append_new(
        table->jobs,
        json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:o, s:b, s:o, s:o, s:o, s:o}", "id",
                  (json_int_t)job->id, "label", label.bytes, "name", job->name, "user",
                  state_user(state, job->user), "queue", state->queues.items[job->queue].name,
                  "state", job_state_name(job->state), "gpus",
                  view_milli(view_gpu_milli(state, job)), "planned", start && lease, "devices",
                  view_lease_nodes(state, lease), "since",
                  start ? json_null() : view_time(api, job->run->granted), "start",
                  start ? view_start(api, start) : json_null(), "end",
                  has_end ? view_end(api, &end) : json_null()));
}

static void add_spans(const struct api *api, json_t *spans, const char *kind, const char *name,
                      const struct window *window)
{
    usec_t now = api_now(api);

    for (size_t i = 0; i < window->spans.count && json_array_size(spans) < SPANS_MAX; i++) {
        const struct span *span = &window->spans.items[i];
        if (span->until <= now || span->from > now + AHEAD)
            continue;
        json_array_append_new(spans, json_pack("{s:s, s:s, s:o, s:o}", "kind", kind, "name", name,
                                               "from", view_edge(api, span->from), "until",
                                               view_edge(api, span->until)));
    }
}

/* Windows without a definition are the times of a reservation. */
static json_t *view_spans(const struct api *api)
{
    const struct agenda *agenda = &api_state(api)->agenda;
    json_t *spans = json_array();

    LIST_EACH (const struct reservation, reservation, &agenda->reservations)
        add_spans(api, spans, "reservation", reservation->name,
                  agenda->windows.items[reservation->window]);
    for (size_t i = 0; i < agenda->windows.count; i++) {
        const struct window *window = agenda->windows.items[i];
        bool is_of_reservation = false;
        LIST_EACH (const struct reservation, reservation, &agenda->reservations)
            is_of_reservation |= reservation->window == i;
        if (window->words && !is_of_reservation)
            add_spans(api, spans, "window", window->name, window);
    }
    return spans;
}

json_t *handle_forecast(struct call *call)
{
    struct timetable table = { .api = call->api, .jobs = json_array() };
    uint64_t limit = query_number(call, "limit", LIMIT_DEFAULT), left_out = 0;
    const struct state *state = api_state(call->api);

    find_waiting(&table);
    /* Of many jobs, half are those that wait. */
    uint64_t waiting = table.waiting.count < limit / 2 ? table.waiting.count : limit / 2;
    for (const struct job *job = state->first_active; job; job = job->run->active_next) {
        if (json_array_size(table.jobs) < limit - waiting)
            add_job(&table, job, NULL, job->run->lease);
        else
            left_out++;
    }
    for (size_t i = 0; i < table.waiting.count; i++) {
        const struct expected *expected = &table.waiting.items[i];
        if (json_array_size(table.jobs) < limit)
            add_job(&table, expected->job, &expected->start,
                    sched_planned_lease(api_brain(call->api), expected->job));
        else
            left_out++;
    }
    list_release(&table.waiting);
    return json_pack("{s:o, s:o, s:I, s:I, s:o}", "from", view_edge(call->api, api_now(call->api)),
                     "jobs", table.jobs, "left_out", (json_int_t)left_out, "unknown",
                     (json_int_t)table.unknown, "spans", view_spans(call->api));
}
