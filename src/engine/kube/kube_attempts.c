/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_attempts.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/kube_json.h"
#include "engine/kube/kube_names.h"
#include "engine/kube/kube_own.h"
#include "io/log.h"
#include "wire/json.h"

enum {
    PODS_MS = 30000,   /* all pods of a started attempt must exist within this time */
    HOLD_MS = 10000,   /* a controller replaces a pod within this time */
    EXPECT_MS = 10000, /* after a restart: what was not started by then is over */
    EVICT_MS = 5000,   /* a refused eviction is repeated */
    LOG_MS = 10000,    /* the end of a job waits so long for the end of its output */
    PATIENCE_MS = 60000,
    GRACE_LEAST_S = 1, /* 0 would drop the object while its processes run */
};

enum slot_state {
    SLOT_EMPTY,   /* it has no pod yet, or waits for the replacement of one */
    SLOT_BINDING, /* asked, not answered */
    SLOT_BOUND,
    SLOT_OVER, /* its end was reported */
};

/* A member. */
struct slot {
    struct attempt *attempt;
    const struct kube_pod *pod; /* NULL: none */
    char *node, *gpus;          /* NULL after a restart, until its pod is seen */
    char *role;
    uint32_t rank, device_count;
    enum slot_state state;
    bool is_started;  /* reported */
    bool is_checking; /* a failed binding is looked at */
    bool has_end;     /* outcome is set: reported unless its pod is replaced */
    uint64_t empty_since, evict_due;
    struct engine_outcome outcome;
    json_t *own;               /* the pod to create; NULL: it exists, or comes from outside */
    bool is_followed, has_log; /* its output is copied; it was */
    uint64_t ended_at;         /* it waits for its log since then; 0: it does not */
};

struct attempt {
    uint64_t job;
    uint32_t attempt, count;
    struct slot *slots;
    char *external;   /* the arrival; NULL: a job of tarn, or not known after a restart */
    bool is_stopping; /* its pods are evicted */
    bool is_undone;   /* they are evicted because not all could start */
    bool is_sought;   /* it ran when the daemon started */
    int64_t grace_s;
    char reason[160]; /* why it is undone, or waits */
};

struct kube_attempts {
    struct engine_options options;
    struct kube_client *client;
    struct kube_nodes *nodes;
    struct kube_workloads *workloads;
    char instance[20], namespace[64];
    LIST(struct attempt *) all;      /* ascending */
    LIST(struct member_id) expected; /* attempts that the daemon will start again; rank: unused */
    uint64_t expected_until;         /* uv_now() */
    struct map by_pod;               /* hash of the UID -> slot */
    bool is_synced;
};

struct kube_attempts *kube_attempts_create(const struct engine_options *options,
                                           const char *instance, const char *namespace,
                                           struct kube_client *client, struct kube_nodes *nodes,
                                           struct kube_workloads *workloads)
{
    struct kube_attempts *attempts = mem_zero(1, sizeof(*attempts));

    attempts->options = *options;
    attempts->client = client;
    attempts->nodes = nodes;
    attempts->workloads = workloads;
    snprintf(attempts->instance, sizeof(attempts->instance), "%s", instance);
    snprintf(attempts->namespace, sizeof(attempts->namespace), "%s", namespace);
    return attempts;
}

static void attempt_destroy(struct attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->count; i++) {
        free(attempt->slots[i].node);
        free(attempt->slots[i].gpus);
        free(attempt->slots[i].role);
        json_decref(attempt->slots[i].own);
    }
    free(attempt->slots);
    free(attempt->external);
    free(attempt);
}

void kube_attempts_destroy(struct kube_attempts *attempts)
{
    if (!attempts)
        return;
    for (size_t i = 0; i < attempts->all.count; i++)
        attempt_destroy(attempts->all.items[i]);
    list_release(&attempts->all);
    list_release(&attempts->expected);
    map_release(&attempts->by_pod);
    free(attempts);
}

/* ---- which attempt, which member ---- */

