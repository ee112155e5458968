/* SPDX-License-Identifier: Apache-2.0 */
/* cancel, hold, release, requeue, checkpoint, and PATCH: on a job, a task, or all jobs of a group.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "base/mem.h"
#include "control/job_change.h"
#include "control/phrases.h"
#include "control/queue_policy.h"
#include "control/when.h"
#include "io/net/client.h"
#include "time/begin.h"
#include "wire/job/signal_name.h"
#include "wire/job/submission.h"
#include "wire/reader.h"

struct action {
    struct deferred deferred;
    struct job_change change;
    bool is_immediate; /* cancel: without a grace period */
    int signal;        /* to send; 0: none */
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
        if (action->signal > 0)
            attempts->signal(attempts->user, id, action->signal);
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

/* A task's job number never changes, so it is looked up at once. NULL: refused, no such task. */
static struct action *create_action(struct call *call, enum event_kind kind, const char *verb)
{
    static const struct deferred_ops ops = { .run = run_action,
                                             .answer = answer_action,
                                             .release = release_action };
    const struct job *task = call->index > 0 ? call_job(call) : NULL;

    if (call->index > 0 && !task)
        return NULL;
    struct action *action = deferred_create(call, sizeof(*action), &ops);
    action->change = (struct job_change){
        .who = call->request->who, .id = task ? task->id : call->id, .kind = kind, .verb = verb
    };
    return action;
}

json_t *handle_job_action(struct call *call)
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

    while (strcmp(verb, verbs[i].verb) != 0) /* the route table has these only */
        i++;
    struct action *action = create_action(call, verbs[i].kind, verbs[i].verb);
    if (!action)
        return NULL;
    action->deferred.is_routine = verbs[i].kind == EVENT_CHECKPOINT;
    action->is_immediate = verbs[i].kind == EVENT_CANCEL && query_is_on(call, "signal_now");
    action->change.follows = verbs[i].kind == EVENT_REQUEUE && query_is_on(call, "following");
    return deferred_begin(call, &action->deferred, 0);
}

json_t *handle_signal(struct call *call)
{
    const char *name = http_query(call->request, "name");

    int number = signal_parse(name, &call->err);
    if (number > 0 && !call->api->ports.attempts.signal)
        number = error_set(&call->err, REFUSED_NEVER, "signal: this engine cannot send one");
    struct action *action = number > 0 ? create_action(call, EVENT_NONE, "signal") : NULL;
    if (number < 0)
        call->code = number;
    if (!action)
        return NULL;
    action->signal = number;
    return deferred_begin(call, &action->deferred, 0);
}

/* A page in a browser cannot send this header. */
static bool wants_bridge(const struct call *call)
{
    const char *upgrade = http_header(call->request, "Upgrade");

    return upgrade && strcmp(upgrade, BRIDGE_PROTOCOL) == 0;
}

static int check_enter(const struct call *call, const struct job *job, uint64_t rank,
                       struct error *err)
{
    if (!identity_may(call->request->who, job->uid))
        return error_set(err, REFUSED_FORBIDDEN, "job %" PRIu64 ": belongs to another user",
                         job->id);
    int code = queue_policy_check_reach(api_state(call->api), call->request->who, job->queue, err);
    if (code < 0)
        return code;
    if (call->request->who->source != IDENTITY_PEER && !wants_bridge(call))
        return error_set(err, REFUSED_BAD,
                         "exec: over the network it needs the header Upgrade: " BRIDGE_PROTOCOL);
    if (!call->api->ports.attempts.enter)
        return error_set(err, REFUSED_NEVER, "exec: this engine cannot run a command inside a job");
    if (job->state != JOB_RUNNING)
        return error_set(err, REFUSED_CONFLICT, "job %" PRIu64 " is %s; expected a running job",
                         job->id, job_state_name(job->state));
    for (uint32_t i = 0; i < job->run->lease->members_count; i++) {
        if (lease_rank(job->run->lease, i) == rank)
            return 0;
    }
    return error_set(err, REFUSED_NOT_FOUND, "job %" PRIu64 ": no member of rank %" PRIu64, job->id,
                     rank);
}

