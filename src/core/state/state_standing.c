/* SPDX-License-Identifier: Apache-2.0 */
/* Where a job stands: waiting, queued, active or ended, and the jobs that need it. */
#include <assert.h>
#include <stdlib.h>

#include "core/job/deadline_start.h"
#include "core/job/own_speed.h"
#include "core/state/fold.h"
#include "core/state/job_speed.h"

void state_count_wanted(struct state *state, const struct job *job, int sign)
{
    state->pressure.wanted_milli += sign * request_milli(state_request(state, job), 0, 0);
}

/* The job wants GPUs (sign 1), or no longer (-1). */
static void want(struct state *state, const struct job *job, int sign)
{
    pressure_advance(&state->pressure, state->now, state->capacity.milli);
    state_count_wanted(state, job, sign);
}

/* Where a job that waits may go now, by its progress. Returns the class to be released once its
 * standing was told, plus one; 0: as it was. */
static uint32_t settle_spot(struct state *state, struct job *job)
{
    const struct request *request = state_request(state, job);
    struct progress progress = { .submitted = job->submitted,
                                 .deadline = job->deadline,
                                 .estimate = own_speed_run(job->estimate,
                                                           job_speeds_of(state, request).mean),
                                 .attained = job->run->attained,
                                 .restart_cost = job->restart_cost };
    usec_t until;

    if (job->spot != SPOT_PREFER || !job->is_preemptible || job->estimate == 0 ||
        job->deadline <= job->submitted)
        return 0;
    enum spot_rule rule = progress_rule(&progress, state->now, &until);
    state->next_spot = until < state->next_spot ? until : state->next_spot;
    if (request->spot == rule)
        return 0;
    struct request other = *request;
    uint32_t old = job->class;
    other.spot = (uint8_t)rule;
    job->class = class_claim(&state->classes, &other);
    return old + 1;
}

void state_notify(struct state *state, struct job *job, bool is_gone)
{
    if (state->on_job)
        state->on_job(state->on_job_user, job, is_gone);
}

/* Waits for GPUs or holds them. */
static bool wants_gpus(enum job_state state)
{
    return state >= JOB_QUEUED && state <= JOB_STOPPING;
}

void state_become(struct state *state, struct job *job, enum job_state to)
{
    assert(state->job_counts[job->state] > 0);
    assert(job->state == to || job_may_become(job->state, to));
    if (wants_gpus(job->state) != wants_gpus(to))
        want(state, job, wants_gpus(to) ? 1 : -1);
    state->job_counts[job->state]--;
    state->job_counts[to]++;
    state_note_state(state, job, (enum job_state)job->state, to);
    if (state->touched && job->state != to)
        list_add(&state->touched->ids, job->id);
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

void state_settle(struct state *state, struct job *job)
{
    enum job_state to = standing(state, job);

    state_claim_payers(state, job);
    if (job->begin > state->now && job->begin < state->next_begin)
        state->next_begin = job->begin;
    if (to != job->state)
        state_become(state, job, to);
    uint32_t old = settle_spot(state, job);
    state_notify(state, job, false);
    if (old > 0)
        class_release(&state->classes, old - 1);
}

/* What `on` did may decide what waits for it. Ends that follow from it are put on the list. */
typedef LIST(uint64_t) id_list;

static void decide_needs(struct state *state, uint64_t on, id_list *broken)
{
    for (uint32_t at = need_first(&state->needs, on), next; at != 0; at = next) {
        const struct need need = state->needs.needs.items[at - 1];
        enum need_answer answer = state_need_answer(state, on, need.kind);
        struct job *job = state_job(state, need.job);

        next = need.next;
        if (answer == NEED_OPEN || need.is_broken)
            continue;
        if (answer == NEED_BROKEN && job)
            state->needs.needs.items[at - 1].is_broken = true;
        else
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
            state_settle(state, job);
    }
}

static void decide_needs_of_groups(struct state *state, uint64_t group_id, id_list *broken)
{
    for (struct group *group = state_group(state, group_id); group;
         group = state_group(state, group->parent))
        decide_needs(state, group->id, broken);
}

void state_count_end(struct state *state, const struct job *job, int sign)
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
void state_end_job(struct state *state, struct job *job, enum job_result result)
{
    id_list ends = { 0 };

    state_become(state, job, JOB_ENDED);
    job->result = (uint8_t)result;
    job_claim_run(job)->ended = state->now;
    list_add(&ends, job->id);
    for (size_t i = 0; i < ends.count; i++) {
        struct job *ended = state_job(state, ends.items[i]);
        if (i > 0) {
            ended->needs_left--;
            if (ended->state == JOB_ENDED || job_is_active(ended))
                continue;
            state_become(state, ended, JOB_ENDED);
            ended->result = RESULT_CANCELLED;
            struct job_run *run = job_claim_run(ended);
            run->ended = state->now;
            free(run->end.reason);
            run->end.reason = mem_string(JOB_NEEDS_BROKEN);
        }
        state_count_end(state, ended, 1);
        state_notify(state, ended, false);
        decide_needs(state, ended->id, &ends);
        decide_needs_of_groups(state, ended->group, &ends);
    }
    list_release(&ends);
}

void state_note_start(struct state *state, struct job *job)
{
    id_list broken = { 0 };
    for (struct group *group = state_group(state, job->group); group;
         group = state_group(state, group->parent))
        group->started_count++;
    decide_needs(state, job->id, &broken);
    decide_needs_of_groups(state, job->group, &broken);
    assert(broken.count == 0); /* a start breaks no need */
    list_release(&broken);
}

void job_clear_end(struct job *job)
{
    struct job_run *run = job_claim_run(job);

    free(run->end.reason);
    run->end = (struct job_end){ 0 };
    run->stop_cause = STOP_NONE;
    run->is_cancel_wanted = false;
    run->is_requeue_wanted = false;
    run->members_next = 0;
}
