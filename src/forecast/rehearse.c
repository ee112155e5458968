/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/rehearse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/json.h"

enum { EXACT_JOBS = 10000, GRAIN_OF_TIME = 10000, GRAIN_OF_RUN = 10 };

/* What became of a job in these days. */
struct record {
    uint64_t id;
    usec_t began;  /* of its latest attempt, or when that was counted last */
    usec_t worked; /* in attempts that are over */
    usec_t restart_cost;
    size_t texts; /* name, user, label */
    uint32_t attempt;
    uint8_t stop_cause;
    bool has_run, is_running, is_over, is_bad, was_preempted, is_forgotten;
    bool is_old; /* it was there before */
};

/* Something that came from outside, as the journal has it. */
struct outside {
    usec_t at;
    size_t place;
    uint32_t length;
};

struct stage {
    const struct rehearsal *ask;
    struct state *state; /* as it was when these days began */
    usec_t from;
    struct text bytes; /* of what came from outside */
    LIST(struct outside) outsides;
    struct text texts; /* each ended with a NUL */
    LIST(struct record) records;
    struct map places; /* id -> index */
    struct map arrays; /* ids */
    struct arena arena;
    bool has_begun;
    size_t next; /* of outsides */
    uint64_t moved;
};

/* ---- reading ---- */

static struct record *find(const struct stage *stage, uint64_t id)
{
    uint64_t place;

    return map_get(&stage->places, id, &place) ? &stage->records.items[place] : NULL;
}

static struct record *add_record(struct stage *stage, uint64_t id)
{
    map_set(&stage->places, id, stage->records.count);
    list_add(&stage->records, (struct record){ .id = id, .texts = stage->texts.length });
    return &stage->records.items[stage->records.count - 1];
}

static void add_text(struct stage *stage, const char *text)
{
    text_add_bytes(&stage->texts, text, strlen(text) + 1);
}

static void add_submitted(struct stage *stage, const struct event_submit *submit)
{
    struct record *record = add_record(stage, submit->id);
    uint64_t is_array;
    char label[48];

    record->restart_cost = submit->restart_cost;
    if (submit->group && map_get(&stage->arrays, submit->group, &is_array))
        snprintf(label, sizeof(label), "%" PRIu64 "_%" PRIu32, submit->group, submit->index);
    else
        snprintf(label, sizeof(label), "%" PRIu64, submit->id);
    add_text(stage, submit->name);
    add_text(stage, submit->user);
    add_text(stage, label);
}

/* Those that were there when these days began. */
static void begin_days(struct stage *stage)
{
    stage->has_begun = true;
    for (const struct job *job = stage->state->first_job; job; job = job->next) {
        if (job->state == JOB_ENDED)
            continue;
        struct record *record = add_record(stage, job->id);
        record->is_old = true;
        record->restart_cost = job->restart_cost;
        record->worked = job->run->attained;
        record->attempt = job->run->attempt;
        record->was_preempted = job->run->preemptions > 0 && !job_is_active(job);
        record->is_running = job_is_active(job) && job->run->started >= job->run->granted;
        record->began = job->run->started;
        record->has_run = record->is_running || job->run->attained > 0;
    }
}

/* The ends of its members come one by one: each adds what it ran longer than those before. */
static void note_end(struct record *record, const struct event *event)
{
    const struct event_ended *ended = &event->ended;

    if (ended->kind == ENGINE_RETURNED) /* nothing of it ran */
        return;
    if (record->has_run && record->attempt == ended->attempt) {
        record->worked += event->at > record->began ? event->at - record->began : 0;
        record->began = event->at;
    }
    record->attempt = ended->attempt;
    record->is_running = false;
    record->was_preempted =
        (record->stop_cause == STOP_PREEMPT || record->stop_cause == STOP_RESCUE) &&
        ended->was_stopped;
    record->is_over = !record->was_preempted;
    record->is_bad = ended->kind != ENGINE_ENDED || ended->exit_code != 0 || ended->signal != 0;
}

static void note_start(struct record *record, const struct event *event)
{
    if (record->was_preempted) /* what it pays first is no work */
        record->worked -=
            record->worked > record->restart_cost ? record->restart_cost : record->worked;
    record->was_preempted = false;
    record->stop_cause = STOP_NONE;
    record->began = event->at;
    record->attempt = event->started.attempt;
    record->has_run = record->is_running = true;
    record->is_over = false;
}

