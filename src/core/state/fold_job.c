/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the fold that is about jobs: from their submission to their end.
 *
 * What an engine or a person says about a job that is further on already changes nothing: it
 * was true when it was said.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "core/job/checkpoint_interval.h"
#include "core/job/gang_size.h"
#include "core/job/role.h"
#include "core/state/rescue.h"
#include "core/state/state.h"

static void notify(struct state *state, struct job *job, bool is_gone)
{
    if (state->on_job)
        state->on_job(state->on_job_user, job, is_gone);
}

/* Waits for GPUs or holds them. */
static bool wants_gpus(enum job_state state)
{
    return state >= JOB_QUEUED && state <= JOB_STOPPING;
}

static void become(struct state *state, struct job *job, enum job_state to)
{
    assert(job->state == to || job_may_become(job->state, to));
    if (wants_gpus(job->state) != wants_gpus(to))
        state_want(state, job, wants_gpus(to) ? 1 : -1);
    state->job_counts[job->state]--;
    state->job_counts[to]++;
    state_note_state(state, job, (enum job_state)job->state, to);
    job->state = (uint8_t)to;
    job->is_awaited = AWAITED_NOT;
    if (to == JOB_QUEUED)
        job->queued = state->now;
}

/* Where a job stands that neither holds anything nor is over. */
static enum job_state standing(const struct state *state, const struct job *job)
{
    if (job->is_held)
        return JOB_HELD;
    return job->needs_left > 0 || job->needs_expected > 0 || job->begin > state->now ? JOB_WAITING
                                                                                     : JOB_QUEUED;
}

static void settle(struct state *state, struct job *job)
{
    enum job_state to = standing(state, job);

    if (job->begin > state->now && job->begin < state->next_begin)
        state->next_begin = job->begin;
    if (to != job->state)
        become(state, job, to);
    uint32_t old = state_settle_spot(state, job);
    notify(state, job, false);
    if (old > 0)
        class_release(&state->classes, old - 1);
}

/* What `on` did may decide what waits for it. Ends that follow from it are put on the list. */
typedef LIST(uint64_t) id_list;

static void end_job(struct state *state, struct job *job, enum job_result result);

static void decide_needs(struct state *state, uint64_t on, id_list *broken)
{
    for (uint32_t at = need_first(&state->needs, on), next; at != 0; at = next) {
        const struct need need = state->needs.needs.items[at - 1];
        enum need_answer answer = state_need_answer(state, on, need.kind);
        struct job *job = state_job(state, need.job);

        next = need.next;
        if (answer == NEED_OPEN)
            continue;
        need_remove(&state->needs, at);
        if (!job)
            continue;
        assert(job->needs_left > 0);
        if (answer == NEED_BROKEN && job->state != JOB_ENDED) {
            list_add(broken, job->id); /* counted until then, so that no other need lets it go */
            continue;
        }
        job->needs_left--; /* also of one that is over: it may be run once more */
        if (job->state != JOB_ENDED && !job_is_active(job))
            settle(state, job);
    }
}

static void decide_needs_of_groups(struct state *state, uint64_t group_id, id_list *broken)
{
    for (struct group *group = state_group(state, group_id); group;
         group = state_group(state, group->parent))
        decide_needs(state, group->id, broken);
}

static void count_end_in_groups(struct state *state, const struct job *job, int sign)
{
    for (struct group *group = state_group(state, job->group); group;
         group = state_group(state, group->parent)) {
        group->ended_count += (uint32_t)sign;
        if (job->result != RESULT_OK)
            group->bad_count += (uint32_t)sign;
        group->ended = group_is_over(group) ? state->now : 0;
    }
}

