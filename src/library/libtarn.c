/* SPDX-License-Identifier: Apache-2.0 */
#include "library/tarn/sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/identity.h"
#include "control/config/apply.h"
#include "control/job_change.h"
#include "control/submit.h"
#include "core/snapshot/snapshot.h"
#include "sched/sched.h"
#include "wire/json.h"
#include "wire/yaml.h"

enum { PLANS_AT_ONCE_MAX = 100000, GPUS_MAX = 64, GRACE_S = 30 };

struct tarn_sched {
    struct state *state;
    struct brain *brain;
    struct inquiry *inquiry;
    struct control control;
    struct decisions decisions;       /* of the last step */
    LIST(struct tarn_decision) taken; /* for the caller, from `next` on */
    size_t next;
    struct arena arena; /* what `taken` points to */
    struct error err;
    struct error refused; /* of the first event that the state did not take */
    int code;
    usec_t now;
};

/* ---- decisions, as the caller gets them ---- */

static const char *cause_name(uint8_t cause)
{
    static const char *const names[] = {
        [STOP_NONE] = "",
        [STOP_CANCEL] = "cancelled",
        [STOP_TIMEOUT] = "time limit",
        [STOP_MEMBER] = "a member failed",
        [STOP_REQUEUE] = "requeued",
        [STOP_PREEMPT] = "preempted",
        [STOP_RESIZE] = "resized",
        [STOP_HEAL] = "a member was lost",
        [STOP_MOVE] = "moved",
        [STOP_RESCUE] = "its device is faulty",
    };

    return cause < COUNT_OF(names) ? names[cause] : "";
}

static struct tarn_member *members_of(struct tarn_sched *sched, const struct lease *lease)
{
    struct tarn_member *members =
        arena_take(&sched->arena, lease->members_count, sizeof(members[0]));

    for (uint32_t i = 0; i < lease->members_count; i++) {
        const struct node *node = &sched->state->nodes.items[lease->members[i].node];
        uint32_t *gpus = arena_take(&sched->arena, lease->slices_count + 1, sizeof(gpus[0]));

        members[i] = (struct tarn_member){ .node = arena_string(&sched->arena, node->name,
                                                                strlen(node->name)),
                                           .gpus = gpus,
                                           .rank = i + lease->members[i].gone };
        for (uint32_t k = 0; k < lease->slices_count; k++) {
            const struct slice *slice = &lease->slices[k];
            if (slice->rank != i)
                continue;
            gpus[members[i].gpu_count++] = sched->state->devices.items[slice->device].index;
            members[i].gpu_milli = slice->milli;
        }
    }
    return members;
}

static void take_decisions(struct tarn_sched *sched)
{
    for (size_t i = 0; i < sched->decisions.events.count; i++) {
        const struct event *event = &sched->decisions.events.items[i];
        struct tarn_decision decision = { .size = sizeof(decision), .cause = "" };

        if (event->kind == EVENT_GRANT) {
            decision.kind = TARN_START;
            decision.job = event->grant.job;
            decision.attempt = event->grant.attempt;
            decision.members = members_of(sched, &event->grant.lease);
            decision.member_count = event->grant.lease.members_count;
        } else if (event->kind == EVENT_STOP) {
            decision.kind = TARN_STOP;
            decision.job = event->stop.job;
            decision.attempt = state_job(sched->state, event->stop.job)->run->attempt;
            decision.cause = cause_name(event->stop.cause);
        } else {
            continue;
        }
        list_add(&sched->taken, decision);
    }
    sched->decisions.events.count = 0;
}

/* ---- events ---- */

static int step(struct tarn_sched *sched, struct event *event)
{
    event->at = sched->now;
    int code = sched_step(sched->brain, event, &sched->decisions, &sched->err);
    if (code == 0)
        take_decisions(sched);
    return code;
}

static struct state *state_of(const void *user)
{
    return ((const struct tarn_sched *)user)->state;
}

static usec_t now_of(const void *user)
{
    return ((const struct tarn_sched *)user)->now;
}

static usec_t no_wall(const void *user)
{
    (void)user;
    return 0;
}

/* Texts of the event may belong to the state that it changes. */
static void emit(void *user, struct event *event)
{
    struct tarn_sched *sched = user;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct arena arena = { 0 };
    struct event settled;

    if (sched->code == 0) {
        event_settle(event, &bytes, &arena, &settled);
        sched->code = step(sched, &settled);
        sched->refused = sched->err;
    }
    arena_release(&arena);
}

