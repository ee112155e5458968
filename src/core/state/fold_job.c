/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the fold that is about jobs: from their submission to their end.
 *
 * A report or command about a job that has progressed since then changes nothing.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "core/job/gang_size.h"
#include "core/job/own_speed.h"
#include "core/job/role.h"
#include "core/state/allowance.h"
#include "core/state/fold.h"
#include "core/state/job_speed.h"

static int fold_group(struct state *state, const struct event_group *event, struct error *err)
{
    if (event->id < state->next_id || event->last < event->id)
        return error_set(err, -EBADMSG, "group %" PRIu64 ": its number is taken", event->id);
    if (event->parent && !state_group(state, event->parent))
        return error_set(err, -EBADMSG, "group %" PRIu64 ": no group %" PRIu64, event->id,
                         event->parent);

    struct group *group = mem_zero(1, sizeof(*group));
    *group = (struct group){
        .id = event->id,
        .last = event->last,
        .parent = event->parent,
        .document = event->document,
        .name = mem_string(event->name),
        .user = state_claim_user(state, event->user),
        .max_running = event->max_running,
        .job_count = event->job_count,
        .kind = event->kind,
        .submitted = state->now,
    };
    /* The numbers up to last are spoken for, but its parts still have to come. */
    uint64_t next_id = state->next_id;
    state_link_group(state, group);
    state->next_id = next_id > group->id ? next_id : group->id + 1;
    return 0;
}

/* Work that is known, as it comes. */
static void note_arrival(struct state *state, struct job *job)
{
    const struct request *request = state_request(state, job);
    usec_t run = own_speed_run(job->estimate, job_speeds_of(state, request).mean);
    int64_t milli = request_milli(request, 0, 0);

    job->fair_from = pressure_clock(&state->pressure, state->now, state->capacity.milli);
    if (run > 0 && milli > 0)
        pressure_arrival(&state->pressure, state->now,
                         wide_scale((uint64_t)run, (uint64_t)milli, 1000));
}

static void note_request(struct state *state, const struct request *request)
{
    uint32_t class = class_claim(&state->classes, request);

    demand_note(&state->demand, &state->classes, class, request->members, state->now);
    class_release(&state->classes, class);
}

/* Each of its kinds of members is asked for. Labels are not: those of a job that is forgotten are
 * free for others. */
static void note_demand(struct state *state, const struct job *job)
{
    const struct request *request = state_request(state, job);

    if (request->label_count + request->apart_count > 0 && request->roles_count == 0) {
        struct request plain = *request;
        plain.label_count = plain.apart_count = 0;
        memset(plain.labels, 0, sizeof(plain.labels));
        memset(plain.apart, 0, sizeof(plain.apart));
        note_request(state, &plain);
        return;
    }
    if (request->roles_count == 0) {
        demand_note(&state->demand, &state->classes, job->class, request->members, state->now);
        return;
    }
    for (uint32_t i = 0; i < request->roles_count; i++)
        note_request(state, request_part(request, i));
}

static uint32_t milliseconds_of(usec_t time)
{
    usec_t milliseconds = time > 0 ? time / USEC_PER_MS : 0;

    return milliseconds < UINT32_MAX ? (uint32_t)milliseconds : UINT32_MAX;
}