/* The job is over, and with it, perhaps, those that needed it. No recursion: a list of ends. */
static void end_job(struct state *state, struct job *job, enum job_result result)
{
    id_list ends = { 0 };

    become(state, job, JOB_ENDED);
    job->result = (uint8_t)result;
    job_claim_run(job)->ended = state->now;
    list_add(&ends, job->id);
    for (size_t i = 0; i < ends.count; i++) {
        struct job *ended = state_job(state, ends.items[i]);
        if (i > 0) {
            ended->needs_left--;
            if (ended->state == JOB_ENDED || job_is_active(ended))
                continue;
            become(state, ended, JOB_ENDED);
            ended->result = RESULT_CANCELLED;
            struct job_run *run = job_claim_run(ended);
            run->ended = state->now;
            free(run->end.reason);
            run->end.reason = mem_string("what it needs can't happen any more");
        }
        count_end_in_groups(state, ended, 1);
        notify(state, ended, false);
        decide_needs(state, ended->id, &ends);
        decide_needs_of_groups(state, ended->group, &ends);
    }
    list_release(&ends);
}

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
    int64_t milli = request_milli(state_request(state, job), 0, 0);

    job->fair_from = pressure_clock(&state->pressure, state->now, state->capacity.milli);
    if (job->estimate > 0 && milli > 0)
        pressure_arrival(&state->pressure, state->now,
                         wide_scale((uint64_t)job->estimate, (uint64_t)milli, 1000));
}

/* Each of its kinds of members is asked for. */
static void note_demand(struct state *state, const struct job *job)
{
    const struct request *request = state_request(state, job);

    if (request->roles_count == 0) {
        demand_note(&state->demand, &state->classes, job->class, request->members, state->now);
        return;
    }
    for (uint32_t i = 0; i < request->roles_count; i++) {
        const struct request *part = request_part(request, i);
        uint32_t class = class_claim(&state->classes, part);
        demand_note(&state->demand, &state->classes, class, part->members, state->now);
        class_release(&state->classes, class);
    }
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
        .retry_max = (uint16_t)(event->retry < UINT16_MAX ? event->retry : UINT16_MAX),
        .needs_expected = event->need_count,
        .is_held = event->held,
        .no_requeue = event->no_requeue,
        .resize = event->resize,
        .goes_on = event->goes_on && request_is_elastic(&event->request),
        .heal_max = (uint16_t)(event->heals < UINT16_MAX ? event->heals : UINT16_MAX),
        .state = JOB_WAITING,
    };
    state_link_job(state, job);
    note_arrival(state, job);
    note_demand(state, job);
    settle(state, job);
    return 0;
}

static int fold_need(struct state *state, const struct event_need *event, struct error *err)
{
    struct job *job = state_job(state, event->job);
    if (!job || job->needs_expected == 0)
        return error_set(err, -EBADMSG, "need: job %" PRIu64 " expects none", event->job);

    job->needs_expected--;
    if (job->state == JOB_ENDED)
        return 0;
    switch (state_need_answer(state, event->on, event->kind)) {
    case NEED_OPEN:
        need_add(&state->needs, job->id, event->on, event->kind);
        job->needs_left++;
        break;
    case NEED_BROKEN:
        job_claim_run(job)->end.reason = mem_string("what it needs can't happen any more");
        end_job(state, job, RESULT_CANCELLED);
        return 0;
    case NEED_MET:
        break;
    }
    settle(state, job);
    return 0;
}

static void fold_cancel(struct state *state, struct job *job, const char *user)
{
    if (job->state == JOB_ENDED)
        return;
    struct job_run *run = job_claim_run(job);
    free(run->cancelled_by);
    run->cancelled_by = mem_string(user);
    run->is_cancel_wanted = true;
    run->is_requeue_wanted = false;
    run->members_next = 0;
    if (job->run->stop_cause == STOP_REQUEUE)
        run->stop_cause = STOP_CANCEL;
    if (job_is_active(job))
        notify(state, job, false);
    else
        end_job(state, job, RESULT_CANCELLED);
}

static void clear_end(struct job *job)
{
    struct job_run *run = job_claim_run(job);

    free(run->end.reason);
    run->end = (struct job_end){ 0 };
    run->stop_cause = STOP_NONE;
    run->is_cancel_wanted = false;
    run->is_requeue_wanted = false;
    run->members_next = 0;
}

