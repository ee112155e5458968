/* SPDX-License-Identifier: Apache-2.0 */
/* cancel, hold, release, requeue, checkpoint, and PATCH: on a job, a task, or all jobs of a group.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/inside.h"
#include "base/mem.h"
#include "control/when.h"
#include "time/begin.h"
#include "wire/job/submission.h"

struct act {
    struct api_change change;
    struct api *api;
    struct http_request *request;
    uint64_t id;
    uint32_t index;
    enum event_kind kind;
    const char *verb;
    struct event update; /* of UPDATE; queue is in queue_name */
    char queue_name[REQUEST_NAME_SIZE];
    const struct identity *who;
    bool is_immediate; /* cancel: without a grace period */
    json_t *changed, *labels;
};

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
    case EVENT_CHECKPOINT:
        return job->state == JOB_RUNNING || job->state == JOB_STOPPING;
    default:
        return !is_over;
    }
}

/* What it was admitted to may have changed since it ended. */
static int check_requeue(const struct act *act, const struct job *job, struct error *err)
{
    const struct state *state = api_state(act->api);
    const struct queue *queue = &state->queues.items[job->queue];
    struct why why;

    if (queue->is_removed || queue->child_count > 0)
        return error_set(err, -EALREADY, "job %" PRIu64 ": its queue %s takes no jobs any more",
                         job->id, queue->name);
    sched_admit(state, state_request(state, job), job->queue, job->is_preemptible, &why);
    if (!why_is_never(why.kind))
        return 0;
    AUTO_RELEASE(text) struct text text = { 0 };
    never_say(state, state_request(state, job), &why, &text);
    return error_set(err, -EDOM, "%s", text_string(&text));
}

static int check_change(const struct act *act, const struct job *job, struct error *err)
{
    const struct event_update *update = &act->update.update;
    const struct state *state = api_state(act->api);
    struct why why;

    if (act->kind == EVENT_REQUEUE && job->state == JOB_ENDED)
        return check_requeue(act, job, err);

    if (act->kind != EVENT_UPDATE)
        return 0;
    if (update->has_priority && update->priority > job->priority && update->priority > 0 &&
        !act->who->is_admin)
        return error_set(err, -EACCES,
                         "job %" PRIu64 ": only administrators raise a priority above 0", job->id);
    if (job_is_active(job) && update->max_duration > job->max_duration && !act->who->is_admin)
        return error_set(err, -EACCES,
                         "job %" PRIu64 ": only administrators give more time to one that runs",
                         job->id);
    if (job_is_active(job) && (act->queue_name[0] || update->has_begin))
        return error_set(err, -EALREADY,
                         "job %" PRIu64 ": runs already; only priority and max_duration can change",
                         job->id);
    uint32_t queue = job->queue;
    if (act->queue_name[0]) {
        int64_t found = state_find_queue(state, act->queue_name);
        if (found <= QUEUE_ROOT)
            return error_set(err, -ENOENT, "queue %s: no such queue", act->queue_name);
        if (state->queues.items[found].child_count > 0)
            return error_set(err, -EINVAL, "queue %s: has queues below it; name one of them",
                             act->queue_name);
        queue = (uint32_t)found;
        sched_admit(state, state_request(state, job), queue, job->is_preemptible, &why);
        if (why_is_never(why.kind)) {
            AUTO_RELEASE(text) struct text text = { 0 };
            never_say(state, state_request(state, job), &why, &text);
            return error_set(err, -EDOM, "%s", text_string(&text));
        }
    }
    return 0;
}

static void emit_on(struct act *act, const struct job *job)
{
    struct event event = { .kind = act->kind };

    if (act->kind == EVENT_UPDATE) {
        event = act->update;
        event.update.queue = act->queue_name;
    }
    if (act->kind == EVENT_CANCEL)
        event.cancel.user = act->who->name;
    if (act->kind == EVENT_CHECKPOINT)
        event.checkpoint.attempt = job->run->attempt;
    event.hold.job = job->id; /* they all name the job first */
    AUTO_RELEASE(text) struct text label = { 0 };

    view_id(act->api, job, &label);
    json_array_append_new(act->changed, json_integer((json_int_t)job->id));
    json_array_append_new(act->labels, json_string(label.bytes));
    act->api->ports.emit(act->api->ports.user, &event);
}