static int keep(struct stage *stage, const struct journal_record *bytes, usec_t at,
                struct error *err)
{
    if (stage->outsides.count == REHEARSE_EVENTS_MAX)
        return error_set(err, -E2BIG, "more than %d events in that time", REHEARSE_EVENTS_MAX);
    list_add(&stage->outsides,
             (struct outside){ at, stage->bytes.length, (uint32_t)bytes->length });
    text_add_bytes(&stage->bytes, bytes->bytes, bytes->length);
    return 0;
}

/* Keep events from outside; of engine events keep only the run times. */
static int note(struct stage *stage, const struct event *event, const struct journal_record *bytes,
                struct error *err)
{
    struct record *record = event_job(event) ? find(stage, event_job(event)) : NULL;

    switch (event->kind) {
    case EVENT_SUBMIT:
        add_submitted(stage, &event->submit);
        return keep(stage, bytes, event->at, err);
    case EVENT_GROUP:
        if (event->group.kind == GROUP_ARRAY)
            map_set(&stage->arrays, event->group.id, 1);
        return keep(stage, bytes, event->at, err);
    case EVENT_NODE:
    case EVENT_DEVICE:
    case EVENT_DRAIN:
    case EVENT_SLACK:
    case EVENT_NEED:
    case EVENT_HOLD:
    case EVENT_RELEASE:
    case EVENT_UPDATE:
    case EVENT_CANCEL:
        return keep(stage, bytes, event->at, err);
    case EVENT_STOP:
        if (record)
            record->stop_cause = event->stop.cause;
        return 0;
    case EVENT_STARTED:
        if (record)
            note_start(record, event);
        return 0;
    case EVENT_ENDED:
        if (record)
            note_end(record, event);
        return 0;
    case EVENT_FORGET:
        if (record)
            record->is_forgotten = true;
        return 0;
    default: /* configuration and decisions: both will differ */
        return 0;
    }
}

static int on_record(void *user, const struct journal_record *record, struct error *err)
{
    struct stage *stage = user;
    struct event event;

    arena_clear(&stage->arena);
    int code = event_decode(record->bytes, record->length, &stage->arena, &event, err);
    if (code == 0 && event.at < stage->from)
        code = state_apply(stage->state, &event, err);
    else if (code == 0) {
        if (!stage->has_begun)
            begin_days(stage);
        code = note(stage, &event, record, err);
    }
    return code < 0 ? error_prefix(err, code, "journal: record %" PRIu64, record->sequence) : 0;
}

/* ---- playing ---- */

static bool fate_of(void *user, const struct job *job, struct forward_fate *ret)
{
    const struct stage *stage = user;
    const struct record *record = find(stage, job->id);

    if (!record || (!record->is_running && !record->is_over))
        return false;
    ret->work = record->worked;
    if (record->is_running && stage->ask->now > record->began)
        ret->work += stage->ask->now - record->began;
    ret->is_bad = record->is_over && record->is_bad;
    return true;
}

static usec_t next(void *user)
{
    const struct stage *stage = user;

    return stage->next < stage->outsides.count ? stage->outsides.items[stage->next].at : USEC_NEVER;
}

static bool takes_jobs(const struct state *state, const char *queue)
{
    int64_t number = state_find_queue(state, queue);

    return number > QUEUE_ROOT && state->queues.items[number].child_count == 0;
}

/* Ignore events about jobs that do not exist or have ended. */
static bool is_about_something(const struct stage *stage, const struct state *state,
                               const struct event *event)
{
    const struct job *job = event_job(event) ? state_job(state, event_job(event)) : NULL;
    const struct record *record = event_job(event) ? find(stage, event_job(event)) : NULL;

    switch (event->kind) {
    case EVENT_CANCEL: /* of one that ran: it is its fate */
        return job && job->state != JOB_ENDED && record && !record->has_run;
    case EVENT_NEED:
        return job && job->needs_expected > 0;
    case EVENT_HOLD:
    case EVENT_RELEASE:
    case EVENT_UPDATE:
        return job && job->state != JOB_ENDED;
    default:
        return true;
    }
}

static int come(void *user, struct forward *forward, usec_t now, struct error *err)
{
    struct stage *stage = user;
    struct event event;
    int code = 0;

    while (code == 0 && next(stage) <= now) {
        const struct outside *outside = &stage->outsides.items[stage->next++];
        arena_clear(&stage->arena);
        code = event_decode(stage->bytes.bytes + outside->place, outside->length, &stage->arena,
                            &event, err);
        if (code < 0 || !is_about_something(stage, forward->state, &event))
            continue;
        if (event.kind == EVENT_SUBMIT && !takes_jobs(forward->state, event.submit.queue)) {
            event.submit.queue = "default";
            stage->moved++;
        }
        if (event.kind == EVENT_UPDATE && !takes_jobs(forward->state, event.update.queue))
            event.update.queue = "";
        code = forward_tell(forward, &event, err);
    }
    return code;
}

