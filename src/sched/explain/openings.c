/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/explain/openings.h"

#include <assert.h>
#include <string.h>

#include "sched/backfill/time_rules.h"
#include "sched/explain/inquiry.h"
#include "sched/job_facts.h"
#include "sched/ordering/budget.h"

enum { EDGES_MOST = 512 };

typedef LIST(const struct window *) window_list;

/* The calendar of one job. */
struct calendar_of_job {
    struct brain *own;
    struct inquiry *inquiry;
    const struct job *job;
    struct amounts wanted;
    usec_t stay;
    usec_t begin;        /* its begin time, or when its budgets allow it */
    window_list windows; /* it must fit between them */
    window_list sizes;   /* that change pools: only its start must fit */
};

/* ---- which windows ---- */

static void add_window(const struct calendar_of_job *calendar, window_list *list, uint32_t number)
{
    const struct window *window = calendar->own->state->agenda.windows.items[number];

    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i] == window)
            return;
    }
    list_add(list, window);
}

/* Its own pool, and those for which something may be kept free. */
static void add_sizes(struct calendar_of_job *calendar)
{
    const struct state *state = calendar->own->state;

    if (state_request(state, calendar->job)->gpu_alternatives == 0)
        return;
    LIST_EACH (const struct pool, pool, &state->pools) {
        for (size_t i = 0; i < pool->during.count && !pool->is_removed; i++)
            add_window(calendar, &calendar->sizes, pool->during.items[i].window);
    }
}

static void add_windows(struct calendar_of_job *calendar)
{
    const struct state *state = calendar->own->state;
    const struct keepouts *keepouts = &calendar->own->keepouts;
    uint32_t last = UINT32_MAX;

    LIST_EACH (const struct keepout, keepout, &keepouts->items) {
        struct keepout_ask ask = { calendar->job->queue, calendar->job->user, 0, USEC_NEVER };
        if (keepout->reservation != last && keepout_bars(keepout, state, &ask))
            add_window(calendar, &calendar->windows,
                       state->agenda.reservations.items[keepout->reservation].window);
        last = keepout->reservation;
    }
    for (uint32_t at = calendar->job->queue; at != QUEUE_NONE;
         at = queue_above(state->queues.items, at)) {
        const struct queue *queue = &state->queues.items[at];
        for (size_t i = 0; i < queue->during.count; i++) {
            if (calendar->wanted.of[queue->during.items[i].resource] > 0)
                add_window(calendar, &calendar->windows, queue->during.items[i].window);
        }
    }
}

static void calendar_start(struct calendar_of_job *calendar, const struct brain *brain,
                           struct inquiry *inquiry, const struct job *job)
{
    struct brain *own = inquiry_follow(inquiry, brain);
    const struct state *state = own->state;

    *calendar = (struct calendar_of_job){
        .own = own, .inquiry = inquiry, .job = job, .stay = job_stay(job)
    };
    quota_least(state, state_request(state, job), &calendar->wanted);
    usec_t budget = budget_opens_at(state, job, &calendar->wanted);
    calendar->begin = budget > job->begin ? budget : job->begin;
    add_windows(calendar);
    add_sizes(calendar);
}

static void calendar_release(struct calendar_of_job *calendar)
{
    list_release(&calendar->sizes);
    list_release(&calendar->windows);
}

/* ---- one moment ---- */

/* The longest known time between two of its spans; USEC_NEVER: fewer than two are known. */
static usec_t longest_gap(const struct window *window)
{
    usec_t longest = USEC_NEVER;

    for (size_t i = 1; i < window->spans.count; i++) {
        usec_t gap = window->spans.items[i].from - window->spans.items[i - 1].until;
        longest = longest == USEC_NEVER || gap > longest ? gap : longest;
    }
    return longest;
}

/* A window whose gaps are all shorter than the job is in its way at any time: also after its last
 * known span. */
static usec_t within_known(const struct calendar_of_job *calendar, usec_t at)
{
    LIST_EACH (const struct window *const, item, &calendar->windows) {
        const struct window *window = *item;
        usec_t gap = longest_gap(window);
        if (gap == USEC_NEVER || calendar->stay <= gap)
            continue;
        usec_t last = window->spans.items[window->spans.count - 1].from;
        at = last < at ? last : at;
    }
    return at;
}

/* The nodes with nothing on them. */
static struct fleet *empty_fleet(struct inquiry *inquiry)
{
    struct brain *own = &inquiry->own;

    if (inquiry->empty_for != own->layout.version) {
        fleet_make(&inquiry->empty, &own->layout, own->state, true);
        inquiry->empty.ignores_health = true;
        inquiry->empty_for = own->layout.version;
    }
    inquiry->empty.layout = &own->layout;
    return &inquiry->empty;
}

