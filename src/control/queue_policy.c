/* SPDX-License-Identifier: Apache-2.0 */
#include "control/queue_policy.h"

#include <inttypes.h>
#include <string.h>

#include "control/unix_names.h"
#include "core/cluster/queue_rules.h"
#include "core/job/own_speed.h"
#include "core/job/role.h"
#include "core/state/job_speed.h"
#include "wire/job/submission.h"

/* ---- people ---- */

/* Whether the queue itself lists the user, or one of the user's groups in the list after it. */
static bool is_listed(const struct queue *queue, enum queue_list users, const struct identity *who)
{
    for (size_t i = 0; i < queue->names.count; i++) {
        const struct queue_name *name = &queue->names.items[i];
        if (name->list == users ? strcmp(name->name, who->name) == 0
                                : name->list == users + 1 && user_is_in_group(who, name->gid))
            return true;
    }
    return false;
}

static bool names_queue(const char *queues, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = queues; *at; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

bool queue_policy_reaches(const struct state *state, const struct identity *who, uint32_t queue)
{
    const struct queue *queues = state->queues.items;
    bool reaches = !who->queues;

    for (uint32_t at = queue; !reaches && at != QUEUE_NONE; at = queue_above(queues, at))
        reaches = names_queue(who->queues, queues[at].name);
    return reaches;
}

int queue_policy_check_reach(const struct state *state, const struct identity *who, uint32_t queue,
                             struct error *err)
{
    return queue_policy_reaches(state, who, queue)
               ? 0
               : error_set(err, REFUSED_FORBIDDEN, "queue %s: the token is only for %s",
                           state->queues.items[queue].name, who->queues);
}

bool queue_policy_administers(const struct state *state, const struct identity *who, uint32_t queue)
{
    const struct queue *queues = state->queues.items;

    if (who->scope < SCOPE_QUEUES || !queue_policy_reaches(state, who, queue))
        return false;
    for (uint32_t at = queue; at != QUEUE_NONE; at = queue_above(queues, at)) {
        if (is_listed(&queues[at], QUEUE_ADMIN_USERS, who))
            return true;
    }
    return false;
}

static int check_submitter(const struct state *state, const struct identity *who, uint32_t number,
                           struct error *err)
{
    const struct queue *queue =
        queue_that_lists(state->queues.items, number, QUEUE_SUBMIT_USERS, 2);

    int code = queue_policy_check_reach(state, who, number, err);
    if (code < 0)
        return code;
    if (!queue || who->is_admin || is_listed(queue, QUEUE_SUBMIT_USERS, who) ||
        queue_policy_administers(state, who, number))
        return 0;
    return error_set(err, REFUSED_FORBIDDEN,
                     "queue %s: only users and groups that its configuration lists under 'submit' "
                     "may submit to it; %s is not among them",
                     state->queues.items[number].name, who->name);
}

int queue_policy_check_priority(const struct state *state, const struct identity *who,
                                uint32_t queue, int32_t priority, const char *prefix,
                                struct error *err)
{
    struct queue_rules rules = queue_rules_of(state->queues.items, queue);

    if (priority <= 0 || priority <= rules.priority_most || who->is_admin ||
        queue_policy_administers(state, who, queue))
        return 0;
    if (rules.priority_most > 0)
        return error_set(err, REFUSED_FORBIDDEN,
                         "%spriority %" PRId32 ": queue %s allows up to %" PRId64, prefix, priority,
                         state->queues.items[queue].name, rules.priority_most);
    return error_set(err, REFUSED_FORBIDDEN,
                     "%spriority %" PRId32 ": only administrators can set one above 0", prefix,
                     priority);
}

/* ---- bounds ---- */

/* What the queue's bounds are about. */
struct asked {
    const struct request *request;
    usec_t max_duration;
    bool is_preemptible;
};

static bool allows_model(const struct queue *queue, const char *model)
{
    for (size_t i = 0; i < queue->names.count; i++) {
        const struct queue_name *name = &queue->names.items[i];
        if (name->list == QUEUE_MODELS && strcmp(name->name, model) == 0)
            return true;
    }
    return false;
}

static void say_models(const struct queue *queue, struct text *text)
{
    for (size_t i = 0; i < queue->names.count; i++) {
        if (queue->names.items[i].list == QUEUE_MODELS)
            text_printf(text, "%s%s", text->length > 0 ? ", " : "", queue->names.items[i].name);
    }
}

static int check_models(const struct state *state, uint32_t number, const struct request *request,
                        struct error *err)
{
    const struct queue *queue = queue_that_lists(state->queues.items, number, QUEUE_MODELS, 1);

    for (uint32_t i = 0; queue && i < request_parts(request); i++) {
        const struct request *part = request_part(request, i);
        for (uint32_t k = 0; k < part->gpu_alternatives; k++) {
            const char *model = part->gpus[k].model;
            AUTO_RELEASE(text) struct text models = { 0 };
            if (allows_model(queue, model))
                continue;
            say_models(queue, &models);
            return error_set(err, REFUSED_NEVER, "queue %s: %s%s: its jobs use %s only",
                             state->queues.items[number].name,
                             model[0] ? "model " : "a request without a model", model,
                             text_string(&models));
        }
    }
    return 0;
}

/* The most GPUs that it can have: those of an elastic gang at its largest. */
static int64_t most_milli(const struct state *state, const struct request *request)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < request_parts(request); i++) {
        const struct request *part = request_part(request, i);
        int64_t most = 0;
        for (uint32_t k = 0; k < part->gpu_alternatives; k++) {
            bool is_gpu = !state_kind_of_ask(state, &part->gpus[k])[0];
            int64_t milli = is_gpu ? request_milli(part, k, 0) : 0;
            most = milli > most ? milli : most;
        }
        sum += most;
    }
    return request->members_max > request->members ? sum / request->members * request->members_max
                                                   : sum;
}

