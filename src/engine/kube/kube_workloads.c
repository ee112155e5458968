/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/kube_document.h"
#include "engine/kube/objects/kube_names.h"

#define NAME_START "kube/"

enum {
    AGAIN_MS = 60000, /* what was refused is reported again */
    ASK_MS = 10000,   /* an object that does not exist is asked for again */
    VANISH_MS = 5000, /* a controller replaces deleted pods within this time */
    SHORT_MS = 30000, /* all pods of a waiting job must exist again within this time */
    CLAIM_MS = 5000,  /* volumes may be bound soon */
    RULES_MS = 500,   /* what other pods excluded is reported again */
    COUNT_MS = 5000,  /* between words about the number of pods */
    EXTRA_MS = 3000, /* pods beside a running gang that replace none of its pods are on their own */
    PATIENCE_MS = 120000,
    STOP_MS = 5000,   /* what was stopped is not reported before that is known */
    SWEEP_MS = 5000,  /* all are looked at: see wake() */
    GATES_MS = 60000, /* a gate that is still there is removed again */
    SAID_TO_ALL = 64, /* pods that get the words of a workload without a job, and the first words of
                       * its job; later one */
};

/* Attempts of a workload that pods of others exclude again and again. */
enum { RETURNS_MAX = 200 };

enum stage {
    GATHERING, /* pods are missing, or it was refused */
    REPORTED,  /* arrived; not answered */
    KNOWN,     /* it has a job, which waits */
    STARTED,   /* an attempt has its pods */
};

struct workload {
    char *key, *object, *owner_path;
    char *queue; /* that its object states; "": none, or not asked */
    enum kube_group_kind kind;
    LIST(const struct kube_pod *) pods; /* that wait */
    struct kube_pod *suspended;      /* as its pods will be; NULL: it is not suspended for tarn */
    bool is_job_seen, needs_managed; /* of that */
    uint32_t size, generation;       /* size: 0: not known */
    enum stage stage;
    uint64_t job;
    uint64_t due;         /* uv_now(): report or ask not before */
    uint64_t asked_at;    /* for the number of its pods */
    uint64_t said_at;     /* when `words` were set */
    uint64_t short_since; /* since when pods are missing; 0: none is */
    uint64_t gates_due;   /* gates are removed not before */
    uint64_t rules_added; /* kube_rules_added() when it was reported */
    uint64_t rules_moves; /* kube_rules_moves() when tarn refused it */
    uint32_t returns;     /* of its attempts, since it was reported */
    uint64_t extra_since; /* since when pods wait beside its attempt; 0: none does */
    bool is_asking, was_noted, was_started;
    bool is_split;   /* its pods do not start together: each is a workload of its own */
    bool is_told;    /* the pods of its job know that they wait in tarn */
    bool lacks_room; /* another node would help, as tarn said last */
    bool is_turned;  /* that has changed, and not all of its pods know it */
    bool is_awake;   /* it is in the list of those */
    size_t place;    /* in the list of all */
    char *words;     /* as set in the condition; NULL: none */
    char *mirror;    /* path of its mirror; NULL: none */
};

struct kube_workloads {
    struct engine_options options;
    struct kube_client *client;
    struct kube_nodes *nodes;
    struct kube_events *events;
    struct kube_mirrors *mirrors;
    LIST(struct workload *) all;
    LIST(struct workload *) awake;
    uint64_t swept_at;  /* uv_now() when all were looked at */
    struct map by_key;  /* hash -> pointer */
    struct map managed; /* hashes of the names of namespaces */
};

struct kube_workloads *kube_workloads_create(const struct engine_options *options,
                                             struct kube_client *client, struct kube_nodes *nodes,
                                             struct kube_events *events,
                                             struct kube_mirrors *mirrors)
{
    struct kube_workloads *workloads = mem_zero(1, sizeof(*workloads));

    workloads->options = *options;
    workloads->client = client;
    workloads->nodes = nodes;
    workloads->events = events;
    workloads->mirrors = mirrors;
    return workloads;
}

static void workload_destroy(struct workload *workload)
{
    free(workload->key);
    free(workload->object);
    free(workload->owner_path);
    free(workload->queue);
    free(workload->words);
    free(workload->mirror);
    list_release(&workload->pods);
    kube_pod_destroy(workload->suspended);
    free(workload);
}

