/* SPDX-License-Identifier: Apache-2.0 */
#include "control/resubmit.h"

#include "control/lookup.h"
#include "control/queue_policy.h"

static int check(const struct control *control, const struct resubmission *wish, struct error *err)
{
    const struct state *state = control_state(control);
    const struct job *job = wish->job;
    struct identity who;

    identity_set(&who, IDENTITY_STORED, state_user(state, job->user), job->uid, job->gid,
                 control->owner);
    int code = queue_policy_check_job(state, &who, wish->queue, job, wish->max_duration, err);
    if (code == 0)
        code = queue_policy_check_priority(state, &who, wish->queue, job->priority, "", err);
    if (code == 0)
        code = admit_check(state, wish->request, wish->queue, job->is_preemptible, err);
    if (code == 0)
        code = admit_check_user(state, wish->request, wish->queue, job->user, job->gid, err);
    identity_release(&who);
    return code;
}

int resubmit(const struct control *control, const struct resubmission *wish, uint64_t *ret_id,
             struct error *err)
{
    const struct state *state = control_state(control);
    const struct job *job = wish->job;
    bool is_kept = job->estimate < wish->max_duration || wish->request->speeds_count > 0;
    struct event event = { .kind = EVENT_SUBMIT, .submit = state_submission(state, job) };

    event.submit.queue = state->queues.items[wish->queue].name;
    event.submit.request = *wish->request;
    event.submit.estimate = is_kept ? job->estimate : wish->max_duration;
    int code = check(control, wish, err);
    if (code < 0)
        return code;
    event.submit.request.max_duration = wish->max_duration;
    event.submit.request.spot = job->spot;
    *ret_id = event.submit.id;
    struct event cancel = { .kind = EVENT_CANCEL,
                            .cancel = { .job = job->id, .user = "", .reason = "" } };
    control_emit(control, event);
    control_emit(control, cancel);
    return 0;
}
