/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the fold that is about an attempt of a job: from its grant to its end. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/checkpoint_interval.h"
#include "core/state/fold.h"
#include "core/state/rescue.h"

int fold_grant(struct state *state, struct job *job, const struct event_grant *event,
               struct error *err)
{
    if (job->state != JOB_QUEUED || event->attempt != job->run->attempt + 1)
        return error_set(err, -EBADMSG, "grant: job %" PRIu64 " is %s", job->id,
                         job_state_name(job->state));
    if (event->lease.members_count == 0 || !lease_is_plausible(&event->lease) ||
        event->lease.roles_count != state_request(state, job)->roles_count)
        return error_set(err, -EBADMSG, "grant: job %" PRIu64 ": a lease that is invalid", job->id);
    for (uint32_t i = 0; i < event->lease.members_count; i++) {
        if (event->lease.members[i].node >= state->nodes.count)
            return error_set(err, -EBADMSG, "grant: job %" PRIu64 ": no such node", job->id);
    }
    for (uint32_t i = 0; i < event->lease.slices_count; i++) {
        if (event->lease.slices[i].device >= state->devices.count ||
            event->lease.slices[i].pool >= state->pools.count)
            return error_set(err, -EBADMSG, "grant: job %" PRIu64 ": no such device", job->id);
    }

    if (job->run->members_next > 0 && job->run->resized >= job->run->moved)
        job_claim_run(job)->resized_to = event->lease.members_count;
    job_clear_end(job);
    if (job->run->foreseen_at > 0 && job->run->attempt == 0)
        calibration_learn(&state->calibration, &job->run->foreseen,
                          state->now - job->run->foreseen_at);
    struct job_run *run = job_claim_run(job);
    run->idle_warnings = run->memory_warnings = 0;
    run->lease = lease_copy(&event->lease);
    lease_complete(run->lease);
    state_mark_lease(state, job);
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
    state_become(state, job, JOB_GRANTED);
    state_charge(state, job, 1);
    state_notify(state, job, false);
    return 0;
}

void fold_stop(struct state *state, struct job *job, const struct event_stop *event)
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
    state_become(state, job, JOB_STOPPING);
    state_notify(state, job, false);
}

/* The member's place in the lease; false: a report about an earlier attempt. */
static bool find_member(const struct job *job, uint32_t attempt, uint32_t rank, uint32_t *ret_place)
{
    if (!job_is_active(job) || job->run->attempt != attempt)
        return false;
    *ret_place = lease_place(job->run->lease, rank);
    return *ret_place < job->run->lease->members_count;
}

void fold_started(struct state *state, struct job *job, const struct event_started *event)
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
        state_become(state, job, JOB_RUNNING);
    state_notify(state, job, false);
    if (is_first)
        state_note_start(state, job);
}

bool state_may_exchange(const struct state *state, uint32_t from, uint32_t to)
{
    const struct device *devices = state->devices.items;

    return from < state->devices.count && to < state->devices.count &&
           devices[from].node == devices[to].node && !devices[from].is_gone &&
           !devices[to].is_gone && devices[from].memory_mib == devices[to].memory_mib &&
           strcmp(devices[from].model, devices[to].model) == 0;
}

typedef LIST(struct job *) job_list;

/* Adds what a job has of a device. False: an instance of it, which has its place there. */
static bool add_held(const struct job *job, uint32_t device, int sign, struct room_device *sum)
{
    const struct lease *lease = job->run->lease;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct slice *slice = &lease->slices[i];
        if (slice->device != device)
            continue;
        if (slice->kind == SHARE_MIG)
            return false;
        sum->milli += sign * (int64_t)slice->milli;
        sum->memory_mib += sign * slice->memory_mib;
    }
    return true;
}

/* Whether both devices have room if these jobs exchange what they have of them. */
static bool can_exchange(const struct state *state, const job_list *jobs, uint32_t from,
                         uint32_t to)
{
    const struct room_device *free = state->room.devices.items;
    struct room_device moved = { 0 };

    LIST_EACH (struct job *, job, jobs) {
        if (!add_held(*job, from, 1, &moved) || !add_held(*job, to, -1, &moved))
            return false;
    }
    return free[from].milli + moved.milli >= 0 && free[to].milli >= moved.milli &&
           free[from].memory_mib + moved.memory_mib >= 0 && free[to].memory_mib >= moved.memory_mib;
}

static void add_holders(const struct state *state, const struct job *but, uint32_t device,
                        job_list *list)
{
    for (struct job *job = state->first_active; job; job = job->run->active_next) {
        if (job != but && lease_slice_on(job->run->lease, device))
            list_add(list, job);
    }
}

