/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_slot.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_names.h"

void attempt_destroy(struct attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->count; i++) {
        free(attempt->slots[i].node);
        free(attempt->slots[i].gpus);
        free(attempt->slots[i].given);
        free(attempt->slots[i].role);
        free(attempt->slots[i].version);
        json_decref(attempt->slots[i].own);
        json_decref(attempt->slots[i].own_claims);
    }
    free(attempt->slots);
    free(attempt->external);
    free(attempt);
}

/* ---- which attempt, which member ---- */

size_t attempt_place(const struct kube_attempts *attempts, uint64_t job, uint32_t number)
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

struct attempt *attempt_find(const struct kube_attempts *attempts, uint64_t job, uint32_t number)
{
    size_t place = attempt_place(attempts, job, number);
    struct attempt *at = place < attempts->all.count ? attempts->all.items[place] : NULL;

    return at && at->job == job && at->attempt == number ? at : NULL;
}

struct attempt *attempt_add(struct kube_attempts *attempts, uint64_t job, uint32_t number,
                            uint32_t count)
{
    struct attempt *attempt = mem_zero(1, sizeof(*attempt));
    size_t place = attempt_place(attempts, job, number);

    attempt->job = job;
    attempt->attempt = number;
    attempt->count = count;
    attempt->slots = mem_zero(count > 0 ? count : 1, sizeof(attempt->slots[0]));
    for (uint32_t i = 0; i < count; i++) {
        attempt->slots[i].attempt = attempt;
        attempt->slots[i].empty_since = uv_now(attempts->options.loop);
    }
    list_insert(&attempts->all, place, attempt);
    attempt_wake(attempts, attempt);
    return attempt;
}

void attempt_wake(struct kube_attempts *attempts, struct attempt *attempt)
{
    if (attempt->is_awake)
        return;
    attempt->is_awake = true;
    list_add(&attempts->awake, attempt);
}

void attempt_remove(struct kube_attempts *attempts, struct attempt *attempt)
{
    for (size_t i = 0; i < attempts->awake.count && attempt->is_awake; i++) {
        if (attempts->awake.items[i] != attempt)
            continue;
        list_remove(&attempts->awake, i);
        attempt->is_awake = false;
    }
    list_remove(&attempts->all, attempt_place(attempts, attempt->job, attempt->attempt));
    attempt_destroy(attempt);
}

struct slot *slot_of_rank(const struct attempt *attempt, uint32_t rank)
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

void slot_count(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod)
{
    if (slot->counted)
        kube_nodes_assume(attempts->nodes, slot->counted, slot->node, false);
    slot->counted = NULL;
    if (pod)
        kube_nodes_assume(attempts->nodes, pod, slot->node, true);
    slot->counted = pod;
}

void slot_attach(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod)
{
    if (slot->counted && slot->counted != pod)
        slot_count(attempts, slot, pod->node[0] ? NULL : pod);
    if (slot->pod && strcmp(slot->pod->uid, pod->uid) != 0)
        map_remove(&attempts->by_pod, pod_key(slot->pod));
    slot->pod = pod;
    slot->has_end = false;
    map_set(&attempts->by_pod, pod_key(pod), (uint64_t)(uintptr_t)slot);
}

void slot_detach(struct kube_attempts *attempts, struct slot *slot)
{
    if (slot->pod)
        map_remove(&attempts->by_pod, pod_key(slot->pod));
    slot_count(attempts, slot, NULL);
    slot->pod = NULL;
    slot->given_count = 0;
}

/* The member that a pod is, by its place here or by the annotation of its binding. */
/* A pod of a job of tarn that gets its node with its claim. Users can write annotations, too. */
static bool is_created(const struct kube_attempts *attempts, const struct slot *slot,
                       const struct kube_pod *pod)
{
    const json_t *own = slot->own_claims ? json_object_get(slot->own, "metadata") : NULL;

    return own && strcmp(kube_text(own, "name"), pod->name) == 0 &&
           strcmp(attempts->namespace, pod->namespace) == 0;
}

struct slot *slot_of(const struct kube_attempts *attempts, const struct kube_pod *pod)
{
    uint64_t at;

