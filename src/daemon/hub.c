/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/hub.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/snapshot/snapshot.h"
#include "daemon/loading.h"
#include "io/log.h"

enum {
    SNAPSHOT_RECORDS = 100000, /* replayed in well under a second */
    SNAPSHOT_RECORDS_AT_END = 1000,
    RETRY_MS = 1000,
    RETRY_PIECES = 64, /* of the trial write */
    IDLE_MS = 2000,
};

/* What the world reported: an event, encoded, or a change that makes the events. */
struct report {
    struct text bytes;
    struct change *change;
};

struct hub {
    struct hub_callbacks callbacks;
    struct journal *journal;
    struct clock clock;
    struct state *state;
    struct brain *brain;
    struct watch_rules rules; /* those of the state, at an address that stays */

    LIST(struct report) reports;
    struct change *first_change, *last_change;
    LIST(uint64_t) jobs;         /* of the batch: those that changed, each once */
    struct map in_jobs;          /* the same, to look them up */
    struct touched_jobs touched; /* by the event that is folded */
    LIST(struct member_id) ends;
    struct decisions decisions;
    struct text scratch;
    struct arena arena;   /* of a report that is decoded */
    struct arena settled; /* of the event that is folded */
    struct retention retention;
    uint64_t snapshot_at; /* last record of the newest snapshot */
    struct error trouble;
    bool is_in_trouble;
    struct api_work work;
    uint64_t written; /* bytes of records so far, also of those that were discarded */
    bool is_reloaded; /* the brain is another than the journal knows of */
    bool has_stopped_planning;

    uv_check_t check;
    uv_idle_t idle;    /* keeps the loop turning while there is work */
    uv_timer_t wakeup; /* when the brain wants to be asked */
    uv_timer_t retry;
    uv_timer_t quiet; /* nothing happened for a while: housekeeping */
    bool is_closing;
    unsigned handle_count;
};

static const struct error stopping = { "the daemon is stopping" };

struct state *hub_state(const void *hub)
{
    return ((const struct hub *)hub)->state;
}

const struct watch_rules *hub_rules(const struct hub *hub)
{
    return &hub->rules;
}

struct brain *hub_brain(const void *hub)
{
    return ((const struct hub *)hub)->brain;
}

struct journal *hub_journal(const struct hub *hub)
{
    return hub->journal;
}

const struct clock *hub_clock(const struct hub *hub)
{
    return &hub->clock;
}

void hub_note_ahead(void *user, usec_t ahead)
{
    struct hub *hub = user;

    clock_note_ahead(&hub->clock, hub->journal, ahead);
}

void hub_stop_planning(struct hub *hub)
{
    hub->has_stopped_planning = true;
}

struct api_work hub_work(const void *hub)
{
    return ((const struct hub *)hub)->work;
}

uint64_t hub_written(const void *hub)
{
    return ((const struct hub *)hub)->written;
}

const char *hub_trouble(const void *user)
{
    const struct hub *hub = user;

    return hub->is_in_trouble ? hub->trouble.text : NULL;
}

/* The state as the journal has it. */
static int load(struct hub *hub, struct error *err)
{
    struct state *state = NULL;

    int code = state_load(hub->journal, &state, &hub->snapshot_at, err);
    if (code < 0)
        return code;
    brain_destroy(hub->brain);
    state_destroy(hub->state);
    hub->state = state;
    hub->state->touched = &hub->touched;
    hub->brain = brain_create(hub->state);
    hub->rules = hub->state->settings.watch;
    return 0;
}

static void save_snapshot(struct hub *hub, uint64_t at_least)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct error err;
    uint64_t last = journal_last(hub->journal);

    if (last - hub->snapshot_at < at_least)
        return;
    snapshot_save(hub->state, &bytes);
    if (journal_snapshot_save(hub->journal, last, bytes.bytes, bytes.length, &err) < 0)
        log_line(LOG_WARNING, "a snapshot could not be saved reason='%s'", err.text);
    hub->snapshot_at = last; /* not again at once, whatever came of it */
}

static void note_job(struct hub *hub, uint64_t job)
{
    uint64_t unused;

    if (job == 0 || map_get(&hub->in_jobs, job, &unused))
        return;
    map_set(&hub->in_jobs, job, 0);
    list_add(&hub->jobs, job);
}

/* Also those that a job takes along: the end of one may end or free those that need it. */
static void note_touched(struct hub *hub)
{
    for (size_t i = 0; i < hub->touched.ids.count; i++)
        note_job(hub, hub->touched.ids.items[i]);
    hub->touched.ids.count = 0;
}