static size_t place_of(const struct kube_attempts *attempts, uint64_t job, uint32_t number)
{
    size_t first = 0, last = attempts->all.count;

    while (first < last) {
        size_t middle = (first + last) / 2;
        const struct attempt *at = attempts->all.items[middle];
        if (at->job < job || (at->job == job && at->attempt < number))
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

static struct attempt *find(const struct kube_attempts *attempts, uint64_t job, uint32_t number)
{
    size_t place = place_of(attempts, job, number);
    struct attempt *at = place < attempts->all.count ? attempts->all.items[place] : NULL;

    return at && at->job == job && at->attempt == number ? at : NULL;
}

static struct attempt *add(struct kube_attempts *attempts, uint64_t job, uint32_t number,
                           uint32_t count)
{
    struct attempt *attempt = mem_zero(1, sizeof(*attempt));
    size_t place = place_of(attempts, job, number);

    attempt->job = job;
    attempt->attempt = number;
    attempt->count = count;
    attempt->slots = mem_zero(count + 1, sizeof(attempt->slots[0]));
    for (uint32_t i = 0; i < count; i++) {
        attempt->slots[i].attempt = attempt;
        attempt->slots[i].empty_since = uv_now(attempts->options.loop);
    }
    list_insert(&attempts->all, place, attempt);
    return attempt;
}

static struct slot *slot_of_rank(const struct attempt *attempt, uint32_t rank)
{
    for (uint32_t i = 0; i < attempt->count; i++) {
        if (attempt->slots[i].rank == rank)
            return &attempt->slots[i];
    }
    return NULL;
}

static uint64_t pod_key(const struct kube_pod *pod)
{
    return map_hash(pod->uid, strlen(pod->uid));
}

static void attach(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod)
{
    slot->pod = pod;
    slot->has_end = false;
    map_set(&attempts->by_pod, pod_key(pod), (uint64_t)(uintptr_t)slot);
}

static void detach(struct kube_attempts *attempts, struct slot *slot)
{
    if (slot->pod)
        map_remove(&attempts->by_pod, pod_key(slot->pod));
    slot->pod = NULL;
}

/* The member that a pod is, by its place here or by the annotation of its binding. */
static struct slot *slot_of(const struct kube_attempts *attempts, const struct kube_pod *pod)
{
    uint64_t at;

    if (map_get(&attempts->by_pod, pod_key(pod), &at))
        return (struct slot *)(uintptr_t)at;
    if (!pod->is_marked || strcmp(pod->mark.instance, attempts->instance) != 0)
        return NULL;
    struct attempt *attempt = find(attempts, pod->mark.job, pod->mark.attempt);
    struct slot *slot = attempt ? slot_of_rank(attempt, pod->mark.rank) : NULL;
    return slot && !slot->pod && slot->state != SLOT_OVER ? slot : NULL;
}

/* ---- after a restart ---- */

static size_t expected_at(const struct kube_attempts *attempts, uint64_t job, uint32_t number)
{
    size_t i = 0;

    while (i < attempts->expected.count && (attempts->expected.items[i].job != job ||
                                            attempts->expected.items[i].attempt != number))
        i++;
    return i;
}

bool kube_attempts_expects(const struct kube_attempts *attempts, const struct kube_pod *pod)
{
    return pod->is_marked && strcmp(pod->mark.instance, attempts->instance) == 0 &&
           expected_at(attempts, pod->mark.job, pod->mark.attempt) < attempts->expected.count;
}

static void expect(struct kube_attempts *attempts, const struct engine_attempt *which)
{
    if (expected_at(attempts, which->job, which->attempt) == attempts->expected.count)
        list_add(&attempts->expected,
                 ((struct member_id){ .job = which->job, .attempt = which->attempt }));
}

static void expect_no_more(struct kube_attempts *attempts, uint64_t job, uint32_t number)
{
    size_t at = expected_at(attempts, job, number);

    if (at < attempts->expected.count)
        list_remove(&attempts->expected, at);
}

/* ---- reports ---- */

static void report(const struct kube_attempts *attempts, const struct slot *slot,
                   struct engine_outcome outcome)
{
    outcome.id = (struct member_id){ slot->attempt->job, slot->attempt->attempt, slot->rank };
    attempts->options.reports.outcome(attempts->options.reports.user, &outcome);
}

static void report_started(struct kube_attempts *attempts, struct slot *slot)
{
    struct engine_isolation isolation = { .processes = ISOLATION_ISOLATED,
                                          .gpu = ISOLATION_ISOLATED };

    if (slot->is_started)
        return;
    slot->is_started = true;
    report(attempts, slot,
           (struct engine_outcome){ .kind = ENGINE_STARTED, .isolation = isolation });
}

static bool is_over(const struct attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->count; i++) {
        if (attempt->slots[i].state != SLOT_OVER)
            return false;
    }
    return true;
}

static void report_end(struct kube_attempts *attempts, struct slot *slot)
{
    struct attempt *attempt = slot->attempt;

    detach(attempts, slot);
    slot->state = SLOT_OVER;
    if (slot->node)
        kube_nodes_hold(attempts->nodes, slot->node, slot->gpus, false);
    report(attempts, slot, slot->outcome);
    if (is_over(attempt) && attempt->external)
        kube_workloads_end(attempts->workloads, attempt->external);
}

static void set_outcome(struct slot *slot, enum engine_outcome_kind kind, const char *reason)
{
    slot->outcome = (struct engine_outcome){ .kind = kind, .exit_code = -1 };
    snprintf(slot->outcome.reason, sizeof(slot->outcome.reason), "%s", reason);
    slot->has_end = true;
}

/* ---- the end of a pod ---- */

static void note_end(struct slot *slot, const struct kube_pod *pod)
{
    const struct attempt *attempt = slot->attempt;
    bool is_stopped = attempt->is_stopping || attempt->is_undone;

    if (pod->phase == KUBE_FAILED && pod->is_evicted && !is_stopped) {
        AUTO_FREE char *reason = mem_printf("Kubernetes: %.120s", pod->reason);
        set_outcome(slot, ENGINE_LOST, reason);
        return;
    }
    set_outcome(slot, ENGINE_ENDED, "");
    slot->outcome.was_stopped = attempt->is_stopping;
    slot->outcome.was_oom = pod->was_oom;
    slot->outcome.signal = pod->signal;
    slot->outcome.exit_code = pod->signal > 0 ? -1 : pod->exit_code;
    if (pod->phase == KUBE_FAILED)
        snprintf(slot->outcome.reason, sizeof(slot->outcome.reason), "%.150s", pod->reason);
}

static void note_deletion(struct kube_attempts *attempts, struct slot *slot)
{
    const struct attempt *attempt = slot->attempt;

    if (attempt->is_undone) {
        set_outcome(slot, ENGINE_LOST, attempt->reason);
    } else if (attempt->is_stopping && slot->is_started) {
        set_outcome(slot, ENGINE_ENDED, "");
        slot->outcome.was_stopped = true;
        slot->outcome.signal = SIGTERM;
    } else if (attempt->is_stopping) {
        set_outcome(slot, ENGINE_LOST, "stopped before it ran");
    } else if (slot->pod->group.owner_uid[0]) {
        set_outcome(slot, ENGINE_LOST, "Kubernetes: its pod was deleted");
    } else {
        attempts->options.reports.cancelled(attempts->options.reports.user, attempt->job,
                                            "its pod was deleted in Kubernetes");
        set_outcome(slot, ENGINE_ENDED, "");
        slot->outcome.was_stopped = true;
        slot->outcome.signal = SIGTERM;
    }
}

/* A controller replaces pods that did not succeed. */
static bool may_be_replaced(const struct slot *slot)
{
    const struct attempt *attempt = slot->attempt;
    bool is_success = slot->outcome.kind == ENGINE_ENDED && slot->outcome.exit_code == 0 &&
                      slot->outcome.signal == 0;

    return attempt->external && slot->pod->group.owner_uid[0] && !is_success &&
           !attempt->is_stopping && !attempt->is_undone;
}

static void end(struct kube_attempts *attempts, struct slot *slot)
{
    if (may_be_replaced(slot)) {
        detach(attempts, slot);
        slot->state = SLOT_EMPTY;
        slot->empty_since = uv_now(attempts->options.loop);
    } else if (slot->is_followed && !slot->has_log && slot->ended_at == 0) {
        slot->ended_at = uv_now(attempts->options.loop);
    } else if (slot->ended_at == 0) {
        report_end(attempts, slot);
    }
}

/* ---- binding ---- */

struct binding {
    struct kube_attempts *attempts;
    uint64_t job;
    uint32_t attempt, rank;
    char uid[64];
};

static struct binding *binding_of(struct kube_attempts *attempts, const struct slot *slot)
{
    struct binding *binding = mem_zero(1, sizeof(*binding));

    *binding = (struct binding){ .attempts = attempts,
                                 .job = slot->attempt->job,
                                 .attempt = slot->attempt->attempt,
                                 .rank = slot->rank };
    snprintf(binding->uid, sizeof(binding->uid), "%s", slot->pod ? slot->pod->uid : "");
    return binding;
}

/* The member, if it still binds that pod. */
static struct slot *slot_binding(const struct binding *binding)
{
    struct attempt *attempt = find(binding->attempts, binding->job, binding->attempt);
    struct slot *slot = attempt ? slot_of_rank(attempt, binding->rank) : NULL;

    return slot && slot->pod && strcmp(slot->pod->uid, binding->uid) == 0 &&
                   slot->state == SLOT_BINDING
               ? slot
               : NULL;
}

static void evict(struct kube_attempts *attempts, struct slot *slot);

/* Not all can start: what is bound is evicted, the others wait again. */
static void undo(struct kube_attempts *attempts, struct attempt *attempt, const char *reason)
{
    if (attempt->is_undone || attempt->is_stopping)
        return;
    attempt->is_undone = true;
    snprintf(attempt->reason, sizeof(attempt->reason), "%s", reason);
    log_line(LOG_WARNING, "an attempt cannot start as a whole job=%" PRIu64 " reason='%s'",
             attempt->job, attempt->reason);
    for (uint32_t i = 0; i < attempt->count; i++) {
        if (attempt->slots[i].state == SLOT_BOUND)
            evict(attempts, &attempt->slots[i]);
    }
}

/* It is not bound, and will not be: its pod waits again. */
static void give_back(struct kube_attempts *attempts, struct slot *slot)
{
    const struct kube_pod *pod = slot->pod;

    detach(attempts, slot);
    slot->state = SLOT_EMPTY;
    slot->empty_since = uv_now(attempts->options.loop);
    if (pod)
        kube_workloads_see(attempts->workloads, pod);
}

static void on_checked(void *user, const struct kube_reply *reply)
{
    struct binding *binding = user;
    struct kube_attempts *attempts = binding->attempts;
    struct slot *slot = slot_binding(binding);
    const char *node = kube_text(kube_at(reply->body, "spec", NULL), "nodeName");

    if (slot) {
        slot->is_checking = false;
        if (reply->status == KUBE_NOT_FOUND) {
            ; /* the watch says so, too */
        } else if (kube_reply_is_ok(reply) && strcmp(node, slot->node) == 0) {
            slot->state = SLOT_BOUND;
        } else if (kube_reply_is_ok(reply)) {
            AUTO_FREE char *reason =
                node[0] ? mem_printf("Kubernetes: pod %s was bound to node %s by another scheduler",
                                     slot->pod->name, node)
                        : mem_printf("Kubernetes: %.140s", slot->attempt->reason);
            give_back(attempts, slot);
            undo(attempts, slot->attempt, reason);
        } else { /* until it is known: what may be bound must not be counted as free */
            slot->evict_due = uv_now(attempts->options.loop) + EVICT_MS;
        }
    }
    free(binding);
}

static char *pod_path(const struct kube_pod *pod, const char *rest)
{
    return mem_printf("/api/v1/namespaces/%s/pods/%s%s", pod->namespace, pod->name, rest);
}

static void check(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *path = pod_path(slot->pod, "");

    slot->is_checking = true;
    kube_client_call(attempts->client, &(struct kube_call){ .method = "GET",
                                                            .path = path,
                                                            .patience_ms = PATIENCE_MS,
                                                            .done = on_checked,
                                                            .user = binding_of(attempts, slot) });
}

static void on_bound(void *user, const struct kube_reply *reply)
{
    struct binding *binding = user;
    struct kube_attempts *attempts = binding->attempts;
    struct slot *slot = slot_binding(binding);

    if (slot && kube_reply_is_ok(reply)) {
        slot->state = SLOT_BOUND;
        if (slot->attempt->is_undone || slot->attempt->is_stopping)
            evict(attempts, slot);
    } else if (slot) {
        snprintf(slot->attempt->reason, sizeof(slot->attempt->reason), "%.150s", reply->words);
        check(attempts, slot);
    }
    free(binding);
}

static json_t *binding_body(const struct kube_attempts *attempts, const struct slot *slot)
{
    const struct kube_pod *pod = slot->pod;
    json_t *notes = json_object();

    json_object_set_new(notes, KUBE_JOB, json_sprintf("%" PRIu64, slot->attempt->job));
    json_object_set_new(notes, KUBE_ATTEMPT,
                        json_sprintf("%s/%" PRIu64 ".%" PRIu32 "/%" PRIu32, attempts->instance,
                                     slot->attempt->job, slot->attempt->attempt, slot->rank));
    if (slot->gpus[0])
        json_object_set_new(notes, KUBE_GPUS, json_string(slot->gpus));
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:o}, s:{s:s, s:s, s:s}}", "apiVersion", "v1", "kind",
                     "Binding", "metadata", "name", pod->name, "uid", pod->uid, "annotations",
                     notes, "target", "apiVersion", "v1", "kind", "Node", "name", slot->node);
}

