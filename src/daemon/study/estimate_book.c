/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/study/estimate_book.h"

#include <stdlib.h>

#include "core/job/why.h"
#include "daemon/hub.h"
#include "daemon/study/estimate_report.h"
#include "forecast/stretch.h"
#include "io/log.h"
#include "sched/ordering/pending.h"
#include "store/estimate_store.h"
#include "store/side.h"

enum {
    FLUSH_MS = 1000,
    COLD_ENDS = 20, /* fewer jobs have ended: little is known */
    NOTES_MOST = 16384,
};

/* An estimate whose job has not started. */
struct note {
    uint64_t job;
    usec_t shown; /* journal time */
    usec_t guaranteed;
    struct wait_range range;
    enum wait_kind kind;
    size_t next; /* an earlier one of the same job, plus one; 0: none */
};

/* To be written. A row, or an outcome of all rows of a job. */
struct entry {
    struct estimate_row row;
    bool is_outcome;
};

struct estimate_book {
    struct hub *hub;
    struct estimate_store *store; /* NULL: there is none */
    struct stretch stretch;
    LIST(struct note) notes;
    LIST(size_t) unused; /* of the notes */
    struct map last;     /* job -> its last note, plus one */
    LIST(struct entry) entries;
    uv_timer_t timer;
    bool is_full; /* it was said that rows cannot be written */
};

/* ---- kinds ---- */

static enum wait_kind kind_of(const struct job *job)
{
    enum why_kind kind = job->pending_bucket ? job->pending_bucket->why.kind : WHY_NONE;

    if (job->state == JOB_WAITING)
        return WAIT_NEEDS;
    if (job->is_awaited)
        return WAIT_RECLAIM;
    switch (kind) {
    case WHY_QUOTA:
    case WHY_USER_LIMIT:
    case WHY_LENT:
    case WHY_POOL_MAX:
    case WHY_ARRAY:
        return WAIT_LIMIT;
    case WHY_BEGIN:
    case WHY_RESERVATION:
    case WHY_WINDOW:
    case WHY_TARIFF:
        return WAIT_TIME;
    case WHY_BUDGET:
        return WAIT_BUDGET;
    case WHY_SPOT:
        return WAIT_SPOT;
    case WHY_RESERVED:
    case WHY_TURN:
    case WHY_BEHIND:
    case WHY_NEW:
        return WAIT_ORDER;
    default:
        return WAIT_ROOM;
    }
}

static usec_t now_of(const struct estimate_book *book)
{
    return clock_now(hub_clock(book->hub));
}

static usec_t wait_from(usec_t now, usec_t at)
{
    return at == USEC_NEVER ? at : at > now ? at - now : 0;
}

static struct wait_range range_of(const struct start_estimate *estimate, usec_t now)
{
    return (struct wait_range){ wait_from(now, estimate->low), wait_from(now, estimate->median),
                                wait_from(now, estimate->high) };
}

void estimate_book_range(const struct estimate_book *book, const struct job *job,
                         struct start_estimate *estimate)
{
    usec_t now = now_of(book);
    struct wait_range range = range_of(estimate, now);

    stretch_range(&book->stretch, kind_of(job), &range);
    estimate->low = usec_after(now, range.low);
    estimate->high = usec_after(now, range.high);
}

/* ---- what is shown ---- */

/* Whether the wait has halved since. */
static bool is_news(const struct note *note, const struct wait_range *range)
{
    usec_t was = note->range.median, is = range->median;

    return (was == USEC_NEVER) != (is == USEC_NEVER) || is <= (was - USEC_PER_SEC) / 2;
}

static size_t claim_note(struct estimate_book *book)
{
    if (book->unused.count > 0)
        return book->unused.items[--book->unused.count];
    list_add(&book->notes, (struct note){ 0 });
    return book->notes.count - 1;
}

static void add_note(struct estimate_book *book, const struct note *note)
{
    uint64_t last = 0;
    size_t place = claim_note(book);

    map_get(&book->last, note->job, &last);
    book->notes.items[place] = *note;
    book->notes.items[place].next = last;
    map_set(&book->last, note->job, place + 1);
}

void estimate_book_shown(struct estimate_book *book, const struct job *job,
                         const struct start_estimate *estimate, usec_t guaranteed, bool is_forecast)
{
    const struct state *state = hub_state(book->hub);
    usec_t now = now_of(book);
    struct wait_range range = range_of(estimate, now);
    uint64_t last;

    if (map_get(&book->last, job->id, &last) && !is_news(&book->notes.items[last - 1], &range))
        return;
    if (book->unused.count == 0 && book->notes.count == NOTES_MOST)
        return;
    enum wait_kind kind = is_forecast ? kind_of(job) : WAIT_FAR;
    struct note note = { job->id, now, wait_from(now, guaranteed), range, kind, 0 };
    add_note(book, &note);
    struct entry entry = { .row = { .job = job->id,
                                    .queue = mem_string(state->queues.items[job->queue].name),
                                    .kind = wait_kind_name(note.kind),
                                    .shown = now + clock_wall_ahead(hub_clock(book->hub)),
                                    .low = range.low,
                                    .median = range.median,
                                    .high = range.high,
                                    .guaranteed = note.guaranteed,
                                    .is_cold = state->history.version < COLD_ENDS } };
    list_add(&book->entries, entry);
}

