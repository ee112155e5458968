/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/sched.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "sched/brain.h"
#include "sched/job_facts.h"
#include "sched/preemption/reclaim.h"

/* When it is expected to end; not before its window is over. */
static usec_t expected_end(const struct state *state, const struct job *job)
{
    usec_t start =
        job->state != JOB_GRANTED && job->run->started > 0 ? job->run->started : job->run->granted;
    usec_t end = usec_after(start, job->run->window);
    usec_t limit = job_end_of(state, job);

    return end < limit ? end : limit;
}

/* Its limit was extended while it runs; without an estimate, the limit is its window. */
static void follow_limit(struct job *job)
{
    if (job->estimate == 0 && job->max_duration != USEC_NEVER && job->run->window > 0 &&
        job->run->window < job->max_duration)
        job_claim_run(job)->window = job->max_duration;
}

/* It is being stopped for another job of its queue. */
static bool is_yielding(const struct job *job)
{
    return job->state == JOB_STOPPING && job->run->stop_cause == STOP_PREEMPT &&
           job->run->stop_rule == STOP_IN_QUEUE;
}

static void leave_ends(struct brain *brain, struct job *job)
{
    struct job_run *run = job_claim_run(job);

    if (run->is_among_ends)
        ends_remove(&brain->ends, run->expected_end, job);
    if (run->is_yielding)
        ends_remove(&brain->yielding, run->expected_end, job);
    run->is_among_ends = run->is_yielding = false;
}

static void join_ends(struct brain *brain, struct job *job, usec_t end)
{
    struct job_run *run = job_claim_run(job);

    run->is_among_ends = true;
    run->is_yielding = is_yielding(job);
    run->expected_end = end;
    ends_add(&brain->ends, end, job);
    if (run->is_yielding)
        ends_add(&brain->yielding, end, job);
}

/* Where it stands among the ends. */
static void update_end(struct brain *brain, struct job *job, bool is_active)
{
    if (is_active)
        follow_limit(job);
    usec_t end = is_active ? expected_end(brain->state, job) : 0, before = job->run->expected_end;
    bool was_active = job->run->is_among_ends;

    if (!was_active && !is_active)
        return;
    if (was_active && is_active && before == end && job->run->is_yielding == is_yielding(job))
        return;
    leave_ends(brain, job);
    if (was_active && is_active && !brain->is_moved && brain->reserve.promises.kept > 0)
        promise_shift(&brain->reserve.promises, &brain->layout, job->run->lease, before, end);
    job_claim_run(job)->expected_end = end;
    if (is_active)
        join_ends(brain, job, end);
}

/* A job that is being stopped, or is at its limit, ends now: that makes no other job end. */
static void extend_windows(struct brain *brain)
{
    struct state *state = brain->state;
    job_list late = { 0 };

    for (struct ends_walk at = ends_first(&brain->ends); at.job && at.end <= state->now;
         ends_next(&at)) {
        if (at.job->state != JOB_STOPPING && job_end_of(state, at.job) > state->now)
            list_add(&late, at.job);
    }
    for (size_t i = 0; i < late.count; i++) {
        job_claim_run(late.items[i])->window = run_time_window(state, late.items[i]);
        update_end(brain, late.items[i], true);
    }
    list_release(&late);
}

static void on_job(void *user, struct job *job, bool is_gone)
{
    struct brain *brain = user;
    bool was_active = job->run->is_among_ends;
    bool is_active = job_is_active(job) && !is_gone;
    bool was_pending = job->pending_bucket != NULL;
    struct plain_key before = plain_key_of(job);

    brain->changes++;
    if (is_gone)
        pending_remove(&brain->pending, job);
    else
        pending_update(&brain->pending, brain->state, job);
    if (was_pending && job->pending_bucket && !plain_is_same(before, plain_key_of(job)))
        plain_renew(&brain->plain, brain->state, job);
    plain_note(&brain->plain, brain->state, job, is_gone);
    preempt_note(&brain->preempt, job, is_gone);
    elastic_note(&brain->elastic, brain->state, job, is_gone);
    update_end(brain, job, is_active);
    if (is_active)
        brain_watch(brain, job);
    /* One that no longer waits may have kept others back. */
    if (was_active != is_active || was_pending || job->state == JOB_QUEUED ||
        job->run->wants_attention)
        brain->is_dirty = true;
}