void kube_workloads_destroy(struct kube_workloads *workloads)
{
    if (!workloads)
        return;
    for (size_t i = 0; i < workloads->all.count; i++)
        workload_destroy(workloads->all.items[i]);
    list_release(&workloads->all);
    list_release(&workloads->awake);
    map_release(&workloads->by_key);
    map_release(&workloads->managed);
    free(workloads);
}

/* ---- which workload ---- */

static struct workload *find(const struct kube_workloads *workloads, const char *key)
{
    uint64_t at;

    if (!map_get(&workloads->by_key, map_hash(key, strlen(key)), &at))
        return NULL;
    struct workload *workload = (struct workload *)(uintptr_t)at;
    return strcmp(workload->key, key) == 0 ? workload : NULL;
}

/* Look at it in the next tick, and until nothing about it is due soon. The others, which are many,
 * are looked at every few seconds. */
static void wake(struct kube_workloads *workloads, struct workload *workload)
{
    if (!workload || workload->is_awake)
        return;
    workload->is_awake = true;
    list_add(&workloads->awake, workload);
}

static struct workload *find_or_add(struct kube_workloads *workloads,
                                    const struct kube_group *group)
{
    struct workload *workload = find(workloads, group->key);

    if (!workload) {
        workload = mem_zero(1, sizeof(*workload));
        *workload = (struct workload){ .key = mem_string(group->key),
                                       .object = mem_string(""),
                                       .queue = mem_string(""),
                                       .owner_path = mem_string(group->owner_path),
                                       .kind = group->kind,
                                       .generation = 1,
                                       .place = workloads->all.count };
        list_add(&workloads->all, workload);
        map_set(&workloads->by_key, map_hash(workload->key, strlen(workload->key)),
                (uint64_t)(uintptr_t)workload);
    }
    wake(workloads, workload);
    if (group->size > 0)
        workload->size = group->size;
    if (!workload->object[0] && group->object[0]) {
        free(workload->object);
        workload->object = mem_string(group->object);
    }
    return workload;
}

static void format_name(const struct workload *workload, char *ret, size_t size)
{
    if (workload->generation > 1)
        snprintf(ret, size, NAME_START "%s.%" PRIu32, workload->key, workload->generation);
    else
        snprintf(ret, size, NAME_START "%s", workload->key);
}

/* By the name of its arrival, of whichever generation; it wakes. */
static struct workload *find_named(struct kube_workloads *workloads, const char *name)
{
    if (!string_starts(name, NAME_START))
        return NULL;
    const char *key = name + strlen(NAME_START), *dot = strrchr(key, '.');
    struct workload *workload = find(workloads, key);
    if (!workload && dot) {
        AUTO_FREE char *short_key = mem_string_of(key, (size_t)(dot - key));
        workload = find(workloads, short_key);
    }
    wake(workloads, workload);
    return workload;
}

static void name_mirror(struct kube_workloads *workloads, struct workload *workload,
                        const struct kube_pod *pod)
{
    if (!workload->mirror)
        workload->mirror =
            kube_mirrors_path(workloads->mirrors, pod->namespace, pod->group.title, workload->key);
}

/* ---- pods ---- */

static struct kube_group single(const struct kube_pod *pod)
{
    struct kube_group group = pod->group;

    group.key = pod->uid;
    group.kind = KUBE_GROUP_POD;
    group.size = 1;
    group.object = group.title; /* any but NULL: its size is known */
    return group;
}

/* The workload of a pod: of the pod alone if it does not start together with others. */
static struct workload *workload_of(const struct kube_workloads *workloads,
                                    const struct kube_pod *pod)
{
    struct workload *own = find(workloads, pod->uid);

    return own ? own : find(workloads, pod->group.key);
}

static int64_t place_of(const struct workload *workload, const struct kube_pod *pod)
{
    for (size_t i = 0; i < workload->pods.count; i++) {
        if (strcmp(workload->pods.items[i]->uid, pod->uid) == 0)
            return (int64_t)i;
    }
    return -1;
}

