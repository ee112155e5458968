/* SPDX-License-Identifier: Apache-2.0 */
#include "control/job_change.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "control/lookup.h"
#include "control/phrases.h"
#include "control/queue_policy.h"

static bool can_take(const struct job *job, enum event_kind kind)
{
    bool is_over = job->state == JOB_ENDED;

    switch (kind) {
    case EVENT_CANCEL:
        return !is_over;
    case EVENT_HOLD:
        return !is_over && !job_is_active(job) && !job->is_held;
    case EVENT_RELEASE:
        return !is_over && job->is_held;
    case EVENT_REQUEUE:
        return is_over || job_is_active(job);
    case EVENT_NONE:
        return job->state == JOB_RUNNING;
    case EVENT_CHECKPOINT:
        return job->state == JOB_RUNNING || job->state == JOB_STOPPING;
    default:
        return !is_over;
    }
}

/* What the cluster, the queue and the limits of the job's user allow, there. */
static int check_limits(const struct state *state, const struct job *job, uint32_t queue,
                        struct error *err)
{
    const struct request *request = state_request(state, job);

    int code = admit_check(state, request, queue, job->is_preemptible, err);
    return code < 0 ? code : admit_check_user(state, request, queue, job->user, job->gid, err);
}

/* The queue and the cluster may have changed since the job ended. */
static int check_requeue(const struct state *state, const struct job_change *wish,
                         const struct job *job, struct error *err)
{
    const struct queue *queue = &state->queues.items[job->queue];

    if (queue->is_removed || queue->child_count > 0)
        return error_set(err, REFUSED_CONFLICT,
                         "job %" PRIu64 ": its queue %s takes no jobs any more", job->id,
                         queue->name);
    int code = queue_policy_check_job(state, wish->who, job->queue, job, job->max_duration, err);
    return code < 0 ? code : check_limits(state, job, job->queue, err);
}

static int check_update(const struct state *state, const struct job_change *wish,
                        const struct job *job, struct error *err)
{
    bool is_active = job_is_active(job), is_admin = wish->who->is_admin;
    usec_t duration = wish->max_duration > 0 ? wish->max_duration : job->max_duration;
    int32_t priority = wish->has_priority ? wish->priority : job->priority;
    char prefix[UNITS_TEXT_SIZE];
    uint32_t queue = job->queue;
    int code = 0;

    snprintf(prefix, sizeof(prefix), "job %" PRIu64 ": ", job->id);
    if (wish->queue[0])
        code = admit_find_queue(state, wish->queue, &queue, err);
    if (code == 0 && (priority > job->priority || queue != job->queue))
        code = queue_policy_check_priority(state, wish->who, queue, priority, prefix, err);
    if (code < 0)
        return code;
    if (is_active && wish->max_duration > job->max_duration && !is_admin)
        return error_set(err, REFUSED_FORBIDDEN,
                         "job %" PRIu64 ": only administrators can extend a running job", job->id);
    if (is_active && (wish->queue[0] || wish->has_begin))
        return error_set(err, REFUSED_CONFLICT,
                         "job %" PRIu64 ": is running; only priority and max_duration can change",
                         job->id);
    if (wish->queue[0] || duration > job->max_duration)
        code = queue_policy_check_job(state, wish->who, queue, job, duration, err);
    return code < 0 || !wish->queue[0] ? code : check_limits(state, job, queue, err);
}

static int check(const struct state *state, const struct job_change *wish, const struct job *job,
                 struct error *err)
{
    if (wish->kind == EVENT_REQUEUE && job->state == JOB_ENDED)
        return check_requeue(state, wish, job, err);
    return wish->kind == EVENT_UPDATE ? check_update(state, wish, job, err) : 0;
}

static void emit_on(const struct control *control, struct job_change *wish, const struct job *job)
{
    struct event event = { .kind = wish->kind };

    if (wish->kind == EVENT_UPDATE)
        event.update = (struct event_update){ .has_priority = wish->has_priority,
                                              .priority = wish->priority,
                                              .queue = wish->queue,
                                              .max_duration = wish->max_duration,
                                              .has_begin = wish->has_begin,
                                              .begin = wish->begin,
                                              .begin_is_wall = wish->begin_is_wall };
    if (wish->kind == EVENT_CANCEL)
        event.cancel.user = wish->who->name;
    if (wish->kind == EVENT_CHECKPOINT)
        event.checkpoint.attempt = job->run->attempt;
    if (wish->kind == EVENT_REQUEUE)
        event.requeue =
            (struct event_requeue){ .resume = (uint8_t)wish->resumes, .user = wish->who->name };
    event.hold.job = job->id;           /* the job is the first member of all of these */
    if (wish->kind == EVENT_CHECKPOINT) /* no audit tells it */
        event.checkpoint.stored = (uint32_t)event_size(&event);
    if (wish->kind != EVENT_NONE)
        control_emit(control, event);
}