/* After a use case: whether it failed, or the state refused one of its events. */
static int end_of(struct tarn_sched *sched, int code)
{
    int refused = sched->code;

    sched->code = 0;
    if (code == 0 && refused < 0)
        return error_set(&sched->err, refused, "%s", sched->refused.text);
    return code;
}

static int read_document(struct tarn_sched *sched, const char *text, const char *source,
                         json_t **ret)
{
    struct yaml_lines *lines = NULL;

    int code = yaml_parse(text, strlen(text), source, ret, &lines, &sched->err);
    yaml_lines_destroy(lines);
    return code;
}

/* ---- life ---- */

static int begin(struct tarn_sched *sched, struct state *state)
{
    struct event event = { .kind = EVENT_BOOT };

    inquiry_destroy(sched->inquiry);
    brain_destroy(sched->brain);
    state_destroy(sched->state);
    sched->state = state;
    sched->brain = brain_create(state);
    sched->inquiry = inquiry_create();
    return step(sched, &event);
}

struct tarn_sched *tarn_sched_create(int64_t now)
{
    struct tarn_sched *sched = mem_zero(1, sizeof(*sched));

    sched->now = now > 0 ? now : 1;
    sched->control = (struct control){
        .world = { .user = sched, .state = state_of, .emit = emit },
        .clock = { .user = sched, .now = now_of, .wall_ahead = no_wall },
        .grace = GRACE_S * USEC_PER_SEC,
        .owner = (uid_t)-1,
    };
    if (begin(sched, state_create()) < 0 || tarn_sched_configure(sched, "") < 0)
        abort(); /* an empty state takes both */
    return sched;
}

void tarn_sched_destroy(struct tarn_sched *sched)
{
    if (!sched)
        return;
    inquiry_destroy(sched->inquiry);
    brain_destroy(sched->brain);
    state_destroy(sched->state);
    list_release(&sched->decisions.events);
    list_release(&sched->taken);
    arena_release(&sched->arena);
    free(sched);
}

const char *tarn_version(void)
{
    return TARN_VERSION;
}

const char *tarn_sched_error(const struct tarn_sched *sched)
{
    return sched->err.text;
}

/* ---- what happens ---- */

int tarn_sched_configure(struct tarn_sched *sched, const char *document)
{
    json_t *json = NULL;

    int code = read_document(sched, document[0] ? document : "{}", "configuration", &json);
    if (code == 0)
        code = end_of(sched, apply_impose(&sched->control, json, &sched->err));
    json_decref(json);
    return code;
}

static int check_node(struct tarn_sched *sched, const struct tarn_node *node)
{
    if (node->size < sizeof(*node))
        return error_set(&sched->err, -EINVAL, "node: its size is %zu, expected %zu", node->size,
                         sizeof(*node));
    if (!node->name || !node->name[0] || strlen(node->name) >= REQUEST_NAME_SIZE)
        return error_set(&sched->err, -EINVAL, "node: its name has 1 to %d characters",
                         REQUEST_NAME_SIZE - 1);
    if (node->gpu_count > GPUS_MAX || node->cpu_milli < 0 || node->memory_mib < 0 ||
        node->gpu_memory_mib < 0)
        return error_set(&sched->err, -EINVAL,
                         "node %s: expected at most %d GPUs, and no amount below 0", node->name,
                         GPUS_MAX);
    if (node->gpu_count > 0 && (!node->gpu_model || !node->gpu_model[0]))
        return error_set(&sched->err, -EINVAL, "node %s: its GPUs have no model", node->name);
    return 0;
}

