/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/job/request.h"
#include "engine/kube/dra/dra_names.h"
#include "engine/kube/objects/kube_names.h"
#include "engine/kube/objects/kube_rule.h"
#include "wire/json.h"

enum { LIMIT_SLACK_S = 60, GRACE_MAX_S = 86400 };
/* Priorities up to this are kept, larger ones are compressed. */
enum { PRIORITY_PLAIN = 500, PRIORITY_STEPS = 22, PRIORITY_MOST = 1000 };

int32_t kube_priority(int32_t value)
{
    int64_t size = value < 0 ? -(int64_t)value : value, above = size, steps = 0;

    if (size > PRIORITY_PLAIN) {
        for (; above > 2 * PRIORITY_PLAIN; above /= 2)
            steps++;
        size = PRIORITY_PLAIN + steps * PRIORITY_STEPS +
               (above - PRIORITY_PLAIN) * PRIORITY_STEPS / PRIORITY_PLAIN;
        size = size < PRIORITY_MOST ? size : PRIORITY_MOST;
    }
    return (int32_t)(value < 0 ? -size : size);
}

bool kube_pods_are_alike(const struct kube_pod *a, const struct kube_pod *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_mib == b->memory_mib &&
           a->device_count == b->device_count && strcmp(a->device, b->device) == 0 &&
           strcmp(a->share, b->share) == 0 && strcmp(a->filter, b->filter) == 0 &&
           strcmp(a->group.role, b->group.role) == 0;
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int kube_pod_compare(const struct kube_pod *a, const struct kube_pod *b)
{
    int order = strcmp(a->group.role, b->group.role);

    if (order == 0)
        order = -compare(a->device_count, b->device_count);
    if (order == 0)
        order = strcmp(a->device, b->device);
    if (order == 0)
        order = strcmp(a->share, b->share);
    if (order == 0)
        order = strcmp(a->filter, b->filter);
    if (order == 0)
        order = -compare(a->cpu_milli, b->cpu_milli);
    if (order == 0)
        order = -compare(a->memory_mib, b->memory_mib);
    if (order == 0)
        order = compare(a->group.index, b->group.index);
    return order != 0 ? order : strcmp(a->name, b->name);
}

/* Devices of ResourceClaims: which ones, the conditions of the job say. */
static int add_claimed(json_t *part, const struct kube_pod *pod, struct kube_nodes *nodes,
                       struct error *err)
{
    const char *kind = "";

    if (pod->device_count > REQUEST_GPUS_MAX)
        return error_set(err, -E2BIG,
                         "its ResourceClaims request %" PRIu32 " devices, more than %d",
                         pod->device_count, REQUEST_GPUS_MAX);
    if (!kube_nodes_device_label(nodes, pod, &kind, err))
        return -ENOTSUP;
    json_object_set_new(part, kind[0] ? "accelerator" : "gpus",
                        kind[0] ? json_sprintf("%s:%" PRIu32, kind, pod->device_count)
                                : json_sprintf("%" PRIu32, pod->device_count));
    return 0;
}

static int add_gpus(json_t *part, const struct kube_pod *pod, struct kube_nodes *nodes,
                    struct error *err)
{
    const struct kube_device_name *name = kube_device_name(pod->device);
    const char *profile = kube_mig_profile(pod->device);

    if (pod->device_count == 0)
        return 0;
    if (pod->filter[0])
        return add_claimed(part, pod, nodes, err);
    if (pod->device_count > REQUEST_GPUS_MAX)
        return error_set(err, -E2BIG, "%s: %" PRIu32 " requested, more than %d", pod->device,
                         pod->device_count, REQUEST_GPUS_MAX);
    if (!kube_nodes_have(nodes, pod->device))
        return error_set(err, -ENODEV, "no node offers %s", pod->device);
    if (pod->share[0] && !kube_nodes_are_exact(nodes))
        return error_set(err, -ENOTSUP, "a part of a GPU needs `kube: {devices: exact}`");
    if (pod->share[0]) {
        json_object_set_new(part, "gpus", json_string(pod->share));
        return 0;
    }
    if (profile) {
        json_object_set_new(part, "gpus",
                            json_sprintf("mig-%s:%" PRIu32, profile, pod->device_count));
        return 0;
    }
    if (name->kind[0]) {
        json_object_set_new(part, "accelerator",
                            json_sprintf("%s:%" PRIu32, name->kind, pod->device_count));
        return 0;
    }
    json_object_set_new(part, "gpus", json_sprintf("%" PRIu32, pod->device_count));
    return 0;
}

static int add_amounts(json_t *part, const struct kube_pod *pod, struct kube_nodes *nodes,
                       struct error *err)
{
    json_object_set_new(
        part, "cpus",
        json_sprintf("%" PRId64 ".%03" PRId64, pod->cpu_milli / 1000, pod->cpu_milli % 1000));
    if (pod->memory_mib > 0)
        json_object_set_new(part, "memory", json_integer(pod->memory_mib));
    return add_gpus(part, pod, nodes, err);
}

/* The names of roles are names of tarn, and no two are the same. */
static char *role_name(const struct kube_pod *pod, uint32_t number)
{
    const char *role = pod->group.role;

    return string_is_name(role, 40) ? mem_printf("%s-%" PRIu32, role, number)
                                    : mem_printf("role-%" PRIu32, number);
}

static int add_roles(json_t *document, const struct kube_pod *const *pods, uint32_t count,
                     struct kube_nodes *nodes, struct error *err)
{
    json_t *roles = json_object();
    uint32_t number = 0, end;
    int code = 0;

    json_object_set_new(document, "roles", roles);
    for (uint32_t i = 0; i < count && code == 0; i = end) {
        json_t *role = json_object();
        for (end = i + 1; end < count && kube_pods_are_alike(pods[i], pods[end]);)
            end++;
        AUTO_FREE char *name = role_name(pods[i], number++);
        json_object_set_new(role, "ranks", json_integer(end - i));
        code = add_amounts(role, pods[i], nodes, err);
        json_object_set_new(roles, name, role);
    }
    if (code == 0 && number > REQUEST_ROLES_MAX)
        code = error_set(err, -E2BIG, "its pods have %" PRIu32 " different requests, more than %d",
                         number, REQUEST_ROLES_MAX);
    return code;
}

/* Which of the devices of plugins: those of the one whose resource its pods request. */
static void add_plugin(json_t *where, const char *label, bool has_none,
                       const struct kube_nodes *nodes)
{
    if (label[0])
        json_array_append_new(where, json_sprintf("%s%s", label, has_none ? "|!kind" : ""));
    else if (kube_nodes_have_labelled(nodes))
        json_array_append_new(where, json_string("!" KUBE_PLUGIN));
    if (kube_nodes_have_claimed(nodes))
        json_array_append_new(where, json_string("!" DRA_LABEL));
}

/* Which devices: members without any are not concerned (`!kind` holds for no device). Devices that
 * only ResourceClaims may have are for no other pods. */
static int add_device_conditions(json_t *where, const struct kube_pod *const *pods, uint32_t count,
                                 struct kube_nodes *nodes, struct error *err)
{
    const struct kube_pod *claiming = NULL, *other = NULL;
    bool has_none = false;
    const char *kind, *plugin = "";

    for (uint32_t i = 0; i < count; i++) {
        const struct kube_pod *pod = pods[i];
        if (pod->device_count == 0) {
            has_none = true;
        } else if (!pod->filter[0]) {
            const char *its_own = kube_device_name(pod->device)->label;
            if (other && strcmp(plugin, its_own) != 0)
                return error_set(err, -ENOTSUP, "some of its pods request %s, and others %s",
                                 other->device, pod->device);
            other = pod;
            plugin = its_own;
        } else if (claiming && strcmp(claiming->filter, pod->filter) != 0) {
            return error_set(err, -ENOTSUP,
                             "the ResourceClaims of its pods request devices of different classes "
                             "or with different selectors");
        } else {
            claiming = pod;
        }
    }
    if (claiming && other)
        return error_set(err, -ENOTSUP,
                         "some of its pods have ResourceClaims, and others request %s",
                         other->device);
    if (other)
        add_plugin(where, plugin, has_none, nodes);
    if (!claiming)
        return 0;
    const char *label = kube_nodes_device_label(nodes, claiming, &kind, err);
    if (!label)
        return -ENOTSUP;
    json_array_append_new(where, json_sprintf("%s%s", label, has_none ? "|!kind" : ""));
    return 0;
}

/* A pod that shares the devices of a claim waits until they are allocated for the other pod.
 * Members of one job could not be held on one node while only one of them has devices. */
static int check_sharing(const struct kube_pod *const *pods, uint32_t count, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *with = pods[i]->shares_with;
        for (uint32_t k = 0; k < count && with[0]; k++) {
            if (strcmp(pods[k]->uid, with) == 0)
                return error_set(
                    err, -ENOTSUP,
                    "pods %s and %s start together and share a ResourceClaim, which is "
                    "not supported",
                    pods[k]->name, pods[i]->name);
        }
        if (with[0])
            return error_set(err, -EAGAIN,
                             "the devices of a ResourceClaim that pod %s shares with another pod "
                             "are allocated for that pod first",
                             pods[i]->name);
    }
    return 0;
}

