/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_bind.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/dra/dra_names.h"
#include "engine/kube/kube_own.h"
#include "engine/kube/objects/kube_names.h"
#include "io/log.h"

#define CLAIM_TEMPLATES "resourceclaimtemplates"

enum {
    TRIES_MAX = 5,   /* of a binding that is refused, before the attempt is given up */
    EVICT_MS = 5000, /* a refused eviction is repeated */
    PATIENCE_MS = 60000,
    GRACE_LEAST_S = 1, /* 0 would drop the object while its processes run */
};

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
    struct attempt *attempt = attempt_find(binding->attempts, binding->job, binding->attempt);
    struct slot *slot = attempt ? slot_of_rank(attempt, binding->rank) : NULL;

    return slot && slot->pod && strcmp(slot->pod->uid, binding->uid) == 0 &&
                   slot->state == SLOT_BINDING
               ? slot
               : NULL;
}

void attempt_undo(struct kube_attempts *attempts, struct attempt *attempt, const char *reason)
{
    if (attempt->is_undone || attempt->is_stopping)
        return;
    attempt->is_undone = true;
    attempt_wake(attempts, attempt);
    snprintf(attempt->reason, sizeof(attempt->reason), "%s", reason);
    log_line(LOG_WARNING, "an attempt cannot start as a whole job=%" PRIu64 " reason='%s'",
             attempt->job, attempt->reason);
    for (uint32_t i = 0; i < attempt->count; i++) {
        if (attempt->slots[i].state == SLOT_BOUND)
            slot_evict(attempts, &attempt->slots[i]);
    }
}

/* It is not bound, and will not be: its pod waits again. */
static void give_back(struct kube_attempts *attempts, struct slot *slot)
{
    const struct kube_pod *pod = slot->pod;

    slot_detach(attempts, slot);
    slot->state = SLOT_EMPTY;
    slot->empty_since = uv_now(attempts->options.loop);
    if (pod && !slot->own)
        kube_workloads_see(attempts->workloads, pod);
}

static char *pod_path(const struct kube_pod *pod, const char *rest)
{
    return mem_printf("/api/v1/namespaces/%s/pods/%s%s", pod->namespace, pod->name, rest);
}

static void say(const struct kube_attempts *attempts, const struct slot *slot,
                enum kube_event_kind kind, const char *words)
{
    kube_events_say(attempts->events, slot->pod, kind, words, uv_now(attempts->options.loop));
}

void slot_note_bound(struct kube_attempts *attempts, struct slot *slot)
{
    const struct attempt *attempt = slot->attempt;
    AUTO_FREE char *words =
        mem_printf("Successfully assigned %s/%s to %s (tarn job %" PRIu64 ")", slot->pod->namespace,
                   slot->pod->name, slot->node, attempt->job);

    if (slot->state == SLOT_BINDING) /* else it was found after a restart */
        say(attempts, slot, KUBE_EVENT_SCHEDULED, words);
    slot->state = SLOT_BOUND;
    if (attempt->is_undone || attempt->is_stopping)
        slot_evict(attempts, slot);
}

/* Beforehand: a pod without a controller is not made again. */
static void say_evicts(const struct kube_attempts *attempts, const struct slot *slot)
{
    const struct attempt *attempt = slot->attempt;
    bool is_last = !slot->pod->group.owner_uid[0];
    AUTO_FREE char *words = mem_printf("tarn stops job %" PRIu64, attempt->job);

    if (!attempt->is_undone) {
        say(attempts, slot, KUBE_EVENT_STOPPED, words);
        return;
    }
    AUTO_FREE char *why = mem_printf(
        "tarn job %" PRIu64 " cannot start as a whole: %s%s", attempt->job, attempt->reason,
        is_last ? "; this pod has no controller that makes it again" : "");
    say(attempts, slot, KUBE_EVENT_UNDONE, why);
}

