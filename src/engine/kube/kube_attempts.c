/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_attempts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/text.h"
#include "engine/kube/kube_bind.h"
#include "engine/kube/kube_own.h"
#include "engine/kube/kube_slot.h"
#include "wire/json.h"

enum {
    PODS_MS = 120000,  /* all pods of a started attempt must exist within this time */
    HOLD_MS = 10000,   /* a controller replaces a pod within this time */
    EXPECT_MS = 10000, /* after a restart: what was not started by then is over */
    STUCK_MS = 600000, /* an image that could not be pulled for so long ends a job of tarn */
    LOG_MS = 10000,    /* the end of a job waits so long for the end of its output */
    SWEEP_MS = 5000,   /* nodes disappear, containers do not start: see attempt_wake() */
};

struct kube_attempts *kube_attempts_create(const struct engine_options *options,
                                           const char *instance, const char *namespace,
                                           struct kube_client *client, struct kube_nodes *nodes,
                                           struct kube_workloads *workloads,
                                           struct kube_events *events, struct kube_dra *dra)
{
    struct kube_attempts *attempts = mem_zero(1, sizeof(*attempts));

    attempts->options = *options;
    attempts->client = client;
    attempts->nodes = nodes;
    attempts->workloads = workloads;
    attempts->events = events;
    attempts->dra = dra;
    snprintf(attempts->instance, sizeof(attempts->instance), "%s", instance);
    snprintf(attempts->namespace, sizeof(attempts->namespace), "%s", namespace);
    return attempts;
}

void kube_attempts_destroy(struct kube_attempts *attempts)
{
    if (!attempts)
        return;
    for (size_t i = 0; i < attempts->all.count; i++)
        attempt_destroy(attempts->all.items[i]);
    list_release(&attempts->all);
    list_release(&attempts->awake);
    list_release(&attempts->expected);
    map_release(&attempts->by_pod);
    free(attempts);
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
    return slot->state == SLOT_EMPTY && slot->node && !slot->role && !slot->has_end;
}

/* A pod without ResourceClaims cannot have devices of slices, nor one with them others. */
static bool has_devices_for(const struct kube_attempts *attempts, const struct slot *slot,
                            const struct kube_pod *pod)
{
    return pod->device_count == slot->device_count &&
           (slot->device_count == 0 ||
            kube_dra_has(attempts->dra, slot->node, slot->gpus) == (pod->filter[0] != '\0'));
}