static void add_once(json_t *where, const char *condition)
{
    for (size_t i = 0; i < json_array_size(where); i++) {
        if (strcmp(json_string_value(json_array_get(where, i)), condition) == 0)
            return;
    }
    json_array_append_new(where, json_string(condition));
}

/* Rules about other pods exclude nodes. */
static int add_forbidden(json_t *where, const struct kube_pod *pod, struct kube_nodes *nodes,
                         struct error *err)
{
    AUTO(json) json_t *labels = kube_nodes_forbid(nodes, pod, err);
    json_t *label;
    size_t i;

    if (!labels)
        return -ENOTSUP;
    json_array_foreach(labels, i, label)
    {
        AUTO_FREE char *condition = mem_printf("!%s", json_string_value(label));
        add_once(where, condition);
    }
    return 0;
}

static int add_where(json_t *document, const struct kube_pod *const *pods, uint32_t count,
                     struct kube_nodes *nodes, struct error *err)
{
    json_t *where = json_array();
    const char *last = "";

    json_object_set_new(document, "where", where);
    if (add_device_conditions(where, pods, count, nodes, err) < 0)
        return -ENOTSUP;
    for (uint32_t i = 0; i < count; i++) {
        const char *label = kube_nodes_label(nodes, pods[i], err);
        if (!label)
            return -ENOTSUP;
        if (strcmp(label, last) != 0)
            add_once(where, label);
        last = label;
        bool is_same =
            i > 0 && pods[i]->labels == pods[i - 1]->labels && pods[i]->rules == pods[i - 1]->rules;
        if (!is_same && add_forbidden(where, pods[i], nodes, err) < 0)
            return -ENOTSUP;
    }
    return 0;
}