static void send_binding(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *path = pod_path(slot->pod, "/binding");

    kube_client_call(attempts->client, &(struct kube_call){ .method = "POST",
                                                            .path = path,
                                                            .body = binding_body(attempts, slot),
                                                            .patience_ms = PATIENCE_MS,
                                                            .done = on_bound,
                                                            .user = binding_of(attempts, slot) });
}

static void on_ungated(void *user, const struct kube_reply *reply)
{
    struct binding *binding = user;
    struct slot *slot = slot_binding(binding);

    if (slot && kube_reply_is_ok(reply))
        send_binding(binding->attempts, slot);
    else if (slot)
        check(binding->attempts, slot);
    free(binding);
}

static void ungate(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *path = pod_path(slot->pod, "");
    json_t *body =
        json_pack("[{s:s, s:s, s:s}, {s:s, s:s}]", "op", "test", "path", "/metadata/uid", "value",
                  slot->pod->uid, "op", "remove", "path", "/spec/schedulingGates");

    kube_client_call(attempts->client, &(struct kube_call){ .method = "PATCH",
                                                            .path = path,
                                                            .type = "application/json-patch+json",
                                                            .body = body,
                                                            .patience_ms = PATIENCE_MS,
                                                            .done = on_ungated,
                                                            .user = binding_of(attempts, slot) });
}