static bool are_barred(const struct calendar_of_job *calendar, const struct keepout_ask *ask)
{
    const struct keepouts *keepouts = &calendar->own->keepouts;

    LIST_EACH (const struct keepout, keepout, &keepouts->items) {
        if (keepout_bars(keepout, calendar->own->state, ask))
            return true;
    }
    return false;
}

/* On nodes with nothing on them, with the pools of a time. */
static struct place_query empty_query(const struct calendar_of_job *calendar, usec_t at)
{
    struct fleet *empty = empty_fleet(calendar->inquiry);
    struct place_query query =
        brain_query_ahead(calendar->own, calendar->job, empty, PLACE_QUOTA_NONE);

    empty->pools_at = at;
    query.from = at;
    query.cells = NULL;
    query.labels = query.apart = 0;
    query.ignore_health = true;
    arena_clear(&calendar->own->arena);
    return query;
}

static bool pools_allow(const struct calendar_of_job *calendar, usec_t at, struct why *why)
{
    struct lease lease;
    struct why lack;

    if (calendar->sizes.count == 0)
        return true;
    struct place_query query = empty_query(calendar, at);
    query.keepouts = NULL;
    if (place_job(&query, &calendar->own->arena, &lease, &lack) || !why_is_of_pool(lack.kind))
        return true;
    *why = lack;
    return false;
}

static bool reservations_allow(const struct calendar_of_job *calendar, usec_t at, struct why *why)
{
    struct brain *own = calendar->own;
    const struct job *job = calendar->job;
    struct keepout_ask ask = { job->queue, job->user, at, usec_after(at, calendar->stay) };
    struct lease lease;

    if (!are_barred(calendar, &ask))
        return true;
    struct place_query query = empty_query(calendar, at);
    if (place_job(&query, &own->arena, &lease, NULL))
        return true;
    query.keepouts = NULL;
    if (!place_job(&query, &own->arena, &lease, NULL))
        return true; /* it is something else that it lacks */
    keepouts_allow(&own->keepouts, own->state, &own->layout, &ask, &lease, why);
    return false;
}

/* What the queue may hold from `at` on. */
static bool limit_allows(const struct calendar_of_job *calendar, uint32_t queue, usec_t at,
                         struct why *why)
{
    const struct state *state = calendar->own->state;
    const struct queue *q = &state->queues.items[queue];

    for (size_t i = 0; i < q->during.count; i++) {
        uint32_t resource = q->during.items[i].resource;
        struct quota quota;
        state_quota_at(state, queue, resource, at, &quota);
        int64_t most = quota_most(&quota, q->owned.of[resource]);
        if (most == QUOTA_NONE || calendar->wanted.of[resource] <= most)
            continue;
        *why = (struct why){ .kind = WHY_WINDOW,
                             .queue = queue,
                             .resource = resource,
                             .window = q->during.items[i].window,
                             .wanted = calendar->wanted.of[resource],
                             .most = most };
        return false;
    }
    return true;
}

static usec_t next_edge_of(const struct state *state, const struct queue *queue, usec_t at)
{
    usec_t next = USEC_NEVER;

    for (size_t i = 0; i < queue->during.count; i++) {
        const struct window *window = state->agenda.windows.items[queue->during.items[i].window];
        usec_t edge = window_next_edge(window, at);
        next = edge < next ? edge : next;
    }
    return next;
}

static bool windows_allow(const struct calendar_of_job *calendar, usec_t at, struct why *why)
{
    const struct state *state = calendar->own->state;
    usec_t end = usec_after(at, calendar->stay);

    for (uint32_t q = calendar->job->queue; q != QUEUE_NONE;
         q = queue_above(state->queues.items, q)) {
        const struct queue *queue = &state->queues.items[q];
        usec_t edge = at;
        for (uint32_t i = 0; queue->during.count > 0 && edge < end && i < EDGES_MOST; i++) {
            if (!limit_allows(calendar, q, edge, why))
                return false;
            edge = next_edge_of(state, queue, edge);
        }
    }
    return true;
}

static bool may_start(const struct calendar_of_job *calendar, usec_t at, struct why *why)
{
    const struct state *state = calendar->own->state;
    usec_t known = within_known(calendar, at);

    if (at < calendar->begin) {
        bool is_begin = calendar->begin == calendar->job->begin;
        *why = (struct why){ .kind = is_begin ? WHY_BEGIN : WHY_BUDGET, .at = calendar->begin };
        return false;
    }
    if (tariff_opens_at(state, calendar->job, at) > at) {
        *why = (struct why){ .kind = WHY_TARIFF };
        return false;
    }
    return windows_allow(calendar, known, why) && reservations_allow(calendar, known, why) &&
           pools_allow(calendar, at, why);
}

bool sched_may_start_at(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                        usec_t at, struct why *ret_why)
{
    struct calendar_of_job calendar;
    struct why why = { .kind = WHY_NONE };

    calendar_start(&calendar, brain, inquiry, job);
    bool may = may_start(&calendar, at, &why);
    calendar_release(&calendar);
    if (ret_why)
        *ret_why = why;
    return may;
}