/* The connection to the job's supervisor goes to the client itself, or to its bridge; what may be
 * asked there is up to the owner alone. */
json_t *handle_enter(struct call *call)
{
    const struct api_attempts *attempts = &call->api->ports.attempts;
    uint64_t rank = query_number(call, "rank", 0);
    int fd = -1;

    if (call_group(call)) {
        error_set(&call->err, REFUSED_BAD, "exec: %" PRIu64 " is several jobs; expected one",
                  call->id);
        return refuse(call, REFUSED_BAD);
    }
    const struct job *job = call_job(call);
    if (!job)
        return NULL;
    int code = check_enter(call, job, rank, &call->err);
    if (code == 0 && attempts->enter(attempts->user, job->id, (uint32_t)rank, &fd, &call->err) < 0)
        code = error_prefix(&call->err, REFUSED_CONFLICT, "job %" PRIu64, job->id);
    if (code == 0 && wants_bridge(call)) {
        code = bridge_open(call, fd, &call->err);
        if (code < 0)
            close(fd);
    } else if (code == 0)
        http_hand_over(call->request, fd);
    return refuse(call, code);
}

static int read_priority(const struct reader *reader, const json_t *body, struct job_change *update)
{
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    int code =
        reader_scalar(reader, body, "priority", "a number, or low, normal, high", buffer, &text);
    if (code < 0 || !text)
        return code;
    update->has_priority = true;
    code = priority_parse(text, &update->priority, reader->err);
    return code < 0 ? reader_place(reader, code, body, "priority") : 0;
}

static int read_begin(const struct control *control, const struct reader *reader,
                      const json_t *body, struct job_change *update)
{
    AUTO_FREE char *at = NULL;
    const char *text = NULL;
    usec_t delay = 0, wall = control_wall(control), begin;

    int code = reader_string(reader, body, "begin", READER_SCALAR_SIZE, &text);
    if (code < 0 || !text)
        return code;
    code = begin_parse(text, &delay, &at, reader->err);
    if (code < 0)
        return reader_place(reader, code, body, "begin");
    if (at) {
        code = when_parse("begin", at, wall, &begin, reader->err);
        delay = code == 0 ? begin - wall : 0;
        update->begin_is_wall = true;
    }
    update->has_begin = true;
    update->begin = delay > 0 ? control_now(control) + delay : 0;
    return code;
}

static int read_update(const struct control *control, struct job_change *update, const json_t *body,
                       struct error *err)
{
    static const char *const keys[] = { "priority", "queue", "max_duration", "begin", NULL };
    struct reader reader = { .err = err };
    const char *queue = NULL;

    int code = reader_check_keys(&reader, body, keys);
    if (code == 0 && json_object_size(body) == 0)
        code = error_set(err, REFUSED_BAD, "body: expected priority, queue, max_duration or begin");
    if (code == 0)
        code = read_priority(&reader, body, update);
    if (code == 0)
        code = reader_name(&reader, body, "queue", &queue);
    if (code == 0 && queue)
        snprintf(update->queue, sizeof(update->queue), "%s", queue);
    if (code == 0)
        code = reader_duration(&reader, body, "max_duration", &update->max_duration);
    if (code == 0 && reader_get(body, "max_duration") && update->max_duration <= 0)
        code = reader_fail(&reader, REFUSED_BAD, body, "max_duration", "expected more than 0s");
    return code < 0 ? code : read_begin(control, &reader, body, update);
}

json_t *handle_job_update(struct call *call)
{
    struct action *action = create_action(call, EVENT_UPDATE, "update");

    if (!action)
        return NULL;
    int code = read_body(call);
    if (code == 0)
        code = read_update(api_control(call->api), &action->change, call->body, &call->err);
    return deferred_begin(call, &action->deferred, code);
}