static void bind_pod(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod)
{
    kube_workloads_gone(attempts->workloads, pod);
    attach(attempts, slot, pod);
    slot->state = SLOT_BINDING;
    free(slot->role);
    slot->role = mem_string(pod->group.role);
    if (pod->is_gated)
        ungate(attempts, slot);
    else
        send_binding(attempts, slot);
}

/* ---- eviction ---- */

static void on_evicted(void *user, const struct kube_reply *reply)
{
    struct binding *binding = user;
    struct attempt *attempt = find(binding->attempts, binding->job, binding->attempt);
    struct slot *slot = attempt ? slot_of_rank(attempt, binding->rank) : NULL;

    if (slot && slot->pod && strcmp(slot->pod->uid, binding->uid) == 0 &&
        !kube_reply_is_ok(reply) && reply->status != KUBE_NOT_FOUND) {
        slot->evict_due = uv_now(binding->attempts->options.loop) + EVICT_MS;
        snprintf(attempt->reason, sizeof(attempt->reason), "Kubernetes: %.140s", reply->words);
    }
    free(binding);
}

static void evict(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *path = pod_path(slot->pod, "/eviction");
    int64_t grace = slot->attempt->is_undone ? slot->pod->grace_s : slot->attempt->grace_s;
    json_t *body = json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:{s:I, s:{s:s}}}", "apiVersion", "policy/v1", "kind", "Eviction",
        "metadata", "name", slot->pod->name, "namespace", slot->pod->namespace, "deleteOptions",
        "gracePeriodSeconds", (json_int_t)(grace > GRACE_LEAST_S ? grace : GRACE_LEAST_S),
        "preconditions", "uid", slot->pod->uid);

    slot->evict_due = 0;
    kube_client_call(attempts->client, &(struct kube_call){ .method = "POST",
                                                            .path = path,
                                                            .body = body,
                                                            .patience_ms = PATIENCE_MS,
                                                            .is_refused_by_429 = true,
                                                            .done = on_evicted,
                                                            .user = binding_of(attempts, slot) });
}