/* ---- over time ---- */

static usec_t next_edge_in(const window_list *windows, usec_t at)
{
    usec_t next = USEC_NEVER;

    LIST_EACH (const struct window *const, window, windows) {
        usec_t edge = window_next_edge(*window, at);
        next = edge < next ? edge : next;
    }
    return next;
}

static usec_t earlier(usec_t a, usec_t b)
{
    return a < b ? a : b;
}

/* The next time after `at` when something opens or shuts. */
static usec_t next_edge(const struct calendar_of_job *calendar, usec_t at)
{
    usec_t next = calendar->begin > at ? calendar->begin : USEC_NEVER;
    usec_t tariff = tariff_opens_at(calendar->own->state, calendar->job, at);

    next = tariff > at && tariff < next ? tariff : next;
    return earlier(
        next, earlier(next_edge_in(&calendar->windows, at), next_edge_in(&calendar->sizes, at)));
}

/* The reason is the first that is neither a begin time nor the next period of a budget: those pass.
 */
static usec_t first_opening(const struct calendar_of_job *calendar, usec_t from, struct why *why)
{
    usec_t at = from;

    for (uint32_t i = 0; i < EDGES_MOST && at != USEC_NEVER; i++) {
        struct why shut = { .kind = WHY_NONE };
        if (may_start(calendar, at, &shut))
            return at;
        if (why->kind == WHY_NONE || why->kind == WHY_BEGIN || why->kind == WHY_BUDGET)
            *why = shut;
        at = next_edge(calendar, at);
    }
    return USEC_NEVER;
}

usec_t sched_first_opening(const struct brain *brain, struct inquiry *inquiry,
                           const struct job *job, usec_t from, struct why *ret_why)
{
    struct calendar_of_job calendar;
    struct why why = { .kind = WHY_NONE };

    calendar_start(&calendar, brain, inquiry, job);
    usec_t at = first_opening(&calendar, from, &why);
    calendar_release(&calendar);
    if (ret_why)
        *ret_why = why;
    return at;
}

static void try_moment(const struct calendar_of_job *calendar, usec_t at, usec_t until,
                       usec_t *last)
{
    struct why why;

    if (at <= until && (*last == USEC_NEVER || at > *last) && may_start(calendar, at, &why))
        *last = at;
}

/* What shuts at an edge is open until the job would reach it, or until then if only its start
 * counts.
 */
usec_t sched_last_opening(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                          usec_t from, usec_t until)
{
    struct calendar_of_job calendar;
    usec_t last = USEC_NEVER, at = from;

    calendar_start(&calendar, brain, inquiry, job);
    try_moment(&calendar, until, until, &last);
    try_moment(&calendar, from, until, &last);
    for (uint32_t i = 0; i < EDGES_MOST && last != until; i++) {
        at = next_edge(&calendar, at);
        usec_t before = calendar.stay < at ? at - calendar.stay : 0;
        if (at == USEC_NEVER || (at > until && before > until))
            break;
        if (before >= from)
            try_moment(&calendar, before, until, &last);
        if (at - 1 >= from)
            try_moment(&calendar, at - 1, until, &last);
        try_moment(&calendar, at, until, &last);
    }
    calendar_release(&calendar);
    return last;
}

void sched_next_edges(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                      struct sched_edges *ret)
{
    struct calendar_of_job calendar;
    usec_t at = brain->state->now;

    calendar_start(&calendar, brain, inquiry, job);
    *ret = (struct sched_edges){ .longest_gap = USEC_NEVER };
    while (ret->count < EDGES_NEXT && (at = next_edge(&calendar, at)) != USEC_NEVER)
        ret->at[ret->count++] = at;
    LIST_EACH (const struct window *const, window, &calendar.windows) {
        usec_t gap = longest_gap(*window);
        ret->longest_gap = gap < ret->longest_gap ? gap : ret->longest_gap;
    }
    calendar_release(&calendar);
}

static usec_t known_until(const window_list *windows)
{
    usec_t end = USEC_NEVER;

    LIST_EACH (const struct window *const, item, windows) {
        const struct window *window = *item;
        if (longest_gap(window) == USEC_NEVER)
            continue;
        usec_t last = window->spans.items[window->spans.count - 1].until;
        end = earlier(end, window->until > last ? window->until : last);
    }
    return end;
}

usec_t sched_calendar_end(const struct brain *brain, struct inquiry *inquiry, const struct job *job)
{
    struct calendar_of_job calendar;

    calendar_start(&calendar, brain, inquiry, job);
    usec_t end = earlier(known_until(&calendar.windows), known_until(&calendar.sizes));
    calendar_release(&calendar);
    return end;
}