static int check_right(const struct act *act, uid_t owner, const char *what, uint64_t id,
                       struct error *err)
{
    if (identity_owns(act->who, owner) || (act->kind != EVENT_CHECKPOINT && act->who->is_admin))
        return 0;
    return error_set(err, -EACCES, "%s %" PRIu64 ": belongs to somebody else", what, id);
}

static int run_on_group(struct act *act, const struct group *group, struct error *err)
{
    const struct state *state = api_state(act->api);

    for (int pass = 0; pass < 2; pass++) {
        size_t count = 0;
        for (uint64_t id = group->id + 1; id <= group->last; id++) {
            const struct job *job = state_job(state, id);
            if (!job || !can_take(job, act->kind))
                continue;
            count++;
            int code =
                pass == 0 ? check_right(act, job->uid, group_kind_name(group->kind), group->id, err)
                          : 0;
            if (code == 0 && pass == 0)
                code = check_change(act, job, err);
            if (code < 0)
                return code;
            if (pass == 1)
                emit_on(act, job);
        }
        if (pass == 0 && count == 0)
            return error_set(err, -EALREADY, "%s %" PRIu64 ": %s changes nothing",
                             group_kind_name(group->kind), group->id, act->verb);
    }
    return 0;
}

static int refuse_change(const struct act *act, const struct job *job, struct error *err)
{
    AUTO_RELEASE(text) struct text label = { 0 };

    view_id(act->api, job, &label);
    if (job->state == JOB_ENDED)
        return error_set(err, -EALREADY, "job %s has ended already; %s changes nothing",
                         label.bytes, act->verb);
    return error_set(err, -EALREADY, "job %s is %s; %s changes nothing", label.bytes,
                     job->is_held && !job_is_active(job) ? "held" : job_state_name(job->state),
                     act->verb);
}

static int run_act(struct api_change *change, struct error *err)
{
    struct act *act = CONTAINER_OF(change, struct act, change);
    const struct state *state = api_state(act->api);
    const struct group *group = act->index == 0 ? state_group(state, act->id) : NULL;

    if (group)
        return run_on_group(act, group, err);
    const struct job *job = state_job(state, act->id);
    if (!job)
        return error_set(err, -ENOENT, "job %" PRIu64 ": no such job", act->id);
    int code = check_right(act, job->uid, "job", job->id, err);
    if (code == 0)
        code = check_change(act, job, err);
    if (code < 0)
        return code;
    if (!can_take(job, act->kind))
        return refuse_change(act, job, err);
    emit_on(act, job);
    return 0;
}

static void done_act(struct api_change *change, int code, const struct error *err)
{
    struct act *act = CONTAINER_OF(change, struct act, change);

    for (size_t i = 0; code == 0 && act->is_immediate && i < json_array_size(act->changed); i++)
        act->api->ports.kill_job(act->api->ports.user,
                                 (uint64_t)json_integer_value(json_array_get(act->changed, i)));
    if (code < 0) {
        json_decref(act->changed);
        json_decref(act->labels);
        reply_error(act->request, code, err);
    } else
        reply_json(act->request, 200,
                   json_pack("{s:o, s:o}", "changed", act->changed, "labels", act->labels));
    free(act);
}

static struct act *create_act(struct call *call, enum event_kind kind, const char *verb)
{
    struct act *act = mem_zero(1, sizeof(*act));

    *act = (struct act){
        .change = { .run = run_act, .done = done_act },
        .api = call->api,
        .request = call->request,
        .id = call->id,
        .index = call->index,
        .kind = kind,
        .verb = verb,
        .who = call->request->who,
        .changed = json_array(),
        .labels = json_array(),
    };
    return act;
}

/* Tasks are found now: an array's numbers never change. */
static bool settle_task(struct call *call)
{
    if (call->index == 0)
        return true;
    const struct job *job = find_job(call);
    if (job)
        call->id = job->id;
    return job != NULL;
}

void handle_act(struct call *call)
{
    static const struct {
        const char *verb;
        enum event_kind kind;
    } verbs[] = {
        { "cancel", EVENT_CANCEL },         { "hold", EVENT_HOLD },
        { "release", EVENT_RELEASE },       { "requeue", EVENT_REQUEUE },
        { "checkpoint", EVENT_CHECKPOINT },
    };
    const char *verb = strrchr(call->request->path, '/') + 1;

    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (strcmp(verb, verbs[i].verb) != 0 || !settle_task(call))
            continue;
        struct act *act = create_act(call, verbs[i].kind, verbs[i].verb);
        const char *now = http_query(call->request, "signal_now");
        act->is_immediate = verbs[i].kind == EVENT_CANCEL && now && strcmp(now, "0") != 0;
        call->api->ports.enqueue(call->api->ports.user, &act->change);
    }
}