/* ---- jobs of tarn ---- */

/* The server refuses it for good, or there was no answer for long. */
static bool is_final(const struct kube_reply *reply)
{
    return reply->status >= 400 && reply->status < 500 && reply->status != KUBE_TOO_MANY;
}

static void on_created(void *user, const struct kube_reply *reply)
{
    struct binding *binding = user;
    struct kube_attempts *attempts = binding->attempts;
    struct attempt *attempt = find(attempts, binding->job, binding->attempt);
    struct slot *slot = attempt ? slot_of_rank(attempt, binding->rank) : NULL;
    bool is_there = kube_reply_is_ok(reply) || reply->status == KUBE_CONFLICT;

    free(binding);
    if (!slot || is_there || slot->state != SLOT_BINDING)
        return;
    if (!is_final(reply)) { /* it may exist: ask again */
        slot->state = SLOT_EMPTY;
        return;
    }
    AUTO_FREE char *reason = mem_printf("Kubernetes: %.140s", reply->words);
    set_outcome(slot, ENGINE_FAILED, reason);
    report_end(attempts, slot);
}

static void create_pod(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *path = mem_printf("/api/v1/namespaces/%s/pods", attempts->namespace);

    slot->state = SLOT_BINDING;
    kube_client_call(attempts->client, &(struct kube_call){ .method = "POST",
                                                            .path = path,
                                                            .body = json_incref(slot->own),
                                                            .patience_ms = PATIENCE_MS,
                                                            .done = on_created,
                                                            .user = binding_of(attempts, slot) });
}

static void create_service(struct kube_attempts *attempts, const struct member_id *id)
{
    AUTO_FREE char *path = mem_printf("/api/v1/namespaces/%s/services", attempts->namespace);

    kube_client_call(attempts->client,
                     &(struct kube_call){ .method = "POST",
                                          .path = path,
                                          .body = kube_own_service(attempts->instance, id),
                                          .patience_ms = PATIENCE_MS });
}

