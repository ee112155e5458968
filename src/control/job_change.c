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
    return code < 0 ? code
                    : admit_check(state, state_request(state, job), job->queue, job->is_preemptible,
                                  err);
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
                         "job %" PRIu64 ": only administrators give more time to one that runs",
                         job->id);
    if (is_active && (wish->queue[0] || wish->has_begin))
        return error_set(err, REFUSED_CONFLICT,
                         "job %" PRIu64 ": runs already; only priority and max_duration can change",
                         job->id);
    if (wish->queue[0] || duration > job->max_duration)
        code = queue_policy_check_job(state, wish->who, queue, job, duration, err);
    return code < 0 || !wish->queue[0]
               ? code
               : admit_check(state, state_request(state, job), queue, job->is_preemptible, err);
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
                                              .begin = wish->begin };
    if (wish->kind == EVENT_CANCEL)
        event.cancel.user = wish->who->name;
    if (wish->kind == EVENT_CHECKPOINT)
        event.checkpoint.attempt = job->run->attempt;
    event.hold.job = job->id; /* the job is the first member of all of these */
    list_add(&wish->changed, job->id);
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
    bool may = wish->kind == EVENT_CHECKPOINT ? identity_owns(wish->who, job->uid)
                                              : identity_may(wish->who, job->uid);

    may = may ||
          (is_of_administration(wish) && queue_policy_administers(state, wish->who, job->queue));

    return may ? 0
               : error_set(err, REFUSED_FORBIDDEN, "%s %" PRIu64 ": belongs to somebody else", what,
                           id);
}

static int change_group(const struct control *control, struct job_change *wish,
                        const struct group *group, struct error *err)
{
    const struct state *state = control_state(control);
    const char *kind = group_kind_name(group->kind);
    size_t count = 0;

    for (uint64_t id = group->id + 1; id <= group->last; id++) {
        const struct job *job = state_job(state, id);
        if (!job || !can_take(job, wish->kind))
            continue;
        count++;
        int code = check_right(state, wish, job, kind, group->id, err);
        if (code == 0)
            code = check(state, wish, job, err);
        if (code < 0)
            return code;
    }
    if (count == 0)
        return error_set(err, REFUSED_CONFLICT, "%s %" PRIu64 ": %s changes nothing", kind,
                         group->id, wish->verb);
    for (uint64_t id = group->id + 1; id <= group->last; id++) {
        const struct job *job = state_job(state, id);
        if (job && can_take(job, wish->kind))
            emit_on(control, wish, job);
    }
    return 0;
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
    emit_on(control, wish, job);
    return 0;
}
