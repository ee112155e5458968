/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/study/forecaster.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "daemon/hub.h"
#include "daemon/study/estimate_book.h"
#include "daemon/study/planned.h"
#include "daemon/study/processor_allowance.h"
#include "forecast/forecast.h"
#include "io/copy_reader.h"
#include "io/log.h"

enum {
    COPY_SECONDS = 10,  /* of processor time; more is a bug */
    COPY_MS = 10000,    /* of any time: something stopped it */
    WAIT_PATIENCE = 10, /* times its patience */
    MANY = 1000,        /* waiting jobs: no request waits for the first forecast */
    YOUNG = 10,         /* times its processor time: submissions one after another get no new one */
};
#define FRESH   USEC_PER_SEC
#define AGE_MAX (30 * USEC_PER_SEC) /* then a forecast that does not come so far will do */
#define LEAST   (20 * USEC_PER_MS)  /* for less than this it is not worth a copy */

struct forecaster {
    uv_loop_t *loop;
    struct hub *hub;
    struct planned *planned;
    struct estimate_book *book;
    struct forecast forecast;
    uint64_t seen; /* the last record when it was made */
    /* What was to start first and has not, as it was looked up at late_at. All that was to start
     * after late_from is late, too. */
    usec_t late_at, late_from;

    struct processor_allowance allowance;
    bool is_closing;
    struct copy_reader reader;
    uint64_t began; /* as counted */
    uint64_t seen_next;
    struct forecast_waiter *waiters, *later_waiters; /* for this one, and for the next */
    uv_timer_t timer;                                /* ends their wait */
};

/* ---- in the copy ---- */

static void make(const struct forecaster *forecaster, usec_t processor, struct forecast *ret)
{
    struct state *state = hub_state(forecaster->hub);
    usec_t now = clock_now(hub_clock(forecaster->hub));
    struct forecast_ask ask = { .state = state,
                                .brain = hub_brain(forecaster->hub),
                                .now = now > state->now ? now : state->now,
                                .processor = processor,
                                .user = forecaster->planned,
                                .next = planned_next,
                                .come = planned_come };

    forecast_make(&ask, ret);
}

static void live(void *user, int fd)
{
    struct forecaster *forecaster = user;
    struct rlimit limit = { COPY_SECONDS, COPY_SECONDS };
    AUTO_RELEASE(text) struct text out = { 0 };
    struct forecast forecast;

    setrlimit(RLIMIT_CPU, &limit);
    make(forecaster, forecaster->allowance.left, &forecast);
    forecast.processor = copy_processor_time();
    forecast_encode(&forecast, &out);
    copy_write(fd, out.bytes, out.length);
}

void forecaster_renew(struct forecaster *forecaster, usec_t processor)
{
    forecast_release(&forecaster->forecast);
    make(forecaster, processor, &forecaster->forecast);
    forecaster->late_at = 0;
}

/* ---- in the daemon ---- */

/* Those that have waited until then; UINT64_MAX: all. */
static void call_waiters(struct forecast_waiter **list, uint64_t now)
{
    struct forecast_waiter *waiter = *list, *next;

    *list = NULL;
    for (; waiter; waiter = next) {
        next = waiter->next;
        if (waiter->until <= now) {
            waiter->done(waiter);
            continue;
        }
        waiter->next = *list;
        *list = waiter;
    }
}

static void on_late(uv_timer_t *timer);

static void set_timer(struct forecaster *forecaster)
{
    const struct forecast_waiter *lists[] = { forecaster->waiters, forecaster->later_waiters };
    uint64_t at = forecaster->reader.is_running ? forecaster->began + COPY_MS : UINT64_MAX;
    uint64_t now = uv_now(forecaster->loop);

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        for (const struct forecast_waiter *waiter = lists[i]; waiter; waiter = waiter->next)
            at = waiter->until < at ? waiter->until : at;
    }
    if (at != UINT64_MAX)
        uv_timer_start(&forecaster->timer, on_late, at > now ? at - now : 0, 0);
}

static bool start(struct forecaster *forecaster);

static void take(struct forecaster *forecaster, const struct text *bytes)
{
    struct forecast forecast;

    if (!forecast_decode(bytes, &forecast)) {
        log_line(LOG_WARNING, "a forecast was not made; estimates are those of the list schedule");
        forecaster->allowance.left = 0;
        return;
    }
    forecast_release(&forecaster->forecast);
    forecaster->forecast = forecast;
    forecaster->seen = forecaster->seen_next;
    forecaster->late_at = 0;
    forecaster->allowance.left -= forecast.processor;
}