static void on_lease(void *user, struct job *job, int sign)
{
    struct brain *brain = user;

    brain->is_dirty = true;
    brain->changes++;
    if (sign > 0 && job->run->is_among_ends) { /* a smaller one than it had */
        leave_ends(brain, job);
        join_ends(brain, job, job->run->expected_end);
    }
    if (brain->is_moved)
        return;
    fleet_take(&brain->fleet, job->run->lease, sign);
    estimator_lease(&brain->estimator, &brain->layout, job->run->lease, sign);
    cells_take(&brain->cells, &brain->layout, job->run->lease,
               cells_guest_of(&brain->cells, job->queue, job->is_preemptible), sign);
    usec_t end = sign > 0             ? expected_end(brain->state, job)
                 : job_is_moving(job) ? 0 /* the promises that it moves for know it as gone */
                                      : job->run->expected_end;
    reserve_account(&brain->reserve, job->run->lease, end, sign);
}

/* What a brain knows beside the state, from the state alone. */
static void learn_state(struct brain *brain)
{
    struct state *state = brain->state;

    brain->is_dirty = true;
    brain->is_moved = true;
    brain->fleet.is_now = true;
    brain->scorer.typical = &brain->typical;
    brain->ranker.state = state;
    brain->review = USEC_NEVER;
    brain->passed = state->agenda.passed;
    brain->reclaim.review = USEC_NEVER;
    brain->elastic.review = USEC_NEVER;
    for (size_t i = 0; i < state->nodes.count; i++)
        brain->is_going |= state->nodes.items[i].going_at > 0;
    brain->is_sick = true;
    for (struct job *job = state->first_job; job; job = job->next) {
        job->pending_next = job->pending_previous = NULL; /* of an earlier brain */
        job->pending_bucket = NULL;
        job->line_next = job->line_previous = NULL;
        job->preempt_place = 0;
        job->plain_real = 0;
        if (job->run != &job_no_run) {
            struct job_run *run = job_claim_run(job);
            run->expected_end = 0;
            run->is_among_ends = run->is_yielding = run->wants_attention = false;
            run->window = job_is_active(job) ? run_time_window(state, job) : 0;
            run->usual = run->window;
        }
        on_job(brain, job, false);
    }
}

static void forget_state(struct brain *brain)
{
    plain_release(&brain->plain);
    list_release(&brain->claims);
    admissions_release(&brain->admissions);
    list_release(&brain->running_work);
    pending_release(&brain->pending);
    order_release(&brain->order);
    reserve_release(&brain->reserve);
    keepouts_release(&brain->keepouts);
    list_release(&brain->budgets);
    list_release(&brain->reserved_shares);
    list_release(&brain->time_limits);
    estimator_release(&brain->estimator);
    preempt_release(&brain->preempt);
    reclaim_release(&brain->reclaim);
    elastic_release(&brain->elastic);
    defrag_release(&brain->defrag);
    ends_release(&brain->ends);
    ends_release(&brain->yielding);
    shapes_release(&brain->shapes);
    cells_release(&brain->cells);
    scorer_release(&brain->scorer);
    fragmentation_release(&brain->typical);
    fleet_release(&brain->fleet);
    layout_release(&brain->layout);
    list_release(&brain->attention);
    list_release(&brain->fits);
    LIST_EACH (struct faster_line, line, &brain->busy)
        list_release(&line->gpus);
    list_release(&brain->busy);
    list_release(&brain->awaited);
    arena_release(&brain->arena);
}