static void on_bound(void *user, const struct kube_reply *reply)
{
    struct binding *binding = user;
    struct kube_attempts *attempts = binding->attempts;
    struct slot *slot = slot_binding(binding);

    if (slot && kube_reply_is_ok(reply)) {
        slot_note_bound(attempts, slot);
    } else if (slot) {
        snprintf(slot->attempt->reason, sizeof(slot->attempt->reason), "%.150s", reply->words);
        slot_check(attempts, slot);
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
    json_object_set_new(notes, KUBE_ARRIVAL, json_string(slot->attempt->external));
    if (slot->gpus[0])
        json_object_set_new(notes, KUBE_GPUS, json_string(slot->gpus));
    kube_workloads_annotate(attempts->workloads, slot->attempt->external, notes);
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:o}, s:{s:s, s:s, s:s}}", "apiVersion", "v1",
                     "kind", "Binding", "metadata", "name", pod->name, "uid", pod->uid,
                     "resourceVersion", slot->version, "annotations", notes, "target", "apiVersion",
                     "v1", "kind", "Node", "name", slot->node);
}

static void note_version(struct slot *slot, const struct kube_reply *reply)
{
    const char *version = kube_text(json_object_get(reply->body, "metadata"), "resourceVersion");

    if (!version[0])
        return;
    free(slot->version);
    slot->version = mem_string(version);
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

    if (slot && kube_reply_is_ok(reply)) {
        note_version(slot, reply);
        send_binding(binding->attempts, slot);
    } else if (slot) {
        slot_check(binding->attempts, slot);
    }
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

static void bind_allocated(struct kube_attempts *attempts, struct slot *slot)
{
    if (slot->pod->is_gated)
        ungate(attempts, slot);
    else
        send_binding(attempts, slot);
}

static void on_allocated(void *user, const char *why)
{
    struct binding *binding = user;
    struct kube_attempts *attempts = binding->attempts;
    struct slot *slot = slot_binding(binding);

    free(binding);
    if (!slot)
        return;
    if (!why && !slot->attempt->is_undone && !slot->attempt->is_stopping) {
        bind_allocated(attempts, slot);
        return;
    }
    if (why)
        snprintf(slot->attempt->reason, sizeof(slot->attempt->reason), "%.150s", why);
    slot->failures = TRIES_MAX; /* it has waited long enough */
    slot_check(attempts, slot);
}

/* The claims of the pod first. */
static void request_binding(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *mark = mem_printf("%s/%" PRIu64 ".%" PRIu32 "/%" PRIu32, attempts->instance,
                                      slot->attempt->job, slot->attempt->attempt, slot->rank);

    if (!slot->pod->resource_claims) {
        bind_allocated(attempts, slot);
        return;
    }
    kube_dra_allocate(attempts->dra, slot->pod,
                      (struct dra_order){ .node = slot->node,
                                          .devices = slot->gpus,
                                          .mark = mark,
                                          .now_ms = uv_now(attempts->options.loop),
                                          .done = on_allocated,
                                          .user = binding_of(attempts, slot) });
}

/* It is not bound, and an earlier request cannot bind it any more. */
static void bind_again(struct kube_attempts *attempts, struct slot *slot)
{
    struct attempt *attempt = slot->attempt;
    AUTO_FREE char *reason = mem_printf("Kubernetes: %.140s", attempt->reason);

    if (attempt->is_undone || attempt->is_stopping) {
        give_back(attempts, slot);
    } else if (++slot->failures < TRIES_MAX) {
        request_binding(attempts, slot);
    } else {
        give_back(attempts, slot);
        attempt_undo(attempts, attempt, reason);
    }
}

static void on_checked(void *user, const struct kube_reply *reply)
{
    struct binding *binding = user;
    struct kube_attempts *attempts = binding->attempts;
    struct slot *slot = slot_binding(binding);
    const char *node = kube_text(kube_at(reply->body, "spec", NULL), "nodeName");

    free(binding);
    if (!slot)
        return;
    slot->is_checking = false;
    if (!kube_reply_is_ok(reply)) {
        /* what may be bound must not be counted as free; if the pod is gone, the watch says so */
        slot->evict_due = uv_now(attempts->options.loop) + EVICT_MS;
    } else if (!node[0]) {
        note_version(slot, reply);
        bind_again(attempts, slot);
    } else if (strcmp(node, slot->node) == 0) {
        slot_note_bound(attempts, slot);
    } else {
        AUTO_FREE char *reason = mem_printf(
            "Kubernetes: pod %s was bound to node %s by another scheduler", slot->pod->name, node);
        give_back(attempts, slot);
        attempt_undo(attempts, slot->attempt, reason);
    }
}

/* The change raises the version of the pod: a binding that was delayed on its way, or in the store
 * of the API server, cannot take effect after it. The answer says whether one did before. */
void slot_check(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *path = pod_path(slot->pod, "");
    json_t *body = json_pack("{s:{s:s, s:{s:o}}}", "metadata", "uid", slot->pod->uid, "annotations",
                             KUBE_CHECKED, json_sprintf("%" PRIu64, uv_hrtime()));

    slot->is_checking = true;
    kube_client_call(attempts->client, &(struct kube_call){ .method = "PATCH",
                                                            .path = path,
                                                            .type = "application/merge-patch+json",
                                                            .body = body,
                                                            .patience_ms = PATIENCE_MS,
                                                            .done = on_checked,
                                                            .user = binding_of(attempts, slot) });
}

/* The provisioner of a claim that waits for its first consumer makes its volume for this node. */
static void select_node(struct kube_attempts *attempts, const struct slot *slot)
{
    const struct kube_pod *pod = slot->pod;
    json_t *name;
    size_t i;

    json_array_foreach(pod->claims, i, name)
    {
        if (!kube_nodes_claim_waits(attempts->nodes, pod, json_string_value(name)))
            continue;
        AUTO_FREE char *path = mem_printf("/api/v1/namespaces/%s/persistentvolumeclaims/%s",
                                          pod->namespace, json_string_value(name));
        kube_client_call(
            attempts->client,
            &(struct kube_call){ .method = "PATCH",
                                 .path = path,
                                 .type = "application/merge-patch+json",
                                 .body = json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
                                                   KUBE_SELECTED_NODE, slot->node),
                                 .patience_ms = PATIENCE_MS });
    }
}

