/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/kube_patches.h"
#include "engine/kube/objects/kube_names.h"

enum {
    SAID_TO_ALL = 64, /* pods that get the words of a workload without a job, and the first words of
                       * its job; later one */
};

struct kube_workloads *kube_workloads_create(const struct engine_options *options,
                                             struct kube_client *client, struct kube_nodes *nodes,
                                             struct kube_events *events,
                                             struct kube_mirrors *mirrors,
                                             struct kube_provision *provision)
{
    struct kube_workloads *workloads = mem_zero(1, sizeof(*workloads));

    workloads->options = *options;
    workloads->client = client;
    workloads->nodes = nodes;
    workloads->events = events;
    workloads->mirrors = mirrors;
    workloads->provision = provision;
    return workloads;
}

static void workload_destroy(struct workload *workload)
{
    free(workload->key);
    free(workload->object);
    free(workload->owner_path);
    free(workload->queue);
    free(workload->noted);
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
    map_release(&workloads->alike);
    free(workloads);
}

/* ---- which workload ---- */

struct workload *workload_find(const struct kube_workloads *workloads, const char *key)
{
    uint64_t at;

    if (!map_get(&workloads->by_key, map_hash(key, strlen(key)), &at))
        return NULL;
    struct workload *workload = (struct workload *)(uintptr_t)at;
    return strcmp(workload->key, key) == 0 ? workload : NULL;
}

void workload_wake(struct kube_workloads *workloads, struct workload *workload)
{
    if (!workload || workload->is_awake)
        return;
    workload->is_awake = true;
    list_add(&workloads->awake, workload);
}

struct workload *workload_find_or_add(struct kube_workloads *workloads,
                                      const struct kube_group *group)
{
    struct workload *workload = workload_find(workloads, group->key);

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
    workload_wake(workloads, workload);
    if (group->size > 0)
        workload->size = group->size;
    if (!workload->object[0] && group->object[0]) {
        free(workload->object);
        workload->object = mem_string(group->object);
    }
    return workload;
}

void workload_remove(struct kube_workloads *workloads, struct workload *workload)
{
    struct workload *last = workloads->all.items[workloads->all.count - 1];

    workloads->all.items[workload->place] = last;
    last->place = workload->place;
    workloads->all.count--;
    map_remove(&workloads->by_key, map_hash(workload->key, strlen(workload->key)));
    kube_mirrors_drop(workloads->mirrors, workload->mirror);
    workload_destroy(workload);
}

void workload_format_name(const struct workload *workload, char *ret, size_t size)
{
    if (workload->generation > 1)
        snprintf(ret, size, WORKLOAD_NAME_START "%s.%" PRIu32, workload->key, workload->generation);
    else
        snprintf(ret, size, WORKLOAD_NAME_START "%s", workload->key);
}

struct workload *workload_find_named(struct kube_workloads *workloads, const char *name)
{
    if (!string_starts(name, WORKLOAD_NAME_START))
        return NULL;
    const char *key = name + strlen(WORKLOAD_NAME_START), *dot = strrchr(key, '.');
    struct workload *workload = workload_find(workloads, key);
    if (!workload && dot) {
        AUTO_FREE char *short_key = mem_string_of(key, (size_t)(dot - key));
        workload = workload_find(workloads, short_key);
    }
    workload_wake(workloads, workload);
    return workload;
}

const char *workload_object_path(const struct workload *workload)
{
    return workload->object[0] ? workload->object : workload->owner_path;
}

void workload_name_mirror(struct kube_workloads *workloads, struct workload *workload,
                          const struct kube_pod *pod)
{
    if (!workload->mirror)
        workload->mirror =
            kube_mirrors_path(workloads->mirrors, pod->namespace, pod->group.title, workload->key);
}

/* ---- pods ---- */

struct kube_group workload_group_alone(const struct kube_pod *pod)
{
    struct kube_group group = pod->group;

    group.key = pod->uid;
    group.kind = KUBE_GROUP_POD;
    group.size = 1;
    group.object = group.title; /* any but NULL: its size is known */
    return group;
}

struct workload *workload_of(const struct kube_workloads *workloads, const struct kube_pod *pod)
{
    struct workload *own = workload_find(workloads, pod->uid);

    return own ? own : workload_find(workloads, pod->group.key);
}

int64_t workload_place(const struct workload *workload, const struct kube_pod *pod)
{
    for (size_t i = 0; i < workload->pods.count; i++) {
        if (strcmp(workload->pods.items[i]->uid, pod->uid) == 0)
            return (int64_t)i;
    }
    return -1;
}