struct brain *brain_create(struct state *state)
{
    static atomic_uint_fast64_t number; /* tells followers apart, and steers no decision */
    struct brain *brain = mem_zero(1, sizeof(*brain));

    assert(!state->on_job && !state->on_lease);
    brain->state = state;
    brain->number = atomic_fetch_add(&number, 1) + 1;
    state->on_job = on_job;
    state->on_lease = on_lease;
    state->on_lease_user = brain;
    state->on_job_user = brain;
    learn_state(brain);
    return brain;
}

void brain_destroy(struct brain *brain)
{
    if (!brain)
        return;
    brain->state->on_job = NULL;
    brain->state->on_lease = NULL;
    forget_state(brain);
    free(brain);
}

/* As if it had just been put onto the state: from here on a new brain decides the same. */
static void start_afresh(struct brain *brain)
{
    struct state *state = brain->state;
    uint64_t number = brain->number, changes = brain->changes;

    forget_state(brain);
    *brain = (struct brain){ .state = state, .number = number, .changes = changes };
    learn_state(brain);
}

/* Whether the event may change nodes, devices, or which jobs may use them. */
static bool moves(const struct brain *brain, const struct event *event)
{
    switch (event->kind) {
    case EVENT_BOOT:
    case EVENT_NODE:
    case EVENT_DEVICE:
    case EVENT_DRAIN:
    case EVENT_POOL:
    case EVENT_POOL_REMOVE:
    case EVENT_SETTINGS:
        return true;
    case EVENT_QUEUE:
    case EVENT_QUEUE_REMOVE:
        return brain->layout.has_static_pools || cells_is_any(&brain->cells) ||
               (event->kind == EVENT_QUEUE && event->queue.cells_count > 0);
    default:
        return false;
    }
}

/* Asked of the state: the event's own words may be what the fold has replaced. */
static bool makes_sick(const struct state *state, const struct event *event)
{
    int64_t device =
        event->kind == EVENT_DEVICE ? state_find_device(state, event->device.uuid) : -1;

    return device >= 0 && state->devices.items[device].sick;
}

/* Whether the event is ASSIGNED, and the job holds a faulty device: before or after, it may be
 * another job's by the exchange. */
static bool assigns_sick(const struct state *state, const struct event *event)
{
    const struct job *job =
        event->kind == EVENT_ASSIGNED ? state_job(state, event->assigned.job) : NULL;
    const struct lease *lease = job ? job->run->lease : NULL;

    for (uint32_t i = 0; lease && i < lease->slices_count; i++) {
        if (state->devices.items[lease->slices[i].device].sick)
            return true;
    }
    return false;
}

static void note_world(struct brain *brain, const struct event *event)
{
    int64_t queue =
        event->kind == EVENT_QUEUE ? state_find_queue(brain->state, event->queue.name) : -1;

    brain->is_moved |= moves(brain, event);
    brain->is_going |= event->kind == EVENT_NODE && event->node.going_at > 0;
    brain->is_sick |= event->kind == EVENT_SETTINGS || makes_sick(brain->state, event);
    if (queue >= 0)
        preempt_note_queue(&brain->preempt, brain->state, (uint32_t)queue);
    else if (event->kind != EVENT_PRICE)
        preempt_note_world(&brain->preempt);
}

/* Time passed an edge, or edges are others: whatever holds for queues and pools may be, too. */
static void note_hours(struct brain *brain)
{
    const struct state *state = brain->state;

    if (brain->passed == state->agenda.passed)
        return;
    brain->passed = state->agenda.passed;
    brain->is_dirty = true;
    for (size_t i = 0; i < state->pools.count; i++)
        brain->is_moved |= state->pools.items[i].during.count > 0;
    preempt_note_world(&brain->preempt);
}

/* Whether the queue of such an event bounds users. */
static bool has_limits(const struct state *state, const struct event *event)
{
    int64_t queue = event->kind == EVENT_QUEUE ? state_find_queue(state, event->queue.name) : -1;

    return queue >= 0 && queue_bounds_users(&state->queues.items[queue]);
}

