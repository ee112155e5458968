/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_workloads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/kube_document.h"
#include "engine/kube/kube_patches.h"
#include "engine/kube/kube_workload.h"
#include "engine/kube/objects/kube_names.h"

enum {
    AGAIN_MS = 60000, /* what was refused is reported again */
    ASK_MS = 10000,   /* an object that does not exist is asked for again; what lacks nodes, too */
    VANISH_MS = 5000, /* a controller replaces deleted pods within this time */
    SHORT_MS = 30000, /* all pods of a waiting job must exist again within this time */
    CLAIM_MS = 5000,  /* volumes may be bound soon */
    RULES_MS = 500,   /* what other pods excluded is reported again */
    COUNT_MS = 5000,  /* between words about the number of pods */
    EXTRA_MS = 3000, /* pods beside a running gang that replace none of its pods are on their own */
    PATIENCE_MS = 120000,
    STOP_MS = 5000,  /* what was stopped is not reported before that is known */
    SWEEP_MS = 5000, /* all are looked at: see workload_wake() */
    GATES_MS = 5000, /* a gate that is still there is removed again; the reason is written again */
};

/* Attempts of a workload that pods of others exclude again and again. */
enum { RETURNS_MAX = 200 };
/* Single pods with the same rules about other pods that wait in tarn at a time: tarn tries all of
 * them each time that one has started. */
enum { ALIKE_MAX = 32 };

void kube_workloads_see(struct kube_workloads *workloads, const struct kube_pod *pod)
{
    struct workload *workload = workload_of(workloads, pod);
    struct kube_group alone = workload_group_alone(pod);

    if (!workload || workload->is_split)
        workload = workload_find_or_add(workloads, workload ? &alone : &pod->group);
    workload_wake(workloads, workload);
    workload_name_mirror(workloads, workload, pod);
    int64_t place = workload_place(workload, pod);
    if (place >= 0)
        workload->pods.items[place] = pod;
    else
        list_add(&workload->pods, pod);
}

void kube_workloads_gone(struct kube_workloads *workloads, const struct kube_pod *pod)
{
    struct workload *workload = workload_of(workloads, pod);
    int64_t place = workload ? workload_place(workload, pod) : -1;

    if (place < 0)
        return;
    list_remove(&workload->pods, (size_t)place);
    workload_wake(workloads, workload);
}

/* The pods of an arrival in the order of the ranks; malloc'd. */
static const struct kube_pod **pods_of(const struct workload *workload)
{
    const struct kube_pod **pods = mem_zero(workload->size + 1, sizeof(pods[0]));

    for (uint32_t i = 0; i < workload->size; i++)
        pods[i] = workload->suspended ? workload->suspended : workload->pods.items[i];
    return pods;
}

static int compare_pods(const void *a, const void *b)
{
    return kube_pod_compare(*(const struct kube_pod *const *)a, *(const struct kube_pod *const *)b);
}

/* Pods that do not start together with others become workloads of their own. */
static void split(struct kube_workloads *workloads, struct workload *workload)
{
    for (size_t i = 0; i < workload->pods.count; i++) {
        const struct kube_pod *pod = workload->pods.items[i];
        struct kube_group alone = workload_group_alone(pod);
        struct workload *own = workload_find_or_add(workloads, &alone);
        workload_name_mirror(workloads, own, pod);
        list_add(&own->pods, pod);
    }
    workload->pods.count = 0;
}

/* ---- how many pods ---- */

struct question {
    struct kube_workloads *workloads;
    char *key;
};

static void read_object(struct workload *workload, const json_t *object)
{
    workload->size = kube_group_size(workload->kind, object);
    workload->is_split = kube_group_is_split(workload->kind, object);
    free(workload->queue);
    workload->queue = mem_string(kube_stated_queue(json_object_get(object, "metadata")));
}

static void on_object(void *user, const struct kube_reply *reply)
{
    struct question *question = user;
    struct kube_workloads *workloads = question->workloads;
    struct workload *workload = workload_find(workloads, question->key);

    workload_wake(workloads, workload);
    if (workload) {
        workload->is_asking = workload->is_split = false;
        if (kube_reply_is_ok(reply))
            read_object(workload, reply->body);
        if (workload->size == 0) {
            AUTO_FREE char *words =
                mem_printf("tarn: it is not known how many pods start together: %s",
                           reply->words ? reply->words : "its object does not say it");
            workload_say(workloads, workload, words, true);
            workload->due = uv_now(workloads->options.loop) + ASK_MS;
        }
    }
    free(question->key);
    free(question);
}