void kube_workloads_see(struct kube_workloads *workloads, const struct kube_pod *pod)
{
    struct workload *workload = workload_of(workloads, pod);
    struct kube_group alone = single(pod);

    if (!workload || workload->is_split)
        workload = find_or_add(workloads, workload ? &alone : &pod->group);
    wake(workloads, workload);
    name_mirror(workloads, workload, pod);
    int64_t place = place_of(workload, pod);
    if (place >= 0)
        workload->pods.items[place] = pod;
    else
        list_add(&workload->pods, pod);
}

void kube_workloads_gone(struct kube_workloads *workloads, const struct kube_pod *pod)
{
    struct workload *workload = workload_of(workloads, pod);
    int64_t place = workload ? place_of(workload, pod) : -1;

    if (place < 0)
        return;
    list_remove(&workload->pods, (size_t)place);
    wake(workloads, workload);
}

/* ---- suspended jobs ---- */

void kube_workloads_lose_job(struct kube_workloads *workloads, const char *key)
{
    struct workload *workload = find(workloads, key);

    if (!workload)
        return;
    kube_pod_destroy(workload->suspended);
    workload->suspended = NULL;
    wake(workloads, workload);
}

void kube_workloads_see_job(struct kube_workloads *workloads, struct kube_job *job)
{
    if (!job->pod || job->size == 0) {
        kube_workloads_lose_job(workloads, job->key);
    } else {
        struct workload *workload = find_or_add(workloads, &job->pod->group);
        kube_pod_destroy(workload->suspended);
        workload->suspended = TAKE(job->pod);
        workload->size = job->size;
        name_mirror(workloads, workload, workload->suspended);
        workload->is_job_seen = true;
        workload->needs_managed = job->needs_managed;
    }
    kube_job_destroy(job);
}

void kube_workloads_begin_jobs(struct kube_workloads *workloads)
{
    for (size_t i = 0; i < workloads->all.count; i++)
        workloads->all.items[i]->is_job_seen = false;
}

void kube_workloads_end_jobs(struct kube_workloads *workloads)
{
    for (size_t i = 0; i < workloads->all.count; i++) {
        struct workload *workload = workloads->all.items[i];
        if (workload->suspended && !workload->is_job_seen)
            kube_workloads_lose_job(workloads, workload->key);
    }
}

void kube_workloads_need(struct kube_workloads *workloads)
{
    for (size_t i = 0; i < workloads->all.count; i++) {
        const struct kube_pod *pod = workloads->all.items[i]->suspended;
        if (!pod)
            continue;
        kube_nodes_label(workloads->nodes, pod, NULL);
        json_decref(kube_nodes_forbid(workloads->nodes, pod, NULL));
    }
}

void kube_workloads_manage(struct kube_workloads *workloads, const char *namespace, bool is_managed)
{
    uint64_t key = map_hash(namespace, strlen(namespace));

    if (is_managed)
        map_set(&workloads->managed, key, 1);
    else
        map_remove(&workloads->managed, key);
}

/* Whether a suspended Job waits for tarn, not for another queue. */
static bool is_suspended(const struct kube_workloads *workloads, const struct workload *workload)
{
    const struct kube_pod *pod = workload->suspended;
    uint64_t ignored;

    return pod && (!workload->needs_managed ||
                   map_get(&workloads->managed, map_hash(pod->namespace, strlen(pod->namespace)),
                           &ignored));
}

/* The pods of an arrival in the order of the ranks; malloc'd. */
static const struct kube_pod **pods_of(const struct workload *workload)
{
    const struct kube_pod **pods = mem_zero(workload->size + 1, sizeof(pods[0]));

    for (uint32_t i = 0; i < workload->size; i++)
        pods[i] = workload->suspended ? workload->suspended : workload->pods.items[i];
    return pods;
}

/* Change the object of a workload, and an annotation of it: words NULL removes that. */
static void change_object(struct kube_workloads *workloads, const struct workload *workload,
                          json_t *patch, const char *note, const char *words)
{
    json_object_set_new(patch, "metadata", json_pack("{s:{s:s?}}", "annotations", note, words));
    kube_client_call(
        workloads->client,
        &(struct kube_call){ .method = "PATCH",
                             .path = workload->object[0] ? workload->object : workload->owner_path,
                             .type = "application/merge-patch+json",
                             .body = patch,
                             .patience_ms = PATIENCE_MS });
}