static int read_priority(const json_t *value, struct event_update *update, struct error *err)
{
    update->has_priority = 1;
    if (json_is_string(value))
        return priority_parse(json_string_value(value), &update->priority, err);
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < -SUBMISSION_PRIORITY_MAX ||
        number > SUBMISSION_PRIORITY_MAX)
        return error_set(err, -EINVAL,
                         "priority: expected a number from %d to %d, or low, normal, high",
                         -SUBMISSION_PRIORITY_MAX, SUBMISSION_PRIORITY_MAX);
    update->priority = (int32_t)number;
    return 0;
}

static int read_duration(const json_t *value, struct event_update *update, struct error *err)
{
    int code = 0;

    if (json_is_string(value) && strcmp(json_string_value(value), "unlimited") == 0)
        update->max_duration = USEC_NEVER;
    else if (json_is_string(value))
        code = units_parse_duration(json_string_value(value), &update->max_duration, err);
    else if (json_is_integer(value) && json_integer_value(value) > 0 &&
             json_integer_value(value) <= 3650 * 86400)
        update->max_duration = json_integer_value(value) * USEC_PER_SEC;
    if (code < 0)
        return error_prefix(err, code, "max_duration");
    if (update->max_duration <= 0)
        return error_set(err, -EINVAL, "max_duration: expected a duration like 2h, above 0");
    return 0;
}

static int read_begin(const struct api *api, const json_t *value, struct event_update *update,
                      struct error *err)
{
    usec_t now = api->ports.now(api->ports.user), ahead = api->ports.wall_ahead(api->ports.user);
    AUTO_FREE char *at = NULL;
    usec_t delay = 0;

    if (!json_is_string(value))
        return error_set(err, -EINVAL, "begin: expected text like now+1h or 14:30");
    int code = begin_parse(json_string_value(value), &delay, &at, err);
    if (code == 0 && at) {
        usec_t wall;
        code = when_parse("begin", at, now + ahead, &wall, err);
        delay = code == 0 ? wall - (now + ahead) : 0;
    }
    update->has_begin = 1;
    update->begin = delay > 0 ? now + delay : 0;
    return code;
}

static int read_queue(const json_t *value, struct act *act, struct error *err)
{
    if (!json_is_string(value) || !string_is_name(json_string_value(value), REQUEST_NAME_SIZE - 1))
        return error_set(err, -EINVAL, "queue: expected the name of a queue");
    snprintf(act->queue_name, sizeof(act->queue_name), "%s", json_string_value(value));
    return 0;
}

static int read_update(struct act *act, json_t *body, struct error *err)
{
    static const char *const keys[] = { "priority", "queue", "max_duration", "begin", NULL };
    const char *key;
    json_t *value;
    int code = 0;

    act->update.kind = EVENT_UPDATE;
    if (!json_is_object(body) || json_object_size(body) == 0)
        return error_set(err, -EINVAL,
                         "body: expected an object with priority, queue, max_duration or begin");
    json_object_foreach(body, key, value)
    {
        if (strcmp(key, "priority") == 0)
            code = read_priority(value, &act->update.update, err);
        else if (strcmp(key, "queue") == 0)
            code = read_queue(value, act, err);
        else if (strcmp(key, "max_duration") == 0)
            code = read_duration(value, &act->update.update, err);
        else if (strcmp(key, "begin") == 0)
            code = read_begin(act->api, value, &act->update.update, err);
        else {
            const char *nearest = string_nearest(key, keys);
            return error_set(err, -EINVAL, "unknown key '%.40s'%s%s%s", key,
                             nearest ? "; did you mean '" : "", nearest ? nearest : "",
                             nearest ? "'?" : "");
        }
        if (code < 0)
            return code;
    }
    return 0;
}

void handle_update(struct call *call)
{
    struct error err = { "" };
    json_t *body = read_body(call->request);

    if (!body)
        return;
    if (!settle_task(call)) {
        json_decref(body);
        return;
    }
    struct act *act = create_act(call, EVENT_UPDATE, "update");
    int code = read_update(act, body, &err);
    json_decref(body);
    if (code < 0)
        done_act(&act->change, code, &err);
    else
        call->api->ports.enqueue(call->api->ports.user, &act->change);
}