static void ask_size(struct kube_workloads *workloads, struct workload *workload)
{
    struct question *question = mem_zero(1, sizeof(*question));

    question->workloads = workloads;
    question->key = mem_string(workload->key);
    workload->is_asking = true;
    workload->asked_at = uv_now(workloads->options.loop);
    kube_client_call(workloads->client, &(struct kube_call){ .method = "GET",
                                                             .path = workload->object,
                                                             .patience_ms = PATIENCE_MS,
                                                             .done = on_object,
                                                             .user = question });
}

/* ---- arrivals ---- */

/* The pods state it, else the object of the workload; "": neither. */
static const char *stated_queue(const struct workload *workload, const struct kube_pod *first)
{
    if (first->queue[0])
        return first->queue;
    return workload->queue ? workload->queue : "";
}

static bool is_outside(const struct kube_workloads *workloads, const struct kube_pod *pod)
{
    return workloads->options.rules->kube_managed_only && !workload_is_managed(workloads, pod);
}

/* What its job is made from; NULL: err says why it cannot have one. */
static char *describe(const struct kube_workloads *workloads, const struct workload *workload,
                      const struct kube_pod **pods, const char *queue, struct error *err)
{
    if (!is_outside(workloads, pods[0]))
        return kube_document(pods, workload->size, queue, workloads->nodes, err);
    error_set(err, -EPERM,
              "namespace %s does not have the label " KUBE_MANAGED
              "=true, which `kube: {namespaces: managed}` requires",
              pods[0]->namespace);
    return NULL;
}

static void arrive(struct kube_workloads *workloads, struct workload *workload)
{
    const struct engine_reports *reports = &workloads->options.reports;
    char name[512];
    struct error err;

    mem_sort(workload->pods.items, workload->pods.count, sizeof(workload->pods.items[0]),
             compare_pods);
    AUTO_FREE const struct kube_pod **pods = pods_of(workload);
    const struct kube_pod *first = pods[0];
    const char *queue = stated_queue(workload, first);
    AUTO_FREE char *document = describe(workloads, workload, pods, queue, &err);
    if (!document) {
        AUTO_FREE char *words = mem_printf("tarn cannot schedule it: %s", err.text);
        bool is_soon = first->claims || first->resource_claims || is_outside(workloads, first);
        workload_say(workloads, workload, words, true);
        workload->due = uv_now(workloads->options.loop) + (is_soon ? CLAIM_MS : AGAIN_MS);
        return;
    }
    kube_nodes_report(workloads->nodes, false); /* labels that the document requires */
    workload_format_name(workload, name, sizeof(name));
    struct engine_arrival arrival = { .name = name,
                                      .document = document,
                                      .user = first->namespace,
                                      .account = queue[0] ? NULL : first->namespace,
                                      .uid = (uint32_t)geteuid(),
                                      .gid = (uint32_t)getegid() };
    workload->stage = WORKLOAD_REPORTED;
    workload->rules_moves = 0;
    workload->due = uv_now(workloads->options.loop) + AGAIN_MS;
    workload->was_noted = workload->was_started = false;
    workload->rules_added = kube_rules_added(kube_nodes_rules(workloads->nodes));
    workload->returns = 0;
    reports->arrived(reports->user, &arrival);
}

static void restart(struct workload *workload)
{
    workload->stage = WORKLOAD_GATHERING;
    workload->generation++;
    workload->job = 0;
    workload->is_told = false;
    workload_forget_note(workload);
    workload->gates_due = 0;
    workload->short_since = 0;
    free(workload->words);
    workload->words = NULL;
}

static void withdraw(struct kube_workloads *workloads, struct workload *workload, const char *why)
{
    const struct engine_reports *reports = &workloads->options.reports;
    char name[512];

    workload_format_name(workload, name, sizeof(name));
    reports->withdrawn(reports->user, name, why);
    restart(workload);
    workload->was_noted = workload->was_started = false; /* its end is no wish of tarn's */
    if (workload->object[0])
        workload->size = 0; /* it may have changed */
}