static void fold_requeue(struct state *state, struct job *job)
{
    if (job_is_active(job)) {
        job_claim_run(job)->is_requeue_wanted = !job->run->is_cancel_wanted;
        notify(state, job, false);
        return;
    }
    if (job->state != JOB_ENDED)
        return;
    count_end_in_groups(state, job, -1);
    clear_end(job);
    job->result = RESULT_NONE;
    struct job_run *run = job_claim_run(job);
    run->ended = 0;
    run->retries = run->heals = 0;
    job->is_held = false;
    free(run->cancelled_by);
    run->cancelled_by = NULL;
    settle(state, job);
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
        job->is_awaited = AWAITED_NOT; /* those who made room for it are of the other queue */
    }
    if (event->has_priority)
        job->priority = event->priority;
    if (event->max_duration > 0)
        job->max_duration = event->max_duration;
    if (event->has_begin && !job_is_active(job))
        job->begin = event->begin;
    if (job_is_active(job))
        notify(state, job, false);
    else if (job->state != JOB_ENDED)
        settle(state, job);
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

static int fold_grant(struct state *state, struct job *job, const struct event_grant *event,
                      struct error *err)
{
    if (job->state != JOB_QUEUED || event->attempt != job->run->attempt + 1)
        return error_set(err, -EBADMSG, "grant: job %" PRIu64 " is %s", job->id,
                         job_state_name(job->state));
    if (event->lease.members_count == 0 || !lease_is_plausible(&event->lease) ||
        event->lease.roles_count != state_request(state, job)->roles_count)
        return error_set(err, -EBADMSG, "grant: job %" PRIu64 ": a lease that makes no sense",
                         job->id);
    for (uint32_t i = 0; i < event->lease.members_count; i++) {
        if (event->lease.members[i].node >= state->nodes.count)
            return error_set(err, -EBADMSG, "grant: job %" PRIu64 ": no such machine", job->id);
    }
    for (uint32_t i = 0; i < event->lease.slices_count; i++) {
        if (event->lease.slices[i].device >= state->devices.count ||
            event->lease.slices[i].pool >= state->pools.count)
            return error_set(err, -EBADMSG, "grant: job %" PRIu64 ": no such device", job->id);
    }

    if (job->run->members_next > 0 && job->run->resized >= job->run->moved)
        job_claim_run(job)->resized_to = event->lease.members_count;
    clear_end(job);
    if (job->run->foreseen_at > 0 && job->run->attempt == 0)
        calibration_learn(&state->calibration, &job->run->foreseen,
                          state->now - job->run->foreseen_at);
    struct job_run *run = job_claim_run(job);
    run->idle_warnings = run->memory_warnings = 0;
    run->lease = lease_copy(&event->lease);
    lease_complete(run->lease);
    run->member_states = mem_zero(event->lease.members_count, 1);
    run->members_started = run->members_ended = run->members_lost = 0;
    run->attempt = event->attempt;
    run->granted = state->now;
    run->checkpointed = run->unsaved = 0;
    move_end(state, run);
    run->gpus_milli_last = (uint32_t)event->lease.milli;
    run->is_backfill = event->is_backfill;
    run->tier = event->tier;
    if (job->checkpoint_is_auto)
        job->checkpoint_every = daly_interval(job_checkpoint_takes(job), state_mtbf(state, job));
    become(state, job, JOB_GRANTED);
    state_charge(state, job, 1);
    notify(state, job, false);
    return 0;
}