static int fold_submit(struct state *state, const struct event_submit *event, struct error *err)
{
    int64_t queue = state_find_queue(state, event->queue);

    if (event->id < state->next_id)
        return error_set(err, -EBADMSG, "job %" PRIu64 ": its number is taken", event->id);
    if (queue < 0)
        return error_set(err, -EBADMSG, "job %" PRIu64 ": no queue '%s'", event->id, event->queue);
    if (event->group && !state_group(state, event->group))
        return error_set(err, -EBADMSG, "job %" PRIu64 ": no group %" PRIu64, event->id,
                         event->group);
    if (roles_check(&event->request, err) < 0)
        return error_prefix(err, -EBADMSG, "job %" PRIu64, event->id);
    if (!class_labels_fit(&state->classes, &event->request))
        return error_set(err, -EBADMSG, "job %" PRIu64 ": too many labels", event->id);

    struct job *job = job_create(event->name);
    *job = (struct job){
        .id = event->id,
        .group = event->group,
        .launch = event->launch,
        .name = job->name,
        .run = job->run,
        .submitted = state->now,
        .begin = event->begin,
        .grace = event->grace,
        .max_duration = event->request.max_duration,
        .estimate = event->estimate > 0 ? event->estimate : 0,
        .deadline = event->deadline > 0 ? event->deadline : 0,
        .restart_cost = event->restart_cost > 0 ? event->restart_cost : 0,
        .checkpoint_every = event->checkpoint_every > 0 ? event->checkpoint_every : 0,
        .checkpoint_is_auto = event->checkpoint_auto,
        .checkpoint_takes_ms = milliseconds_of(event->checkpoint_takes),
        .spot = event->request.spot,
        .is_preemptible = event->preemptible,
        .user = state_claim_user(state, event->user),
        .uid = event->uid,
        .gid = event->gid,
        .queue = (uint32_t)queue,
        .class = class_claim(&state->classes, &event->request),
        .priority = event->priority,
        .index = event->index,
        .tariff_most = event->tariff_most,
        .oom_factor = event->oom_factor,
        .retry_max = (uint16_t)(event->retry < UINT16_MAX ? event->retry : UINT16_MAX),
        .needs_expected = event->need_count,
        .is_held = event->held,
        .wall_times = event->wall_times,
        .no_requeue = event->no_requeue,
        .resize = event->resize,
        .goes_on = event->goes_on && request_is_elastic(&event->request),
        .heal_max = (uint16_t)(event->heals < UINT16_MAX ? event->heals : UINT16_MAX),
        .state = JOB_WAITING,
    };
    if (event->external && event->external[0])
        job_claim_run(job)->external = mem_string(event->external);
    if (event->by_job > 0)
        job_claim_run(job)->by_job = event->by_job;
    class_note_user(&state->classes, job->class, job->user);
    allowance_take(state, job->user, event->stored);
    state_link_job(state, job);
    note_arrival(state, job);
    note_demand(state, job);
    state_settle(state, job);
    return 0;
}

static int fold_need(struct state *state, const struct event_need *event, struct error *err)
{
    struct job *job = state_job(state, event->job);
    if (!job || job->needs_expected == 0)
        return error_set(err, -EBADMSG, "need: job %" PRIu64 " expects none", event->job);

    job->needs_expected--;
    struct group *stage = state_stage_of(state, job);
    if (stage && state_group(state, event->on))
        group_note_need(stage, event->on, event->kind);
    if (job->state == JOB_ENDED)
        return 0;
    switch (state_need_answer(state, event->on, event->kind)) {
    case NEED_OPEN:
        need_add(&state->needs, job->id, event->on, event->kind);
        job->needs_left++;
        break;
    case NEED_BROKEN:
        job_claim_run(job)->end.reason = mem_string(JOB_NEEDS_BROKEN);
        state_end_job(state, job, RESULT_CANCELLED);
        return 0;
    case NEED_MET:
        break;
    }
    state_settle(state, job);
    return 0;
}

static void fold_cancel(struct state *state, struct job *job, const struct event_cancel *event)
{
    if (job->state == JOB_ENDED)
        return;
    struct job_run *run = job_claim_run(job);
    job_set_cancel(run, event->user, event->reason);
    run->is_cancel_wanted = true;
    run->is_requeue_wanted = false;
    run->members_next = 0;
    if (job->run->stop_cause == STOP_REQUEUE)
        run->stop_cause = STOP_CANCEL;
    if (job_is_active(job))
        state_notify(state, job, false);
    else
        state_end_job(state, job, RESULT_CANCELLED);
}

/* The needs that were broken: a job that resumes waits again for what may still come, any other
 * runs without them. */
static void settle_broken_needs(struct state *state, struct job *job, bool resumes)
{
    for (uint32_t at = need_first_of(&state->needs, job->id), next; at != 0; at = next) {
        struct need *need = &state->needs.needs.items[at - 1];

        next = need->next_of_job;
        if (!need->is_broken)
            continue;
        need->is_broken = false;
        if (resumes && state_need_answer(state, need->on, need->kind) == NEED_OPEN)
            job->needs_left++;
        else
            need_remove(&state->needs, at);
    }
}