/* Append an event, which was checked before, to the batch and fold it into the state. What is
 * folded is what the journal will give back, so texts of the event may belong to the state. */
static void put(struct hub *hub, const struct event *original)
{
    struct event settled;
    const struct event *event = &settled;
    struct error err;

    event_settle(original, &hub->scratch, &hub->settled, &settled);
    journal_append(hub->journal, hub->scratch.bytes, hub->scratch.length);
    hub->written += hub->scratch.length + EVENT_ROW_BYTES;
    size_t before = hub->decisions.events.count;
    int code = sched_step(hub->brain, event, &hub->decisions, &err);
    if (code < 0) {
        log_line(LOG_CRIT,
                 "an event is invalid: this is a bug, and the daemon stops event=%s reason='%s'",
                 event_name(event->kind), err.text);
        abort();
    }
    for (size_t i = before; i < hub->decisions.events.count; i++) {
        text_clear(&hub->scratch);
        event_encode(&hub->decisions.events.items[i], &hub->scratch);
        journal_append(hub->journal, hub->scratch.bytes, hub->scratch.length);
        note_job(hub, event_job(&hub->decisions.events.items[i]));
    }
    note_job(hub, event_job(event));
    note_touched(hub);
    if (event->kind == EVENT_ENDED)
        list_add(&hub->ends,
                 (struct member_id){ event->ended.job, event->ended.attempt, event->ended.rank });
}

void hub_emit(void *user, struct event *event)
{
    struct hub *hub = user;

    event->at = clock_now(&hub->clock);
    put(hub, event);
}

static bool is_about_known_job(const struct hub *hub, const struct event *event)
{
    return event_job(event) == 0 || state_job(hub->state, event_job(event)) != NULL;
}

static void put_reports(struct hub *hub)
{
    for (size_t i = 0; i < hub->reports.count; i++) {
        const struct report *report = &hub->reports.items[i];
        struct event event;
        if (report->change) {
            report->change->run(report->change, NULL);
            continue;
        }
        arena_clear(&hub->arena);
        int code =
            event_decode(report->bytes.bytes, report->bytes.length, &hub->arena, &event, NULL);
        assert(code == 0);
        (void)code;
        if (is_about_known_job(hub, &event))
            hub_emit(hub, &event);
    }
}

static void forget_reports(struct hub *hub)
{
    for (size_t i = 0; i < hub->reports.count; i++) {
        struct report *report = &hub->reports.items[i];
        text_release(&report->bytes);
        if (report->change)
            report->change->done(report->change, 0, NULL);
    }
    hub->reports.count = 0;
}

static void put_plan(struct hub *hub)
{
    struct event plan = { .kind = EVENT_PLAN };

    if (hub->has_stopped_planning || sched_next_wakeup(hub->brain) > clock_now(&hub->clock))
        return;
    size_t before = hub->decisions.events.count;
    uint64_t began = uv_hrtime();
    hub_emit(hub, &plan);
    usec_t took = (usec_t)((uv_hrtime() - began) / 1000);
    hub->work.plans++;
    hub->work.decisions += hub->decisions.events.count - before;
    hub->work.plan_sum += took;
    hub->work.plan_max = took > hub->work.plan_max ? took : hub->work.plan_max;
}

static struct change *take_changes(struct hub *hub)
{
    struct change *changes = hub->first_change;

    hub->first_change = hub->last_change = NULL;
    return changes;
}

/* Run what people asked for; those refused are answered at once, the others are given back. */
static struct change *run_changes(struct hub *hub, struct change *change)
{
    struct change *accepted = NULL, **end = &accepted;

    for (struct change *next; change; change = next) {
        struct error err = { "" };
        int code = -ENOSPC;

        next = change->next;
        change->next = NULL;
        if (hub->is_in_trouble)
            err = hub->trouble;
        else
            code = change->run(change, &err);
        if (code < 0) {
            change->done(change, code, &err);
            continue;
        }
        *end = change;
        end = &change->next;
    }
    return accepted;
}

static void answer(struct change *change, int code, const struct error *err)
{
    for (struct change *next; change; change = next) {
        next = change->next;
        change->done(change, code, err);
    }
}

static void on_wakeup(uv_timer_t *timer);
static void on_retry(uv_timer_t *timer);