void slot_bind(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod)
{
    kube_workloads_gone(attempts->workloads, pod);
    slot_attach(attempts, slot, pod);
    slot->state = SLOT_BINDING;
    free(slot->role);
    slot->role = mem_string(pod->group.role);
    slot->failures = 0;
    free(slot->version);
    slot->version = mem_string(pod->version);
    select_node(attempts, slot);
    request_binding(attempts, slot);
}

/* ---- rules of pods about each other ---- */

bool slot_claim(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod)
{
    struct error err;

    if (!kube_nodes_allow(attempts->nodes, pod, slot->node, &slot->attempt->rule, &err)) {
        snprintf(slot->attempt->reason, sizeof(slot->attempt->reason), "%.150s", err.text);
        return false;
    }
    slot_count(attempts, slot, pod);
    return true;
}

bool attempt_claim(struct kube_attempts *attempts, struct attempt *attempt,
                   const struct kube_pod *const *pods)
{
    for (uint32_t i = 0; i < attempt->count; i++) /* all rules count the pods that are claimed */
        kube_nodes_allow(attempts->nodes, pods[i], attempt->slots[i].node, &attempt->rule, NULL);
    for (uint32_t i = 0; i < attempt->count && !attempt->is_returned; i++)
        attempt->is_returned = !slot_claim(attempts, &attempt->slots[i], pods[i]);
    for (uint32_t i = 0; i < attempt->count && attempt->is_returned; i++)
        slot_count(attempts, &attempt->slots[i], NULL);
    return !attempt->is_returned;
}

void attempt_return(struct kube_attempts *attempts, struct attempt *attempt)
{
    kube_workloads_return(attempts->workloads, attempt->external, attempt->rule);
    for (uint32_t i = 0; i < attempt->count; i++) {
        slot_set_outcome(&attempt->slots[i], ENGINE_RETURNED, attempt->reason);
        slot_report_end(attempts, &attempt->slots[i]);
    }
}

/* ---- eviction ---- */