int sched_fold(struct brain *brain, const struct event *event, struct error *err)
{
    if (event_is_of_world(event->kind) || event->kind == EVENT_PLAN || event->kind == EVENT_UPDATE)
        brain->is_dirty = true;
    brain->changes++;
    estimator_forget(&brain->estimator);
    bool had_windows = brain->state->agenda.windows.count > 0;
    bool had_limits = has_limits(brain->state, event);
    brain->is_sick |= assigns_sick(brain->state, event);
    int code = state_apply(brain->state, event, err);
    brain->is_sick |= assigns_sick(brain->state, event);
    if (event_is_of_world(event->kind))
        note_world(brain, event);
    bool is_sorted = event->kind != EVENT_RESERVATION && event->kind != EVENT_RESERVATION_REMOVE &&
                     had_windows == (brain->state->agenda.windows.count > 0) &&
                     had_limits == has_limits(brain->state, event);
    /* Jobs of users with reservations, limits or budgets, and, with windows, jobs that may stay
     * longer, have buckets of their own. */
    for (struct job *job = brain->state->first_job; code == 0 && !is_sorted && job;
         job = job->next) {
        if (job->pending_bucket)
            pending_update(&brain->pending, brain->state, job);
    }
    note_hours(brain);
    if (code == 0 && event->kind == EVENT_BOOT)
        start_afresh(brain);
    return code;
}

int sched_step(struct brain *brain, const struct event *event, struct decisions *decisions,
               struct error *err)
{
    int code = sched_fold(brain, event, err);
    if (code < 0 || event->kind != EVENT_PLAN)
        return code;

    arena_clear(&brain->arena);
    if (brain->is_moved)
        room_made_forget_back(&brain->reclaim, brain->state);
    brain_refresh(brain);
    brain_shut_gates(brain); /* what jobs hold decides what is kept */
    brain->review = USEC_NEVER;
    brain->budgets.count = 0;
    plain_advance(&brain->plain, brain->state, brain->ends.count);
    plan_stops(brain, decisions);
    plan_evictions(brain, decisions);
    extend_windows(brain);
    plan_awaited(brain, decisions);
    plan_shrinks(brain, decisions);
    plan_moves(brain, decisions);
    plan_preempt(brain, decisions);
    plan_grants(brain, decisions);
    plan_grows(brain, decisions);
    plan_evictions(brain, NULL);
    plain_set_rates(&brain->plain, brain->state);
    estimate_note(brain, decisions);
    assert(!brain->is_moved);
    brain->is_dirty = false;
    brain->changes++;
    return 0;
}

bool sched_refresh(struct brain *brain)
{
    /* The weights stay as the last plan had them: when they are set anew is a matter of plans. */
    if (brain->is_moved || brain->scorer.layout_version != brain->layout.version)
        return false;
    return shapes_refresh(&brain->shapes, brain->state, &brain->scorer, &brain->fleet);
}

usec_t sched_next_wakeup(const struct brain *brain)
{
    usec_t wakeup = brain->state->next_begin;

    if (brain->is_dirty)
        return brain->state->now;
    wakeup = brain->state->next_spot < wakeup ? brain->state->next_spot : wakeup;
    usec_t deadline = time_limit_first(&brain->time_limits);
    wakeup = brain->review < wakeup ? brain->review : wakeup;
    wakeup = brain->state->agenda.next_edge < wakeup ? brain->state->agenda.next_edge : wakeup;
    wakeup = deadline < wakeup ? deadline : wakeup;
    wakeup = brain->preempt.review < wakeup ? brain->preempt.review : wakeup;
    wakeup = brain->elastic.review < wakeup ? brain->elastic.review : wakeup;
    if (brain->pending.count > 0)
        wakeup = brain->reclaim.review < wakeup ? brain->reclaim.review : wakeup;
    return wakeup;
}