static int compare_pods(const void *a, const void *b)
{
    return kube_pod_compare(*(const struct kube_pod *const *)a, *(const struct kube_pod *const *)b);
}

/* ---- conditions ---- */

/* Autoscalers add nodes for pods with this reason. */
#define UNSCHEDULABLE "Unschedulable"

static void set_condition(struct kube_workloads *workloads, const struct kube_pod *pod,
                          const char *words, const char *reason)
{
    AUTO_FREE char *path =
        mem_printf("/api/v1/namespaces/%s/pods/%s/status", pod->namespace, pod->name);
    json_t *condition = json_pack("{s:s, s:s, s:s, s:s}", "type", "PodScheduled", "status", "False",
                                  "reason", reason, "message", words);

    kube_client_call(
        workloads->client,
        &(struct kube_call){ .method = "PATCH",
                             .path = path,
                             .type = "application/strategic-merge-patch+json",
                             .body = json_pack("{s:{s:s}, s:{s:[o]}}", "metadata", "uid", pod->uid,
                                               "status", "conditions", condition) });
}

/* is_news: it is worth an Event, too. */
static void say_as(struct kube_workloads *workloads, struct workload *workload, const char *words,
                   bool is_news)
{
    bool is_known = workload->stage == KNOWN;
    bool is_first = !workload->words || (is_known && !workload->is_told);
    size_t most = workload->is_turned                        ? SIZE_MAX
                  : is_first || workload->stage == GATHERING ? SAID_TO_ALL
                                                             : 1;
    AUTO_FREE char *spelled = kube_nodes_spell(workloads->nodes, words);

    if (workload->words && strcmp(workload->words, words) == 0)
        return;
    workload->is_told |= is_known;
    free(workload->words);
    workload->words = mem_string(words);
    workload->said_at = uv_now(workloads->options.loop);
    for (size_t i = 0; i < workload->pods.count && i < most; i++) {
        const struct kube_pod *pod = workload->pods.items[i];
        set_condition(workloads, pod, spelled,
                      pod->is_gated          ? "SchedulingGated"
                      : workload->lacks_room ? UNSCHEDULABLE
                                             : "Queued");
        if (is_news)
            kube_events_say(workloads->events, pod, KUBE_EVENT_WAITS, spelled,
                            uv_now(workloads->options.loop));
    }
    if (workload->suspended)
        change_object(workloads, workload, json_object(), KUBE_WAITS, spelled);
}

static void say(struct kube_workloads *workloads, struct workload *workload, const char *words)
{
    say_as(workloads, workload, words, true);
}