static void on_evicted(void *user, const struct kube_reply *reply)
{
    struct binding *binding = user;
    struct attempt *attempt = attempt_find(binding->attempts, binding->job, binding->attempt);
    struct slot *slot = attempt ? slot_of_rank(attempt, binding->rank) : NULL;

    if (slot && slot->pod && strcmp(slot->pod->uid, binding->uid) == 0 &&
        !kube_reply_is_ok(reply) && reply->status != KUBE_NOT_FOUND) {
        slot->evict_due = uv_now(binding->attempts->options.loop) + EVICT_MS;
        attempt_wake(binding->attempts, attempt);
        snprintf(attempt->reason, sizeof(attempt->reason), "Kubernetes: %.140s", reply->words);
    }
    free(binding);
}

void slot_evict(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *path = pod_path(slot->pod, "/eviction");
    int64_t grace = slot->attempt->is_undone ? slot->pod->grace_s : slot->attempt->grace_s;
    json_t *body = json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:{s:I, s:{s:s}}}", "apiVersion", "policy/v1", "kind", "Eviction",
        "metadata", "name", slot->pod->name, "namespace", slot->pod->namespace, "deleteOptions",
        "gracePeriodSeconds", (json_int_t)(grace > GRACE_LEAST_S ? grace : GRACE_LEAST_S),
        "preconditions", "uid", slot->pod->uid);

    slot->evict_due = 0;
    attempt_wake(attempts, slot->attempt);
    say_evicts(attempts, slot);
    kube_client_call(attempts->client, &(struct kube_call){ .method = "POST",
                                                            .path = path,
                                                            .body = body,
                                                            .patience_ms = PATIENCE_MS,
                                                            .is_refused_by_429 = true,
                                                            .done = on_evicted,
                                                            .user = binding_of(attempts, slot) });
}

/* ---- controllers ---- */

static bool is_gone(const struct kube_reply *reply, const char *uid)
{
    const json_t *about = json_object_get(reply->body, "metadata");

    if (!kube_reply_is_ok(reply))
        return reply->status == KUBE_NOT_FOUND;
    return strcmp(kube_text(about, "uid"), uid) != 0 || kube_text(about, "deletionTimestamp")[0];
}

static void on_owner(void *user, const struct kube_reply *reply)
{
    struct binding *binding = user;
    struct kube_attempts *attempts = binding->attempts;
    struct attempt *attempt = attempt_find(attempts, binding->job, binding->attempt);
    struct slot *slot = attempt ? slot_of_rank(attempt, binding->rank) : NULL;
    bool is_empty = slot && slot->state == SLOT_EMPTY && slot->has_end;

    if (is_empty && !attempt->is_undone && is_gone(reply, binding->uid)) {
        attempts->options.reports.cancelled(attempts->options.reports.user, attempt->job,
                                            "its controller was deleted in Kubernetes");
        slot_note_cancelled(slot);
        slot_report_end(attempts, slot);
    }
    free(binding);
}

void slot_ask_owner(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod)
{
    struct binding *binding = binding_of(attempts, slot);

    snprintf(binding->uid, sizeof(binding->uid), "%s", pod->group.owner_uid);
    kube_client_call(attempts->client, &(struct kube_call){ .method = "GET",
                                                            .path = pod->group.owner_path,
                                                            .patience_ms = EVICT_MS,
                                                            .done = on_owner,
                                                            .user = binding });
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
    struct attempt *attempt = attempt_find(attempts, binding->job, binding->attempt);
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
    slot_set_outcome(slot, ENGINE_FAILED, reason);
    slot_report_end(attempts, slot);
}

static void create(struct kube_attempts *attempts, struct slot *slot, const char *path,
                   json_t *object, void (*done)(void *user, const struct kube_reply *reply))
{
    kube_client_call(attempts->client, &(struct kube_call){ .method = "POST",
                                                            .path = path,
                                                            .body = json_incref(object),
                                                            .patience_ms = PATIENCE_MS,
                                                            .done = done,
                                                            .user = binding_of(attempts, slot) });
}

static void create_pod(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *path = mem_printf("/api/v1/namespaces/%s/pods", attempts->namespace);

    create(attempts, slot, path, slot->own, on_created);
}

static void on_template(void *user, const struct kube_reply *reply)
{
    const struct binding *binding = user;
    struct attempt *attempt = attempt_find(binding->attempts, binding->job, binding->attempt);
    struct slot *slot = attempt ? slot_of_rank(attempt, binding->rank) : NULL;
    bool is_there = kube_reply_is_ok(reply) || reply->status == KUBE_CONFLICT;

    if (is_there && slot && slot->state == SLOT_BINDING)
        create_pod(binding->attempts, slot);
    on_created(user, reply);
}