static int check_bounds(const struct state *state, uint32_t number, const struct asked *asked,
                        struct error *err)
{
    const struct queue_rules rules = queue_rules_of(state->queues.items, number);
    const char *name = state->queues.items[number].name;
    char spelt[2][UNITS_TEXT_SIZE];
    int64_t milli = most_milli(state, asked->request);

    if (rules.preemptible == PREEMPTIBLE_ALWAYS && !asked->is_preemptible)
        return error_set(err, REFUSED_NEVER,
                         "queue %s: a job that is not preemptible; its jobs are all preemptible",
                         name);
    if (rules.preemptible == PREEMPTIBLE_NEVER && asked->is_preemptible)
        return error_set(err, REFUSED_NEVER,
                         "queue %s: a preemptible job; none of its jobs is preemptible", name);
    if (rules.duration_most > 0 && asked->max_duration > rules.duration_most)
        return error_set(err, REFUSED_NEVER, "queue %s: max_duration %s: the longest is %s", name,
                         asked->max_duration == USEC_NEVER
                             ? "unlimited"
                             : units_format_duration(spelt[0], asked->max_duration),
                         units_format_duration(spelt[1], rules.duration_most));
    if (rules.gpus_most > 0 && milli > rules.gpus_most * GPU_MILLI)
        return error_set(err, REFUSED_NEVER, "queue %s: %s gpus: a job has %" PRId64 " at most",
                         name, units_format_milli(spelt[0], milli), rules.gpus_most);
    return check_models(state, number, asked->request, err);
}

int queue_policy_check_job(const struct state *state, const struct identity *who, uint32_t queue,
                           const struct job *job, usec_t max_duration, struct error *err)
{
    const struct asked asked = { state_request(state, job), max_duration, job->is_preemptible };

    int code = check_submitter(state, who, queue, err);
    return code < 0 ? code : check_bounds(state, queue, &asked, err);
}

/* ---- defaults ---- */