/* What an administrator of the queue may do with the jobs of others in it. */
static bool is_of_administration(const struct job_change *wish)
{
    return wish->kind == EVENT_HOLD || wish->kind == EVENT_RELEASE || wish->kind == EVENT_CANCEL ||
           (wish->kind == EVENT_UPDATE && wish->has_priority && !wish->queue[0] &&
            !wish->has_begin && wish->max_duration == 0);
}

static int check_right(const struct state *state, const struct job_change *wish,
                       const struct job *job, const char *what, uint64_t id, struct error *err)
{
    int code = queue_policy_check_reach(state, wish->who, job->queue, err);
    if (code < 0)
        return code;
    bool may = wish->kind == EVENT_CHECKPOINT ? identity_owns(wish->who, job->uid)
                                              : identity_may(wish->who, job->uid);

    may = may ||
          (is_of_administration(wish) && queue_policy_administers(state, wish->who, job->queue));

    return may ? 0
               : error_set(err, REFUSED_FORBIDDEN, "%s %" PRIu64 ": belongs to another user", what,
                           id);
}

/* What is wrong with a job of a group keeps the whole group from being changed. */
static int check_of_group(const struct state *state, const struct job_change *wish,
                          const struct group *group, const struct job *job, struct error *err)
{
    int code = check_right(state, wish, job, group_kind_name(group->kind), group->id, err);

    return code < 0 ? code : check(state, wish, job, err);
}

static bool ended_badly(const struct job *job)
{
    return job->state == JOB_ENDED && job->result != RESULT_OK;
}

/* Whether a job on the list is `on`, or in the group of that number. */
static bool will_run(const struct state *state, const struct job_change *wish, uint64_t on)
{
    const struct group *group = state_group(state, on);
    uint64_t last = group ? group->last : on;

    for (size_t i = wish->changed.count; i > 0 && wish->changed.items[i - 1] >= on; i--) {
        if (wish->changed.items[i - 1] <= last)
            return true;
    }
    return false;
}

/* Whether the needs that kept it from running can be met once the jobs on the list have run. What
 * is outside of the group must be requeued first. */
static int can_resume(const struct state *state, const struct job_change *wish,
                      const struct group *group, const struct job *job, bool *ret,
                      struct error *err)
{
    const struct need_table *needs = &state->needs;
    const struct need *need;

    *ret = true;
    for (uint32_t at = need_first_of(needs, job->id); at != 0; at = need->next_of_job) {
        need = &needs->needs.items[at - 1];
        if (!need->is_broken || will_run(state, wish, need->on))
            continue;
        if (need->on > group->id && need->on <= group->last)
            *ret = false; /* a stage for a failure that did not come */
        else if (state_need_answer(state, need->on, need->kind) == NEED_BROKEN)
            return error_set(err, REFUSED_CONFLICT,
                             "job %" PRIu64 ": needs job %" PRIu64
                             ", which did not end as needed; requeue that one first",
                             job->id, need->on);
    }
    return 0;
}

/* The stage of a pipeline whose jobs clean up: they run after other stages of it, whatever the
 * results of those. NULL: the job is no such one. */
static const struct group *clean_up_of(const struct state *state, const struct group *pipeline,
                                       const struct job *job)
{
    const struct group *stage = state_stage_of(state, job);

    for (uint32_t i = 0; stage && stage != pipeline && i < stage->needs_count; i++) {
        const struct group_need *need = &stage->needs[i];
        if (need->kind == NEED_ENDED && need->on > pipeline->id && need->on <= pipeline->last)
            return stage;
    }
    return NULL;
}

/* Whether it cleans up after a stage that runs again. */
static bool cleans_up_again(const struct state *state, const struct job_change *wish,
                            const struct group *group, const struct job *job)
{
    const struct group *stage = clean_up_of(state, group, job);

    for (uint32_t i = 0; stage && !job_is_active(job) && i < stage->needs_count; i++) {
        if (will_run(state, wish, stage->needs[i].on))
            return true;
    }
    return false;
}