/* Pods that do not start together with others become workloads of their own. */
static void split(struct kube_workloads *workloads, struct workload *workload)
{
    for (size_t i = 0; i < workload->pods.count; i++) {
        const struct kube_pod *pod = workload->pods.items[i];
        struct kube_group alone = single(pod);
        struct workload *own = find_or_add(workloads, &alone);
        name_mirror(workloads, own, pod);
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
    struct workload *workload = find(workloads, question->key);

    wake(workloads, workload);
    if (workload) {
        workload->is_asking = workload->is_split = false;
        if (kube_reply_is_ok(reply))
            read_object(workload, reply->body);
        if (workload->size == 0) {
            AUTO_FREE char *words =
                mem_printf("tarn: it is not known how many pods start together: %s",
                           reply->words ? reply->words : "its object does not say it");
            say(workloads, workload, words);
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

/* The pods state it, else the object of the workload; else it is the one of the namespace. */
static const char *queue_of(const struct workload *workload, const struct kube_pod *first)
{
    if (first->queue[0])
        return first->queue;
    return workload->queue[0] ? workload->queue : first->namespace;
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
    AUTO_FREE char *document = kube_document(pods, workload->size, workloads->nodes, &err);
    if (!document) {
        AUTO_FREE char *words = mem_printf("tarn cannot schedule it: %s", err.text);
        say(workloads, workload, words);
        workload->due = uv_now(workloads->options.loop) +
                        (first->claims || first->resource_claims ? CLAIM_MS : AGAIN_MS);
        return;
    }
    kube_nodes_report(workloads->nodes, false); /* labels that the document requires */
    format_name(workload, name, sizeof(name));
    struct engine_arrival arrival = { .name = name,
                                      .document = document,
                                      .user = first->namespace,
                                      .account = queue_of(workload, first),
                                      .uid = (uint32_t)geteuid(),
                                      .gid = (uint32_t)getegid() };
    workload->stage = REPORTED;
    workload->rules_moves = 0;
    workload->due = uv_now(workloads->options.loop) + AGAIN_MS;
    workload->was_noted = workload->was_started = false;
    workload->rules_added = kube_rules_added(kube_nodes_rules(workloads->nodes));
    workload->returns = 0;
    reports->arrived(reports->user, &arrival);
}

static void restart(struct workload *workload)
{
    workload->stage = GATHERING;
    workload->generation++;
    workload->job = 0;
    workload->is_told = workload->lacks_room = false;
    workload->gates_due = 0;
    workload->short_since = 0;
    free(workload->words);
    workload->words = NULL;
}

static void withdraw(struct kube_workloads *workloads, struct workload *workload, const char *why)
{
    const struct engine_reports *reports = &workloads->options.reports;
    char name[512];

    format_name(workload, name, sizeof(name));
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
    say_as(workloads, workload, words, false);
}

static void remove_gate(struct kube_workloads *workloads, const struct kube_pod *pod)
{
    AUTO_FREE char *path = mem_printf("/api/v1/namespaces/%s/pods/%s", pod->namespace, pod->name);

    kube_client_call(workloads->client,
                     &(struct kube_call){ .method = "PATCH",
                                          .path = path,
                                          .type = "application/merge-patch+json",
                                          .body = json_pack("{s:{s:s}, s:{s:n}}", "metadata", "uid",
                                                            pod->uid, "spec", "schedulingGates"),
                                          .patience_ms = PATIENCE_MS });
}

/* Autoscalers do not look at pods with gates. */
static void open_gates(struct kube_workloads *workloads, struct workload *workload)
{
    uint64_t now = uv_now(workloads->options.loop);

    if (!workload->lacks_room || !workload->words || now < workload->gates_due ||
        !workloads->options.rules->kube_autoscaler)
        return;
    AUTO_FREE char *words = kube_nodes_spell(workloads->nodes, workload->words);
    for (size_t i = 0; i < workload->pods.count; i++) {
        const struct kube_pod *pod = workload->pods.items[i];
        if (!pod->is_gated || pod->is_gated_by_others)
            continue;
        workload->gates_due = now + GATES_MS;
        remove_gate(workloads, pod);
        set_condition(workloads, pod, words, UNSCHEDULABLE);
    }
}

/* What tarn refused may have a node when other pods have moved. */
static bool is_due(const struct kube_workloads *workloads, const struct workload *workload)
{
    uint64_t now = uv_now(workloads->options.loop);
    bool is_moved = workload->rules_moves > 0 &&
                    workload->rules_moves != kube_rules_moves(kube_nodes_rules(workloads->nodes));

    return now >= workload->due || (is_moved && now >= workload->due - AGAIN_MS + RULES_MS);
}

static void look_at(struct kube_workloads *workloads, struct workload *workload)
{
    uint64_t now = uv_now(workloads->options.loop);

    if (workload->is_split) {
        split(workloads, workload);
        return;
    }
    if (workload->stage == REPORTED && now >= workload->due) /* there was no answer */
        workload->stage = GATHERING;
    if (workload->stage == KNOWN)
        look_at_missing(workloads, workload);
    if (workload->stage == KNOWN)
        open_gates(workloads, workload);
    if (workload->stage == STARTED)
        look_at_extra(workloads, workload);
    if (workload->stage != GATHERING || workload->is_asking || !is_due(workloads, workload) ||
        (workload->pods.count == 0 && !is_suspended(workloads, workload)))
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
        arrive(workloads, workload);
    else
        gather(workloads, workload);
}

static bool is_empty(const struct workload *workload)
{
    return workload->stage == GATHERING && workload->pods.count == 0 && !workload->is_asking &&
           !workload->suspended;
}

static void remove_empty(struct kube_workloads *workloads, struct workload *workload)
{
    struct workload *last = workloads->all.items[workloads->all.count - 1];

    workloads->all.items[workload->place] = last;
    last->place = workload->place;
    workloads->all.count--;
    map_remove(&workloads->by_key, map_hash(workload->key, strlen(workload->key)));
    kube_mirrors_drop(workloads->mirrors, workload->mirror);
    workload_destroy(workload);
}

/* Nothing is due before the next sweep. */
static bool is_settled(const struct workload *workload)
{
    bool is_running = workload->stage == STARTED && workload->pods.count == 0;

    return !workload->is_split &&
           (is_running || (workload->stage == KNOWN && workload->short_since == 0));
}

void kube_workloads_tick(struct kube_workloads *workloads)
{
    uint64_t now = uv_now(workloads->options.loop);
    size_t kept = 0;

    if (now - workloads->swept_at >= SWEEP_MS) {
        workloads->swept_at = now;
        for (size_t i = 0; i < workloads->all.count; i++)
            wake(workloads, workloads->all.items[i]);
    }
    for (size_t i = 0; i < workloads->awake.count; i++)
        look_at(workloads, workloads->awake.items[i]);
    for (size_t i = 0; i < workloads->awake.count; i++) {
        struct workload *workload = workloads->awake.items[i];
        workload->is_awake = !is_empty(workload) && !is_settled(workload);
        if (workload->is_awake)
            workloads->awake.items[kept++] = workload;
        else if (is_empty(workload))
            remove_empty(workloads, workload);
    }
    workloads->awake.count = kept;
}

/* ---- what tarn says ---- */

/* All its pods are told when it changes whether another node would help. */
static void say_whether(struct kube_workloads *workloads, struct workload *workload,
                        const char *words, bool lacks_room)
{
    if (workload->lacks_room != lacks_room) {
        workload->lacks_room = lacks_room;
        workload->is_turned = true;
        free(workload->words);
        workload->words = NULL;
        wake(workloads, workload);
    }
    say(workloads, workload, words);
    workload->is_turned = false;
}

void kube_workloads_answer(struct kube_workloads *workloads, const char *name, uint64_t job,
                           const struct error *err)
{
    struct workload *workload = find_named(workloads, name);

    if (!workload || workload->stage != REPORTED)
        return;
    if (job > 0) {
        workload->job = job;
        workload->stage = KNOWN;
        return;
    }
    AUTO_FREE char *words = mem_printf("tarn refuses it: %s", err->text);
    say_whether(workloads, workload, words, true);
    workload->stage = GATHERING;
    workload->due = uv_now(workloads->options.loop) + AGAIN_MS;
    workload->rules_moves = kube_rules_moves(kube_nodes_rules(workloads->nodes));
}

static void delete_pods(struct kube_workloads *workloads, const struct workload *workload)
{
    for (size_t i = 0; i < workload->pods.count; i++) {
        const struct kube_pod *pod = workload->pods.items[i];
        AUTO_FREE char *path =
            mem_printf("/api/v1/namespaces/%s/pods/%s", pod->namespace, pod->name);
        kube_client_call(
            workloads->client,
            &(struct kube_call){ .method = "DELETE",
                                 .path = path,
                                 .body = json_pack("{s:{s:s}}", "preconditions", "uid", pod->uid),
                                 .patience_ms = PATIENCE_MS });
    }
}

/* It must not run: its controller would make new pods for ever. */
static void stop(struct kube_workloads *workloads, struct workload *workload, const char *words)
{
    json_t *patch = kube_group_suspend(workload->kind, true);
    bool can_suspend = patch && (workload->object[0] || workload->owner_path[0]);

    workload->due = uv_now(workloads->options.loop) + STOP_MS;
    if (can_suspend) {
        change_object(workloads, workload, patch, KUBE_STOPPED, words);
    } else {
        json_decref(patch);
        delete_pods(workloads, workload);
    }
}

void kube_workloads_note(struct kube_workloads *workloads, const char *name, uint64_t job,
                         const char *words, enum engine_fate fate)
{
    struct workload *workload = find_named(workloads, name);
    AUTO_FREE char *said = mem_printf("tarn job %" PRIu64 ": %s", job, words);

    if (!workload || (workload->job != 0 && workload->job != job))
        return;
    if (fate == ENGINE_WAITS || fate == ENGINE_LACKS) {
        workload->was_noted = true;
        if (workload->stage != STARTED)
            say_whether(workloads, workload, said, fate == ENGINE_LACKS);
        return;
    }
    /* over at once: an earlier job of this name, and the pods are new */
    if (fate == ENGINE_CANCELLED && (workload->was_noted || workload->was_started))
        stop(workloads, workload, said);
    restart(workload);
}

bool kube_workloads_show(struct kube_workloads *workloads, const struct engine_view *view)
{
    struct workload *workload = view ? find_named(workloads, view->name) : NULL;
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
    struct workload *workload = find_named(workloads, name);
    const struct kube_pod **taken = mem_zero(most + 1, sizeof(taken[0]));

    *ret_count = 0;
    if (!workload)
        return taken;
    mem_sort(workload->pods.items, workload->pods.count, sizeof(workload->pods.items[0]),
             compare_pods);
    for (size_t i = 0; i < workload->pods.count && *ret_count < most; i++)
        taken[(*ret_count)++] = workload->pods.items[i];
    if (workload->suspended && workload->stage != STARTED)
        change_object(workloads, workload, kube_group_suspend(workload->kind, false), KUBE_WAITS,
                      NULL);
    if (*ret_count < most) /* its attempt still gathers */
        workload->extra_since = 0;
    workload->stage = STARTED;
    workload->was_started = true;
    workload->short_since = 0;
    free(workload->words);
    workload->words = NULL;
    return taken;
}

/* ".3" of the name of an arrival; 1: none. */
static uint32_t generation_of(const char *name, const char *key)
{
    size_t length = strlen(NAME_START) + strlen(key);

    return strlen(name) > length && name[length] == '.'
               ? (uint32_t)strtoul(name + length + 1, NULL, 10)
               : 1;
}

void kube_workloads_adopt(struct kube_workloads *workloads, const struct kube_pod *pod)
{
    struct kube_group alone = single(pod);
    AUTO_FREE char *own = mem_printf(NAME_START "%s", pod->uid);
    struct workload *workload =
        find_or_add(workloads, string_starts(pod->arrival, own) ? &alone : &pod->group);

    name_mirror(workloads, workload, pod);
    workload->generation = generation_of(pod->arrival, workload->key);
    workload->job = pod->mark.job;
    workload->stage = STARTED;
    workload->was_started = true;
}

void kube_workloads_keep(struct kube_workloads *workloads, const char *name)
{
    struct workload *workload = find_named(workloads, name);

    if (workload)
        workload->extra_since = 0;
}

/* If the rule is newer than the report, its job does not know it: it is reported again, as another
 * job. */
void kube_workloads_return(struct kube_workloads *workloads, const char *name, uint64_t rule)
{
    struct workload *workload = find_named(workloads, name);

    if (!workload)
        return;
    if (rule <= workload->rules_added && ++workload->returns < RETURNS_MAX)
        return;
    withdraw(workloads, workload, "the rules of other pods about its pods have changed");
    workload->due = uv_now(workloads->options.loop) + STOP_MS;
}

void kube_workloads_end(struct kube_workloads *workloads, const char *name)
{
    struct workload *workload = find_named(workloads, name);

    if (!workload || workload->stage != STARTED)
        return;
    workload->stage = KNOWN;
    workload->extra_since = 0; /* its pods wait for the next attempt */
}

const struct kube_pod *kube_workloads_heir(struct kube_workloads *workloads, const char *name,
                                           const char *role, uint32_t device_count)
{
    struct workload *workload = find_named(workloads, name);

    for (size_t i = 0; workload && i < workload->pods.count; i++) {
        const struct kube_pod *pod = workload->pods.items[i];
        if (strcmp(pod->group.role, role) == 0 && pod->device_count == device_count &&
            !pod->is_gated_by_others && !pod->refused && !pod->unresolved)
            return pod;
    }
    return NULL;
}