static void arm(struct hub *hub)
{
    usec_t wakeup = sched_next_wakeup(hub->brain), now = clock_now(&hub->clock);

    if (hub->is_in_trouble || hub->is_closing)
        return;
    if (hub->has_stopped_planning)
        wakeup = USEC_NEVER;
    if (wakeup == USEC_NEVER) {
        uv_timer_stop(&hub->wakeup);
        return;
    }
    usec_t delay = wakeup > now ? (wakeup - now + USEC_PER_MS - 1) / USEC_PER_MS : 0;
    usec_t day = USEC_PER_DAY / USEC_PER_MS; /* the loop's clock stops in sleep: look again */
    uv_timer_start(&hub->wakeup, on_wakeup, (uint64_t)(delay < day ? delay : day), 0);
}

static void undo(struct hub *hub, struct change *accepted, const struct error *err)
{
    struct error again;

    journal_discard(hub->journal);
    if (!hub->is_in_trouble)
        log_line(LOG_ERR,
                 "the journal cannot be written: requests are refused, jobs continue reason='%s'",
                 err->text);
    if (load(hub, &again) < 0) {
        log_line(LOG_CRIT, "the journal cannot be read either reason='%s'", again.text);
        abort(); /* a restart reads it again; jobs and acknowledgements are safe on disk */
    }
    hub->trouble = *err;
    hub->is_in_trouble = true;
    hub->is_reloaded = true;
    answer(accepted, -ENOSPC, err);
    uv_timer_stop(&hub->wakeup);
    uv_timer_start(&hub->retry, on_retry, RETRY_MS, RETRY_MS);
}

static void carry_out(struct hub *hub, struct change *accepted)
{
    hub->rules = hub->state->settings.watch;
    answer(accepted, 0, NULL);
    for (size_t i = 0; i < hub->decisions.events.count; i++)
        hub->callbacks.decided(hub->callbacks.user, &hub->decisions.events.items[i]);
    for (size_t i = 0; i < hub->ends.count; i++)
        hub->callbacks.ended(hub->callbacks.user, hub->ends.items[i]);
    if (hub->retention.forgotten.count > 0)
        hub->callbacks.forgotten(hub->callbacks.user, hub->retention.forgotten.items,
                                 hub->retention.forgotten.count);
    if (hub->jobs.count > 0)
        hub->callbacks.changed(hub->callbacks.user, hub->jobs.items, hub->jobs.count);
}

static void clear_batch(struct hub *hub)
{
    hub->decisions.events.count = 0;
    hub->ends.count = 0;
    hub->retention.forgotten.count = 0;
    hub->jobs.count = 0;
    map_release(&hub->in_jobs);
}

static void on_quiet(uv_timer_t *timer)
{
    struct hub *hub = timer->data;

    if (hub->is_in_trouble)
        return;
    if (sched_refresh(hub->brain)) { /* a little at a time, so that requests are not delayed */
        uv_timer_start(timer, on_quiet, 1, 0);
        return;
    }
    save_snapshot(hub, SNAPSHOT_RECORDS);
    journal_idle(hub->journal);
    malloc_trim(0); /* what large requests took goes back */
}

static void run_batch(struct hub *hub)
{
    struct error err;

    clear_batch(hub);
    if (hub->is_in_trouble) { /* a batch that fails costs a loading of the state */
        run_changes(hub, take_changes(hub));
        return;
    }
    if (hub->is_reloaded) /* decisions from here on follow from the state alone */
        put(hub, &(struct event){
                     .kind = EVENT_BOOT,
                     .boot = { .version = TARN_VERSION, .brain = SCHED_VERSION, .engine = "" } });
    put_reports(hub);
    struct change *accepted = run_changes(hub, take_changes(hub));
    put_plan(hub);
    retention_run(&hub->retention, hub->state, hub_emit, hub);
    if (!journal_batch_is_empty(hub->journal)) {
        if (journal_commit(hub->journal, &err) < 0) {
            undo(hub, accepted, &err);
            return;
        }
        hub->is_reloaded = false;
        save_snapshot(hub, 2 * SNAPSHOT_RECORDS);
        uv_timer_start(&hub->quiet, on_quiet, IDLE_MS, 0);
    }
    forget_reports(hub); /* also when nothing came of them */
    carry_out(hub, accepted);
    arm(hub);
}

static bool has_work(const struct hub *hub)
{
    return hub->first_change || (hub->reports.count > 0 && !hub->is_in_trouble);
}

static void on_idle(uv_idle_t *idle)
{
    (void)idle;
}

static void want_turn(struct hub *hub)
{
    if (!hub->is_closing)
        uv_idle_start(&hub->idle, on_idle);
}