/* What was created for an attempt is not needed any more. */
static void delete_own(struct kube_attempts *attempts, const struct attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->count; i++) {
        const struct member_id id = { attempt->job, attempt->attempt, attempt->slots[i].rank };
        AUTO_FREE char *name = kube_own_name(attempts->instance, &id);
        AUTO_FREE char *path =
            mem_printf("/api/v1/namespaces/%s/pods/%s", attempts->namespace, name);
        kube_client_call(
            attempts->client,
            &(struct kube_call){ .method = "DELETE", .path = path, .patience_ms = PATIENCE_MS });
    }
    const struct member_id first = { attempt->job, attempt->attempt, 0 };
    AUTO_FREE char *service = kube_own_service_name(attempts->instance, &first);
    AUTO_FREE char *path =
        mem_printf("/api/v1/namespaces/%s/services/%s", attempts->namespace, service);
    if (attempt->count > 1)
        kube_client_call(
            attempts->client,
            &(struct kube_call){ .method = "DELETE", .path = path, .patience_ms = PATIENCE_MS });
}

/* ---- output ---- */

static void on_log_end(void *user, const struct kube_reply *reply)
{
    struct binding *binding = user;
    struct attempt *attempt = find(binding->attempts, binding->job, binding->attempt);
    struct slot *slot = attempt ? slot_of_rank(attempt, binding->rank) : NULL;

    if (!kube_reply_is_ok(reply))
        log_line(LOG_WARNING, "the output of a job is not complete job=%" PRIu64 " reason='%s'",
                 binding->job, reply->words);
    if (slot) {
        slot->has_log = true;
        if (slot->ended_at > 0)
            report_end(binding->attempts, slot);
    }
    free(binding);
}

static void follow_log(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *path = pod_path(slot->pod, "/log?follow=true");

    if (slot->is_followed || !slot->pod->output[0])
        return;
    slot->is_followed = true;
    kube_client_follow(attempts->client,
                       &(struct kube_follow){ .path = path,
                                              .file = slot->pod->output,
                                              .done = on_log_end,
                                              .user = binding_of(attempts, slot) });
}

/* ---- engine_ops ---- */

/* What the pod is told: UUIDs, or the number on the node where the UUID is not known. */
static char *gpus_of(const struct engine_launch *launch)
{
    struct text text = { 0 };
    AUTO_FREE char *unknown = mem_printf("%.72s-gpu", launch->node);

    for (uint32_t i = 0; i < launch->slices_count; i++) {
        const struct engine_slice *slice = &launch->slices[i];
        text_add(&text, i > 0 ? "," : "");
        if (string_starts(slice->uuid, unknown))
            text_printf(&text, "%" PRIu32, slice->index);
        else
            text_add(&text, slice->uuid);
    }
    return text_take(&text);
}

static bool is_untouched(const struct slot *slot)
{
    return slot->state == SLOT_EMPTY && !slot->role && !slot->has_end;
}

/* Bind the pods to the members that never had one, all of them at once. */
static void begin(struct kube_attempts *attempts, struct attempt *attempt)
{
    uint32_t wanted = 0, count, next = 0;

    for (uint32_t i = 0; i < attempt->count; i++)
        wanted += is_untouched(&attempt->slots[i]);
    if (wanted == 0)
        return;
    const struct kube_pod **pods =
        kube_workloads_take(attempts->workloads, attempt->external, wanted, &count);
    for (uint32_t i = 0; i < attempt->count && count == wanted; i++) {
        struct slot *slot = &attempt->slots[i];
        if (is_untouched(slot) && pods[next]->device_count == slot->device_count)
            bind_pod(attempts, slot, pods[next]);
        next += is_untouched(slot) || slot->pod == pods[next];
    }
    free(pods);
}

/* The resource that a device of a node is offered as. */
static const char *resource_of(const struct kube_attempts *attempts,
                               const struct engine_launch *launch)
{
    const struct kube_node *node = kube_nodes_find(attempts->nodes, launch->node);
    uint32_t index = launch->slices_count > 0 ? launch->slices[0].index : 0;

    return node && index < node->device_count ? node->resources[index] : "nvidia.com/gpu";
}

/* The pods of a job of tarn. */
static int prepare_own(struct kube_attempts *attempts, struct attempt *attempt,
                       const struct engine_launch *launches, struct error *err)
{
    AUTO(json) json_t *template = NULL;

    int code = kube_own_template(attempts->options.rules->kube_templates, launches[0].queue,
                                 &template, err);
    for (uint32_t i = 0; i < attempt->count && code == 0; i++) {
        struct slot *slot = &attempt->slots[i];
        slot->own =
            kube_own_pod(template, attempts->instance, attempts->namespace, &launches[i],
                         resource_of(attempts, &launches[i]), slot->gpus, attempt->count > 1);
    }
    return code;
}

static void set_places(struct kube_attempts *attempts, struct attempt *attempt,
                       const struct engine_launch *launches)
{
    for (uint32_t i = 0; i < attempt->count; i++) {
        struct slot *slot = &attempt->slots[i];
        slot->rank = launches[i].id.rank;
        slot->node = mem_string(launches[i].node);
        slot->gpus = gpus_of(&launches[i]);
        slot->device_count = launches[i].slices_count;
        kube_nodes_hold(attempts->nodes, slot->node, slot->gpus, true);
    }
}