int tarn_sched_set_node(struct tarn_sched *sched, const struct tarn_node *node)
{
    int code = check_node(sched, node);
    if (code < 0)
        return code;
    struct event event = { .kind = EVENT_NODE,
                           .node = { .name = node->name,
                                     .cpu_milli = node->cpu_milli,
                                     .memory_mib = node->memory_mib,
                                     .state = node->is_down ? NODE_DOWN : NODE_UP,
                                     .reason = node->is_down ? "down" : "",
                                     .rack = node->rack ? node->rack : "",
                                     .block = "",
                                     .type = "",
                                     .drained = "",
                                     .labels = "" } };
    code = step(sched, &event);
    for (uint32_t i = 0; i < node->gpu_count && code == 0; i++) {
        AUTO_FREE char *uuid = mem_printf("%s.%u", node->name, i);
        event = (struct event){ .kind = EVENT_DEVICE,
                                .device = { .node = node->name,
                                            .uuid = uuid,
                                            .model = node->gpu_model,
                                            .product = node->gpu_model,
                                            .address = "",
                                            .vendor = "",
                                            .index = i,
                                            .memory_mib = node->gpu_memory_mib,
                                            .sick = "",
                                            .boot = "",
                                            .labels = "",
                                            .kind = "" } };
        code = step(sched, &event);
    }
    return code;
}

/* No user of this machine: nothing is looked up. */
static int find_user(struct tarn_sched *sched, const char *name, struct identity *ret)
{
    if (!name || !name[0] || strlen(name) >= sizeof(ret->name))
        return error_set(&sched->err, -EINVAL, "user: expected a name of 1 to %zu characters",
                         sizeof(ret->name) - 1);
    *ret = IDENTITY_NONE;
    ret->source = IDENTITY_STORED;
    ret->scope = SCOPE_SUBMIT;
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    return 0;
}

int tarn_sched_submit(struct tarn_sched *sched, const char *user, const char *document,
                      uint64_t *ret_job)
{
    struct identity who = IDENTITY_NONE;
    struct submit submit = { 0 };
    json_t *json = NULL;

    int code = find_user(sched, user, &who);
    if (code == 0)
        code = read_document(sched, document, "job", &json);
    if (code == 0 && json_object_get(json, "schedule"))
        code = error_set(&sched->err, -ENOTSUP,
                         "job: schedule: the library has no repeating jobs; submit each one");
    if (code == 0)
        code = submit_read(&submit, &who, json_incref(json), &sched->err);
    if (code == 0)
        code = end_of(sched, submit_run(&sched->control, &submit, &sched->err));
    if (code == 0)
        *ret_job = submit.ids[0];
    submit_release(&submit);
    json_decref(json);
    identity_release(&who);
    return code;
}

int tarn_sched_cancel(struct tarn_sched *sched, uint64_t job)
{
    struct identity who = IDENTITY_NONE;
    struct job_change wish = { .who = &who, .id = job, .kind = EVENT_CANCEL, .verb = "cancel" };

    identity_set(&who, IDENTITY_STORED, "caller", 0, 0, 0);
    int code = end_of(sched, job_change(&sched->control, &wish, &sched->err));
    list_release(&wish.changed);
    identity_release(&who);
    return code;
}

/* The active attempt of this number. */
static int find_attempt(struct tarn_sched *sched, uint64_t id, uint32_t attempt,
                        const struct job **ret)
{
    const struct job *job = state_job(sched->state, id);

    if (!job)
        return error_set(&sched->err, -ENOENT, "job %llu: no such job", (unsigned long long)id);
    if (!job_is_active(job) || job->run->attempt != attempt)
        return error_set(&sched->err, -EALREADY, "job %llu: attempt %u does not run",
                         (unsigned long long)id, attempt);
    *ret = job;
    return 0;
}

int tarn_sched_started(struct tarn_sched *sched, uint64_t id, uint32_t attempt, uint32_t rank)
{
    struct event event = { .kind = EVENT_STARTED,
                           .started = { .job = id, .attempt = attempt, .rank = rank } };
    const struct job *job;

    int code = find_attempt(sched, id, attempt, &job);
    return code < 0 ? code : step(sched, &event);
}

int tarn_sched_ended(struct tarn_sched *sched, uint64_t id, uint32_t attempt, uint32_t rank,
                     int exit_code)
{
    const struct job *job;

    int code = find_attempt(sched, id, attempt, &job);
    if (code < 0)
        return code;
    struct event event = { .kind = EVENT_ENDED,
                           .ended = { .job = id,
                                      .attempt = attempt,
                                      .rank = rank,
                                      .kind = ENGINE_ENDED,
                                      .exit_code = exit_code,
                                      .was_stopped = job->run->stop_cause != STOP_NONE,
                                      .reason = "" } };
    return step(sched, &event);
}

