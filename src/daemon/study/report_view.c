/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger as JSON: a row for each user, queue, job or model, and what is to be said of all. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/job/group.h"
#include "daemon/study/study_report.h"
#include "wire/json.h"

struct row {
    const char *key;
    const struct ledger_job *job; /* by job */
    struct ledger_sum sum;
};

struct view {
    const struct ledger *ledger;
    const struct report_ask *ask;
    LIST(struct row) rows;
    struct map by_key; /* hash -> place plus one of the last with it */
    struct ledger_sum total;
    bool has_prices;
};

static const double MS_PER_HOUR = 3600000;

static bool hides(const struct view *view, const struct ledger_job *job)
{
    const struct state *state = view->ledger->state;
    const char *user = view->ask->hides_from;

    return user && !state_job(state, job->id) && strcmp(state_user(state, job->user), user) != 0;
}

/* ---- one sum ---- */

static void put_part(json_t *object, const char *key, int64_t part, int64_t whole)
{
    json_object_set_new(object, key,
                        whole > 0 ? json_real((double)part / (double)whole) : json_null());
}

/* What was not measured is null. */
static json_t *view_sum(const struct view *view, const struct ledger_sum *sum)
{
    json_t *object =
        json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:f}", "ok", (int)sum->ok, "failed",
                  (int)sum->failed, "cancelled", (int)sum->cancelled, "running", (int)sum->running,
                  "preempted", (int)sum->preempted, "gpu_hours", (double)sum->gpu_ms / MS_PER_HOUR,
                  "watched_gpu_hours", (double)sum->watched_ms / MS_PER_HOUR);
    bool is_watched = sum->watched_ms > 0;

    put_part(object, "gpu_use", sum->busy_ms, sum->watched_ms);
    json_object_set_new(object, "idle_gpu_hours",
                        is_watched ? json_real((double)sum->idle_ms / MS_PER_HOUR) : json_null());
    put_part(object, "memory_used", sum->memory_used, sum->memory_ms);
    put_part(object, "memory_given", sum->memory_given, sum->memory_ms);
    json_object_set_new(object, "energy_joules",
                        sum->energy_ms > 0 ? json_real((double)sum->energy_mj / 1000)
                                           : json_null());
    json_object_set_new(object, "energy_gpu_hours",
                        json_real((double)sum->energy_ms / MS_PER_HOUR));
    json_object_set_new(object, "cost",
                        view->has_prices ? json_real((double)sum->cost_micro / 1e6) : json_null());
    return object;
}

/* ---- rows ---- */

/* "" for jobs of no pipeline, and of pipelines that are no longer listed. */
static const char *stage_name(const struct state *state, const struct ledger_job *job)
{
    const struct group *group = state_group(state, job->group);

    while (group && group->kind != GROUP_STAGE)
        group = state_group(state, group->parent);
    return group ? group->name : "";
}

static const char *key_of(const struct view *view, const struct ledger_job *job)
{
    const struct state *state = view->ledger->state;

    switch (view->ask->by) {
    case REPORT_BY_QUEUE:
        return state->queues.items[job->queue].name;
    case REPORT_BY_MODEL:
        return job->model;
    case REPORT_BY_STAGE:
        return stage_name(state, job);
    default:
        return state_user(state, job->user);
    }
}

static struct row *claim_row(struct view *view, const char *key)
{
    uint64_t hash = map_hash(key, strlen(key)), place;

    /* Keys are few where they are not jobs: what hashes alike is looked for one by one. */
    if (map_get(&view->by_key, hash, &place) && strcmp(view->rows.items[place - 1].key, key) == 0)
        return &view->rows.items[place - 1];
    for (size_t i = 0; i < view->rows.count; i++) {
        if (strcmp(view->rows.items[i].key, key) == 0)
            return &view->rows.items[i];
    }
    list_add(&view->rows, (struct row){ .key = key });
    map_set(&view->by_key, hash, view->rows.count);
    return &view->rows.items[view->rows.count - 1];
}

static void add_rows(struct view *view)
{
    for (size_t i = 0; i < view->ledger->jobs.count; i++) {
        const struct ledger_job *job = &view->ledger->jobs.items[i];
        ledger_add(&view->total, &job->sum);
        if (view->ask->by == REPORT_BY_JOB)
            list_add(&view->rows, (struct row){ .key = job->name, .job = job, .sum = job->sum });
        else
            ledger_add(&claim_row(view, key_of(view, job))->sum, &job->sum);
    }
}