/* Requests after an event that this forecast does not include wait for the next one. */
static void finish(void *user, struct text bytes)
{
    struct forecaster *forecaster = user;

    take(forecaster, &bytes);
    text_release(&bytes); /* megabytes, where many jobs wait */
    call_waiters(&forecaster->waiters, UINT64_MAX);
    if (!forecaster->later_waiters)
        return;
    forecaster->waiters = forecaster->later_waiters;
    forecaster->later_waiters = NULL;
    if (!start(forecaster))
        call_waiters(&forecaster->waiters, UINT64_MAX);
}

/* A request that has waited for too long is answered from the last forecast. */
static void on_late(uv_timer_t *timer)
{
    struct forecaster *forecaster = timer->data;
    uint64_t now = uv_now(forecaster->loop);

    if (forecaster->reader.is_running && now - forecaster->began >= COPY_MS)
        copy_reader_finish(&forecaster->reader);
    call_waiters(&forecaster->waiters, now);
    call_waiters(&forecaster->later_waiters, now);
    set_timer(forecaster);
}

/* False: there can be no copy. */
static bool start(struct forecaster *forecaster)
{
    struct error err;
    uint64_t began = uv_hrtime();

    planned_read(forecaster->planned);
    if (copy_reader_start(&forecaster->reader, forecaster->loop, live, finish, forecaster, &err) <
        0) {
        log_line(LOG_WARNING, "a forecast could not be started reason='%s'", err.text);
        forecaster->allowance.left = 0;
        return false;
    }
    forecaster->allowance.left -= (usec_t)((uv_hrtime() - began) / 1000);
    forecaster->began = uv_now(forecaster->loop);
    forecaster->seen_next = journal_last(hub_journal(forecaster->hub));
    set_timer(forecaster);
    return true;
}

static bool is_new(const struct forecaster *forecaster)
{
    usec_t now = clock_now(hub_clock(forecaster->hub));

    return forecaster->seen == journal_last(hub_journal(forecaster->hub)) &&
           forecaster->forecast.samples > 0 && now - forecaster->forecast.at < FRESH;
}

static void wait(struct forecaster *forecaster, struct forecast_waiter **list,
                 struct forecast_waiter *waiter)
{
    uint64_t patience = (uint64_t)(waiter->patience / USEC_PER_MS);

    waiter->until = uv_now(forecaster->loop) + patience * (waiter->is_many ? 1 : WAIT_PATIENCE);
    waiter->next = *list;
    *list = waiter;
    set_timer(forecaster);
}

/* A forecast costs about ten times as much as a submission. */
static bool is_young(const struct forecaster *forecaster)
{
    usec_t age = (usec_t)(uv_now(forecaster->loop) - forecaster->began) * USEC_PER_MS;

    return forecaster->forecast.samples > 0 && age < forecaster->forecast.processor * YOUNG;
}

bool forecaster_is_fresh(void *user, bool is_of_waiting, struct forecast_waiter *waiter)
{
    struct forecaster *forecaster = user;
    const uint32_t *counts = hub_state(forecaster->hub)->job_counts;
    bool is_wanted = counts[JOB_QUEUED] + counts[JOB_WAITING] > 0 || !is_of_waiting;

    if (!is_wanted || is_new(forecaster) || forecaster->is_closing)
        return true;
    processor_allowance_count(&forecaster->allowance, forecaster->loop);
    /* No request waits for a slow one: later requests use it. */
    bool is_slow = forecaster->forecast.samples > 0
                       ? forecaster->forecast.processor > waiter->patience
                       : counts[JOB_QUEUED] > MANY;
    if (forecaster->reader.is_running && (!forecaster->waiters || is_slow))
        return true;
    if (waiter->is_many && is_young(forecaster))
        return true;
    if (forecaster->reader.is_running) {
        bool is_of_now = forecaster->seen_next == journal_last(hub_journal(forecaster->hub));
        wait(forecaster, is_of_now ? &forecaster->waiters : &forecaster->later_waiters, waiter);
        return false;
    }
    /* As much as the last one took, so that this one comes as far. */
    usec_t wanted = forecaster->forecast.processor > LEAST ? forecaster->forecast.processor : LEAST;
    usec_t age = clock_now(hub_clock(forecaster->hub)) - forecaster->forecast.at;
    if (forecaster->allowance.left < wanted &&
        (age < AGE_MAX || forecaster->allowance.left < LEAST))
        return true;
    if (!start(forecaster) || is_slow)
        return true;
    wait(forecaster, &forecaster->waiters, waiter);
    return false;
}

