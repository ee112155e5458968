/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/arrival_notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/estimates.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/job/role.h"

/* A reason with a time changes all the time: each is told at most so often. */
enum {
    TICK_MS = 1000,
    EXPLAINED_AT_ONCE = 20,
    AGAIN_MS = 30000,
    LOOKED_AT_ONCE = 2000,
    SHOWN_AT_ONCE = 50,
    QUEUES_TICKS = 5, /* queues are shown once in so many ticks */
};

struct noted {
    uint64_t job;
    char *name, *words; /* words: as told; NULL: nothing yet */
    bool lacks_room;    /* as told */
    char start[API_START_SIZE];
    uint64_t due;   /* uv_now(): not before */
    uint64_t shown; /* hash of what the engine was shown; 0: nothing yet */
};

struct arrival_notes {
    uv_timer_t timer;
    struct hub *hub;
    struct engine *engine;
    const struct api *api;
    LIST(struct noted) all; /* ascending by job */
    uint64_t last;          /* job that was explained last: those after it come first */
    uint32_t ticks;         /* since queues were shown */
    uint64_t last_shown;    /* the same for show() */
    bool were_all_shown;
    struct forecast_waiter waiter;
    bool is_waiting, is_fresh; /* for a forecast; is_fresh: it came for this turn */
};