/* Labels by which its pods keep apart from those of other jobs, and from each other. */
static int add_apart(json_t *document, const struct kube_pod *const *pods, uint32_t count,
                     bool is_alike, struct error *err)
{
    const struct kube_pod *first = pods[0];
    json_t *labels = json_array(), *others = json_array();

    for (uint32_t i = 0; i < first->apart_count; i++) {
        json_array_append_new(labels, json_string(first->apart[i]));
        if (!(first->apart_marks >> i & 1))
            json_array_append_new(others, json_string(first->apart[i]));
    }
    for (uint32_t i = 1; i < count; i++) {
        if (pods[i]->apart_count != first->apart_count ||
            pods[i]->apart_marks != first->apart_marks ||
            memcmp(pods[i]->apart, first->apart, sizeof(first->apart)) != 0 ||
            (!is_alike && first->apart_count > 0)) {
            json_decref(labels);
            json_decref(others);
            return error_set(err, -ENOTSUP,
                             "its pods are not alike, and some must not share a node");
        }
    }
    if (first->apart_count > 0) {
        json_object_set(document, "labels", labels);
        json_object_set(document, "anti_affinity", others);
        if (count > 1)
            json_object_set_new(document, "nodes", json_integer(count));
    }
    json_decref(labels);
    json_decref(others);
    return 0;
}