static void begin_own(struct kube_attempts *attempts, struct attempt *attempt)
{
    const struct member_id id = { attempt->job, attempt->attempt, 0 };

    if (attempt->count > 1)
        create_service(attempts, &id);
    for (uint32_t i = 0; i < attempt->count; i++) {
        if (attempt->slots[i].state == SLOT_EMPTY && attempt->slots[i].own)
            create_pod(attempts, &attempt->slots[i]);
    }
}

int kube_attempts_start(struct kube_attempts *attempts, const struct engine_launch *launches,
                        uint32_t count, struct error *err)
{
    const struct member_id *id = &launches[0].id;
    bool is_own = !launches[0].external;

    if (find(attempts, id->job, id->attempt))
        return 0;
    expect_no_more(attempts, id->job, id->attempt);
    struct attempt *attempt = add(attempts, id->job, id->attempt, count);
    set_places(attempts, attempt, launches);
    attempt->external = mem_string(launches[0].external);
    int code = is_own ? prepare_own(attempts, attempt, launches, err) : 0;
    if (code < 0) {
        for (uint32_t i = 0; i < count; i++)
            kube_nodes_hold(attempts->nodes, attempt->slots[i].node, attempt->slots[i].gpus, false);
        list_remove(&attempts->all, place_of(attempts, id->job, id->attempt));
        attempt_destroy(attempt);
        return code;
    }
    if (attempts->is_synced && is_own)
        begin_own(attempts, attempt);
    else if (attempts->is_synced)
        begin(attempts, attempt);
    return 0;
}

void kube_attempts_stop(struct kube_attempts *attempts, const struct engine_attempt *which,
                        usec_t grace)
{
    struct attempt *attempt = find(attempts, which->job, which->attempt);

    if (!attempt)
        return;
    attempt->is_stopping = true;
    attempt->grace_s = (grace + USEC_PER_SEC - 1) / USEC_PER_SEC;
    for (uint32_t i = 0; i < attempt->count; i++) {
        if (attempt->slots[i].state == SLOT_BOUND)
            evict(attempts, &attempt->slots[i]);
    }
}

void kube_attempts_recover(struct kube_attempts *attempts, const struct engine_attempt *which,
                           const bool *was_started, bool *ret_found)
{
    struct attempt *attempt = find(attempts, which->job, which->attempt);
    bool was_any_started = false;

    for (uint32_t i = 0; i < which->count; i++)
        was_any_started |= was_started[i];
    if (!attempt && was_any_started) {
        attempt = add(attempts, which->job, which->attempt, which->count);
        attempt->is_sought = true;
        for (uint32_t i = 0; i < which->count; i++) {
            attempt->slots[i].rank = which->ranks[i];
            attempt->slots[i].is_started = was_started[i];
        }
    } else if (!attempt) {
        expect(attempts, which);
    }
    for (uint32_t i = 0; i < which->count; i++)
        ret_found[i] = attempt && slot_of_rank(attempt, which->ranks[i]);
}

void kube_attempts_forget(struct kube_attempts *attempts, const struct engine_attempt *which)
{
    struct attempt *attempt = find(attempts, which->job, which->attempt);

    if (!attempt || !is_over(attempt))
        return;
    if (!attempt->external)
        delete_own(attempts, attempt);
    list_remove(&attempts->all, place_of(attempts, which->job, which->attempt));
    attempt_destroy(attempt);
}

const char *kube_attempts_trouble(struct kube_attempts *attempts, uint64_t job, uint32_t number)
{
    const struct attempt *attempt = find(attempts, job, number);

    return attempt && attempt->reason[0] && !is_over(attempt) ? attempt->reason : NULL;
}

/* ---- pods ---- */

/* After a restart: what the annotation and the binding say. */
static void learn(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod)
{
    struct attempt *attempt = slot->attempt;

    if (!attempt->external && !pod->output[0])
        attempt->external = mem_string(kube_workloads_name(attempts->workloads, pod));
    free(slot->role);
    slot->role = mem_string(pod->group.role);
    if (slot->node)
        return;
    slot->node = mem_string(pod->node);
    slot->gpus = mem_string(pod->gpus);
    slot->device_count = pod->device_count;
    kube_nodes_hold(attempts->nodes, slot->node, slot->gpus, true);
}