static void fold_stop(struct state *state, struct job *job, const struct event_stop *event)
{
    struct job *other = event->other ? state_job(state, event->other) : NULL;

    if (job->state != JOB_GRANTED && job->state != JOB_RUNNING)
        return;
    struct job_run *run = job_claim_run(job);
    run->stop_cause = event->cause;
    if (event->cause == STOP_PREEMPT) {
        run->stop_rule = event->rule;
        run->stopped_for = event->other;
        run->lost += event->lost > 0 ? event->lost : 0;
        run->unsaved = job_unsaved(job, state->now);
    }
    if (event->cause == STOP_RESIZE) {
        run->members_next = event->members;
        run->resized_from = run->lease->members_count;
        run->resized_to = event->members;
        run->resized_for = event->other;
        run->resize_rule = event->rule;
        run->resized = state->now;
        run->lost += event->lost > 0 ? event->lost : 0;
    }
    if (event->cause == STOP_MOVE)
        move_begin(state, job, event);
    if (event->cause == STOP_RESCUE && event->device > 0 && event->device <= state->devices.count) {
        rescue_note(state, job, event->device - 1);
        run->lost += event->lost > 0 ? event->lost : 0;
        run->unsaved = rescue_unsaved(job, run->rescued_harm, state->now);
    }
    if (stop_rule_is_of_time(event->rule)) {
        run->stop_rule = event->rule;
        run->stopped_for = 0;
    }
    if (other && other->state == JOB_QUEUED)
        other->is_awaited = event->rule == STOP_IN_QUEUE ? AWAITED_IN_QUEUE : AWAITED_FROM_OTHERS;
    become(state, job, JOB_STOPPING);
    notify(state, job, false);
}

/* Whom it is about: a place in the lease, or false for what is of an earlier time. */
static bool find_member(const struct job *job, uint32_t attempt, uint32_t rank, uint32_t *ret_place)
{
    if (!job_is_active(job) || job->run->attempt != attempt)
        return false;
    *ret_place = lease_place(job->run->lease, rank);
    return *ret_place < job->run->lease->members_count;
}

static void fold_started(struct state *state, struct job *job, const struct event_started *event)
{
    uint32_t place;

    if (!find_member(job, event->attempt, event->rank, &place) ||
        job->run->member_states[place] != MEMBER_GRANTED)
        return;
    struct job_run *run = job_claim_run(job);
    run->member_states[place] = MEMBER_STARTED;
    run->isolation = (struct engine_isolation){
        .processes = event->processes,
        .cpu = event->cpu,
        .memory = event->memory,
        .gpu = event->gpu,
    };
    if (++run->members_started < run->lease->members_count)
        return;

    bool is_first = run->started == 0;
    run->started = state->now;
    if (job->state == JOB_GRANTED)
        become(state, job, JOB_RUNNING);
    notify(state, job, false);
    if (!is_first)
        return;

    id_list broken = { 0 };
    for (struct group *group = state_group(state, job->group); group;
         group = state_group(state, group->parent))
        group->started_count++;
    decide_needs(state, job->id, &broken);
    decide_needs_of_groups(state, job->group, &broken);
    assert(broken.count == 0); /* a start breaks no need */
    list_release(&broken);
}

static bool member_ended_well(const struct event_ended *event)
{
    return event->kind == ENGINE_ENDED && event->exit_code == 0 && event->signal == 0;
}

static void note_usage(struct job *job, const struct event_ended *event)
{
    struct job_end *end = &job_claim_run(job)->end;

    end->user_us += event->user_us;
    end->system_us += event->system_us;
    if (event->memory_kib_max > end->memory_kib_max)
        end->memory_kib_max = event->memory_kib_max;
}

/* The books of the job's end: the first member that did not end well speaks for it. */
static void note_end(struct job *job, const struct event_ended *event)
{
    struct job_end *end = &job_claim_run(job)->end;
    bool was_good =
        end->kind == 0 || (end->kind == ENGINE_ENDED && end->exit_code == 0 && end->signal == 0);
    bool was_only_stopped = end->was_stopped && !event->was_stopped && !member_ended_well(event);

    note_usage(job, event);
    end->was_oom |= event->was_oom;
    end->was_killed |= event->was_killed;
    if (!was_good && !was_only_stopped)
        return;
    end->kind = event->kind;
    end->exit_code = event->exit_code;
    end->signal = event->signal;
    end->rank = event->rank;
    end->was_stopped = event->was_stopped;
    free(end->reason);
    end->reason = event->reason && event->reason[0] ? mem_string(event->reason) : NULL;
}