/* Bind the pods to the members that never had one, all of them at once. */
static void begin(struct kube_attempts *attempts, struct attempt *attempt)
{
    uint32_t wanted = 0, count, next = 0;

    for (uint32_t i = 0; i < attempt->count; i++)
        wanted += is_untouched(&attempt->slots[i]);
    if (wanted == 0 || attempt->is_returned)
        return;
    const struct kube_pod **pods =
        kube_workloads_take(attempts->workloads, attempt->external, wanted, &count);
    if (count == wanted && wanted == attempt->count && !attempt_claim(attempts, attempt, pods)) {
        free(pods);
        return;
    }
    for (uint32_t i = 0; i < attempt->count && count == wanted; i++) {
        struct slot *slot = &attempt->slots[i];
        if (next < count && is_untouched(slot) && has_devices_for(attempts, slot, pods[next]))
            slot_bind(attempts, slot, pods[next]);
        next += next < count && (is_untouched(slot) || slot->pod == pods[next]);
        if (!slot->pod) /* its devices are of another kind: it is not bound yet, and may disappear
                         */
            slot_count(attempts, slot, NULL);
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

/* The daemon writes the output, not the user: a daemon of root writes to its own directory only. */
static int check_output(const struct kube_attempts *attempts, const struct engine_launch *launch,
                        struct error *err)
{
    const char *own = attempts->options.state_dir;
    size_t length = strlen(own);
    bool is_own = strncmp(launch->output, own, length) == 0 && launch->output[length] == '/' &&
                  !strstr(launch->output, "/../");

    if (geteuid() != 0 || launch->uid == 0 || is_own)
        return 0;
    return error_set(
        err, -ENOTSUP,
        "output: %s: on Kubernetes, tarn keeps the output; expected none, see tarn logs",
        launch->output);
}

static int prepare_claims(struct kube_attempts *attempts, struct slot *slot,
                          const struct engine_launch *launch, struct error *err)
{
    if (launch->slices[0].milli < GPU_MILLI)
        return error_set(err, -ENOTSUP,
                         "the devices of node %s are for ResourceClaims (DRA), of which jobs get "
                         "no parts; expected --where '!dra'",
                         slot->node);
    const char *class = kube_dra_class(attempts->dra, slot->node, slot->gpus, err);
    if (!class)
        return -ENOTSUP;
    slot->own_claims = kube_own_claims(attempts->instance, launch, class);
    return 0;
}

/* The pods of a job of tarn. */
static int prepare_own(struct kube_attempts *attempts, struct attempt *attempt,
                       const struct engine_launch *launches, struct error *err)
{
    AUTO(json) json_t *template = NULL;

    int code = check_output(attempts, &launches[0], err);
    if (code == 0)
        code = kube_own_template(attempts->options.rules->kube_templates, launches[0].queue,
                                 &template, err);
    for (uint32_t i = 0; i < attempt->count && code == 0; i++) {
        struct slot *slot = &attempt->slots[i];
        bool by_claim = kube_dra_has(attempts->dra, slot->node, slot->gpus);
        if (by_claim)
            code = prepare_claims(attempts, slot, &launches[i], err);
        slot->own = kube_own_pod(template, attempts->instance, attempts->namespace, &launches[i],
                                 by_claim ? NULL : resource_of(attempts, &launches[i]), slot->gpus,
                                 attempt->count > 1);
    }
    return code;
}

static void set_place(struct kube_attempts *attempts, struct slot *slot,
                      const struct engine_launch *launch)
{
    slot->rank = launch->id.rank;
    slot->node = mem_string(launch->node);
    slot->gpus = gpus_of(launch);
    slot->device_count = launch->slices_count;
    kube_nodes_hold(attempts->nodes, slot->node, slot->gpus, true);
}

/* After a restart: the daemon that was killed had not bound all pods of a gang. Pods that have
 * none of its bindings get the places that they were granted. */
static void complete(struct kube_attempts *attempts, struct attempt *attempt,
                     const struct engine_launch *launches, uint32_t count)
{
    if (!attempt->is_sought || !launches[0].external)
        return;
    if (!attempt->external)
        attempt->external = mem_string(launches[0].external);
    for (uint32_t i = 0; i < count; i++) {
        struct slot *slot = slot_of_rank(attempt, launches[i].id.rank);
        if (!slot || slot->node || slot->state != SLOT_EMPTY)
            continue;
        set_place(attempts, slot, &launches[i]);
        slot->empty_since = uv_now(attempts->options.loop);
    }
    begin(attempts, attempt);
}

static void begin_own(struct kube_attempts *attempts, struct attempt *attempt)
{
    const struct member_id id = { attempt->job, attempt->attempt, 0 };

    if (attempt->count > 1)
        attempt_create_service(attempts, &id);
    for (uint32_t i = 0; i < attempt->count; i++) {
        if (attempt->slots[i].state == SLOT_EMPTY && attempt->slots[i].own)
            slot_create_pod(attempts, &attempt->slots[i]);
    }
}

int kube_attempts_start(struct kube_attempts *attempts, const struct engine_launch *launches,
                        uint32_t count, struct error *err)
{
    const struct member_id *id = &launches[0].id;
    bool is_own = !launches[0].external;

    struct attempt *attempt = attempt_find(attempts, id->job, id->attempt);
    if (attempt) {
        complete(attempts, attempt, launches, count);
        return 0;
    }
    expect_no_more(attempts, id->job, id->attempt);
    attempt = attempt_add(attempts, id->job, id->attempt, count);
    for (uint32_t i = 0; i < count; i++)
        set_place(attempts, &attempt->slots[i], &launches[i]);
    attempt->external = mem_string(launches[0].external);
    int code = is_own ? prepare_own(attempts, attempt, launches, err) : 0;
    if (code < 0) {
        for (uint32_t i = 0; i < count; i++)
            kube_nodes_hold(attempts->nodes, attempt->slots[i].node, attempt->slots[i].gpus, false);
        attempt_remove(attempts, attempt);
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
    struct attempt *attempt = attempt_find(attempts, which->job, which->attempt);

    if (!attempt)
        return;
    attempt->is_stopping = true;
    attempt_wake(attempts, attempt);
    attempt->grace_s = (grace + USEC_PER_SEC - 1) / USEC_PER_SEC;
    for (uint32_t i = 0; i < attempt->count; i++) {
        if (attempt->slots[i].state == SLOT_BOUND)
            slot_evict(attempts, &attempt->slots[i]);
    }
}

void kube_attempts_recover(struct kube_attempts *attempts, const struct engine_attempt *which,
                           const bool *was_started, bool *ret_found)
{
    struct attempt *attempt = attempt_find(attempts, which->job, which->attempt);
    bool was_any_started = false;

    for (uint32_t i = 0; i < which->count; i++)
        was_any_started |= was_started[i];
    if (!attempt && was_any_started) {
        attempt = attempt_add(attempts, which->job, which->attempt, which->count);
        attempt->is_sought = true;
        for (uint32_t i = 0; i < which->count; i++) {
            attempt->slots[i].rank = which->ranks[i];
            attempt->slots[i].is_started = was_started[i];
        }
    } else if (!attempt) {
        expect(attempts, which);
    }
    for (uint32_t i = 0; i < which->count; i++) {
        const struct slot *slot = attempt ? slot_of_rank(attempt, which->ranks[i]) : NULL;
        ret_found[i] = slot && (was_started[i] || slot->node || slot->state != SLOT_EMPTY);
    }
}

void kube_attempts_forget(struct kube_attempts *attempts, const struct engine_attempt *which)
{
    struct attempt *attempt = attempt_find(attempts, which->job, which->attempt);

    if (!attempt || !attempt_is_over(attempt))
        return;
    if (!attempt->external)
        attempt_delete_own(attempts, attempt);
    attempt_remove(attempts, attempt);
}

/* Its pod was created, and its binding was not requested. */
static bool awaits_claim(const struct slot *slot)
{
    return slot->state == SLOT_BINDING && slot->own_claims && !slot->version;
}

const char *kube_attempts_trouble(struct kube_attempts *attempts, uint64_t job, uint32_t number)
{
    const struct attempt *attempt = attempt_find(attempts, job, number);

    if (!attempt || attempt_is_over(attempt))
        return NULL;
    for (uint32_t i = 0; i < attempt->count; i++) {
        const struct slot *slot = &attempt->slots[i];
        if (awaits_claim(slot) && slot->pod) {
            snprintf(attempts->told, sizeof(attempts->told), "pod %s: %s", slot->pod->name,
                     slot->pod->unresolved ? slot->pod->unresolved
                                           : "its claims are not those for its devices");
            return attempts->told;
        }
        if (slot->stuck_since == 0 || !slot->pod)
            continue;
        snprintf(attempts->told, sizeof(attempts->told), "pod %s on node %s: %s", slot->pod->name,
                 slot->node, slot->pod->waits);
        return attempts->told;
    }
    return attempt->reason[0] ? attempt->reason : NULL;
}

/* ---- pods ---- */

/* How many devices a bound pod has; its claims may not be known yet. */
static uint32_t devices_of(const struct kube_pod *pod)
{
    uint32_t count = pod->gpus[0] != '\0';

    for (const char *at = strchr(pod->gpus, ','); at; at = strchr(at + 1, ','))
        count++;
    return pod->resource_claims ? count : pod->device_count;
}

/* After a restart: what the annotation and the binding say. */
static void learn(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod)
{
    struct attempt *attempt = slot->attempt;

    if (!attempt->external && pod->arrival[0])
        attempt->external = mem_string(pod->arrival);
    if (pod->arrival[0])
        kube_workloads_adopt(attempts->workloads, pod);
    free(slot->role);
    slot->role = mem_string(pod->group.role);
    if (slot->node)
        return;
    slot->node = mem_string(pod->node);
    slot->gpus = mem_string(pod->gpus);
    slot->device_count = devices_of(pod);
    kube_nodes_hold(attempts->nodes, slot->node, slot->gpus, true);
}

void kube_attempts_give(struct kube_attempts *attempts, const char *uuid, const char *pod)
{
    uint64_t at;

    if (map_get(&attempts->by_pod, map_hash(pod, strlen(pod)), &at))
        slot_note_given(attempts, (struct slot *)(uintptr_t)at, uuid);
}

static void note_stuck(const struct kube_attempts *attempts, struct slot *slot)
{
    if (slot->is_started || !slot->pod->waits[0])
        slot->stuck_since = 0;
    else if (slot->stuck_since == 0)
        slot->stuck_since = uv_now(attempts->options.loop);
}

bool kube_attempts_see(struct kube_attempts *attempts, const struct kube_pod *pod)
{
    struct slot *slot = slot_of(attempts, pod);

    if (!slot)
        return false;
    if (!slot->pod)
        learn(attempts, slot, pod);
    slot_attach(attempts, slot, pod);
    if (pod->node[0] && slot->state != SLOT_BOUND) {
        if (strcmp(pod->node, slot->node) != 0) {
            slot_detach(attempts, slot);
            slot->state = SLOT_EMPTY;
            attempt_undo(attempts, slot->attempt,
                         "Kubernetes: a pod was bound by another scheduler");
            return false;
        }
        slot_note_bound(attempts, slot);
    }
    slot_bind_created(attempts, slot);
    if (slot->state == SLOT_BOUND && pod->is_started) {
        slot_report_started(attempts, slot);
        slot_follow_log(attempts, slot);
    }
    note_stuck(attempts, slot);
    if (pod->phase == KUBE_SUCCEEDED || pod->phase == KUBE_FAILED) {
        slot_note_end(slot, pod);
        slot_end(attempts, slot);
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
    slot_attach(attempts, slot, pod);
    if (pod->phase == KUBE_SUCCEEDED || pod->phase == KUBE_FAILED)
        slot_note_end(slot, pod);
    else
        slot_note_deletion(attempts, slot);
    slot_end(attempts, slot);
    if (slot->state == SLOT_EMPTY && pod->group.owner_path[0])
        slot_ask_owner(attempts, slot, pod);
    if (slot->pod == pod) /* it waits for its output; the caller frees the pod */
        slot_detach(attempts, slot);
    return true;
}

static void disappear(struct kube_attempts *attempts, struct slot *slot)
{
    slot_set_outcome(slot, ENGINE_LOST, "Kubernetes: its pod has disappeared");
    slot_report_end(attempts, slot);
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
            if (slot->is_started && !slot->pod && slot->state != SLOT_OVER && !slot->has_end)
                disappear(attempts, slot);
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
        slot_create_pod(attempts, slot);
        return;
    }
    if (heir && slot_claim(attempts, slot, heir)) {
        slot_bind(attempts, slot, heir);
        return;
    }
    if (slot->has_end && (is_ending || waited >= HOLD_MS)) {
        slot_report_end(attempts, slot);
    } else if (is_ending) {
        slot_set_outcome(slot, ENGINE_LOST,
                         attempt->is_undone ? attempt->reason : "stopped before it ran");
        slot_report_end(attempts, slot);
    } else if (!slot->node && uv_now(attempts->options.loop) >= attempts->expected_until) {
        disappear(attempts, slot); /* nor was it started again: see complete() */
    } else if (!slot->has_end && waited >= PODS_MS) {
        attempt_undo(attempts, attempt, "Kubernetes: not all of its pods exist");
    }
}

/* The control plane waits for a node that is not ready, for ever, to say how a pod on it ended.
 * What the pod has there stays occupied until it is gone. */
static bool is_lost(const struct kube_attempts *attempts, const struct slot *slot)
{
    const struct kube_node *node = kube_nodes_find(attempts->nodes, slot->node);

    return !node || (node->is_down && slot->pod->is_deleting);
}

/* A job of tarn whose pod will not start. Others belong to their controllers. */
static bool is_stuck(const struct kube_attempts *attempts, const struct slot *slot)
{
    uint64_t now = uv_now(attempts->options.loop);

    return !slot->attempt->external && slot->stuck_since > 0 && slot->pod &&
           (slot->pod->is_hopeless || now - slot->stuck_since >= STUCK_MS);
}

/* It is no member any more, and its pod is still there. */
static void leave(struct kube_attempts *attempts, struct slot *slot, enum engine_outcome_kind kind,
                  const char *reason)
{
    slot_set_outcome(slot, kind, reason);
    attempts->has_left = true;
    slot_end(attempts, slot);
}

static void look_at_claim(struct kube_attempts *attempts, struct slot *slot)
{
    const struct attempt *attempt = slot->attempt;
    uint64_t waited = uv_now(attempts->options.loop) - slot->empty_since;
    const char *why = slot->pod && slot->pod->unresolved
                          ? slot->pod->unresolved
                          : "its pod does not get the claim for its devices";

    if (attempt->is_stopping || attempt->is_undone)
        slot_set_outcome(slot, ENGINE_LOST,
                         attempt->is_undone ? attempt->reason : "stopped before it ran");
    else if (waited >= STUCK_MS)
        slot_set_outcome(slot, ENGINE_FAILED, why);
    else
        return;
    slot_report_end(attempts, slot);
}

static void look_at(struct kube_attempts *attempts, struct attempt *attempt)
{
    uint64_t now = uv_now(attempts->options.loop);

    if (attempt->is_returned) {
        if (!attempt_is_over(attempt))
            attempt_return(attempts, attempt);
        return;
    }
    if (attempt->external && (attempt->is_stopping || attempt->is_undone))
        kube_workloads_keep(attempts->workloads, attempt->external);
    else if (attempt->external)
        begin(attempts, attempt);
    for (uint32_t i = 0; i < attempt->count; i++) {
        struct slot *slot = &attempt->slots[i];
        bool is_due = slot->evict_due > 0 && now >= slot->evict_due;
        bool is_late = slot->ended_at > 0 && now - slot->ended_at >= LOG_MS;
        if (is_late && slot->state != SLOT_OVER)
            slot_report_end(attempts, slot);
        else if (slot->ended_at > 0)
            continue;
        else if (slot->state == SLOT_EMPTY)
            look_at_empty(attempts, slot);
        else if (awaits_claim(slot))
            look_at_claim(attempts, slot);
        else if (slot->state == SLOT_BINDING && is_due && !slot->is_checking && slot->pod)
            slot_check(attempts, slot);
        else if (slot->state == SLOT_BOUND && is_lost(attempts, slot)) {
            leave(attempts, slot, ENGINE_LOST, "Kubernetes: its node is not ready or was deleted");
        } else if (slot->state == SLOT_BOUND && is_stuck(attempts, slot)) {
            AUTO_FREE char *reason = mem_printf("Kubernetes: %.140s", slot->pod->waits);
            leave(attempts, slot, ENGINE_FAILED, reason);
        } else if (slot->state == SLOT_BOUND && is_due)
            slot_evict(attempts, slot);
    }
}

/* Nothing is due before the next sweep. */
static bool is_settled(const struct attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->count; i++) {
        const struct slot *slot = &attempt->slots[i];
        bool is_bound = slot->state == SLOT_BOUND && slot->ended_at == 0 && slot->evict_due == 0;
        if (!is_bound && slot->state != SLOT_OVER)
            return false;
    }
    return true;
}

bool kube_attempts_tick(struct kube_attempts *attempts)
{
    uint64_t now = uv_now(attempts->options.loop);
    size_t kept = 0;

    attempts->has_left = false;
    if (!attempts->is_synced)
        return false;
    if (now >= attempts->expected_until)
        attempts->expected.count = 0;
    if (now - attempts->swept_at >= SWEEP_MS) {
        attempts->swept_at = now;
        for (size_t i = 0; i < attempts->all.count; i++)
            attempt_wake(attempts, attempts->all.items[i]);
    }
    for (size_t i = 0; i < attempts->awake.count; i++)
        look_at(attempts, attempts->awake.items[i]);
    for (size_t i = 0; i < attempts->awake.count; i++) {
        struct attempt *attempt = attempts->awake.items[i];
        attempt->is_awake = !is_settled(attempt);
        if (attempt->is_awake)
            attempts->awake.items[kept++] = attempt;
    }
    attempts->awake.count = kept;
    return attempts->has_left;
}

const char *kube_attempts_node(const struct kube_attempts *attempts, const struct kube_pod *pod)
{
    const struct slot *slot = slot_of(attempts, pod);

    return slot && slot->counted == pod ? slot->node : NULL;
}

bool kube_attempts_have(const struct kube_attempts *attempts, const struct kube_pod *pod)
{
    return slot_of(attempts, pod) != NULL;
}

bool kube_attempts_are_settled(const struct kube_attempts *attempts)
{
    return attempts->is_synced && uv_now(attempts->options.loop) >= attempts->expected_until;
}