/* A waiting job whose pods are gone is cancelled, unless its controller replaces them. */
static void look_at_missing(struct kube_workloads *workloads, struct workload *workload)
{
    uint64_t now = uv_now(workloads->options.loop);

    if (workload->pods.count >= workload->size || workload->suspended) {
        workload->short_since = 0;
        return;
    }
    if (workload->short_since == 0)
        workload->short_since = now;
    uint64_t most = workload->pods.count == 0 ? VANISH_MS : SHORT_MS;
    if (now - workload->short_since >= most)
        withdraw(workloads, workload, "its pods were deleted in Kubernetes");
}

static void look_at_extra(struct kube_workloads *workloads, struct workload *workload)
{
    uint64_t now = uv_now(workloads->options.loop);

    if (workload->pods.count == 0)
        workload->extra_since = 0;
    else if (workload->extra_since == 0)
        workload->extra_since = now;
    else if (now - workload->extra_since >= EXTRA_MS)
        split(workloads, workload);
}

/* Pods are missing. A workload that has run in part makes fewer than it made at first. */
static void gather(struct kube_workloads *workloads, struct workload *workload)
{
    uint64_t now = uv_now(workloads->options.loop);

    if (workload->object[0] && now - workload->asked_at >= ASK_MS)
        ask_size(workloads, workload);
    if (workload->words && now - workload->said_at < COUNT_MS)
        return;
    AUTO_FREE char *words =
        mem_printf("tarn waits for all pods of the workload: %zu of %" PRIu32 " exist",
                   workload->pods.count, workload->size);
    workload_say(workloads, workload, words, false);
}

/* Autoscalers look for the reason, in pods without gates. Requests can overtake each other: what
 * the pods have in the end counts. */
static void show_autoscalers(struct kube_workloads *workloads, struct workload *workload)
{
    uint64_t now = uv_now(workloads->options.loop);
    bool opens = workloads->options.rules->kube_autoscaler;
    bool repairs = now - workload->said_at >= GATES_MS;

    if (!workload->is_unschedulable || !workload->words || now < workload->gates_due)
        return;
    AUTO_FREE char *words = kube_nodes_spell(workloads->nodes, workload->words);
    for (size_t i = 0; i < workload->pods.count; i++) {
        const struct kube_pod *pod = workload->pods.items[i];
        bool lacks = pod->is_gated ? opens : repairs && !pod->is_unschedulable;
        if (pod->is_gated_by_others || !lacks)
            continue;
        workload->gates_due = now + GATES_MS;
        if (pod->is_gated)
            kube_patch_gates(workloads->client, pod);
        kube_patch_condition(workloads->client, pod, words, KUBE_UNSCHEDULABLE);
    }
}

/* It wishes for nodes while it waits for room alone. While that is not known, for example after a
 * restart, an earlier wish stays. */
static void look_at_nodes(struct kube_workloads *workloads, struct workload *workload)
{
    bool is_whole =
        workload->suspended || (workload->size > 0 && workload->pods.count >= workload->size);
    char name[512];

    workload_format_name(workload, name, sizeof(name));
    if (!workload->noted)
        kube_provision_keep(workloads->provision, name);
    if (!workload->noted || !is_whole)
        return;
    mem_sort(workload->pods.items, workload->pods.count, sizeof(workload->pods.items[0]),
             compare_pods);
    AUTO_FREE const struct kube_pod **pods = pods_of(workload);
    const struct kube_wish wish = { .arrival = name, .job = workload->job, .first = pods[0] };
    if (workload->lacks_room && kube_provision_wish(workloads->provision, &wish))
        kube_provision_ask(workloads->provision, name, pods, workload->size,
                           workload->suspended ? workload_object_path(workload) : "");
    workload_say_noted(workloads, workload);
}

/* What tarn refused may have a node when other pods have moved. */
static bool is_due(const struct kube_workloads *workloads, const struct workload *workload)
{
    uint64_t now = uv_now(workloads->options.loop);
    bool is_moved = workload->rules_moves > 0 &&
                    workload->rules_moves != kube_rules_moves(kube_nodes_rules(workloads->nodes));

    return now >= workload->due || (is_moved && now - workload->refused_at >= RULES_MS);
}