/* The most GPU-time first; of equals the smaller name or number. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;

    if (left->sum.gpu_ms != right->sum.gpu_ms)
        return left->sum.gpu_ms < right->sum.gpu_ms ? 1 : -1;
    if (left->job && right->job)
        return left->job->id < right->job->id ? -1 : 1;
    return strcmp(left->key, right->key);
}

static void put_job(const struct view *view, const struct ledger_job *job, json_t *object)
{
    const struct state *state = view->ledger->state;
    const struct group *group = state_group(state, job->group);
    bool is_task = group && group->kind == GROUP_ARRAY;
    AUTO_FREE char *label = is_task ? mem_printf("%" PRIu64 "_%" PRIu32, group->id, job->index)
                                    : mem_printf("%" PRIu64, job->id);
    bool is_hidden = hides(view, job);

    json_object_set_new(object, "id", json_integer((json_int_t)job->id));
    json_object_set_new(object, "label", json_string(label));
    json_object_set_new(object, "name", is_hidden ? json_null() : json_string(job->name));
    json_object_set_new(object, "user",
                        is_hidden ? json_null() : json_string(state_user(state, job->user)));
    json_object_set_new(object, "queue", json_string(state->queues.items[job->queue].name));
    json_object_set_new(object, "model", job->model[0] ? json_string(job->model) : json_null());
}

static json_t *view_rows(struct view *view)
{
    static const char *const keys[] = { "user", "queue", "", "model", "stage" };
    json_t *list = json_array();

    if (view->rows.count > 0)
        qsort(view->rows.items, view->rows.count, sizeof(view->rows.items[0]), compare_rows);
    for (size_t i = 0; i < view->rows.count && i < view->ask->shown; i++) {
        const struct row *row = &view->rows.items[i];
        json_t *object = view_sum(view, &row->sum);
        if (row->job)
            put_job(view, row->job, object);
        else
            json_object_set_new(object, keys[view->ask->by],
                                row->key[0] ? json_string(row->key) : json_null());
        json_array_append_new(list, object);
    }
    return list;
}

/* ---- periods ---- */

/* Those that held GPUs, with the hours of the queues below them. */
static json_t *view_queues(const struct view *view, const struct ledger_period *period)
{
    json_t *list = json_array();

    for (size_t i = 0; i < period->queues_ms.count; i++) {
        if (i != QUEUE_ROOT && period->queues_ms.items[i] > 0)
            json_array_append_new(
                list, json_pack("{s:s, s:f}", "queue", view->ledger->state->queues.items[i].name,
                                "gpu_hours", (double)period->queues_ms.items[i] / MS_PER_HOUR));
    }
    return list;
}

static json_t *view_periods(const struct view *view)
{
    const struct ledger *ledger = view->ledger;
    json_t *list = json_array();

    for (size_t i = 0; i < ledger->periods.count; i++) {
        const struct ledger_period *period = &ledger->periods.items[i];
        usec_t end = i + 1 < ledger->periods.count ? period[1].from : ledger->now;
        double length_ms = (double)(end - period->from) / (double)USEC_PER_MS;
        bool is_watched = period->watched_ms >= 1;
        json_t *object = json_pack("{s:o, s:f, s:f, s:f, s:f, s:i}", "from",
                                   json_time(period->from + view->ask->wall_ahead),
                                   "capacity_gpu_hours", (double)period->capacity_ms / MS_PER_HOUR,
                                   "gpu_hours", (double)period->gpu_ms / MS_PER_HOUR,
                                   "watched_gpu_hours", period->watched_ms / MS_PER_HOUR, "waiting",
                                   length_ms > 0 ? (double)period->waiting_ms / length_ms : 0,
                                   "starts", (int)period->starts);
        json_object_set_new(
            object, "wait_seconds",
            period->starts > 0 ? json_real((double)period->starts_waited_ms / period->starts / 1000)
                               : json_null());
        json_object_set_new(object, "gpu_use",
                            is_watched ? json_real(period->busy_ms / period->watched_ms)
                                       : json_null());
        json_object_set_new(object, "idle_gpu_hours",
                            is_watched ? json_real(period->idle_ms / MS_PER_HOUR) : json_null());
        json_object_set_new(object, "cost",
                            view->has_prices ? json_real(period->cost_micro / 1e6) : json_null());
        if (view->ask->by == REPORT_BY_QUEUE)
            json_object_set_new(object, "queues", view_queues(view, period));
        json_array_append_new(list, object);
    }
    return list;
}