static bool has_need(const struct need_table *needs, uint64_t job, uint64_t on)
{
    for (uint32_t at = need_first_of(needs, job); at != 0;
         at = needs->needs.items[at - 1].next_of_job) {
        if (needs->needs.items[at - 1].on == on)
            return true;
    }
    return false;
}

/* The job waits again for the stages that its stage needs, where those run again. */
static void renew_needs(struct state *state, struct job *job)
{
    const struct group *stage = state_stage_of(state, job);

    for (uint32_t i = 0; stage && i < stage->needs_count; i++) {
        const struct group_need *need = &stage->needs[i];
        if (state_need_answer(state, need->on, need->kind) != NEED_OPEN ||
            has_need(&state->needs, job->id, need->on))
            continue;
        need_add(&state->needs, job->id, need->on, need->kind);
        job->needs_left++;
    }
}

static void fold_requeue(struct state *state, struct job *job, const struct event_requeue *event)
{
    enum requeue_resume resumes = event->resume;

    if (resumes == RESUME_AGAIN && !job_is_active(job) && job->state != JOB_ENDED) {
        renew_needs(state, job);
        state_settle(state, job);
        return;
    }
    if (job_is_active(job)) {
        job_claim_run(job)->is_requeue_wanted = !job->run->is_cancel_wanted;
        job_note_requeue(job, event->user);
        state_notify(state, job, false);
        return;
    }
    if (job->state != JOB_ENDED)
        return;
    job_note_requeue(job, event->user);
    state_count_end(state, job, -1);
    job_clear_end(job);
    job->result = RESULT_NONE;
    struct job_run *run = job_claim_run(job);
    run->ended = 0;
    run->retries = run->heals = 0;
    job->is_held = false;
    job_set_cancel(run, NULL, NULL);
    settle_broken_needs(state, job, resumes != RESUME_ALONE);
    if (resumes == RESUME_AGAIN)
        renew_needs(state, job);
    state_settle(state, job);
}

static int fold_update(struct state *state, struct job *job, const struct event_update *event,
                       struct error *err)
{
    if (event->queue[0] && !job_is_active(job)) {
        int64_t queue = state_find_queue(state, event->queue);
        if (queue < 0)
            return error_set(err, -EBADMSG, "job %" PRIu64 ": no queue '%s'", job->id,
                             event->queue);
        job->queue = (uint32_t)queue;
        job->is_awaited = AWAITED_NOT; /* the jobs that made room for it are of the other queue */
    }
    if (event->has_priority)
        job->priority = event->priority;
    if (event->max_duration > 0)
        job->max_duration = event->max_duration;
    if (event->has_begin && !job_is_active(job)) {
        job->begin = event->begin;
        job->wall_times =
            (uint8_t)((job->wall_times & ~WALL_BEGIN) | (event->begin_is_wall ? WALL_BEGIN : 0));
    }
    if (event->deadline > 0)
        job->deadline = event->deadline;
    if (job_is_active(job))
        state_notify(state, job, false);
    else if (job->state != JOB_ENDED)
        state_settle(state, job);
    return 0;
}

static void fold_foresee(const struct state *state, struct job *job,
                         const struct event_foresee *event)
{
    struct calibration_range range;

    calibration_range(&state->calibration, event->wait, event->is_busy, &range);
    struct job_run *run = job_claim_run(job);
    run->foreseen_at = state->now;
    run->foreseen = (struct calibration_note){
        .wait = event->wait, .low = range.low, .high = range.high, .is_busy = event->is_busy
    };
}

static int fold_forget(struct state *state, uint64_t id, struct error *err)
{
    struct job *job = state_job(state, id);
    struct group *group = state_group(state, id);

    if (job && job->state == JOB_ENDED) {
        state_notify(state, job, true);
        need_remove_of(&state->needs, id);
        state->job_counts[job->state]--;
        *(job->previous ? &job->previous->next : &state->first_job) = job->next;
        *(job->next ? &job->next->previous : &state->last_job) = job->previous;
        pages_remove(&state->jobs, id);
        if (job->run->external)
            map_remove(&state->externals, map_hash(job->run->external, strlen(job->run->external)));
        if (job->run->by_job)
            state_unlink_submitted(state, job);
        class_release(&state->classes, job->class);
        job_destroy(job);
        return 0;
    }
    if (group && group_is_over(group)) {
        *(group->previous ? &group->previous->next : &state->first_group) = group->next;
        *(group->next ? &group->next->previous : &state->last_group) = group->previous;
        map_remove(&state->groups, id);
        group_destroy(group);
        return 0;
    }
    return error_set(err, -EBADMSG, "forget: %" PRIu64 " is not over", id);
}