/* Of a single pod with rules about other pods: the same for pods that are alike for tarn; else 0.
 */
static uint64_t kind_of(const struct workload *workload)
{
    const struct kube_pod *pod =
        workload->size == 1 && workload->pods.count == 1 ? workload->pods.items[0] : NULL;

    if (!pod || !pod->rules)
        return 0;
    const uint64_t words[] = { (uint64_t)(uintptr_t)pod->rules,
                               (uint64_t)(uintptr_t)pod->fits,
                               map_hash(pod->namespace, strlen(pod->namespace)),
                               map_hash(pod->queue, strlen(pod->queue)),
                               map_hash(pod->device, strlen(pod->device)),
                               (uint64_t)pod->priority,
                               pod->device_count,
                               (uint64_t)pod->cpu_milli,
                               (uint64_t)pod->memory_mib };
    return map_hash_words(words, COUNT_OF(words));
}

static uint64_t count_of(const struct kube_workloads *workloads, uint64_t kind)
{
    uint64_t count = 0;

    map_get(&workloads->alike, kind, &count);
    return count;
}

static void count_alike(struct kube_workloads *workloads)
{
    bool is_any = false;

    map_release(&workloads->alike);
    for (size_t i = 0; i < workloads->awake.count && !is_any; i++) {
        const struct workload *workload = workloads->awake.items[i];
        is_any = workload->stage == WORKLOAD_GATHERING && kind_of(workload) != 0;
    }
    for (size_t i = 0; i < workloads->all.count && is_any; i++) {
        const struct workload *workload = workloads->all.items[i];
        uint64_t kind = kind_of(workload);
        if (kind != 0 && workload->stage != WORKLOAD_GATHERING)
            map_set(&workloads->alike, kind, count_of(workloads, kind) + 1);
    }
}

/* All its pods exist. */
static void arrive_in_turn(struct kube_workloads *workloads, struct workload *workload)
{
    uint64_t kind = kind_of(workload), count = count_of(workloads, kind);

    if (kind != 0 && count >= ALIKE_MAX && !workload->was_noted) {
        workload_say(workloads, workload,
                     "tarn: other pods with the same rules about pods come first", false);
        return;
    }
    arrive(workloads, workload);
    if (kind != 0)
        map_set(&workloads->alike, kind, count + 1);
}

static void look_at(struct kube_workloads *workloads, struct workload *workload)
{
    uint64_t now = uv_now(workloads->options.loop);

    if (workload->is_split) {
        split(workloads, workload);
        return;
    }
    if (workload->stage == WORKLOAD_REPORTED && now >= workload->due) /* there was no answer */
        workload->stage = WORKLOAD_GATHERING;
    if (workload->stage == WORKLOAD_KNOWN)
        look_at_missing(workloads, workload);
    if (workload->stage == WORKLOAD_STARTED) {
        look_at_extra(workloads, workload);
    } else {
        look_at_nodes(workloads, workload);
        show_autoscalers(workloads, workload);
    }
    if (workload->stage != WORKLOAD_GATHERING || workload->is_asking ||
        !is_due(workloads, workload) ||
        (workload->pods.count == 0 && !workload_is_suspended(workloads, workload)))
        return;
    for (size_t i = 0; i < workload->pods.count; i++) {
        if (workload->pods.items[i]->is_gated_by_others)
            return;
    }
    if (workload->size == 0 && workload->object[0])
        ask_size(workloads, workload);
    else if (workload->size == 0)
        workload->size = (uint32_t)workload->pods.count;
    else if (workload->pods.count >= workload->size || workload->suspended)
        arrive_in_turn(workloads, workload);
    else
        gather(workloads, workload);
}

static bool is_empty(const struct workload *workload)
{
    return workload->stage == WORKLOAD_GATHERING && workload->pods.count == 0 &&
           !workload->is_asking && !workload->suspended;
}

/* Nothing is due before the next sweep. */
static bool is_settled(const struct workload *workload)
{
    bool is_running = workload->stage == WORKLOAD_STARTED && workload->pods.count == 0;

    return !workload->is_split &&
           (is_running || (workload->stage == WORKLOAD_KNOWN && workload->short_since == 0));
}