static size_t place_of(const struct arrival_notes *notes, uint64_t job)
{
    size_t first = 0, last = notes->all.count;

    while (first < last) {
        size_t middle = (first + last) / 2;
        if (notes->all.items[middle].job < job)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

void arrival_notes_add(struct arrival_notes *notes, uint64_t job, const char *name)
{
    size_t place = notes ? place_of(notes, job) : 0;

    if (!notes || (place < notes->all.count && notes->all.items[place].job == job))
        return;
    list_insert(&notes->all, place, ((struct noted){ .job = job, .name = mem_string(name) }));
}

static void tell(const struct arrival_notes *notes, const struct noted *noted, const char *words,
                 enum engine_fate fate)
{
    notes->engine->ops->note(notes->engine, noted->name, noted->job, words, fate);
}

static void explain(struct arrival_notes *notes, struct noted *noted, const struct job *job)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    noted->due = uv_now(notes->timer.loop) + AGAIN_MS;
    bool lacks_room = api_say_waiting(notes->api, job, &text, noted->start);
    if (noted->words && string_equal(noted->words, text_string(&text)) &&
        noted->lacks_room == lacks_room)
        return;
    free(noted->words);
    noted->words = text_take(&text);
    noted->lacks_room = lacks_room;
    tell(notes, noted, noted->words, lacks_room ? ENGINE_LACKS : ENGINE_WAITS);
}

static void say_end(const struct arrival_notes *notes, const struct noted *noted,
                    const struct job *job)
{
    const char *user = job && job->run->cancelled_by ? job->run->cancelled_by : NULL;
    const char *reason = job && job->run->cancel_reason ? job->run->cancel_reason : NULL;
    AUTO_FREE char *words = mem_printf("%s%s%s%s", user ? "cancelled by " : "it has ended",
                                       user ? user : "", reason ? ": " : "", reason ? reason : "");

    bool has_run = job && job->run->attempt > 0;
    bool was_stopped =
        has_run && (job->result == RESULT_CANCELLED || job->result == RESULT_TIMEOUT);
    tell(notes, noted, words, has_run && !was_stopped ? ENGINE_DONE : ENGINE_CANCELLED);
}

/* Tell the ends, and forget what has ended. */
static void tell_ends(struct arrival_notes *notes)
{
    size_t kept = 0;

    for (size_t i = 0; i < notes->all.count; i++) {
        struct noted *noted = &notes->all.items[i];
        const struct job *job = state_job(hub_state(notes->hub), noted->job);
        if (job && job->state != JOB_ENDED) {
            notes->all.items[kept++] = *noted;
            continue;
        }
        say_end(notes, noted, job);
        if (notes->engine->ops->show)
            notes->engine->ops->show(
                notes->engine, &(struct engine_view){ .name = noted->name, .job = noted->job });
        free(noted->name);
        free(noted->words);
    }
    notes->all.count = kept;
}

static const struct job *due_job(const struct arrival_notes *notes, const struct noted *noted)
{
    const struct job *job = state_job(hub_state(notes->hub), noted->job);

    return job && job->state < JOB_GRANTED && uv_now(notes->timer.loop) >= noted->due ? job : NULL;
}

static void on_forecast(struct forecast_waiter *waiter)
{
    struct arrival_notes *notes = CONTAINER_OF(waiter, struct arrival_notes, waiter);

    notes->is_waiting = false;
    notes->is_fresh = true;
}

/* The forecast is renewed only for those who ask. */
static bool is_forecast_fresh(struct arrival_notes *notes)
{
    if (notes->is_waiting)
        return false;
    bool is_fresh = notes->is_fresh;
    notes->is_fresh = false;
    if (is_fresh || api_forecast_is_fresh(notes->api, true, &notes->waiter))
        return true;
    notes->is_waiting = true;
    return false;
}

static void explain_some(struct arrival_notes *notes)
{
    size_t count = notes->all.count, first = place_of(notes, notes->last + 1);
    unsigned explained = 0;

    for (size_t i = 0; i < count && explained < EXPLAINED_AT_ONCE; i++) {
        struct noted *noted = &notes->all.items[(first + i) % count];
        const struct job *job = due_job(notes, noted);
        if (!job)
            continue;
        if (explained++ == 0 && !is_forecast_fresh(notes))
            return;
        explain(notes, noted, job);
        notes->last = noted->job;
    }
}

/* ---- what is shown ---- */

static const char *state_of(const struct job *job)
{
    return job->state < JOB_GRANTED ? "waits" : job->state == JOB_STOPPING ? "stops" : "runs";
}

/* True: the engine was told of a change. A waiting job is shown after it was explained. */
static bool show(const struct arrival_notes *notes, struct noted *noted, const struct job *job)
{
    const struct state *state = hub_state(notes->hub);
    bool is_waiting = job->state < JOB_GRANTED;

    if (is_waiting && !noted->words)
        return false;
    struct engine_view view = {
        .name = noted->name,
        .job = noted->job,
        .state = state_of(job),
        .queue = state->queues.items[job->queue].name,
        .reason = is_waiting ? noted->words : "",
        .start = is_waiting ? noted->start : "",
        .milli =
            is_waiting ? request_least_milli(state_request(state, job)) : job->run->lease->milli,
    };
    AUTO_FREE char *words =
        mem_printf("%s %s %" PRId64 " %s", view.state, view.queue, view.milli, view.reason);
    uint64_t hash = map_hash(words, strlen(words)) | 1;
    if (noted->shown == hash)
        return false;
    if (notes->engine->ops->show(notes->engine, &view))
        noted->shown = hash;
    return true;
}

static bool are_all_shown(const struct arrival_notes *notes)
{
    LIST_EACH (const struct noted, noted, &notes->all) {
        if (noted->shown == 0)
            return false;
    }
    return true;
}

static void show_some(struct arrival_notes *notes)
{
    size_t count = notes->all.count, first = place_of(notes, notes->last_shown + 1);
    uint32_t told = 0;

    for (size_t i = 0; i < count && i < LOOKED_AT_ONCE && told < SHOWN_AT_ONCE; i++) {
        struct noted *noted = &notes->all.items[(first + i) % count];
        told += show(notes, noted, state_job(hub_state(notes->hub), noted->job));
        notes->last_shown = noted->job;
    }
    if (notes->were_all_shown || !are_all_shown(notes))
        return;
    notes->were_all_shown = notes->engine->ops->show(notes->engine, NULL);
}

static int64_t amount(int64_t milli)
{
    return milli == QUOTA_NONE ? -1 : milli;
}

static void show_queues(struct arrival_notes *notes)
{
    const struct state *state = hub_state(notes->hub);
    LIST(struct engine_queue) queues = { 0 };

    list_zero(&queues, state->queues.count);
    for (const struct job *job = state->first_job; job; job = job->next) {
        queues.items[job->queue].running += job_is_active(job);
        queues.items[job->queue].waiting += job->state < JOB_GRANTED;
    }
    size_t kept = 0;
    for (uint32_t i = 0; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        if (queue->is_removed || i == QUEUE_ROOT)
            continue;
        struct engine_queue shown = queues.items[i];
        shown.name = queue->name;
        shown.guarantee = amount(queue->quota[RESOURCE_GPUS].guarantee);
        shown.limit = amount(queue->quota[RESOURCE_GPUS].limit);
        shown.used = queue->used.of[RESOURCE_GPUS];
        queues.items[kept++] = shown;
    }
    notes->engine->ops->show_queues(notes->engine, queues.items, kept);
    list_release(&queues);
}

static void on_timer(uv_timer_t *timer)
{
    struct arrival_notes *notes = timer->data;

    tell_ends(notes);
    explain_some(notes);
    if (!notes->engine->ops->show)
        return;
    show_some(notes);
    if (notes->ticks++ % QUEUES_TICKS == 0)
        show_queues(notes);
}

struct arrival_notes *arrival_notes_create(uv_loop_t *loop, struct hub *hub, struct engine *engine,
                                           const struct api *api)
{
    struct arrival_notes *notes = mem_zero(1, sizeof(*notes));

    notes->hub = hub;
    notes->engine = engine;
    notes->api = api;
    notes->waiter = (struct forecast_waiter){ .done = on_forecast, .patience = FORECAST_PATIENCE };
    for (const struct job *job = hub_state(hub)->first_job; job; job = job->next) {
        if (job->state != JOB_ENDED && job->run->external)
            arrival_notes_add(notes, job->id, job->run->external);
    }
    uv_timer_init(loop, &notes->timer);
    notes->timer.data = notes;
    uv_timer_start(&notes->timer, on_timer, TICK_MS, TICK_MS);
    return notes;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void arrival_notes_destroy(struct arrival_notes *notes)
{
    if (!notes)
        return;
    for (size_t i = 0; i < notes->all.count; i++) {
        free(notes->all.items[i].name);
        free(notes->all.items[i].words);
    }
    list_release(&notes->all);
    uv_close((uv_handle_t *)&notes->timer, on_closed);
}