/* Jobs that may begin by now, or that may go to other machines now. next_begin and next_spot
 * avoid a walk over all jobs each time. */
static void fold_plan(struct state *state)
{
    state->plan_from = state->plan_until;
    state->plan_until = state->next_id;
    if (state->next_begin > state->now && state->next_spot > state->now)
        return;
    state->next_begin = state->next_spot = USEC_NEVER;
    for (struct job *job = state->first_job; job; job = job->next) {
        if (job->state == JOB_WAITING || (job->state == JOB_QUEUED && job->spot == SPOT_PREFER))
            state_settle(state, job);
    }
}

static int fold_job_command(struct state *state, const struct event *event, uint64_t id,
                            struct error *err)
{
    struct job *job = state_job(state, id);
    if (!job)
        return error_set(err, -EBADMSG, "%s: no job %" PRIu64, event_name(event->kind), id);

    switch (event->kind) {
    case EVENT_HOLD:
    case EVENT_RELEASE:
        job->is_held = event->kind == EVENT_HOLD;
        if (!job_is_active(job) && job->state != JOB_ENDED)
            state_settle(state, job);
        return 0;
    case EVENT_CANCEL:
        fold_cancel(state, job, &event->cancel);
        return 0;
    case EVENT_REQUEUE:
        fold_requeue(state, job, &event->requeue);
        return 0;
    case EVENT_CHECKPOINT:
        allowance_take(state, job->user, event->checkpoint.stored);
        fold_checkpoint(state, job, event->checkpoint.attempt);
        return 0;
    case EVENT_UPDATE:
        return fold_update(state, job, &event->update, err);
    case EVENT_GRANT:
        return fold_grant(state, job, &event->grant, err);
    case EVENT_FORESEE:
        fold_foresee(state, job, &event->foresee);
        return 0;
    case EVENT_STOP:
        fold_stop(state, job, &event->stop);
        return 0;
    case EVENT_STARTED:
        fold_started(state, job, &event->started);
        return 0;
    case EVENT_ASSIGNED:
        fold_assigned(state, job, &event->assigned);
        return 0;
    default:
        assert(event->kind == EVENT_ENDED);
        fold_ended(state, job, &event->ended);
        return 0;
    }
}

/* The usage of a job that was forgotten meanwhile is dropped. */
static int fold_usage(struct state *state, const struct event_usage *event, struct error *err)
{
    struct job *job = state_job(state, event->job);

    if (event->usage.sums_count > USAGE_KINDS)
        return error_set(err, -EBADMSG, "job %" PRIu64 ": usage of more kinds than there are",
                         event->job);
    if (!job)
        return 0;
    struct job_run *run = job_claim_run(job);
    usage_destroy(run->usage);
    run->usage = usage_copy(&event->usage);
    run->usage_attempt = event->attempt;
    return 0;
}

static void fold_warn(struct state *state, const struct event_warn *event)
{
    struct job *job = state_job(state, event->job);

    if (!job || !job_is_active(job) || job->run->attempt != event->attempt)
        return;
    struct job_run *run = job_claim_run(job);
    if (event->kind == WARNING_IDLE)
        run->idle_warnings = event->count;
    else
        run->memory_warnings = event->count;
    run->warned = state->now;
}

int fold_job(struct state *state, const struct event *event, struct error *err)
{
    switch (event->kind) {
    case EVENT_GROUP:
        return fold_group(state, &event->group, err);
    case EVENT_SUBMIT:
        return fold_submit(state, &event->submit, err);
    case EVENT_NEED:
        return fold_need(state, &event->need, err);
    case EVENT_FORGET:
        return fold_forget(state, event->forget.id, err);
    case EVENT_PLAN:
        fold_plan(state);
        return 0;
    case EVENT_USAGE:
        return fold_usage(state, &event->usage, err);
    case EVENT_WARN:
        fold_warn(state, &event->warn);
        return 0;
    default:
        /* All others name a job first. */
        return fold_job_command(state, event, event->hold.job, err);
    }
}