int tarn_sched_forget(struct tarn_sched *sched, uint64_t id)
{
    struct event event = { .kind = EVENT_FORGET, .forget = { .id = id } };
    const struct job *job = state_job(sched->state, id);

    if (!job)
        return error_set(&sched->err, -ENOENT, "job %llu: no such job", (unsigned long long)id);
    if (job->state != JOB_ENDED)
        return error_set(&sched->err, -EBUSY, "job %llu: it has not ended", (unsigned long long)id);
    return step(sched, &event);
}

int tarn_sched_advance(struct tarn_sched *sched, int64_t now)
{
    int code = 0;

    if (now < sched->now)
        return error_set(&sched->err, -EINVAL, "time %lld: it was %lld before", (long long)now,
                         (long long)sched->now);
    if (sched->next == sched->taken.count) {
        sched->next = sched->taken.count = 0;
        arena_clear(&sched->arena);
    }
    sched->now = now;
    for (uint32_t i = 0; code == 0 && sched_next_wakeup(sched->brain) <= now; i++) {
        struct event event = { .kind = EVENT_PLAN };
        if (i == PLANS_AT_ONCE_MAX)
            return error_set(&sched->err, -ELOOP, "more than %u plans at one time", i);
        code = step(sched, &event);
    }
    return code;
}

/* ---- what comes out ---- */

int64_t tarn_sched_wakeup(const struct tarn_sched *sched)
{
    usec_t at = sched_next_wakeup(sched->brain);

    return at == USEC_NEVER ? TARN_SCHED_NEVER : at < sched->now ? sched->now : at;
}

bool tarn_sched_next(struct tarn_sched *sched, struct tarn_decision *ret)
{
    size_t size = ret->size;

    if (sched->next == sched->taken.count)
        return false;
    const struct tarn_decision *decision = &sched->taken.items[sched->next++];
    memcpy(ret, decision, size < sizeof(*decision) ? size : sizeof(*decision));
    ret->size = size;
    return true;
}

const char *tarn_sched_job_state(const struct tarn_sched *sched, uint64_t id)
{
    const struct job *job = state_job(sched->state, id);

    return job ? job_state_name((enum job_state)job->state) : NULL;
}

int tarn_sched_why(struct tarn_sched *sched, uint64_t id, char *ret_text, size_t size)
{
    const struct job *job = state_job(sched->state, id);
    struct why why;

    if (!job)
        return error_set(&sched->err, -ENOENT, "job %llu: no such job", (unsigned long long)id);
    inquiry_set_time(sched->inquiry, sched->now);
    sched_why(sched->brain, sched->inquiry, job, &why, NULL);
    snprintf(ret_text, size, "%s", why_meaning(why.kind));
    return 0;
}

int tarn_sched_estimate(struct tarn_sched *sched, uint64_t id, int64_t *ret_low, int64_t *ret_high)
{
    const struct job *job = state_job(sched->state, id);
    struct start_estimate estimate;

    if (!job)
        return error_set(&sched->err, -ENOENT, "job %llu: no such job", (unsigned long long)id);
    inquiry_set_time(sched->inquiry, sched->now);
    if (!sched_estimate_start(sched->brain, sched->inquiry, job, &estimate))
        return error_set(&sched->err, -ENODATA, "job %llu: it does not wait for a start",
                         (unsigned long long)id);
    *ret_low = estimate.low == USEC_NEVER ? TARN_SCHED_NEVER : estimate.low;
    *ret_high = estimate.high == USEC_NEVER ? TARN_SCHED_NEVER : estimate.high;
    return 0;
}

int tarn_sched_save(struct tarn_sched *sched, void **ret_bytes, size_t *ret_length)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };

    if (sched->next < sched->taken.count)
        return error_set(&sched->err, -EBUSY, "save: decisions are left; take them first");
    snapshot_save(sched->state, &bytes);
    *ret_bytes = mem_zero(bytes.length + 1, 1);
    memcpy(*ret_bytes, bytes.bytes, bytes.length);
    *ret_length = bytes.length;
    return 0;
}

int tarn_sched_load(struct tarn_sched *sched, const void *bytes, size_t length)
{
    struct state *state = NULL;

    int code = snapshot_load(bytes, length, &state, &sched->err);
    if (code < 0)
        return error_prefix(&sched->err, code, "load");
    if (state->now > sched->now)
        sched->now = state->now;
    sched->next = sched->taken.count = 0;
    return begin(sched, state);
}