static void on_check(uv_check_t *check)
{
    struct hub *hub = check->data;

    if (has_work(hub))
        run_batch(hub);
    if (!has_work(hub)) /* also when a timer has done it */
        uv_idle_stop(&hub->idle);
}

static void on_wakeup(uv_timer_t *timer)
{
    run_batch(timer->data);
}

static const char retry_padding[] =
    "room for a record or two, which are seldom longer than this is, when the disk "
    "has been full and is not any more: what is written here means nothing";

/* A trial write first: a batch that fails costs a loading of the state. */
static void on_retry(uv_timer_t *timer)
{
    struct hub *hub = timer->data;
    struct error err;

    /* Some room at least; a larger batch may fail once more, and comes back here. */
    for (int i = 0; i < RETRY_PIECES; i++) {
        char key[32];
        snprintf(key, sizeof(key), "retry.%d", i);
        journal_meta_set(hub->journal, key, retry_padding);
    }
    if (journal_commit(hub->journal, &err) < 0) {
        journal_discard(hub->journal);
        hub->trouble = err;
        return;
    }
    log_line(LOG_NOTICE, "the journal can be written again");
    hub->is_in_trouble = false;
    uv_timer_stop(&hub->retry);
    run_batch(hub);
}

void hub_report(void *user, const struct event *event)
{
    struct hub *hub = user;
    struct report report = { 0 };

    event_encode(event, &report.bytes);
    list_add(&hub->reports, report);
    want_turn(hub);
}

void hub_report_change(void *user, struct change *change)
{
    struct hub *hub = user;

    list_add(&hub->reports, ((struct report){ .change = change }));
    want_turn(hub);
}

void hub_enqueue(void *user, struct change *change)
{
    struct hub *hub = user;

    change->next = NULL;
    if (hub->is_closing) {
        answer(change, -ESHUTDOWN, &stopping);
        return;
    }
    if (hub->last_change)
        hub->last_change->next = change;
    else
        hub->first_change = change;
    hub->last_change = change;
    want_turn(hub);
}

static void start_handles(struct hub *hub, uv_loop_t *loop)
{
    uv_check_init(loop, &hub->check);
    uv_idle_init(loop, &hub->idle);
    uv_timer_init(loop, &hub->wakeup);
    uv_timer_init(loop, &hub->retry);
    uv_timer_init(loop, &hub->quiet);
    hub->check.data = hub->idle.data = hub->wakeup.data = hub->retry.data = hub->quiet.data = hub;
    uv_check_start(&hub->check, on_check);
    hub->handle_count = 5;
}

int hub_create(const struct hub_options *options, struct hub **ret, struct error *err)
{
    struct hub *hub = mem_zero(1, sizeof(*hub));

    hub->callbacks = options->callbacks;
    int code = journal_open(options->state_dir, JOURNAL_WRITE, &hub->journal, err);
    if (code == 0)
        code = load(hub, err);
    if (code == 0)
        code = clock_start(&hub->clock, hub->journal, hub->state->now, err);
    if (code < 0) {
        brain_destroy(hub->brain);
        state_destroy(hub->state);
        journal_close(hub->journal);
        free(hub);
        return code;
    }
    start_handles(hub, options->loop);
    *ret = hub;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct hub *hub = handle->data;

    if (--hub->handle_count == 0)
        free(hub);
}

void hub_shut(struct hub *hub)
{
    hub->is_closing = true;
    answer(take_changes(hub), -ESHUTDOWN, &stopping);
}

void hub_destroy(struct hub *hub)
{
    if (!hub)
        return;
    hub_shut(hub);
    forget_reports(hub); /* they are on disk with the engine, which tells them again */
    list_release(&hub->reports);
    if (!hub->is_in_trouble) {
        save_snapshot(hub, SNAPSHOT_RECORDS_AT_END);
        journal_idle(hub->journal);
    }
    journal_close(hub->journal);
    brain_destroy(hub->brain);
    state_destroy(hub->state);
    list_release(&hub->jobs);
    map_release(&hub->in_jobs);
    list_release(&hub->touched.ids);
    list_release(&hub->ends);
    list_release(&hub->retention.forgotten);
    list_release(&hub->decisions.events);
    text_release(&hub->scratch);
    arena_release(&hub->arena);
    arena_release(&hub->settled);
    uv_close((uv_handle_t *)&hub->check, on_closed);
    uv_close((uv_handle_t *)&hub->idle, on_closed);
    uv_close((uv_handle_t *)&hub->wakeup, on_closed);
    uv_close((uv_handle_t *)&hub->retry, on_closed);
    uv_close((uv_handle_t *)&hub->quiet, on_closed);
}