/* ---- suspended jobs ---- */

void kube_workloads_lose_job(struct kube_workloads *workloads, const char *key)
{
    struct workload *workload = workload_find(workloads, key);

    if (!workload)
        return;
    kube_pod_destroy(workload->suspended);
    workload->suspended = NULL;
    workload_wake(workloads, workload);
}

void kube_workloads_see_job(struct kube_workloads *workloads, struct kube_job *job)
{
    if (!job->pod || job->size == 0) {
        kube_workloads_lose_job(workloads, job->key);
    } else {
        struct workload *workload = workload_find_or_add(workloads, &job->pod->group);
        kube_pod_destroy(workload->suspended);
        workload->suspended = TAKE(job->pod);
        workload->size = job->size;
        workload_name_mirror(workloads, workload, workload->suspended);
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

bool workload_is_managed(const struct kube_workloads *workloads, const struct kube_pod *pod)
{
    uint64_t ignored;

    return map_get(&workloads->managed, map_hash(pod->namespace, strlen(pod->namespace)), &ignored);
}

bool workload_is_suspended(const struct kube_workloads *workloads, const struct workload *workload)
{
    const struct kube_pod *pod = workload->suspended;
    bool needs = workload->needs_managed || workloads->options.rules->kube_managed_only;

    return pod && (!needs || workload_is_managed(workloads, pod));
}

/* ---- what its pods are told ---- */

static void tell(struct kube_workloads *workloads, struct workload *workload, const char *words,
                 bool is_news)
{
    bool is_known = workload->stage == WORKLOAD_KNOWN;
    bool is_first = !workload->words || (is_known && !workload->is_told);
    size_t most = workload->is_turned                                 ? SIZE_MAX
                  : is_first || workload->stage == WORKLOAD_GATHERING ? SAID_TO_ALL
                                                                      : 1;

    if (workload->words && strcmp(workload->words, words) == 0)
        return;
    AUTO_FREE char *spelled = kube_nodes_spell(workloads->nodes, words);
    workload->is_told |= is_known;
    free(workload->words);
    workload->words = mem_string(words);
    workload->said_at = uv_now(workloads->options.loop);
    for (size_t i = 0; i < workload->pods.count && i < most; i++) {
        const struct kube_pod *pod = workload->pods.items[i];
        kube_patch_condition(workloads->client, pod, spelled,
                             pod->is_gated                ? "SchedulingGated"
                             : workload->is_unschedulable ? KUBE_UNSCHEDULABLE
                                                          : "Queued");
        if (is_news)
            kube_events_say(workloads->events, pod, KUBE_EVENT_WAITS, spelled,
                            uv_now(workloads->options.loop));
    }
    if (workload->suspended)
        kube_patch_object(workloads->client, workload_object_path(workload), json_object(),
                          KUBE_WAITS, spelled);
}

void workload_forget_note(struct workload *workload)
{
    free(workload->noted);
    workload->noted = NULL;
    workload->lacks_room = workload->is_unschedulable = false;
}

void workload_say(struct kube_workloads *workloads, struct workload *workload, const char *words,
                  bool is_news)
{
    workload_forget_note(workload);
    tell(workloads, workload, words, is_news);
}

char *workload_request(const struct kube_workloads *workloads, const struct workload *workload)
{
    char name[512];

    workload_format_name(workload, name, sizeof(name));
    return workload->lacks_room ? kube_provision_words(workloads->provision, name) : NULL;
}

void workload_say_noted(struct kube_workloads *workloads, struct workload *workload)
{
    bool is_unschedulable = workload->lacks_room && !kube_provision_is_on(workloads->provision);
    AUTO_FREE char *request = workload_request(workloads, workload);
    AUTO_FREE char *words =
        mem_printf("%s%s%s", workload->noted, request ? "; " : "", request ? request : "");

    if (workload->is_unschedulable != is_unschedulable) {
        workload->is_unschedulable = is_unschedulable;
        workload->is_turned = true;
        free(workload->words);
        workload->words = NULL;
        workload_wake(workloads, workload);
    }
    tell(workloads, workload, words, true);
    workload->is_turned = false;
}

void workload_note(struct kube_workloads *workloads, struct workload *workload, const char *words,
                   bool lacks_room)
{
    free(workload->noted);
    workload->noted = mem_string(words);
    workload->lacks_room = lacks_room;
    workload_say_noted(workloads, workload);
}