    if (map_get(&attempts->by_pod, pod_key(pod), &at))
        return (struct slot *)(uintptr_t)at;
    if (!pod->is_marked || strcmp(pod->mark.instance, attempts->instance) != 0)
        return NULL;
    struct attempt *attempt = attempt_find(attempts, pod->mark.job, pod->mark.attempt);
    struct slot *slot = attempt ? slot_of_rank(attempt, pod->mark.rank) : NULL;
    bool is_it = slot && (pod->node[0] || is_created(attempts, slot, pod));
    return is_it && !slot->pod && slot->state != SLOT_OVER ? slot : NULL;
}

/* ---- reports ---- */

static void report(const struct kube_attempts *attempts, const struct slot *slot,
                   struct engine_outcome outcome)
{
    outcome.id = (struct member_id){ slot->attempt->job, slot->attempt->attempt, slot->rank };
    attempts->options.reports.outcome(attempts->options.reports.user, &outcome);
}

void slot_report_started(struct kube_attempts *attempts, struct slot *slot)
{
    struct engine_isolation isolation = { .processes = ISOLATION_ISOLATED,
                                          .gpu = ISOLATION_ISOLATED };

    if (slot->is_started)
        return;
    if (slot->pod && slot->pod->share[0]) /* counted; the device does not enforce it */
        isolation.gpu = ISOLATION_ACCOUNTED;
    slot->is_started = true;
    report(attempts, slot,
           (struct engine_outcome){ .kind = ENGINE_STARTED, .isolation = isolation });
}

bool attempt_is_over(const struct attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->count; i++) {
        if (attempt->slots[i].state != SLOT_OVER)
            return false;
    }
    return true;
}

void slot_report_end(struct kube_attempts *attempts, struct slot *slot)
{
    struct attempt *attempt = slot->attempt;

    slot_detach(attempts, slot);
    slot->state = SLOT_OVER;
    if (slot->node)
        kube_nodes_hold(attempts->nodes, slot->node, slot->gpus, false);
    report(attempts, slot, slot->outcome);
    if (attempt_is_over(attempt) && attempt->external)
        kube_workloads_end(attempts->workloads, attempt->external);
}

void slot_set_outcome(struct slot *slot, enum engine_outcome_kind kind, const char *reason)
{
    slot->outcome = (struct engine_outcome){ .kind = kind, .exit_code = -1 };
    snprintf(slot->outcome.reason, sizeof(slot->outcome.reason), "%s", reason);
    slot->has_end = true;
}

/* ---- devices that the kubelet chose ---- */

/* As in the annotation: a device without a UUID is its index. */
static char *list_given(const struct slot *slot)
{
    AUTO_FREE char *unknown = mem_printf("%.72s-gpu", slot->node);
    struct text text = { 0 };

    for (const char *at = slot->given; *at; at += strcspn(at, ","), at += *at == ',') {
        const char *from = string_starts(at, unknown) ? at + strlen(unknown) : at;
        text_printf(&text, "%s%.*s", text.length > 0 ? "," : "", (int)strcspn(from, ","), from);
    }
    return text_take(&text);
}

static bool are_same_words(const char *a, const char *b)
{
    bool is_same = strlen(a) == strlen(b);

    for (const char *at = a; *at && is_same; at += strcspn(at, ","), at += *at == ',') {
        AUTO_FREE char *word = mem_string_of(at, strcspn(at, ","));
        is_same = watch_names_have(b, word);
    }
    return is_same;
}

static void write_annotation(const struct kube_attempts *attempts, const struct slot *slot)
{
    AUTO_FREE char *path =
        mem_printf("/api/v1/namespaces/%s/pods/%s", slot->pod->namespace, slot->pod->name);

    kube_client_call(attempts->client,
                     &(struct kube_call){ .method = "PATCH",
                                          .path = path,
                                          .type = "application/merge-patch+json",
                                          .body = json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid",
                                                            slot->pod->uid, "annotations",
                                                            KUBE_GPUS, slot->gpus),
                                          .patience_ms = 30000 });
}

static void report_given(struct kube_attempts *attempts, struct slot *slot)
{
    const struct engine_reports *reports = &attempts->options.reports;
    const struct member_id id = { slot->attempt->job, slot->attempt->attempt, slot->rank };
    AUTO_FREE char *names = mem_string(slot->given), *gpus = list_given(slot);
    AUTO_FREE const char **uuids = mem_zero(slot->given_count + 1, sizeof(uuids[0]));
    char *rest = names;

    if (are_same_words(gpus, slot->gpus))
        return;
    for (uint32_t i = 0; i < slot->given_count; i++)
        uuids[i] = strsep(&rest, ",");
    kube_nodes_hold(attempts->nodes, slot->node, slot->gpus, false);
    free(slot->gpus);
    slot->gpus = TAKE(gpus);
    kube_nodes_hold(attempts->nodes, slot->node, slot->gpus, true);
    reports->assigned(reports->user, id, uuids, slot->given_count);
    write_annotation(attempts, slot);
}