void kube_workloads_tick(struct kube_workloads *workloads)
{
    uint64_t now = uv_now(workloads->options.loop);
    size_t kept = 0;

    if (now - workloads->swept_at >= SWEEP_MS) {
        workloads->swept_at = now;
        for (size_t i = 0; i < workloads->all.count; i++)
            workload_wake(workloads, workloads->all.items[i]);
    }
    count_alike(workloads);
    for (size_t i = 0; i < workloads->awake.count; i++)
        look_at(workloads, workloads->awake.items[i]);
    for (size_t i = 0; i < workloads->awake.count; i++) {
        struct workload *workload = workloads->awake.items[i];
        workload->is_awake = !is_empty(workload) && !is_settled(workload);
        if (workload->is_awake)
            workloads->awake.items[kept++] = workload;
        else if (is_empty(workload))
            workload_remove(workloads, workload);
    }
    workloads->awake.count = kept;
}

/* ---- what tarn says ---- */

void kube_workloads_answer(struct kube_workloads *workloads, const char *name, uint64_t job,
                           const struct error *err, bool lacks_nodes)
{
    struct workload *workload = workload_find_named(workloads, name);

    if (!workload || workload->stage != WORKLOAD_REPORTED)
        return;
    if (job > 0) {
        workload->job = job;
        workload->stage = WORKLOAD_KNOWN;
        return;
    }
    AUTO_FREE char *words = mem_printf("tarn refuses it: %s", err->text);
    workload_note(workloads, workload, words, lacks_nodes);
    workload->stage = WORKLOAD_GATHERING;
    workload->refused_at = uv_now(workloads->options.loop);
    workload->due = workload->refused_at + (lacks_nodes ? ASK_MS : AGAIN_MS);
    if (workload->pods.count > 0 && workload->pods.items[0]->rules)
        workload->rules_moves = kube_rules_moves(kube_nodes_rules(workloads->nodes));
}

/* It must not run: its controller would make new pods for ever. */
static void stop(struct kube_workloads *workloads, struct workload *workload, const char *words)
{
    json_t *patch = kube_group_suspend(workload->kind, true);
    bool can_suspend = patch && workload_object_path(workload)[0];

    workload->due = uv_now(workloads->options.loop) + STOP_MS;
    if (can_suspend) {
        kube_patch_object(workloads->client, workload_object_path(workload), patch, KUBE_STOPPED,
                          words);
    } else {
        json_decref(patch);
        for (size_t i = 0; i < workload->pods.count; i++)
            kube_patch_delete(workloads->client, workload->pods.items[i]);
    }
}

/* ".3" of the name of an arrival; 1: none. */
static uint32_t generation_of(const char *name, const char *key)
{
    size_t length = strlen(WORKLOAD_NAME_START) + strlen(key);

    return strlen(name) > length && name[length] == '.'
               ? (uint32_t)strtoul(name + length + 1, NULL, 10)
               : 1;
}

void kube_workloads_note(struct kube_workloads *workloads, const char *name, uint64_t job,
                         const char *words, enum engine_fate fate)
{
    struct workload *workload = workload_find_named(workloads, name);
    AUTO_FREE char *said = mem_printf("tarn job %" PRIu64 ": %s", job, words);

    if (!workload || (workload->job != 0 && workload->job != job))
        return;
    if (fate == ENGINE_WAITS || fate == ENGINE_LACKS) {
        workload->was_noted = true;
        if (workload->stage != WORKLOAD_STARTED)
            workload_note(workloads, workload, said, fate == ENGINE_LACKS);
        return;
    }
    if (generation_of(name, workload->key) != workload->generation)
        return;
    /* over at once: an earlier job of this name, and the pods are new */
    if (fate == ENGINE_CANCELLED && (workload->was_noted || workload->was_started))
        stop(workloads, workload, said);
    restart(workload);
}

char *kube_workloads_request(const struct kube_workloads *workloads, uint64_t job)
{
    LIST_EACH (struct workload *const, workload, &workloads->all) {
        if ((*workload)->job == job && (*workload)->stage != WORKLOAD_STARTED)
            return workload_request(workloads, *workload);
    }
    return NULL;
}