/* A group goes on from what failed: what ended well stays, but for what cleans up; what runs goes
 * on. Jobs that others need have the smaller numbers. */
static int resume_group(const struct control *control, struct job_change *wish,
                        const struct group *group, struct error *err)
{
    const struct state *state = control_state(control);

    for (uint64_t id = group->id + 1; id <= group->last; id++) {
        const struct job *job = state_job(state, id);
        bool can = false;
        if (!job || !(ended_badly(job) || cleans_up_again(state, wish, group, job)))
            continue;
        int code = can_resume(state, wish, group, job, &can, err);
        if (code == 0 && can)
            code = check_of_group(state, wish, group, job, err);
        if (code < 0)
            return code;
        if (can)
            list_add(&wish->changed, id);
    }
    for (size_t i = 0; i < wish->changed.count; i++) {
        const struct job *job = state_job(state, wish->changed.items[i]);
        wish->resumes = clean_up_of(state, group, job) ? RESUME_AGAIN : RESUME_GROUP;
        emit_on(control, wish, job);
    }
    return 0;
}

/* ---- again from a stage on ---- */

typedef LIST(const struct group *) stage_list;

static bool needs_one_of(const struct group *stage, const stage_list *list)
{
    for (uint32_t i = 0; i < stage->needs_count; i++) {
        LIST_EACH (const struct group *const, one, list) {
            if ((*one)->id == stage->needs[i].on)
                return true;
        }
    }
    return false;
}

/* The stage, and all that follow it: those have the larger numbers. */
static void find_stages(const struct state *state, const struct group *first, stage_list *ret)
{
    const struct group *pipeline = state_group(state, first->parent);

    list_add(ret, first);
    for (const struct group *at = first->next; pipeline && at && at->id <= pipeline->last;
         at = at->next) {
        if (at->parent == pipeline->id && needs_one_of(at, ret))
            list_add(ret, at);
    }
}

static int check_again(const struct state *state, const struct job_change *wish,
                       const struct group *stage, const struct job *job, struct error *err)
{
    if (job_is_active(job))
        return error_set(err, REFUSED_CONFLICT,
                         "stage %" PRIu64 " %s: job %" PRIu64
                         " is still active; cancel it, or wait until it has ended",
                         stage->id, stage->name, job->id);
    int code = check_right(state, wish, job, "stage", stage->id, err);
    return code < 0 ? code : check(state, wish, job, err);
}

static int requeue_from(const struct control *control, struct job_change *wish,
                        const struct group *first, struct error *err)
{
    const struct state *state = control_state(control);
    stage_list stages = { 0 };
    int code = 0;

    find_stages(state, first, &stages);
    for (size_t i = 0; i < stages.count; i++) {
        const struct group *stage = stages.items[i];
        for (uint64_t id = stage->id + 1; code == 0 && id <= stage->last; id++) {
            const struct job *job = state_job(state, id);
            if (!job)
                continue;
            code = check_again(state, wish, stage, job, err);
            list_add(&wish->changed, id);
        }
    }
    list_release(&stages);
    wish->resumes = RESUME_AGAIN;
    for (size_t i = 0; code == 0 && i < wish->changed.count; i++)
        emit_on(control, wish, state_job(state, wish->changed.items[i]));
    return code;
}

/* A pipeline that is cancelled is cleaned up: jobs that wait to do so stay. */
static bool is_spared(const struct state *state, const struct job_change *wish,
                      const struct group *group, const struct job *job)
{
    return wish->kind == EVENT_CANCEL && group->kind == GROUP_PIPELINE && job->needs_left > 0 &&
           clean_up_of(state, group, job);
}

/* Jobs that clean up after a pipeline of their own are spared as there. */
static bool is_taken_along(const struct state *state, const struct job_change *wish,
                           const struct job *job)
{
    const struct group *group = state_pipeline_of(state, job);

    return can_take(job, EVENT_CANCEL) && !job->run->is_cancel_wanted &&
           !(group && is_spared(state, wish, group, job));
}

/* Cancel what the stages among these jobs submitted, and what those jobs submitted. They are of the
 * same user. What other jobs submit goes on, as in Slurm. */
