/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/forward.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "forecast/run_time.h"

enum {
    INSTANTS_BETWEEN_LOOKS = 64, /* at the processor's clock */
    PLANS_AT_ONCE_MAX = 100000,  /* more at one instant: the brain never has enough */
};

static usec_t least(usec_t a, usec_t b)
{
    return a < b ? a : b;
}

static usec_t processor_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (usec_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

/* ---- how long they run ---- */

static usec_t started_at(const struct job *job)
{
    return job->run->started >= job->run->granted ? job->run->started : job->run->granted;
}

/* Run time in all, for one that has run for `ran` without an end. */
static usec_t expected_work(const struct state *state, const struct job *job, usec_t ran)
{
    usec_t limit = usec_after(job->run->attained, job->max_duration);

    if (run_time_estimate(state, job) <= ran && !state->settings.predict)
        return limit;
    usec_t usual = run_time_median(state, job, ran);
    return usual < limit ? usual : limit;
}

/* Those of one bucket are alike, and a hundred thousand may be in one. */
static usec_t expected_work_waiting(struct forward *forward, const struct job *job)
{
    uint64_t bucket = (uint64_t)(uintptr_t)job->pending_bucket, known;

    if (bucket == 0 || job->run->attained > 0 || forward->has_begun)
        return expected_work(forward->state, job, job->run->attained);
    if (map_get(&forward->guesses, bucket, &known))
        return (usec_t)known;
    usec_t work = expected_work(forward->state, job, 0);
    map_set(&forward->guesses, bucket, (uint64_t)work);
    return work;
}

static void find_fate(struct forward *forward, const struct job *job, struct forward_job *ret)
{
    struct forward_fate fate = { .work = -1 };

    if (forward->options.fate_of)
        forward->options.fate_of(forward->options.user, job, &fate);
    ret->is_bad = fate.is_bad;
    ret->work = fate.work;
    if (ret->work >= 0)
        return;
    usec_t ran = job->run->attained;
    if (job_is_active(job))
        ret->work = expected_work(forward->state, job, ran + forward->now - started_at(job));
    else
        ret->work = expected_work_waiting(forward, job);
}

/* ---- the jobs ---- */

static struct forward_job *find(struct forward *forward, uint64_t id)
{
    uint64_t place;

    return map_get(&forward->places, id, &place) ? &forward->jobs.items[place] : NULL;
}

static double cost_of(const struct forward_job *kept, usec_t time)
{
    return (double)kept->rate * (double)time / (double)USEC_PER_HOUR;
}

/* When the attempt that begins now, or has begun, is over. */
static void plan_end(struct forward *forward, const struct job *job, struct forward_job *kept)
{
    usec_t left = kept->work - job->run->attained;
    usec_t owed = job->run->preemptions > 0 ? job->restart_cost : 0;
    uint64_t place = (uint64_t)(kept - forward->jobs.items);

    if (kept->work == USEC_NEVER)
        return;
    usec_t end = started_at(job) + owed + (left > 0 ? left : 0);
    kept->end = end > forward->now ? end : forward->now;
    due_add(&forward->dues, (struct due){ kept->end, (uint32_t)place, job->run->attempt });
}

/* From now on, at the prices of now. */
static void price(const struct forward *forward, const struct job *job, struct forward_job *kept)
{
    if (kept->work == USEC_NEVER)
        return;
    kept->rate = state_rate(forward->state, job->run->lease);
    kept->cost += cost_of(kept, kept->end - forward->now);
}

static void keep(struct forward *forward, const struct job *job)
{
    struct forward_job kept = { .id = job->id,
                                .submitted = job->submitted,
                                .start = -1,
                                .attempt = job->run->attempt,
                                .preemptions = job->run->preemptions,
                                .queue = job->queue,
                                .milli = request_milli(state_request(forward->state, job), 0, 0),
                                .was_active = job_is_active(job),
                                .was_held = job->state == JOB_HELD && !forward->has_begun,
                                .is_new = forward->has_begun };

    find_fate(forward, job, &kept);
    map_set(&forward->places, job->id, forward->jobs.count);
    list_add(&forward->jobs, kept);
    if (job_is_active(job))
        plan_end(forward, job, &forward->jobs.items[forward->jobs.count - 1]);
}

/* The jobs that arrived since. */
static void keep_new(struct forward *forward)
{
    const struct job *job = forward->state->last_job;

    if (!job || job->id <= forward->last_id)
        return;
    while (job->previous && job->previous->id > forward->last_id)
        job = job->previous;
    for (; job; job = job->next) {
        keep(forward, job);
        forward->last_id = job->id;
    }
}

struct forward *forward_create(const struct forward_options *options)
{
    struct forward *forward = mem_zero(1, sizeof(*forward));

    forward->options = *options;
    if (forward->options.patience == 0)
        forward->options.patience = FORWARD_PATIENCE;
    forward->state = options->state;
    forward->brain = options->brain;
    forward->from = forward->now = forward->drained = options->now;
    forward->horizon = USEC_NEVER;
    forward->processor_from = processor_time();
    for (const struct job *job = forward->state->first_job; job; job = job->next) {
        if (job->state != JOB_ENDED)
            keep(forward, job);
    }
    forward->last_id = forward->state->last_job ? forward->state->last_job->id : 0;
    forward->has_begun = true;
    map_release(&forward->guesses);
    return forward;
}

void forward_destroy(struct forward *forward)
{
    if (!forward)
        return;
    list_release(&forward->decisions.events);
    list_release(&forward->dues.heap);
    list_release(&forward->jobs);
    map_release(&forward->places);
    map_release(&forward->guesses);
    free(forward);
}

/* ---- what happens ---- */

int forward_tell(struct forward *forward, struct event *event, struct error *err)
{
    size_t before = forward->decisions.events.count;

    if (++forward->events > FORWARD_EVENTS_MAX)
        return error_set(err, -E2BIG, "more than %d events", FORWARD_EVENTS_MAX);
    event->at = forward->now;
    int code = sched_step(forward->brain, event, &forward->decisions, err);
    if (code < 0 || !forward->options.told)
        return code;
    forward->options.told(forward->options.user, event);
    for (size_t i = before; i < forward->decisions.events.count; i++)
        forward->options.told(forward->options.user, &forward->decisions.events.items[i]);
    return 0;
}

/* All members of its attempt end. Members that ended before are told again, without effect: the
 * attempt, and with it the lease, can end before the last place. */
static int tell_ends(struct forward *forward, const struct job *job, bool was_stopped,
                     struct error *err)
{
    uint32_t count = job->run->lease->members_count;
    struct event event = { .kind = EVENT_ENDED,
                           .ended = { .job = job->id,
                                      .attempt = job->run->attempt,
                                      .kind = ENGINE_ENDED,
                                      .exit_code = was_stopped ? -1 : 0,
                                      .signal = was_stopped ? 15 : 0,
                                      .was_stopped = was_stopped,
                                      .reason = "" } };
    int code = 0;

    for (uint32_t place = 0; place < count && job_is_active(job) && code == 0; place++) {
        event.ended.rank = lease_rank(job->run->lease, place);
        code = forward_tell(forward, &event, err);
    }
    return code;
}

static int tell_starts(struct forward *forward, const struct job *job, struct error *err)
{
    uint32_t count = job->run->lease->members_count;
    struct event event = { .kind = EVENT_STARTED,
                           .started = { .job = job->id, .attempt = job->run->attempt } };
    int code = 0;

    for (uint32_t rank = 0; rank < count && code == 0; rank++) {
        event.started.rank = rank;
        code = forward_tell(forward, &event, err);
    }
    return code;
}

/* A job that is to fail is cancelled, so that it is not retried. */
static int end(struct forward *forward, const struct job *job, bool is_bad, struct error *err)
{
    struct event cancel = { .kind = EVENT_CANCEL, .cancel = { .job = job->id, .user = "" } };

    int code = is_bad ? forward_tell(forward, &cancel, err) : 0;
    return code < 0 ? code : tell_ends(forward, job, is_bad, err);
}

static int end_those_due(struct forward *forward, struct error *err)
{
    struct due due;
    int code = 0;

    while (code == 0 && due_take(&forward->dues, forward->now, &due)) {
        const struct forward_job *kept = &forward->jobs.items[due.job];
        const struct job *job = state_job(forward->state, kept->id);
        if (!job || !job_is_active(job) || job->run->attempt != due.attempt)
            continue;
        code = end(forward, job, kept->is_bad, err);
    }
    return code;
}

static int stop(struct forward *forward, const struct event_stop *decision, struct error *err)
{
    const struct job *job = state_job(forward->state, decision->job);
    struct forward_job *kept = find(forward, decision->job);

    if (!job || !kept || !job_is_active(job))
        return 0;
    if (decision->cause == STOP_PREEMPT || decision->cause == STOP_RESCUE) {
        kept->preemptions++;
        kept->lost += job->restart_cost + job_unsaved(job, forward->now);
    }
    if (kept->end > forward->now)
        kept->cost -= cost_of(kept, kept->end - forward->now);
    return tell_ends(forward, job, true, err);
}

static int start(struct forward *forward, const struct event_grant *decision, struct error *err)
{
    const struct job *job = state_job(forward->state, decision->job);
    struct forward_job *kept = find(forward, decision->job);

    if (!job || !kept || job->state != JOB_GRANTED)
        return 0;
    if (kept->start < 0 && !kept->was_active)
        kept->start = forward->now;
    kept->attempt = job->run->attempt;
    kept->milli = job->run->lease->milli;
    forward->drained = forward->now;
    int code = tell_starts(forward, job, err);
    if (code < 0)
        return code;
    if (job->estimate > 0 && state_request(forward->state, job)->speeds_count > 0)
        find_fate(forward, job, kept); /* its model is known now */
    plan_end(forward, job, kept);
    price(forward, job, kept);
    return 0;
}

/* A job in a second event was granted again meanwhile: decisions come in order, and their leases
 * are not used. */
static int carry_out(struct forward *forward, struct error *err)
{
    LIST(struct event) decided = { 0 };
    int code = 0;

    for (size_t i = 0; i < forward->decisions.events.count; i++)
        list_add(&decided, forward->decisions.events.items[i]);
    forward->decisions.events.count = 0;
    for (size_t i = 0; i < decided.count && code == 0; i++) {
        if (decided.items[i].kind == EVENT_STOP)
            code = stop(forward, &decided.items[i].stop, err);
        else if (decided.items[i].kind == EVENT_GRANT)
            code = start(forward, &decided.items[i].grant, err);
    }
    list_release(&decided);
    return code;
}

static bool waits(const struct job *job)
{
    return job && (job->state == JOB_QUEUED || job->state == JOB_WAITING);
}

static bool has_waiting(const struct forward *forward)
{
    const uint32_t *counts = forward->state->job_counts;

    return counts[JOB_QUEUED] + counts[JOB_WAITING] > 0;
}

/* Whether a job waits whose start is asked for. */
static bool has_asked(const struct forward *forward)
{
    const uint32_t *counts = forward->state->job_counts;
    uint32_t ambient = 0;

    for (size_t i = forward->first_come; forward->options.is_ambient && i < forward->jobs.count;
         i++)
        ambient += waits(state_job(forward->state, forward->jobs.items[i].id));
    return counts[JOB_QUEUED] + counts[JOB_WAITING] > ambient;
}

/* Before then it is not asked. */
static usec_t next_plan(const struct forward *forward)
{
    return forward->had_waiting ? forward->planned + forward->options.grain : 0;
}

static int settle(struct forward *forward, bool *ret_has_decided, struct error *err)
{
    int code = 0;

    if (forward->now < next_plan(forward))
        return 0;
    forward->planned = forward->now;
    for (uint32_t i = 0; code == 0 && sched_next_wakeup(forward->brain) <= forward->now; i++) {
        struct event plan = { .kind = EVENT_PLAN };
        if (i == PLANS_AT_ONCE_MAX)
            return error_set(err, -ELOOP, "more than %" PRIu32 " plans at one instant", i);
        code = forward_tell(forward, &plan, err);
        *ret_has_decided |= forward->decisions.events.count > 0;
        if (code == 0)
            code = carry_out(forward, err);
    }
    forward->had_waiting = has_waiting(forward);
    return code;
}

static usec_t next_outside(const struct forward *forward)
{
    return forward->options.next ? forward->options.next(forward->options.user) : USEC_NEVER;
}

/* What runs costs from now on; what was granted and has not begun yet begins; what was to be
 * stopped stops. */
static int begin(struct forward *forward, struct error *err)
{
    int code = 0;

    for (const struct job *job = forward->state->first_job, *next; job && code == 0; job = next) {
        struct forward_job *kept = job_is_active(job) ? find(forward, job->id) : NULL;
        next = job->next;
        if (kept)
            price(forward, job, kept);
        if (job->state == JOB_GRANTED)
            code = tell_starts(forward, job, err);
        else if (job->state == JOB_STOPPING)
            code = tell_ends(forward, job, true, err);
    }
    return code;
}

/* The next instant; false: it is over. */
static bool advance(struct forward *forward, uint32_t idle)
{
    usec_t outside = next_outside(forward), next = least(due_first(&forward->dues), outside);
    usec_t wakeup = sched_next_wakeup(forward->brain), plan = next_plan(forward);

    wakeup = wakeup > plan ? wakeup : plan;
    if ((outside == USEC_NEVER || forward->options.is_ambient) && !has_asked(forward))
        return false;
    if (next == USEC_NEVER && idle > forward->options.patience)
        return false; /* jobs that still wait never start */
    next = least(next, wakeup);
    if (next == USEC_NEVER)
        return false;
    forward->now = next > forward->now ? next : forward->now;
    return true;
}

usec_t forward_processor(const struct forward *forward)
{
    return processor_time() - forward->processor_from;
}

/* Now and then: enough of it. What is known is all that came before now. */
static bool is_out_of_time(struct forward *forward, uint32_t instants)
{
    if (forward->options.processor == 0 || instants % INSTANTS_BETWEEN_LOOKS != 0 ||
        forward_processor(forward) < forward->options.processor)
        return false;
    forward->horizon = forward->now;
    return true;
}

int forward_go(struct forward *forward, struct error *err)
{
    uint32_t idle = 0, instants = 0;

    keep_new(forward);
    forward->first_come = forward->jobs.count;
    int code = begin(forward, err);
    for (;;) {
        bool has_decided = false;
        if (code == 0)
            code = settle(forward, &has_decided, err);
        idle = has_decided ? 0 : idle + 1;
        if (code < 0 || is_out_of_time(forward, ++instants) || !advance(forward, idle))
            return code;
        if (forward->now - forward->from > FORWARD_SPAN_MAX)
            return 0; /* jobs that still wait are reported as never starting */
        code = end_those_due(forward, err);
        if (code == 0 && next_outside(forward) <= forward->now) {
            code = forward->options.come(forward->options.user, forward, forward->now, err);
            keep_new(forward);
        }
    }
}