static bool is_good_end(const struct job_end *end)
{
    return end->kind == ENGINE_ENDED && end->exit_code == 0 && end->signal == 0;
}

static enum job_result result_of(const struct job *job)
{
    const struct job_end *end = &job->run->end;
    bool is_good = is_good_end(end);

    if (job->run->memory_warnings == WARNING_LAST && (end->was_stopped || !is_good))
        return RESULT_OUT_OF_MEMORY;
    if (job->run->stop_cause == STOP_CANCEL && (end->was_stopped || !is_good))
        return RESULT_CANCELLED;
    if (job->run->is_cancel_wanted && (end->was_stopped || end->kind == ENGINE_LOST))
        return RESULT_CANCELLED; /* it came to an end before it could be decided */
    if (job->run->stop_cause == STOP_TIMEOUT && (end->was_stopped || !is_good))
        return RESULT_TIMEOUT;
    if (is_good)
        return RESULT_OK;
    if (end->was_oom)
        return RESULT_OUT_OF_MEMORY;
    return end->kind == ENGINE_LOST ? RESULT_LOST : RESULT_FAILED;
}

/* A command that can't be run won't be there the next time either. */
static bool is_to_be_tried_again(const struct job *job, enum job_result result)
{
    if (result != RESULT_FAILED && result != RESULT_LOST && result != RESULT_OUT_OF_MEMORY)
        return false;
    if (result == RESULT_LOST && job->no_requeue)
        return false;
    return job->run->end.kind != ENGINE_FAILED && job->run->retries < job->retry_max &&
           !job->run->is_cancel_wanted;
}

/* It goes on later where it was, but for what was not saved. What the restart cost brought nothing.
 */
static void note_progress_but(struct state *state, struct job *job, usec_t unsaved)
{
    bool has_run = job->run->members_started > 0 && job->run->started >= job->run->granted;
    usec_t gained = has_run ? state->now - job->run->started : 0;

    gained -= unsaved;
    gained -= job_has_restarted(job) ? job->restart_cost : 0;
    usec_t before = job->run->attained;
    struct job_run *run = job_claim_run(job);
    run->attained += gained > 0 ? gained : 0;
    residual_pass(&state->residual, residual_class(job->run->gpus_milli_last), residual_bin(before),
                  residual_bin(job->run->attained));
    run->stop_cause = STOP_NONE;
}

static void note_progress(struct state *state, struct job *job)
{
    note_progress_but(state, job, job_unsaved(job, state->now));
}

/* It was stopped to start again at once: it comes before all others that wait. */
static void come_back(struct state *state, struct job *job)
{
    note_progress(state, job);
    settle(state, job);
    if (job->state != JOB_QUEUED)
        return;
    job->is_awaited = AWAITED_BACK;
    notify(state, job, false);
}

/* The gang ends as a unit, and goes on as one. */
static bool is_to_be_healed(const struct job *job, enum job_result result)
{
    bool is_bad =
        result == RESULT_FAILED || result == RESULT_LOST || result == RESULT_OUT_OF_MEMORY;

    return is_bad && job_may_heal(job);
}

/* Those that failed or were cancelled say nothing of how long the good ones take. */
static void learn(struct state *state, const struct job *job)
{
    struct history_job described;
    usec_t run = job->run->attained + state->now - job->run->started;

    state_describe(state, job, &described);
    history_learn(&state->history, &described, run > 0 ? run : 0);
}

/* Every job that came to its end by itself says how far jobs come. */
static void note_residual(struct state *state, const struct job *job)
{
    uint32_t class = residual_class(job->run->gpus_milli_last);
    usec_t paid = job_has_restarted(job) ? job->restart_cost : 0;
    usec_t gained = state->now - job->run->started - paid;
    uint32_t from = residual_bin(job->run->attained);
    uint32_t to = residual_bin(job->run->attained + (gained > 0 ? gained : 0));

    residual_pass(&state->residual, class, from, to);
    residual_end(&state->residual, class, to);
}