static void cancel_submitted(const struct control *control, struct job_change *wish,
                             const char *what, uint64_t first, uint64_t last)
{
    const struct state *state = control_state(control);
    AUTO_FREE char *reason =
        mem_printf("%s %" PRIu64 ", which submitted it, was cancelled", what, wish->id);
    size_t begin = wish->changed.count;
    LIST(uint64_t) open = { 0 };

    for (uint64_t id = first; id <= last; id++) {
        const struct job *job = state_job(state, id);
        if (job && state_pipeline_of(state, job))
            list_add(&open, id);
    }
    for (size_t i = 0; i < open.count; i++) {
        for (const struct job *job = state_submitted(state, open.items[i]); job;
             job = state_job(state, job->run->elder)) {
            list_add(&open, job->id);
            if (is_taken_along(state, wish, job))
                list_add(&wish->changed, job->id);
        }
    }
    list_release(&open);
    for (size_t i = begin; i < wish->changed.count; i++)
        control_emit(control, (struct event){ .kind = EVENT_CANCEL,
                                              .cancel = { .job = wish->changed.items[i],
                                                          .user = wish->who->name,
                                                          .reason = reason } });
}

/* A change of one job may change others of the group: which are meant is settled before. */
static int change_group(const struct control *control, struct job_change *wish,
                        const struct group *group, struct error *err)
{
    const struct state *state = control_state(control);
    size_t count = 0;

    if (wish->kind == EVENT_REQUEUE && group->bad_count > 0)
        return resume_group(control, wish, group, err);
    for (uint64_t id = group->id + 1; id <= group->last; id++) {
        const struct job *job = state_job(state, id);
        if (!job || !can_take(job, wish->kind) || is_spared(state, wish, group, job))
            continue;
        list_add(&wish->changed, id);
        int code = check_of_group(state, wish, group, job, err);
        if (code < 0)
            return code;
    }
    if (group->kind == GROUP_PIPELINE)
        wish->resumes = RESUME_AGAIN; /* in their order, as at first */
    for (size_t i = 0; i < wish->changed.count; i++) {
        const struct job *job = state_job(state, wish->changed.items[i]);
        if (can_take(job, wish->kind)) {
            wish->changed.items[count++] = job->id;
            emit_on(control, wish, job);
        }
    }
    wish->changed.count = count;
    if (wish->kind == EVENT_CANCEL)
        cancel_submitted(control, wish, group_kind_name(group->kind), group->id + 1, group->last);
    return wish->changed.count > 0
               ? 0
               : error_set(err, REFUSED_CONFLICT, "%s %" PRIu64 ": %s changes nothing",
                           group_kind_name(group->kind), group->id, wish->verb);
}

static int refuse(const struct state *state, const struct job_change *wish, const struct job *job,
                  struct error *err)
{
    AUTO_RELEASE(text) struct text label = { 0 };

    say_job(state, job, &label);
    if (job->state == JOB_ENDED)
        return error_set(err, REFUSED_CONFLICT, "job %s has ended already; %s changes nothing",
                         label.bytes, wish->verb);
    return error_set(err, REFUSED_CONFLICT, "job %s is %s; %s changes nothing", label.bytes,
                     job->is_held && !job_is_active(job) ? "held" : job_state_name(job->state),
                     wish->verb);
}

int job_change(const struct control *control, struct job_change *wish, struct error *err)
{
    const struct state *state = control_state(control);
    const struct group *group = state_group(state, wish->id);
    const struct job *job = state_job(state, wish->id);

    if (wish->follows && (!group || group->kind != GROUP_STAGE))
        return error_set(err, REFUSED_BAD, "%" PRIu64 ": following: expected a stage", wish->id);
    if (wish->follows)
        return requeue_from(control, wish, group, err);
    if (group)
        return change_group(control, wish, group, err);
    if (!job)
        return error_set(err, REFUSED_NOT_FOUND, "job %" PRIu64 ": no such job", wish->id);
    int code = check_right(state, wish, job, "job", job->id, err);
    if (code == 0)
        code = check(state, wish, job, err);
    if (code < 0)
        return code;
    if (!can_take(job, wish->kind))
        return refuse(state, wish, job, err);
    list_add(&wish->changed, job->id);
    emit_on(control, wish, job);
    if (wish->kind == EVENT_CANCEL)
        cancel_submitted(control, wish, "job", job->id, job->id);
    return 0;
}