/* GPUs of any model become one alternative for each model of the list. Where they are too many,
 * the request stays as it is, and is refused. */
static void name_models(const struct queue *queue, struct request *request)
{
    struct gpu_ask named[REQUEST_ALTERNATIVES_MAX] = { 0 };
    uint32_t count = 0;

    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        const struct gpu_ask *ask = &request->gpus[i];
        bool is_any = !ask->model[0] && !ask->accelerator[0];
        for (size_t k = 0; k < (is_any ? queue->names.count : 1); k++) {
            const struct queue_name *name = is_any ? &queue->names.items[k] : NULL;
            if (name && name->list != QUEUE_MODELS)
                continue;
            if (count == REQUEST_ALTERNATIVES_MAX)
                return;
            named[count] = *ask;
            if (name)
                memcpy(named[count].model, name->name, sizeof(named[count].model));
            count++;
        }
    }
    memcpy(request->gpus, named, sizeof(named));
    request->gpu_alternatives = count;
}

static void settle_models(const struct state *state, uint32_t number, struct job_draft *draft)
{
    const struct queue *queue = queue_that_lists(state->queues.items, number, QUEUE_MODELS, 1);

    if (!queue)
        return;
    for (uint32_t i = 0; i < draft->role_count; i++)
        name_models(queue, &draft->roles[i].request);
    if (draft->role_count > 0)
        request_set_roles(&draft->request, draft->roles, draft->role_count);
    else
        name_models(queue, &draft->request);
}

/* After the models. */
static void settle_duration(const struct state *state, const struct queue_rules *rules,
                            struct job_draft *draft)
{
    usec_t longest = own_speed_run(draft->estimate, job_speeds_of(state, &draft->request).least);
    usec_t most = rules->duration_most > 0 ? rules->duration_most : USEC_NEVER;
    usec_t usual = rules->duration_default > 0 ? rules->duration_default : most;

    /* A job that says how long it runs needs at least that. */
    usual = usual > longest ? usual : longest;
    if (!draft->gives_duration)
        draft->request.max_duration = usual < most ? usual : most;
}

int queue_policy_settle(const struct state *state, const struct identity *who, uint32_t queue,
                        struct job_draft *draft, struct error *err)
{
    const struct queue_rules rules = queue_rules_of(state->queues.items, queue);
    char spelt[2][UNITS_TEXT_SIZE];

    if (!draft->gives_preemptible &&
        (rules.preemptible == PREEMPTIBLE_DEFAULT || rules.preemptible == PREEMPTIBLE_ALWAYS)) {
        draft->preemptible = true;
        if (!draft->gives_spot)
            draft->request.spot = SPOT_ALLOW;
    }
    if (!draft->gives_oom && draft->request.memory_mib > 0 && draft->role_count == 0)
        draft->oom_factor = (uint16_t)rules.oom_factor;
    settle_models(state, queue, draft);
    settle_duration(state, &rules, draft);
    usec_t shortest = own_speed_run(draft->estimate, job_speeds_of(state, &draft->request).most);
    const struct asked asked = { &draft->request, draft->request.max_duration, draft->preemptible };
    int code = check_submitter(state, who, queue, err);
    if (code == 0)
        code = queue_policy_check_priority(state, who, queue, draft->priority, "", err);
    if (code == 0 && draft->gives_duration && shortest > draft->request.max_duration)
        code = error_set(err, REFUSED_BAD,
                         "estimate: %s on the fastest model, but max_duration ends it after %s",
                         units_format_duration(spelt[0], shortest),
                         units_format_duration(spelt[1], draft->request.max_duration));
    else if (code == 0 && shortest > draft->request.max_duration)
        code = error_set(err, REFUSED_NEVER, "queue %s: estimate %s: the longest is %s",
                         state->queues.items[queue].name, units_format_duration(spelt[0], shortest),
                         units_format_duration(spelt[1], rules.duration_most));
    return code < 0 ? code : check_bounds(state, queue, &asked, err);
}