/* Rules of pods that start together about each other. */
static int add_nodes(json_t *document, const struct kube_pod *const *pods, uint32_t count,
                     struct kube_nodes *nodes, struct error *err)
{
    uint32_t wanted;

    int code = kube_rules_check_gang(pods, count, kube_rules_spaces(kube_nodes_rules(nodes)),
                                     &wanted, err);
    if (code == 0 && wanted == 1 && pods[0]->apart_count > 0)
        code = error_set(err, -ENOTSUP, "its pods must share a node, and must not");
    if (code == 0 && wanted > 0)
        json_object_set_new(document, "nodes", json_integer(wanted));
    return code;
}

/* Of a pod that states nothing, the work is lost when it is evicted. */
static void add_checkpoint(json_t *document, const struct kube_pod *pod)
{
    const char *every = pod->checkpoint[0] ? pod->checkpoint : "never";

    if (strcmp(every, "stop") != 0)
        json_object_set_new(document, "checkpoint", json_pack("{s:s}", "every", every));
}

/* Kubernetes ends a pod at its own limit, and kills it after its own grace: what is longer than
 * tarn's longest is none for tarn. */
static void add_times(json_t *document, const struct kube_pod *pod)
{
    static const int64_t limit_max_s = UNITS_DURATION_MAX / USEC_PER_SEC - LIMIT_SLACK_S;

    if (pod->limit_s > limit_max_s)
        json_object_set_new(document, "max_duration", json_string("unlimited"));
    else if (pod->limit_s > 0)
        json_object_set_new(document, "max_duration",
                            json_sprintf("%" PRId64 "s", pod->limit_s + LIMIT_SLACK_S));
    if (pod->estimate[0])
        json_object_set_new(document, "estimate", json_string(pod->estimate));
    json_object_set_new(
        document, "grace",
        json_sprintf("%" PRId64 "s", pod->grace_s < GRACE_MAX_S ? pod->grace_s : GRACE_MAX_S));
}

char *kube_document(const struct kube_pod *const *pods, uint32_t count, const char *queue,
                    struct kube_nodes *nodes, struct error *err)
{
    const struct kube_pod *first = pods[0];
    bool is_alike = true, has_owner = first->group.owner_uid[0] != '\0';
    json_t *document = json_object();
    int code = 0;

    if (count > REQUEST_MEMBERS_MAX)
        code = error_set(err, -E2BIG, "it has %" PRIu32 " pods, more than %d", count,
                         REQUEST_MEMBERS_MAX);
    for (uint32_t i = 0; i < count && code == 0; i++) {
        const char *why = pods[i]->refused ? pods[i]->refused : pods[i]->unresolved;
        if (why)
            code = error_set(err, -ENOTSUP, "%s", why);
        is_alike &= kube_pods_are_alike(first, pods[i]);
    }
    json_object_set_new(document, "run", json_string(": runs in Kubernetes"));
    AUTO_FREE char *title = string_copy_clean(first->group.title);
    json_object_set_new(document, "name", json_string(title));
    json_object_set_new(document, "comment", json_sprintf("namespace %s", first->namespace));
    json_object_set_new(document, "priority", json_integer(kube_priority(first->priority)));
    json_object_set_new(document, "requeue", json_boolean(has_owner));
    if (queue[0])
        json_object_set_new(document, "queue", json_string(queue));
    if (first->preemptible >= 0) /* else the queue decides */
        json_object_set_new(document, "preemptible", json_boolean(first->preemptible));
    add_checkpoint(document, first);
    add_times(document, first);
    if (code == 0 && !is_alike)
        code = add_roles(document, pods, count, nodes, err);
    else if (code == 0)
        code = add_amounts(document, first, nodes, err);
    if (code == 0 && is_alike && count > 1)
        json_object_set_new(document, "ranks", json_integer(count));
    if (code == 0)
        code = add_apart(document, pods, count, is_alike, err);
    if (code == 0)
        code = add_nodes(document, pods, count, nodes, err);
    if (code == 0)
        code = check_sharing(pods, count, err);
    if (code == 0)
        code = add_where(document, pods, count, nodes, err);
    char *text = code == 0 ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    return text;
}
