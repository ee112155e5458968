/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/objects/kube_group.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_names.h"

enum {
    SIZE_MAX_PODS = 100000,
    TITLE_MAX = 50, /* of the name of an object */
};

struct kind {
    const char *name, *size, *api, *object, *suspend;
};

static const struct kind kinds[] = {
#define GROUP(ID, name, size, api, kind, suspend) { name, size, api, kind, suspend },
#include "engine/kube/objects/kube_group.def"
};

/* Names come from users: what a name of the API cannot have would make it another path. */
static bool is_path_word(const char *word)
{
    return word[0] && word[0] != '.' &&
           !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")];
}

/* "batch/v1", "v1" */
static bool is_api_version(const char *version)
{
    const char *slash = strchr(version, '/');
    AUTO_FREE char *group = mem_string_of(version, slash ? (size_t)(slash - version) : 0);

    return (!slash || is_path_word(group)) && is_path_word(slash ? slash + 1 : version);
}

/* "PyTorchJob" -> "pytorchjobs": the plurals of the API are regular. */
char *kube_object_path(const char *api_version, const char *kind, const char *namespace,
                       const char *name)
{
    AUTO_FREE char *lower = mem_string(kind);
    size_t length = strlen(lower);

    if (!is_api_version(api_version) || !is_path_word(kind) || !is_path_word(namespace) ||
        !is_path_word(name))
        return mem_string("");
    for (char *at = lower; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    const char *plural = "s";
    if (length > 1 && lower[length - 1] == 'y' && !strchr("aeiou", lower[length - 2])) {
        lower[length - 1] = '\0';
        plural = "ies";
    } else if (length > 0 && lower[length - 1] == 's') {
        plural = "es";
    }
    return mem_printf("%s/%s/namespaces/%s/%s%s/%s", strchr(api_version, '/') ? "/apis" : "/api",
                      api_version, namespace, lower, plural, name);
}

char *kube_object_name(const char *title, const char *key)
{
    char name[TITLE_MAX + 1];
    size_t length = 0;

    for (const char *at = title; *at && length < TITLE_MAX; at++) {
        bool is_plain = isalnum((unsigned char)*at);
        if (is_plain || length > 0)
            name[length++] = is_plain ? (char)tolower((unsigned char)*at) : '-';
    }
    return mem_printf("%.*s%s%08" PRIx32, (int)length, name, length > 0 ? "-" : "w",
                      (uint32_t)map_hash(key, strlen(key)));
}

/* "l:NAME" and "a:NAME" of a pod's labels and annotations; "": it has none. */
static const char *stated(const json_t *about, const char *where)
{
    if (string_starts(where, "l:"))
        return kube_text(json_object_get(about, "labels"), where + 2);
    if (string_starts(where, "a:"))
        return kube_text(json_object_get(about, "annotations"), where + 2);
    return "";
}

static const json_t *controller_of(const json_t *about)
{
    const json_t *owner;
    size_t i;

    json_array_foreach(json_object_get(about, "ownerReferences"), i, owner)
    {
        if (json_is_true(json_object_get(owner, "controller")))
            return owner;
    }
    return NULL;
}

static bool is_kind(const struct kind *kind, const json_t *about, const json_t *owner)
{
    if (string_starts(kind->name, "o:"))
        return string_equal(kube_text(owner, "kind"), kind->name + 2) &&
               string_starts(kube_text(owner, "apiVersion"), "batch/");
    return !kind->name[0] || stated(about, kind->name)[0];
}

static uint32_t to_count(const char *text)
{
    char *end;
    unsigned long count = strtoul(text, &end, 10);

    if (*end)
        return 0;

    return count <= SIZE_MAX_PODS ? (uint32_t)count : SIZE_MAX_PODS;
}

/* The place of a pod among those of its role: an index that its controller states. */
static uint32_t index_of(const json_t *about)
{
    static const char *const stating[] = { "l:batch.kubernetes.io/job-completion-index",
                                           "a:batch.kubernetes.io/job-completion-index",
                                           "l:training.kubeflow.org/replica-index",
                                           "l:leaderworkerset.sigs.k8s.io/worker-index",
                                           "l:apps.kubernetes.io/pod-index" };

    for (size_t i = 0; i < COUNT_OF(stating); i++) {
        const char *index = stated(about, stating[i]);
        if (index[0])
            return to_count(index);
    }
    return 0;
}

static const char *role_of(const json_t *about)
{
    static const char *const stating[] = { "l:training.kubeflow.org/replica-type",
                                           "l:jobset.sigs.k8s.io/replicatedjob-name",
                                           "l:ray.io/group", "a:volcano.sh/task-spec" };

    for (size_t i = 0; i < COUNT_OF(stating); i++) {
        const char *role = stated(about, stating[i]);
        if (role[0])
            return role;
    }
    return "";
}

void kube_group_read(const json_t *pod, struct kube_group *ret)
{
    const json_t *about = json_object_get(pod, "metadata"), *owner = controller_of(about);
    const char *namespace = kube_text(about, "namespace"), *own_name = kube_text(about, "name");
    AUTO_FREE char *owner_path =
        owner ? kube_object_path(kube_text(owner, "apiVersion"), kube_text(owner, "kind"),
                                 namespace, kube_text(owner, "name"))
              : mem_string("");
    unsigned number = 0;

    while (number < KUBE_GROUP_POD && !is_kind(&kinds[number], about, owner))
        number++;
    const struct kind *kind = &kinds[number];
    const char *name = stated(about, kind->name);
    *ret = (struct kube_group){ .kind = number,
                                .role = mem_string(role_of(about)),
                                .owner_uid = mem_string(kube_text(owner, "uid")),
                                .index = index_of(about),
                                .size = number == KUBE_GROUP_POD
                                            ? 1
                                            : to_count(stated(about, kind->size)) };
    bool is_job_of_kubeflow = number == KUBE_GROUP_KUBEFLOW && owner &&
                              string_starts(kube_text(owner, "apiVersion"), "batch/");
    if (ret->size == 0 && kind->object[0])
        ret->object = kube_object_path(kind->api, kind->object, namespace, name);
    else
        ret->object = mem_string(ret->size > 0 || is_job_of_kubeflow ? "" : owner_path);
    if (number == KUBE_GROUP_POD) {
        ret->key = mem_string(kube_text(about, "uid"));
        ret->title = mem_string(own_name);
    } else if (string_starts(kind->name, "o:")) {
        ret->key = mem_printf("%s/%s", namespace, ret->owner_uid);
        ret->title = mem_string(kube_text(owner, "name"));
    } else {
        ret->key = mem_printf("%s/%s/%s", kind->name + 2, namespace, name);
        ret->title = mem_string(name);
    }
    ret->owner_path = TAKE(owner_path);
}

void kube_group_release(struct kube_group *group)
{
    free(group->key);
    free(group->title);
    free(group->role);
    free(group->object);
    free(group->owner_uid);
    free(group->owner_path);
}

/* ---- objects ---- */

static int64_t sum_replica_specs(const json_t *spec)
{
    const char *key;
    json_t *specs, *replica;
    int64_t sum = 0;

    json_object_foreach((json_t *)spec, key, specs)
    {
        size_t length = strlen(key);
        const char *name;
        if (length < 12 || strcmp(key + length - 12, "ReplicaSpecs") != 0)
            continue;
        json_object_foreach(specs, name, replica) sum += kube_number(replica, "replicas", 1);
    }
    return sum;
}

static int64_t size_of_job(const json_t *spec)
{
    int64_t parallelism = kube_number(spec, "parallelism", 1);
    int64_t completions = kube_number(spec, "completions", parallelism);

    return completions < parallelism ? completions : parallelism;
}

static int64_t size_of_jobset(const json_t *spec)
{
    json_t *job;
    size_t i;
    int64_t sum = 0;

    json_array_foreach(json_object_get(spec, "replicatedJobs"), i, job) sum +=
        kube_number(job, "replicas", 1) * size_of_job(kube_at(job, "template", "spec", NULL));
    return sum;
}

static int64_t size_of_ray(const json_t *spec)
{
    json_t *group;
    size_t i;
    int64_t sum = 1; /* the head */

    json_array_foreach(json_object_get(spec, "workerGroupSpecs"), i, group) sum +=
        kube_number(group, "replicas", kube_number(group, "minReplicas", 0)) *
        kube_number(group, "numOfHosts", 1);
    return sum;
}

/* Pods that have succeeded are not made again. */
static int64_t rest_of_job(const json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");
    int64_t most = size_of_job(spec);
    int64_t rest = kube_number(spec, "completions", INT32_MAX) -
                   kube_number(json_object_get(object, "status"), "succeeded", 0);

    return rest < most ? rest : most;
}

uint32_t kube_group_size(enum kube_group_kind kind, const json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");
    int64_t size = 0;

    switch (kind) {
    case KUBE_GROUP_BATCH_JOB:
        size = rest_of_job(object);
        break;
    case KUBE_GROUP_JOBSET:
        size = size_of_jobset(spec);
        break;
    case KUBE_GROUP_KUBEFLOW:
        size = sum_replica_specs(spec);
        break;
    case KUBE_GROUP_RAY:
        size = size_of_ray(spec);
        break;
    case KUBE_GROUP_VOLCANO:
    case KUBE_GROUP_KAI:
    case KUBE_GROUP_COSCHEDULING:
        size = kube_number(spec, "minMember", 1);
        break;
    case KUBE_GROUP_TARN:
    case KUBE_GROUP_KUEUE_PODS:
    case KUBE_GROUP_LWS:
    case KUBE_GROUP_POD:
    case KUBE_GROUPS:
        break;
    }
    return size > 0 && size <= SIZE_MAX_PODS ? (uint32_t)size : 0;
}

bool kube_group_is_split(enum kube_group_kind kind, const json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");
    int64_t parallelism = kube_number(spec, "parallelism", 1);

    return kind == KUBE_GROUP_BATCH_JOB && parallelism > 1 &&
           kube_number(spec, "completions", parallelism) > parallelism;
}

json_t *kube_group_suspend(enum kube_group_kind kind, bool is_suspended)
{
    const char *path = kinds[kind].suspend;
    json_t *value = json_boolean(is_suspended);

    if (!path[0])
        return NULL;
    for (size_t end = strlen(path); end > 0;) { /* from the innermost key */
        size_t from = end;
        while (from > 0 && path[from - 1] != '.')
            from--;
        AUTO_FREE char *key = mem_string_of(path + from, end - from);
        json_t *outer = json_object();
        json_object_set_new(outer, key, value);
        value = outer;
        end = from > 0 ? from - 1 : 0;
    }
    return value;
}