/* Is this the loss of a member that the gang can do without? All of it must have run, so that what
 * can't be started is not taken for a loss. */
static bool goes_on_without(const struct state *state, const struct job *job,
                            const struct event_ended *event)
{
    const struct job_run *run = job->run;

    return job->goes_on && !member_ended_well(event) && job->state == JOB_RUNNING &&
           run->members_started == run->lease->members_count && !run->is_cancel_wanted &&
           !run->is_requeue_wanted && (run->end.kind == 0 || is_good_end(&run->end)) &&
           run->lease->members_count > state_request(state, job)->members;
}

/* Its part is given back. What the gang is charged for follows: a part of each share, by GPUs as
 * they are priced now. */
static void lose_member(struct state *state, struct job *job, uint32_t place)
{
    struct job_run *run = job_claim_run(job);
    struct lease *old = run->lease;
    uint32_t count = old->members_count;

    state_charge(state, job, -1);
    state->nodes.items[old->members[place].node].used_at = state->now;
    run->lease = lease_without(old, place);
    state_scale_shares(state, run->lease, old);
    lease_destroy(old);
    memmove(&run->member_states[place], &run->member_states[place + 1], count - place - 1);
    run->members_started--;
    run->members_lost++;
    state_charge(state, job, 1);
}

/* Its device is sick, and it was stopped for that or fell by itself: this attempt is not charged.
 */
static bool is_to_be_rescued(const struct state *state, const struct job *job,
                             enum job_result result, enum harm harm)
{
    const struct job_run *run = job->run;

    if (run->is_cancel_wanted || (is_good_end(&run->end) && !run->end.was_stopped))
        return false;
    if (run->stop_cause == STOP_RESCUE)
        return true;
    return (result == RESULT_FAILED || result == RESULT_LOST) && harm == HARM_DIE &&
           run->end.kind != ENGINE_FAILED && rescue_may(state, job, harm);
}

/* Nothing of this is its doing: it is first. */
static void rescue(struct state *state, struct job *job, enum harm harm)
{
    struct job_run *run = job_claim_run(job);

    note_progress_but(state, job, rescue_unsaved(job, harm, state->now));
    run->rescues += run->members_started > 0;
    settle(state, job);
    if (job->state != JOB_QUEUED)
        return;
    job->is_awaited = AWAITED_FROM_OTHERS;
    notify(state, job, false);
}

static void end_attempt(struct state *state, struct job *job);

static void fold_ended(struct state *state, struct job *job, const struct event_ended *event)
{
    uint32_t place;

    if (!find_member(job, event->attempt, event->rank, &place) ||
        job->run->member_states[place] == MEMBER_ENDED)
        return;
    struct job_run *run = job_claim_run(job);
    if (goes_on_without(state, job, event)) {
        lose_member(state, job, place);
        note_usage(job, event);
    } else {
        run->member_states[place] = MEMBER_ENDED;
        run->members_ended++;
        note_end(job, event);
    }
    if (run->members_ended < run->lease->members_count)
        notify(state, job, false);
    else
        end_attempt(state, job);
}