/* ---- what it says ---- */

/* The first start that should have been by now, and was not. */
static void find_late(struct forecaster *forecaster, usec_t now)
{
    const struct state *state = hub_state(forecaster->hub);

    if (forecaster->late_at > 0 && now - forecaster->late_at < FRESH)
        return;
    forecaster->late_at = now;
    forecaster->late_from = now;
    LIST_EACH (const struct forecast_row, row, &forecaster->forecast.rows) {
        if (row->median <= 0 || row->median >= forecaster->late_from)
            continue;
        const struct job *job = state_job(state, row->id);
        if (job && (job->state == JOB_QUEUED || job->state == JOB_WAITING))
            forecaster->late_from = row->median;
    }
}

/* A time of the forecast, for now. */
static usec_t moved(const struct forecaster *forecaster, usec_t time, usec_t now)
{
    if (time >= forecaster->late_from && time != USEC_NEVER)
        time = usec_after(time, forecaster->late_at - forecaster->late_from);
    return time > now ? time : now;
}

bool forecaster_start(void *user, const struct job *job, struct start_estimate *ret)
{
    struct forecaster *forecaster = user;
    const struct forecast_row *row = forecast_find(&forecaster->forecast, job->id);
    usec_t now = clock_now(hub_clock(forecaster->hub));

    if (!row || row->median == 0)
        return false;
    find_late(forecaster, now);
    *ret = (struct start_estimate){ .low = moved(forecaster, row->low, now),
                                    .median = moved(forecaster, row->median, now),
                                    .high = moved(forecaster, row->high, now),
                                    .limits_only = row->by_limits };
    estimate_book_range(forecaster->book, job, ret);
    return true;
}

void forecaster_shown(void *user, const struct job *job, const struct start_estimate *estimate,
                      usec_t guaranteed, bool is_forecast)
{
    estimate_book_shown(((struct forecaster *)user)->book, job, estimate, guaranteed, is_forecast);
}

int forecaster_report(void *user, usec_t last, json_t **ret, struct error *err)
{
    return estimate_book_report(((struct forecaster *)user)->book, last, ret, err);
}

bool forecaster_is_busy(const struct forecaster *forecaster)
{
    return forecaster->reader.is_running;
}

void forecaster_changed(struct forecaster *forecaster, const uint64_t *jobs, size_t count)
{
    estimate_book_changed(forecaster->book, jobs, count);
}

bool forecaster_end(void *user, uint64_t id, struct end_estimate *ret)
{
    struct forecaster *forecaster = user;
    const struct forecast_row *row = forecast_find(&forecaster->forecast, id);
    usec_t now = clock_now(hub_clock(forecaster->hub));

    if (!row)
        return false;
    find_late(forecaster, now);
    *ret = (struct end_estimate){ .low = moved(forecaster, row->end_low, now),
                                  .median = moved(forecaster, row->end_median, now),
                                  .high = moved(forecaster, row->end_high, now),
                                  .limits_only = row->end_by_limits };
    return true;
}

/* ---- its life ---- */

struct forecaster *forecaster_create(uv_loop_t *loop, struct hub *hub, struct planned *planned,
                                     const char *path)
{
    struct forecaster *forecaster = mem_zero(1, sizeof(*forecaster));

    *forecaster = (struct forecaster){ .loop = loop,
                                       .hub = hub,
                                       .planned = planned,
                                       .book = estimate_book_create(loop, hub, path),
                                       .allowance = processor_allowance_full(loop) };
    uv_timer_init(loop, &forecaster->timer);
    forecaster->timer.data = forecaster;
    return forecaster;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct forecaster *forecaster = handle->data;

    forecast_release(&forecaster->forecast);
    free(forecaster);
}

void forecaster_destroy(struct forecaster *forecaster)
{
    if (!forecaster)
        return;
    forecaster->is_closing = true;
    copy_reader_stop(&forecaster->reader);
    call_waiters(&forecaster->waiters, UINT64_MAX);
    call_waiters(&forecaster->later_waiters, UINT64_MAX);
    estimate_book_destroy(forecaster->book);
    uv_close((uv_handle_t *)&forecaster->timer, on_timer_closed);
}