/* ---- what came of it ---- */

static void settle(struct estimate_book *book, uint64_t job, uint64_t last, usec_t at,
                   enum estimate_outcome outcome)
{
    for (size_t place = last; place > 0;) {
        const struct note *note = &book->notes.items[place - 1];
        if (outcome == ESTIMATE_STARTED)
            stretch_learn(&book->stretch, note->kind, &note->range, wait_from(note->shown, at));
        list_add(&book->unused, place - 1);
        place = note->next;
    }
    map_remove(&book->last, job);
    struct entry entry = { .row = { .job = job,
                                    .shown = at + clock_wall_ahead(hub_clock(book->hub)),
                                    .outcome = (uint8_t)outcome },
                           .is_outcome = true };
    list_add(&book->entries, entry);
}

void estimate_book_changed(struct estimate_book *book, const uint64_t *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct job *job = state_job(hub_state(book->hub), jobs[i]);
        uint64_t last;
        if (!map_get(&book->last, jobs[i], &last))
            continue;
        usec_t shown = book->notes.items[last - 1].shown;
        if (job && job->run->granted >= shown && job->run->granted > 0)
            settle(book, jobs[i], last, job->run->granted, ESTIMATE_STARTED);
        else if (!job || job->state == JOB_ENDED)
            settle(book, jobs[i], last, now_of(book), ESTIMATE_DROPPED);
    }
}

/* ---- the file ---- */

static int write_entries(struct estimate_book *book, struct error *err)
{
    int code = estimate_store_begin(book->store, err);

    LIST_EACH (const struct entry, entry, &book->entries) {
        if (code < 0)
            break;
        if (entry->is_outcome)
            code = estimate_store_close_job(book->store, entry->row.job, entry->row.shown,
                                            entry->row.outcome, err);
        else
            code = estimate_store_add(book->store, &entry->row, err);
    }
    int end = estimate_store_commit(book->store, code < 0 ? NULL : err);
    return code < 0 ? code : end;
}

/* What cannot be written is not kept: estimates are no records of the journal. */
static void flush(struct estimate_book *book)
{
    struct error err;

    if (book->entries.count == 0)
        return;
    if (book->store && write_entries(book, &err) < 0) {
        if (!book->is_full)
            log_line(LOG_WARNING, "estimates are not saved reason='%s'", err.text);
        book->is_full = true;
    } else
        book->is_full = false;
    LIST_EACH (struct entry, entry, &book->entries)
        free((char *)(uintptr_t)entry->row.queue);
    book->entries.count = 0;
}

static void on_flush(uv_timer_t *timer)
{
    flush(timer->data);
}

static void take_row(void *user, const struct estimate_row *row)
{
    struct estimate_book *book = user;
    struct wait_range range = { row->low, row->median, row->high };
    enum wait_kind kind;

    if (!wait_kind_of_name(row->kind, &kind))
        return;
    if (row->outcome == ESTIMATE_STARTED)
        stretch_learn(&book->stretch, kind, &range, row->came);
    if (row->outcome != ESTIMATE_OPEN || !state_job(hub_state(book->hub), row->job))
        return;
    add_note(book, &(struct note){ row->job, row->shown - clock_wall_ahead(hub_clock(book->hub)),
                                   row->guaranteed, range, kind, 0 });
}

static int open_store(struct estimate_book *book, const char *path, struct error *err)
{
    int code = estimate_store_open(path, &book->store, err);

    return code == 0 ? estimate_store_read(book->store, 0, take_row, book, err) : code;
}

struct estimate_book *estimate_book_create(uv_loop_t *loop, struct hub *hub, const char *path)
{
    struct estimate_book *book = mem_zero(1, sizeof(*book));
    struct error err;

    book->hub = hub;
    int code = open_store(book, path, &err);
    if (code == -EBADMSG) {
        estimate_store_close(TAKE(book->store));
        side_put_aside(path, &err);
        code = open_store(book, path, &err);
    }
    if (code < 0)
        log_line(LOG_WARNING, "estimates are not saved reason='%s'", err.text);
    uv_timer_init(loop, &book->timer);
    book->timer.data = book;
    uv_timer_start(&book->timer, on_flush, FLUSH_MS, FLUSH_MS);
    return book;
}

static void on_closed(uv_handle_t *handle)
{
    struct estimate_book *book = handle->data;

    list_release(&book->notes);
    list_release(&book->unused);
    list_release(&book->entries);
    map_release(&book->last);
    free(book);
}

void estimate_book_destroy(struct estimate_book *book)
{
    if (!book)
        return;
    flush(book);
    estimate_store_close(book->store);
    book->store = NULL;
    uv_close((uv_handle_t *)&book->timer, on_closed);
}

int estimate_book_report(struct estimate_book *book, usec_t last, json_t **ret, struct error *err)
{
    AUTO_RELEASE(estimate_report) struct estimate_report report = { 0 };
    usec_t now = now_of(book) + clock_wall_ahead(hub_clock(book->hub));

    flush(book);
    if (!book->store)
        return error_set(err, -EIO, "estimates are not saved: see the log of the daemon");
    int code = estimate_store_read(book->store, now - last, estimate_report_add, &report, err);
    if (code == 0)
        *ret = estimate_report_view(&report);
    return code;
}