/* All members have ended. */
static void end_attempt(struct state *state, struct job *job)
{
    struct job_run *run = job_claim_run(job);
    enum job_result result = result_of(job);
    bool has_run = job->run->members_started == job->run->lease->members_count;
    bool is_ours = !job->run->is_cancel_wanted &&
                   (job->run->end.was_stopped || job->run->end.kind == ENGINE_LOST);
    uint32_t device = 0;
    enum harm harm = rescue_harm(state, job, &device);
    state_charge(state, job, -1);
    for (uint32_t i = 0; i < run->lease->members_count; i++)
        state->nodes.items[run->lease->members[i].node].used_at = state->now;
    lease_destroy(TAKE(run->lease));
    free(TAKE(run->member_states));
    if (job->run
            ->is_requeue_wanted) { /* also when it came to its end before it was stopped for that */
        run->is_requeue_wanted = false;
        run->stop_cause = STOP_NONE;
        settle(state, job);
        return;
    }
    if (is_ours && run->stop_cause == STOP_PREEMPT) {
        note_progress(state, job);
        run->preemptions++;
        settle(state, job);
        if (job->run->stop_rule == STOP_FOR_MACHINE && job->state == JOB_QUEUED) {
            job->is_awaited = AWAITED_FROM_OTHERS; /* it is first: nothing of this is its doing */
            notify(state, job, false);
        }
        return;
    }
    if (is_ours && run->stop_cause == STOP_RESIZE) {
        come_back(state, job);
        run->resizes++;
        return;
    }
    if (is_ours && run->stop_cause == STOP_MOVE) {
        come_back(state, job);
        run->moves++;
        return;
    }
    if (is_to_be_rescued(state, job, result, harm)) {
        if (run->stop_cause != STOP_RESCUE)
            rescue_note(state, job, device);
        rescue(state, job, run->rescued_harm);
        return;
    }
    if (is_to_be_healed(job, result)) {
        come_back(state, job);
        run->heals++;
        return;
    }
    if (is_to_be_tried_again(job, result)) {
        run->retries++;
        settle(state, job);
        return;
    }
    if (has_run && job->run->gpus_milli_last > 0 && result != RESULT_CANCELLED &&
        result != RESULT_LOST)
        note_residual(state, job);
    if (state->settings.predict && has_run && (result == RESULT_OK || result == RESULT_TIMEOUT))
        learn(state, job);
    end_job(state, job, result);
}

static int fold_forget(struct state *state, uint64_t id, struct error *err)
{
    struct job *job = state_job(state, id);
    struct group *group = state_group(state, id);

    if (job && job->state == JOB_ENDED) {
        notify(state, job, true);
        if (job->needs_left > 0)
            need_remove_of(&state->needs, id);
        state->job_counts[job->state]--;
        *(job->previous ? &job->previous->next : &state->first_job) = job->next;
        *(job->next ? &job->next->previous : &state->last_job) = job->previous;
        pages_remove(&state->jobs, id);
        class_release(&state->classes, job->class);
        job_destroy(job);
        return 0;
    }
    if (group && group_is_over(group)) {
        *(group->previous ? &group->previous->next : &state->first_group) = group->next;
        *(group->next ? &group->next->previous : &state->last_group) = group->previous;
        map_remove(&state->groups, id);
        free(group->name);
        free(group);
        return 0;
    }
    return error_set(err, -EBADMSG, "forget: %" PRIu64 " is not over", id);
}

/* Jobs whose begin time has come, or who may go to other machines now. next_begin and next_spot
 * keep this from looking at all jobs each time. */
static void fold_plan(struct state *state)
{
    state->plan_from = state->plan_until;
    state->plan_until = state->next_id;
    if (state->next_begin > state->now && state->next_spot > state->now)
        return;
    state->next_begin = state->next_spot = USEC_NEVER;
    for (struct job *job = state->first_job; job; job = job->next) {
        if (job->state == JOB_WAITING || (job->state == JOB_QUEUED && job->spot == SPOT_PREFER))
            settle(state, job);
    }
}

/* Also while it stops: then nothing is lost of what was counted as lost. */
static void fold_checkpoint(struct state *state, struct job *job, uint32_t attempt)
{
    if ((job->state != JOB_RUNNING && job->state != JOB_STOPPING) || job->run->attempt != attempt)
        return;
    struct job_run *run = job_claim_run(job);
    run->checkpointed = state->now;
    run->lost -= run->unsaved < run->lost ? run->unsaved : run->lost;
    run->unsaved = 0;
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
            settle(state, job);
        return 0;
    case EVENT_CANCEL:
        fold_cancel(state, job, event->cancel.user);
        return 0;
    case EVENT_REQUEUE:
        fold_requeue(state, job);
        return 0;
    case EVENT_CHECKPOINT:
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
    default:
        assert(event->kind == EVENT_ENDED);
        fold_ended(state, job, &event->ended);
        return 0;
    }
}

/* Of a job that was forgotten meanwhile nothing is kept. */
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