/* One job takes what is free, or exchanges devices with those that hold the other one. */
static void exchange(struct state *state, struct job *job, uint32_t from, uint32_t to)
{
    job_list jobs = { 0 };

    if (!state_may_exchange(state, from, to))
        return;
    list_add(&jobs, job);
    if (!can_exchange(state, &jobs, from, to))
        add_holders(state, job, to, &jobs);
    bool can = can_exchange(state, &jobs, from, to);
    for (size_t i = 0; can && i < jobs.count; i++)
        state_charge(state, jobs.items[i], -1);
    for (size_t i = 0; can && i < jobs.count; i++) {
        struct job_run *run = job_claim_run(jobs.items[i]);
        struct lease *old = run->lease;
        run->lease = lease_exchange(old, from, to);
        lease_destroy(old);
    }
    for (size_t i = 0; can && i < jobs.count; i++) {
        state_charge(state, jobs.items[i], 1);
        state_notify(state, jobs.items[i], false);
    }
    list_release(&jobs);
}

static bool has_device(const struct event_assigned *event, uint32_t device)
{
    for (uint32_t i = 0; i < event->devices_count; i++) {
        if (event->devices[i].device == device)
            return true;
    }
    return false;
}

/* The lease follows the engine's choice. Others that had this device get the other one, if it has
 * no room; the engine reports which one they really have. The slices keep their pools. */
void fold_assigned(struct state *state, struct job *job, const struct event_assigned *event)
{
    uint32_t place, next = 0;

    if (!find_member(job, event->attempt, event->rank, &place))
        return;
    for (uint32_t i = 0; i < job->run->lease->slices_count; i++) {
        struct slice slice = job->run->lease->slices[i]; /* the lease is replaced on the way */
        const struct slice *held = NULL;
        if (slice.rank != place || has_device(event, slice.device))
            continue;
        while (next < event->devices_count &&
               (held = lease_slice_on(job->run->lease, event->devices[next].device)) &&
               held->rank == place)
            next++;
        if (next < event->devices_count)
            exchange(state, job, slice.device, event->devices[next++].device);
    }
}

static bool member_ended_well(const struct event_ended *event)
{
    return event->kind == ENGINE_ENDED && event->exit_code == 0 && event->signal == 0 &&
           !event->is_unsound;
}

static void note_usage(struct job *job, const struct event_ended *event)
{
    struct job_end *end = &job_claim_run(job)->end;

    end->user_us += event->user_us;
    end->system_us += event->system_us;
    if (event->memory_kib_max > end->memory_kib_max)
        end->memory_kib_max = event->memory_kib_max;
}

static bool is_good_end(const struct job_end *end)
{
    return end->kind == ENGINE_ENDED && end->exit_code == 0 && end->signal == 0 && !end->is_unsound;
}

/* The end of the job is that of the first member that did not end well. */
static void note_end(struct job *job, const struct event_ended *event)
{
    struct job_end *end = &job_claim_run(job)->end;
    bool was_good = end->kind == 0 || is_good_end(end);
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
    end->is_unsound = event->is_unsound;
    string_put(&end->reason, string_or_null(event->reason));
}

static enum job_result result_of(const struct job *job)
{
    const struct job_end *end = &job->run->end;
    bool is_good = is_good_end(end);

    if (job->run->memory_warnings == WARNING_LAST && (end->was_stopped || !is_good))
        return RESULT_OUT_OF_MEMORY;
    if (job->run->stop_cause == STOP_CANCEL && (end->was_stopped || !is_good))
        return RESULT_CANCELLED;
    bool is_gone = end->kind == ENGINE_LOST || end->kind == ENGINE_RETURNED;
    if (job->run->is_cancel_wanted && (end->was_stopped || is_gone))
        return RESULT_CANCELLED; /* it came to an end before it could be decided */
    if (job->run->stop_cause == STOP_TIMEOUT && (end->was_stopped || !is_good))
        return RESULT_TIMEOUT;
    if (is_good)
        return RESULT_OK;
    if (end->was_oom)
        return RESULT_OUT_OF_MEMORY;
    return end->kind == ENGINE_LOST ? RESULT_LOST : RESULT_FAILED;
}

/* A command that cannot be run fails the next time, too. */
static bool is_to_be_tried_again(const struct job *job, enum job_result result)
{
    if (result != RESULT_FAILED && result != RESULT_LOST && result != RESULT_OUT_OF_MEMORY)
        return false;
    if (result == RESULT_LOST && job->no_requeue)
        return false;
    return job->run->end.kind != ENGINE_FAILED && job->run->retries < job->retry_max &&
           !job->run->is_cancel_wanted;
}

/* The memory of a member at the next attempt: at most what a machine has, and what the queue
 * allows. 0: no more than now. */