void slot_create_pod(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *templates =
        mem_printf(DRA_API "/namespaces/%s/" CLAIM_TEMPLATES, attempts->namespace);

    slot->state = SLOT_BINDING;
    if (slot->own_claims)
        create(attempts, slot, templates, slot->own_claims, on_template);
    else
        create_pod(attempts, slot);
}

void slot_bind_created(struct kube_attempts *attempts, struct slot *slot)
{
    const struct kube_pod *pod = slot->pod;

    if (!slot->own_claims || !pod || pod->node[0] || slot->state != SLOT_BINDING || slot->version ||
        pod->unresolved || pod->device_count != slot->device_count)
        return;
    slot->failures = 0;
    slot->version = mem_string(pod->version);
    request_binding(attempts, slot);
}

void attempt_create_service(struct kube_attempts *attempts, const struct member_id *id)
{
    AUTO_FREE char *path = mem_printf("/api/v1/namespaces/%s/services", attempts->namespace);

    kube_client_call(attempts->client,
                     &(struct kube_call){ .method = "POST",
                                          .path = path,
                                          .body = kube_own_service(attempts->instance, id),
                                          .patience_ms = PATIENCE_MS });
}

static void remove_object(struct kube_attempts *attempts, const char *kind, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/namespaces/%s/%s/%s",
                                      strcmp(kind, CLAIM_TEMPLATES) == 0 ? DRA_API : "/api/v1",
                                      attempts->namespace, kind, name);

    kube_client_call(
        attempts->client,
        &(struct kube_call){ .method = "DELETE", .path = path, .patience_ms = PATIENCE_MS });
}

void attempt_delete_own(struct kube_attempts *attempts, const struct attempt *attempt)
{
    const struct member_id first = { attempt->job, attempt->attempt, 0 };
    AUTO_FREE char *service = kube_own_service_name(attempts->instance, &first);

    for (uint32_t i = 0; i < attempt->count; i++) {
        const struct member_id id = { attempt->job, attempt->attempt, attempt->slots[i].rank };
        AUTO_FREE char *name = kube_own_name(attempts->instance, &id);
        remove_object(attempts, "pods", name);
        if (kube_dra_is_used(attempts->dra)) /* after a restart it is not known which have one */
            remove_object(attempts, CLAIM_TEMPLATES, name);
    }
    if (attempt->count > 1)
        remove_object(attempts, "services", service);
}

/* ---- output ---- */

static void on_log_end(void *user, const struct kube_reply *reply)
{
    struct binding *binding = user;
    struct attempt *attempt = attempt_find(binding->attempts, binding->job, binding->attempt);
    struct slot *slot = attempt ? slot_of_rank(attempt, binding->rank) : NULL;

    if (!kube_reply_is_ok(reply))
        log_line(LOG_WARNING, "the output of a job is not complete job=%" PRIu64 " reason='%s'",
                 binding->job, reply->words);
    if (slot) {
        slot->has_log = true;
        if (slot->ended_at > 0 && slot->state != SLOT_OVER)
            slot_report_end(binding->attempts, slot);
    }
    free(binding);
}

void slot_follow_log(struct kube_attempts *attempts, struct slot *slot)
{
    AUTO_FREE char *path = pod_path(slot->pod, "/log?follow=true");

    const struct member_id id = { slot->attempt->job, slot->attempt->attempt, slot->rank };
    AUTO_FREE char *own = kube_own_name(attempts->instance, &id);

    /* the annotation counts on pods that this daemon created only */
    if (slot->is_followed || slot->attempt->external || !slot->pod->output[0] ||
        strcmp(slot->pod->namespace, attempts->namespace) != 0 || strcmp(slot->pod->name, own) != 0)
        return;
    slot->is_followed = true;
    kube_client_follow(attempts->client,
                       &(struct kube_follow){ .path = path,
                                              .file = slot->pod->output,
                                              .done = on_log_end,
                                              .user = binding_of(attempts, slot) });
}