/* ---- what is to be said ---- */

static json_t *view_diagnoses(const struct ledger *ledger)
{
    json_t *list = json_array();
    bool is_told[DIAGNOSES] = { false };

    for (size_t shown = 0; shown < DIAGNOSES; shown++) {
        enum diagnosis_id most = DIAGNOSES;
        for (enum diagnosis_id i = 0; i < DIAGNOSES; i++) {
            if (!is_told[i] && ledger->diagnoses[i].jobs > 0 &&
                (most == DIAGNOSES || ledger->diagnoses[i].gpu_ms > ledger->diagnoses[most].gpu_ms))
                most = i;
        }
        if (most == DIAGNOSES)
            break;
        is_told[most] = true;
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:i, s:f}", "name", diagnosis_name(most), "seen",
                            diagnosis_seen(most), "advice", diagnosis_advice(most), "attempts",
                            (int)ledger->diagnoses[most].jobs, "gpu_hours",
                            (double)ledger->diagnoses[most].gpu_ms / MS_PER_HOUR));
    }
    return list;
}

static const struct ledger_job *next_worst(const struct ledger *ledger,
                                           const struct ledger_job *before)
{
    const struct ledger_job *worst = NULL;

    for (size_t i = 0; i < ledger->jobs.count; i++) {
        const struct ledger_job *job = &ledger->jobs.items[i];
        bool is_after = !before || job->sum.idle_ms < before->sum.idle_ms ||
                        (job->sum.idle_ms == before->sum.idle_ms && job > before);
        if (is_after && job->sum.idle_ms > 0 && (!worst || job->sum.idle_ms > worst->sum.idle_ms))
            worst = job;
    }
    return worst;
}

/* Those that left the most GPU-time idle, with what would help them. */
static json_t *view_worst(const struct view *view)
{
    json_t *list = json_array();
    const struct ledger_job *job = NULL;

    while (json_array_size(list) < REPORT_WORST_MAX && (job = next_worst(view->ledger, job))) {
        json_t *object = view_sum(view, &job->sum);
        const struct diagnosis *diagnosis = job->has_diagnosis ? &job->diagnosis : NULL;
        put_job(view, job, object);
        json_object_set_new(object, "diagnosis",
                            diagnosis ? json_string(diagnosis_name(diagnosis->id)) : json_null());
        json_object_set_new(object, "evidence",
                            diagnosis ? json_string(diagnosis->evidence) : json_null());
        json_object_set_new(object, "advice",
                            diagnosis ? json_string(diagnosis_advice(diagnosis->id)) : json_null());
        json_array_append_new(list, object);
    }
    return list;
}

json_t *report_view(const struct ledger *ledger, const struct report_ask *ask)
{
    static const char *const bys[REPORT_BYS] = { "user", "queue", "job", "model", "stage" };
    const struct state *state = ledger->state;
    struct view view = { .ledger = ledger, .ask = ask };

    for (size_t i = 0; i < state->resources.count; i++)
        view.has_prices |= state->resources.items[i].price_micro > 0;
    add_rows(&view);
    view.has_prices |= view.total.cost_micro > 0;
    json_t *answer =
        json_pack("{s:s, s:o, s:o, s:f, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "by", bys[ask->by],
                  "from", json_time(ledger->from + ask->wall_ahead), "until",
                  json_time(ledger->now + ask->wall_ahead), "capacity_gpu_hours",
                  (double)ledger->capacity_ms / MS_PER_HOUR, "jobs", (int)ledger->jobs.count,
                  "row_count", (int)view.rows.count, "rows", view_rows(&view), "total",
                  view_sum(&view, &view.total), "diagnoses", view_diagnoses(ledger), "worst",
                  view_worst(&view), "periods", view_periods(&view));
    list_release(&view.rows);
    map_release(&view.by_key);
    return answer;
}