static int64_t next_memory(const struct state *state, const struct job *job)
{
    const struct request *request = state_request(state, job);
    int64_t bound = queue_rules_of(state->queues.items, job->queue).oom_most, most = 0;

    if (request->memory_mib <= 0 || request->roles_count > 0)
        return 0;
    LIST_EACH (const struct node, node, &state->nodes)
        most = node->memory_mib > most ? node->memory_mib : most;
    most = bound > 0 && bound < most ? bound : most;
    int64_t next = request->memory_mib > most ? 0 : request->memory_mib * job->oom_factor / 1000;
    next = next < most ? next : most;
    return next > request->memory_mib ? next : 0;
}

/* Its own memory was too little, and it may have more at the next attempt. */
static bool is_to_grow(const struct state *state, const struct job *job, enum job_result result)
{
    uint32_t most = job->retry_max > JOB_OOM_RETRIES ? job->retry_max : JOB_OOM_RETRIES;

    return result == RESULT_OUT_OF_MEMORY && job->oom_factor > 0 && job->run->end.was_oom &&
           job->run->memory_warnings != WARNING_LAST && !job->run->is_cancel_wanted &&
           job->run->retries < most && next_memory(state, job) > 0;
}

/* The old class is released when its new standing was told. */
static void grow(struct state *state, struct job *job)
{
    struct request request = *state_request(state, job);
    uint32_t old = job->class;

    request.memory_mib = next_memory(state, job);
    job->class = class_claim(&state->classes, &request);
    state_settle(state, job);
    class_release(&state->classes, old);
}

/* The job will continue later without its unsaved work. The restart cost is not progress. */
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

/* The job was stopped to restart at once: it precedes all waiting jobs. */
static void come_back(struct state *state, struct job *job)
{
    note_progress(state, job);
    state_settle(state, job);
    if (job->state != JOB_QUEUED)
        return;
    job->is_awaited = AWAITED_BACK;
    state_notify(state, job, false);
}

/* A gang ends and restarts as a unit. */
static bool is_to_be_healed(const struct job *job, enum job_result result)
{
    bool is_bad =
        result == RESULT_FAILED || result == RESULT_LOST || result == RESULT_OUT_OF_MEMORY;

    return is_bad && job_may_heal(job);
}

/* Failed and cancelled jobs carry no information about run times. */
static void learn(struct state *state, const struct job *job)
{
    struct history_job described;
    usec_t run = job->run->attained + state->now - job->run->started;

    state_describe(state, job, &described);
    history_learn(&state->history, &described, run > 0 ? run : 0);
}

/* The model of all its devices; NULL: there are several, or none, or it has no price. */
static const char *model_of(const struct state *state, const struct lease *lease)
{
    const char *model = NULL;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct device *device = &state->devices.items[lease->slices[i].device];
        if ((model && strcmp(model, device->model) != 0) || state_price(state, device) == 0)
            return NULL;
        model = device->model;
    }
    return model;
}

/* One attempt that came to its own end says how fast the model is. */
static void learn_speed(struct state *state, const struct job *job, const char *model)
{
    struct history_job described;

    if (!model || job_has_restarted(job) || job->run->attained > 0 ||
        state->now <= job->run->started)
        return;
    state_describe(state, job, &described);
    speed_learn(&state->speeds, &described, model, state->now - job->run->started);
}

/* Each job that was not stopped contributes to the residual run times. */
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

/* Whether the gang can continue without the member that ended. All members must have run, so that a
 * failed start is not taken for a loss. */
static bool goes_on_without(const struct state *state, const struct job *job,
                            const struct event_ended *event)
{
    const struct job_run *run = job->run;

    return job->goes_on && !member_ended_well(event) && job->state == JOB_RUNNING &&
           run->members_started == run->lease->members_count && !run->is_cancel_wanted &&
           !run->is_requeue_wanted && (run->end.kind == 0 || is_good_end(&run->end)) &&
           run->lease->members_count > state_request(state, job)->members;
}

/* Release the member's part of the lease. The shares that the gang is charged for follow: by GPUs
 * at current prices. */
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

/* The job was stopped because of a sick device, or failed with it: the attempt is not charged. */
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

/* The job is not at fault: put it at the head of the queue. */
static void rescue(struct state *state, struct job *job, enum harm harm)
{
    struct job_run *run = job_claim_run(job);

    note_progress_but(state, job, rescue_unsaved(job, harm, state->now));
    run->rescues += run->members_started > 0;
    state_settle(state, job);
    if (job->state != JOB_QUEUED)
        return;
    job->is_awaited = AWAITED_FROM_OTHERS;
    state_notify(state, job, false);
}