static int prepare(void *user, struct forward *forward, bool is_change, struct error *err)
{
    const struct stage *stage = user;

    return stage->ask->configure(stage->ask->config, forward, is_change, err);
}

/* ---- what came of it ---- */

static bool counts(void *user, const struct forward_job *job)
{
    const struct stage *stage = user;
    const struct record *record = find(stage, job->id);

    return record && !record->is_old;
}

static void describe(void *user, uint64_t id, json_t *view)
{
    const struct stage *stage = user;
    const struct record *record = find(stage, id);
    const char *name = stage->texts.bytes + record->texts;
    const char *owner = name + strlen(name) + 1, *label = owner + strlen(owner) + 1;
    bool is_hidden =
        stage->ask->user && record->is_forgotten && strcmp(stage->ask->user, owner) != 0;

    json_object_set_new(view, "label", json_string(label));
    json_object_set_new(view, "name", is_hidden ? json_null() : json_string(name));
    json_object_set_new(view, "user", is_hidden ? json_null() : json_string(owner));
}

static int compare_times(const void *a, const void *b)
{
    const usec_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* Of many. */
static usec_t grain_of(const struct stage *stage)
{
    if (stage->records.count <= EXACT_JOBS)
        return 0;
    usec_t *runs = mem_zero(stage->records.count + 1, sizeof(runs[0]));
    size_t count = 0;

    for (size_t i = 0; i < stage->records.count; i++) {
        if (stage->records.items[i].has_run)
            runs[count++] = stage->records.items[i].worked;
    }
    qsort(runs, count, sizeof(runs[0]), compare_times);
    usec_t by_run = runs[count / 4] / GRAIN_OF_RUN, by_time = stage->ask->last / GRAIN_OF_TIME;
    free(runs);
    return by_run < by_time ? by_run : by_time;
}

static int play(struct stage *stage, json_t **ret, struct error *err)
{
    AUTO(brain) struct brain *brain = brain_create(stage->state);
    struct outlook_side now = { 0 }, change = { 0 };
    usec_t first = next(stage);
    struct twice_ask ask = {
        .forward = { .state = stage->state,
                     .brain = brain,
                     .now = stage->state->now > 0 || first == USEC_NEVER ? stage->from : first,
                     .processor = stage->ask->processor,
                     .grain = grain_of(stage),
                     .user = stage,
                     .fate_of = fate_of,
                     .next = next,
                     .come = come },
        .prepare = prepare,
        .user = stage,
    };

    int code = twice_go(&ask, &now, &change, err);
    if (code == 0) {
        struct outlook_ask outlook = { .now = &now,
                                       .change = &change,
                                       .user = stage,
                                       .counts = counts,
                                       .describe = describe,
                                       .from = ask.forward.now,
                                       .wall_ahead = stage->ask->wall_ahead,
                                       .grain = ask.forward.grain,
                                       .shown = stage->ask->shown };
        *ret = outlook_view(&outlook);
        json_object_set_new(*ret, "from", json_time(ask.forward.now + stage->ask->wall_ahead));
        json_object_set_new(*ret, "grain_seconds",
                            json_real((double)ask.forward.grain / (double)USEC_PER_SEC));
        json_object_set_new(*ret, "moved", json_integer((json_int_t)stage->moved));
    }
    outlook_side_release(&now);
    outlook_side_release(&change);
    return code;
}

int rehearse(const struct rehearsal *rehearsal, json_t **ret, struct error *err)
{
    AUTO(state) struct state *state = state_create();
    struct stage stage = { .ask = rehearsal,
                           .state = state,
                           .from = rehearsal->now - rehearsal->last };

    stage.from = stage.from > 0 ? stage.from : 1;
    int code = rehearsal->read_journal(rehearsal->dir, on_record, &stage, err);
    if (code == 0)
        code = play(&stage, ret, err);
    text_release(&stage.bytes);
    text_release(&stage.texts);
    list_release(&stage.outsides);
    list_release(&stage.records);
    map_release(&stage.places);
    map_release(&stage.arrays);
    arena_release(&stage.arena);
    return code;
}