void kube_workloads_annotate(const struct kube_workloads *workloads, const char *name,
                             json_t *notes)
{
    if (name)
        kube_provision_annotate(workloads->provision, name, notes);
}

bool kube_workloads_show(struct kube_workloads *workloads, const struct engine_view *view)
{
    struct workload *workload = view ? workload_find_named(workloads, view->name) : NULL;
    bool is_it = workload && workload->mirror && (workload->job == 0 || workload->job == view->job);

    if (!view)
        return kube_mirrors_sweep(workloads->mirrors);
    if (is_it && view->state)
        kube_mirrors_show(workloads->mirrors, workload->mirror, view);
    else if (is_it)
        kube_mirrors_drop(workloads->mirrors, workload->mirror);
    return is_it;
}

const struct kube_pod **kube_workloads_take(struct kube_workloads *workloads, const char *name,
                                            uint32_t most, uint32_t *ret_count)
{
    struct workload *workload = workload_find_named(workloads, name);
    const struct kube_pod **taken = mem_zero(most + 1, sizeof(taken[0]));

    *ret_count = 0;
    if (!workload)
        return taken;
    mem_sort(workload->pods.items, workload->pods.count, sizeof(workload->pods.items[0]),
             compare_pods);
    for (size_t i = 0; i < workload->pods.count && *ret_count < most; i++)
        taken[(*ret_count)++] = workload->pods.items[i];
    if (workload->suspended && workload->stage != WORKLOAD_STARTED)
        kube_patch_object(workloads->client, workload_object_path(workload),
                          kube_group_suspend(workload->kind, false), KUBE_WAITS, NULL);
    if (*ret_count < most) /* its attempt still gathers */
        workload->extra_since = 0;
    workload->generation = generation_of(name, workload->key);
    workload->stage = WORKLOAD_STARTED;
    workload->was_started = true;
    workload->short_since = 0;
    workload_forget_note(workload);
    free(workload->words);
    workload->words = NULL;
    return taken;
}

void kube_workloads_adopt(struct kube_workloads *workloads, const struct kube_pod *pod)
{
    struct kube_group alone = workload_group_alone(pod);
    AUTO_FREE char *own = mem_printf(WORKLOAD_NAME_START "%s", pod->uid);
    struct workload *workload =
        workload_find_or_add(workloads, string_starts(pod->arrival, own) ? &alone : &pod->group);

    workload_name_mirror(workloads, workload, pod);
    workload->generation = generation_of(pod->arrival, workload->key);
    workload->job = pod->mark.job;
    workload->stage = WORKLOAD_STARTED;
    workload->was_started = true;
}

void kube_workloads_keep(struct kube_workloads *workloads, const char *name)
{
    struct workload *workload = workload_find_named(workloads, name);

    if (workload)
        workload->extra_since = 0;
}

/* If the rule is newer than the report, its job does not know it: it is reported again, as another
 * job. */
void kube_workloads_return(struct kube_workloads *workloads, const char *name, uint64_t rule)
{
    struct workload *workload = workload_find_named(workloads, name);

    if (!workload)
        return;
    if (rule <= workload->rules_added && ++workload->returns < RETURNS_MAX)
        return;
    withdraw(workloads, workload, "the rules of other pods about its pods have changed");
    workload->due = uv_now(workloads->options.loop) + STOP_MS;
}

void kube_workloads_end(struct kube_workloads *workloads, const char *name)
{
    struct workload *workload = workload_find_named(workloads, name);

    if (!workload || workload->stage != WORKLOAD_STARTED)
        return;
    workload->stage = WORKLOAD_KNOWN;
    workload->extra_since = 0; /* its pods wait for the next attempt */
}

const struct kube_pod *kube_workloads_heir(struct kube_workloads *workloads, const char *name,
                                           const char *role, uint32_t device_count)
{
    struct workload *workload = workload_find_named(workloads, name);

    for (size_t i = 0; workload && i < workload->pods.count; i++) {
        const struct kube_pod *pod = workload->pods.items[i];
        if (strcmp(pod->group.role, role) == 0 && pod->device_count == device_count &&
            !pod->is_gated_by_others && !pod->refused && !pod->unresolved)
            return pod;
    }
    return NULL;
}