static char *preempted_words(const struct job_run *run)
{
    const char *meaning = stop_rule_meaning(run->stop_rule);

    return run->stopped_for > 0
               ? mem_printf("preempted for job %" PRIu64 ": %s", run->stopped_for, meaning)
               : mem_printf("preempted: %s", meaning);
}

/* Its attempt failed, and it is tried again. */
static void note_retry(struct job *job, const char *how, uint32_t number, uint32_t most)
{
    AUTO_FREE char *end = job_end_words(job);

    job_note_restart(job, mem_printf("%s: %s %" PRIu32 " of %" PRIu32, end, how, number, most));
}

static void note_rescued(struct job *job)
{
    const struct job_run *run = job->run;

    job_note_restart(job, mem_printf("left the faulty device %s%s%s",
                                     run->rescued_from ? run->rescued_from : "",
                                     run->rescued_reason ? ": " : "",
                                     run->rescued_reason ? run->rescued_reason : ""));
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
    const char *model = model_of(state, run->lease);
    state_charge(state, job, -1);
    for (uint32_t i = 0; i < run->lease->members_count; i++)
        state->nodes.items[run->lease->members[i].node].used_at = state->now;
    free(run->place);
    run->place = run->lease->slices_count > 0 ? state_place_of(state, run->lease) : NULL;
    lease_destroy(TAKE(run->lease));
    free(TAKE(run->member_states));
    if (job->run
            ->is_requeue_wanted) { /* also when it came to its end before it was stopped for that */
        run->is_requeue_wanted = false;
        run->stop_cause = STOP_NONE;
        state_settle(state, job);
        return;
    }
    if (is_ours && run->stop_cause == STOP_PREEMPT) {
        note_progress(state, job);
        job_note_restart(job, preempted_words(run));
        run->preemptions++;
        state_settle(state, job);
        if (job->run->stop_rule == STOP_FOR_MACHINE && job->state == JOB_QUEUED) {
            job->is_awaited = AWAITED_FROM_OTHERS; /* the job is not at fault: it goes first */
            state_notify(state, job, false);
        }
        return;
    }
    if (is_ours && run->stop_cause == STOP_RESIZE) {
        come_back(state, job);
        job_note_restart(job, mem_printf("restarted with %" PRIu32 " members instead of %" PRIu32,
                                         run->resized_to, run->resized_from));
        run->resizes++;
        return;
    }
    if (is_ours && run->stop_cause == STOP_MOVE) {
        come_back(state, job);
        job_note_restart(job, mem_printf("moved to make room for job %" PRIu64, run->moved_for));
        run->moves++;
        return;
    }
    if (run->end.kind == ENGINE_RETURNED && !run->is_cancel_wanted) {
        run->stop_cause = STOP_NONE;
        job_note_restart(job,
                         mem_printf("given back by the engine%s%s", run->end.reason ? ": " : "",
                                    run->end.reason ? run->end.reason : ""));
        job_clear_end(job);
        state_settle(state, job);
        return;
    }
    if (is_to_be_rescued(state, job, result, harm)) {
        if (run->stop_cause != STOP_RESCUE)
            rescue_note(state, job, device);
        note_rescued(job);
        rescue(state, job, run->rescued_harm);
        return;
    }
    if (is_to_be_healed(job, result)) {
        come_back(state, job);
        run->heals++;
        note_retry(job, "heal", run->heals, job->heal_max);
        return;
    }
    if (is_to_grow(state, job, result)) {
        run->retries++;
        job_note_restart(
            job, mem_printf("out of memory: retry %" PRIu32 " with more memory", run->retries));
        grow(state, job);
        return;
    }
    if (is_to_be_tried_again(job, result)) {
        run->retries++;
        note_retry(job, "retry", run->retries, job->retry_max);
        state_settle(state, job);
        return;
    }
    if (has_run && job->run->gpus_milli_last > 0 && result != RESULT_CANCELLED &&
        result != RESULT_LOST)
        note_residual(state, job);
    if (state->settings.predict && has_run && (result == RESULT_OK || result == RESULT_TIMEOUT))
        learn(state, job);
    if (has_run && result == RESULT_OK)
        learn_speed(state, job, model);
    state_end_job(state, job, result);
}

void fold_ended(struct state *state, struct job *job, const struct event_ended *event)
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
        state_notify(state, job, false);
    else
        end_attempt(state, job);
}

/* Also while it stops: work that was counted as lost is then saved. */
void fold_checkpoint(struct state *state, struct job *job, uint32_t attempt)
{
    if ((job->state != JOB_RUNNING && job->state != JOB_STOPPING) || job->run->attempt != attempt)
        return;
    struct job_run *run = job_claim_run(job);
    run->checkpointed = state->now;
    run->lost -= run->unsaved < run->lost ? run->unsaved : run->lost;
    run->unsaved = 0;
}