bool kube_attempts_see(struct kube_attempts *attempts, const struct kube_pod *pod)
{
    struct slot *slot = slot_of(attempts, pod);

    if (!slot)
        return false;
    if (!slot->pod)
        learn(attempts, slot, pod);
    attach(attempts, slot, pod);
    if (pod->node[0] && slot->state != SLOT_BOUND) {
        if (strcmp(pod->node, slot->node) != 0) {
            detach(attempts, slot);
            slot->state = SLOT_EMPTY;
            undo(attempts, slot->attempt, "Kubernetes: a pod was bound by another scheduler");
            return false;
        }
        slot->state = SLOT_BOUND;
        if (slot->attempt->is_stopping || slot->attempt->is_undone)
            evict(attempts, slot);
    }
    if (slot->state == SLOT_BOUND && pod->is_started)
        report_started(attempts, slot);
    if (slot->state == SLOT_BOUND && pod->is_started)
        follow_log(attempts, slot);
    if (pod->phase == KUBE_SUCCEEDED || pod->phase == KUBE_FAILED) {
        note_end(slot, pod);
        end(attempts, slot);
    }
    return true;
}

bool kube_attempts_gone(struct kube_attempts *attempts, const struct kube_pod *pod)
{
    struct slot *slot = slot_of(attempts, pod);

    if (!slot)
        return false;
    if (!slot->pod)
        learn(attempts, slot, pod);
    attach(attempts, slot, pod);
    if (pod->phase == KUBE_SUCCEEDED || pod->phase == KUBE_FAILED)
        note_end(slot, pod);
    else
        note_deletion(attempts, slot);
    end(attempts, slot);
    return true;
}

void kube_attempts_synced(struct kube_attempts *attempts)
{
    if (attempts->is_synced)
        return;
    attempts->is_synced = true;
    attempts->expected_until = uv_now(attempts->options.loop) + EXPECT_MS;
    for (size_t i = 0; i < attempts->all.count; i++) {
        struct attempt *attempt = attempts->all.items[i];
        for (uint32_t k = 0; k < attempt->count && attempt->is_sought; k++) {
            struct slot *slot = &attempt->slots[k];
            if (slot->pod || slot->state == SLOT_OVER || slot->has_end)
                continue;
            set_outcome(slot, ENGINE_LOST, "Kubernetes: its pod has disappeared");
            report_end(attempts, slot);
        }
        if (attempt->is_sought)
            continue;
        if (attempt->external)
            begin(attempts, attempt);
        else
            begin_own(attempts, attempt);
    }
}

/* A member without a pod: another pod takes its place, or its end is reported. */
static void look_at_empty(struct kube_attempts *attempts, struct slot *slot)
{
    struct attempt *attempt = slot->attempt;
    uint64_t waited = uv_now(attempts->options.loop) - slot->empty_since;
    bool is_ending = attempt->is_stopping || attempt->is_undone;

    const struct kube_pod *heir = is_ending || !attempt->external || !slot->role
                                      ? NULL
                                      : kube_workloads_heir(attempts->workloads, attempt->external,
                                                            slot->role, slot->device_count);
    if (slot->own && !is_ending && !slot->has_end) {
        create_pod(attempts, slot);
        return;
    }
    if (heir) {
        bind_pod(attempts, slot, heir);
        return;
    }
    if (slot->has_end && (is_ending || waited >= HOLD_MS)) {
        report_end(attempts, slot);
    } else if (is_ending) {
        set_outcome(slot, ENGINE_LOST,
                    attempt->is_undone ? attempt->reason : "stopped before it ran");
        report_end(attempts, slot);
    } else if (!slot->has_end && waited >= PODS_MS) {
        undo(attempts, attempt, "Kubernetes: not all of its pods exist");
    }
}

static void look_at(struct kube_attempts *attempts, struct attempt *attempt)
{
    uint64_t now = uv_now(attempts->options.loop);

    if (!attempt->is_stopping && !attempt->is_undone && attempt->external)
        begin(attempts, attempt);
    for (uint32_t i = 0; i < attempt->count; i++) {
        struct slot *slot = &attempt->slots[i];
        bool is_due = slot->evict_due > 0 && now >= slot->evict_due;
        if (slot->ended_at > 0 && now - slot->ended_at >= LOG_MS && slot->state != SLOT_OVER)
            report_end(attempts, slot);
        else if (slot->state == SLOT_EMPTY)
            look_at_empty(attempts, slot);
        else if (slot->state == SLOT_BINDING && is_due && !slot->is_checking && slot->pod)
            check(attempts, slot);
        else if (slot->state == SLOT_BOUND && is_due)
            evict(attempts, slot);
    }
}

void kube_attempts_tick(struct kube_attempts *attempts)
{
    if (attempts->is_synced && uv_now(attempts->options.loop) >= attempts->expected_until)
        attempts->expected.count = 0;
    for (size_t i = 0; i < attempts->all.count && attempts->is_synced; i++)
        look_at(attempts, attempts->all.items[i]);
}