/* A device that contradicts a complete set begins a new one. */
void slot_note_given(struct kube_attempts *attempts, struct slot *slot, const char *uuid)
{
    bool is_of_plugin = slot->pod && slot->node && !slot->pod->share[0] && !slot->pod->filter[0];

    if (!is_of_plugin || slot->state != SLOT_BOUND || slot->device_count == 0 ||
        !kube_nodes_have_device(attempts->nodes, slot->node, uuid) ||
        (slot->given_count > 0 && watch_names_have(slot->given, uuid)))
        return;
    if (slot->given_count == 0 || slot->given_count == slot->device_count) {
        free(slot->given);
        slot->given = NULL;
        slot->given_count = 0;
    }
    char *more = mem_printf("%s%s%s", slot->given ? slot->given : "", slot->given ? "," : "", uuid);
    free(slot->given);
    slot->given = more;
    if (++slot->given_count == slot->device_count)
        report_given(attempts, slot);
}

/* ---- the end of a pod ---- */

/* The end of a long message says most: "…: exec: \"train\": executable file not found in $PATH" */
static void keep_end(char *ret, size_t size, const char *words)
{
    size_t length = strlen(words), room = size - 4;

    if (length < size) {
        snprintf(ret, size, "%s", words);
        return;
    }
    const char *from = words + length - room;
    while ((*from & 0xc0) == 0x80) /* not within a character */
        from++;
    snprintf(ret, size, "...%s", from);
}

void slot_note_end(struct slot *slot, const struct kube_pod *pod)
{
    const struct attempt *attempt = slot->attempt;
    bool is_stopped = attempt->is_stopping || attempt->is_undone;

    if (pod->phase == KUBE_FAILED && pod->is_evicted && !is_stopped) {
        AUTO_FREE char *reason = mem_printf("Kubernetes: %.120s", pod->reason);
        slot_set_outcome(slot, ENGINE_LOST, reason);
        return;
    }
    slot_set_outcome(slot, ENGINE_ENDED, "");
    slot->outcome.was_stopped = attempt->is_stopping;
    slot->outcome.was_oom = pod->was_oom;
    slot->outcome.signal = pod->signal;
    slot->outcome.exit_code = pod->signal > 0 ? -1 : pod->exit_code;
    if (pod->phase == KUBE_FAILED)
        keep_end(slot->outcome.reason, sizeof(slot->outcome.reason), pod->reason);
}

void slot_note_cancelled(struct slot *slot)
{
    slot_set_outcome(slot, ENGINE_ENDED, "");
    slot->outcome.was_stopped = true;
    slot->outcome.signal = SIGTERM;
}

void slot_note_deletion(struct kube_attempts *attempts, struct slot *slot)
{
    const struct attempt *attempt = slot->attempt;

    if (attempt->is_undone) {
        slot_set_outcome(slot, ENGINE_LOST, attempt->reason);
    } else if (attempt->is_stopping && slot->is_started) {
        slot_note_cancelled(slot);
    } else if (attempt->is_stopping) {
        slot_set_outcome(slot, ENGINE_LOST, "stopped before it ran");
    } else if (slot->pod->group.owner_uid[0]) {
        slot_set_outcome(slot, ENGINE_LOST, "Kubernetes: its pod was deleted");
    } else {
        attempts->options.reports.cancelled(attempts->options.reports.user, attempt->job,
                                            "its pod was deleted in Kubernetes");
        slot_note_cancelled(slot);
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

void slot_end(struct kube_attempts *attempts, struct slot *slot)
{
    attempt_wake(attempts, slot->attempt);
    if (may_be_replaced(slot)) {
        slot_detach(attempts, slot);
        slot->state = SLOT_EMPTY;
        slot->empty_since = uv_now(attempts->options.loop);
    } else if (slot->is_followed && !slot->has_log && slot->ended_at == 0) {
        slot->ended_at = uv_now(attempts->options.loop);
    } else if (slot->ended_at == 0) {
        slot_report_end(attempts, slot);
    }
}
