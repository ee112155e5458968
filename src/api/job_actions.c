/* SPDX-License-Identifier: Apache-2.0 */
/* cancel, hold, release, requeue, checkpoint, and PATCH: on a job, a task, or all jobs of a group.
 */
#include <stdio.h>
#include <string.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "base/mem.h"
#include "control/job_change.h"
#include "control/phrases.h"
#include "control/when.h"
#include "time/begin.h"
#include "wire/job/submission.h"

struct action {
    struct deferred deferred;
    struct job_change change;
    bool is_immediate; /* cancel: without a grace period */
};

static int run_action(struct deferred *deferred, struct error *err)
{
    struct action *action = CONTAINER_OF(deferred, struct action, deferred);

    return job_change(api_control(deferred->api), &action->change, err);
}

static json_t *answer_action(struct deferred *deferred)
{
    const struct action *action = CONTAINER_OF(deferred, struct action, deferred);
    const struct api_attempts *attempts = &deferred->api->ports.attempts;
    const struct state *state = api_state(deferred->api);
    json_t *changed = json_array(), *labels = json_array();

    for (size_t i = 0; i < action->change.changed.count; i++) {
        uint64_t id = action->change.changed.items[i];
        AUTO_RELEASE(text) struct text label = { 0 };
        const struct job *job = state_job(state, id);
        if (action->is_immediate)
            attempts->kill(attempts->user, id);
        if (job)
            say_job(state, job, &label);
        json_array_append_new(changed, json_integer((json_int_t)id));
        json_array_append_new(labels, json_string(text_string(&label)));
    }
    return json_pack("{s:o, s:o}", "changed", changed, "labels", labels);
}

static void release_action(struct deferred *deferred)
{
    list_release(&CONTAINER_OF(deferred, struct action, deferred)->change.changed);
}

/* Tasks are found now: an array's numbers never change. NULL: there is none, and that was said. */
static struct action *create_action(struct call *call, enum event_kind kind, const char *verb)
{
    static const struct deferred_ops ops = { run_action, answer_action, release_action, 200 };
    const struct job *task = call->index > 0 ? call_job(call) : NULL;

    if (call->index > 0 && !task)
        return NULL;
    struct action *action = mem_zero(1, sizeof(*action));
    deferred_init(&action->deferred, call, &ops);
    action->change = (struct job_change){
        .who = call->request->who, .id = task ? task->id : call->id, .kind = kind, .verb = verb
    };
    return action;
}

void handle_job_action(struct call *call)
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
    size_t i = 0;

    while (strcmp(verb, verbs[i].verb) != 0) /* the route says that it is one of them */
        i++;
    struct action *action = create_action(call, verbs[i].kind, verbs[i].verb);
    if (!action)
        return;
    action->is_immediate =
        verbs[i].kind == EVENT_CANCEL && query_is_on(call->request, "signal_now");
    deferred_begin(&action->deferred, 0, NULL);
}

static int read_priority(const json_t *value, struct job_change *update, struct error *err)
{
    update->has_priority = true;
    if (json_is_string(value))
        return priority_parse(json_string_value(value), &update->priority, err);
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < -SUBMISSION_PRIORITY_MAX ||
        number > SUBMISSION_PRIORITY_MAX)
        return error_set(err, REFUSED_BAD,
                         "priority: expected a number from %d to %d, or low, normal, high",
                         -SUBMISSION_PRIORITY_MAX, SUBMISSION_PRIORITY_MAX);
    update->priority = (int32_t)number;
    return 0;
}

static int read_duration(const json_t *value, struct job_change *update, struct error *err)
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
        return error_set(err, REFUSED_BAD, "max_duration: expected a duration like 2h, above 0");
    return 0;
}

static int read_begin(const struct control *control, const json_t *value, struct job_change *update,
                      struct error *err)
{
    usec_t now_wall = control_wall(control);
    AUTO_FREE char *at = NULL;
    usec_t delay = 0;

    if (!json_is_string(value))
        return error_set(err, REFUSED_BAD, "begin: expected text like now+1h or 14:30");
    int code = begin_parse(json_string_value(value), &delay, &at, err);
    if (code == 0 && at) {
        usec_t wall;
        code = when_parse("begin", at, now_wall, &wall, err);
        delay = code == 0 ? wall - now_wall : 0;
    }
    update->has_begin = true;
    update->begin = delay > 0 ? control_now(control) + delay : 0;
    return code;
}

static int read_queue(const json_t *value, struct job_change *update, struct error *err)
{
    if (!json_is_string(value) || !string_is_name(json_string_value(value), REQUEST_NAME_SIZE - 1))
        return error_set(err, REFUSED_BAD, "queue: expected the name of a queue");
    snprintf(update->queue, sizeof(update->queue), "%s", json_string_value(value));
    return 0;
}

static int read_update(const struct control *control, struct job_change *update, json_t *body,
                       struct error *err)
{
    static const char *const keys[] = { "priority", "queue", "max_duration", "begin", NULL };
    const char *key;
    json_t *value;
    int code = 0;

    if (!json_is_object(body) || json_object_size(body) == 0)
        return error_set(err, REFUSED_BAD,
                         "body: expected an object with priority, queue, max_duration or begin");
    json_object_foreach(body, key, value)
    {
        if (strcmp(key, "priority") == 0)
            code = read_priority(value, update, err);
        else if (strcmp(key, "queue") == 0)
            code = read_queue(value, update, err);
        else if (strcmp(key, "max_duration") == 0)
            code = read_duration(value, update, err);
        else if (strcmp(key, "begin") == 0)
            code = read_begin(control, value, update, err);
        else {
            const char *nearest = string_nearest(key, keys);
            return error_set(err, REFUSED_BAD, "unknown key '%.40s'%s%s%s", key,
                             nearest ? "; did you mean '" : "", nearest ? nearest : "",
                             nearest ? "'?" : "");
        }
        if (code < 0)
            return code;
    }
    return 0;
}

void handle_job_update(struct call *call)
{
    struct error err = { "" };
    json_t *body = read_body(call->request);

    if (!body)
        return;
    struct action *action = create_action(call, EVENT_UPDATE, "update");
    int code = action ? read_update(api_control(call->api), &action->change, body, &err) : 0;
    json_decref(body);
    if (action)
        deferred_begin(&action->deferred, code, &err);
}
