/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/objects/kube_pod.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_fits.h"
#include "engine/kube/objects/kube_names.h"
#include "engine/kube/objects/kube_rule.h"

enum { GRACE_S = 30, SIGNAL_BASE = 128 };

/* ---- resources ---- */

#define MIG_PREFIX "nvidia.com/mig-"

const char *kube_mig_profile(const char *resource)
{
    return string_starts(resource, MIG_PREFIX) ? resource + strlen(MIG_PREFIX) : NULL;
}

const struct kube_device_name *kube_device_name(const char *resource)
{
    static const struct kube_device_name names[] = {
        { "nvidia.com/gpu", "nvidia", "", "" },
        { "nvidia.com/gpu.shared", "nvidia", "", "plugin=nvidia-shared" },
        { MIG_PREFIX, "nvidia", "", "" },
        { "amd.com/gpu", "amd", "", "plugin=amd" },
        { "gpu.intel.com/i915", "intel", "", "plugin=intel-i915" },
        { "gpu.intel.com/xe", "intel", "", "plugin=intel-xe" },
        { "google.com/tpu", "google", "tpu", "plugin=google" },
        { "aws.amazon.com/neuron", "aws", "npu", "plugin=neuron" },
        { "aws.amazon.com/neuroncore", "aws", "npu", "plugin=neuroncore" },
        { "habana.ai/gaudi", "intel", "npu", "plugin=gaudi" },
    };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        bool is_mig = kube_mig_profile(names[i].resource) != NULL;
        if (is_mig ? kube_mig_profile(resource) != NULL : strcmp(resource, names[i].resource) == 0)
            return &names[i];
    }
    return NULL;
}

/* What the containers of a pod request, one after the other or together. */
struct amounts {
    int64_t cpu_milli, memory_mib, devices;
    json_t *others; /* of resources that tarn knows by name only; NULL: none */
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_others(struct amounts *to, const json_t *from, bool is_sum)
{
    const char *resource;
    json_t *value;

    json_object_foreach((json_t *)from, resource, value)
    {
        int64_t more = json_integer_value(value), has;
        to->others = to->others ? to->others : json_object();
        has = kube_number(to->others, resource, 0);
        json_object_set_new(to->others, resource,
                            json_integer(is_sum ? has + more : larger(has, more)));
    }
}

static void add(struct amounts *to, const struct amounts *from)
{
    add_others(to, from->others, true);
    to->cpu_milli += from->cpu_milli;
    to->memory_mib += from->memory_mib;
    to->devices += from->devices;
}

static void take_larger(struct amounts *to, const struct amounts *from)
{
    add_others(to, from->others, false);
    to->cpu_milli = larger(to->cpu_milli, from->cpu_milli);
    to->memory_mib = larger(to->memory_mib, from->memory_mib);
    to->devices = larger(to->devices, from->devices);
}

static void refuse(struct kube_pod *pod, char *reason)
{
    if (!pod->refused)
        pod->refused = TAKE(reason);
    free(reason);
}

/* A list of resources, {"cpu": "500m", ...}; what the kubelet checks alone is left to it. */
static void read_amounts(struct kube_pod *pod, const json_t *list, struct amounts *ret)
{
    const char *resource;
    json_t *value;

    json_object_foreach((json_t *)list, resource, value)
    {
        const char *text = json_string_value(value);
        int64_t *to = NULL, milli = 0;
        AUTO_FREE char *number = json_is_integer(value)
                                     ? mem_printf("%" PRId64, (int64_t)json_integer_value(value))
                                     : NULL;
        text = text ? text : number;
        if (strcmp(resource, "memory") == 0) {
            if (!quantity_mib(text, &ret->memory_mib))
                refuse(pod, mem_printf("memory: '%s' is not a quantity", text));
            continue;
        }
        if (strcmp(resource, "cpu") == 0)
            to = &ret->cpu_milli;
        else if (kube_device_name(resource))
            to = &ret->devices;
        if (!quantity_milli(text, &milli))
            refuse(pod, mem_printf("%s: '%s' is not a quantity", resource, text));
        else if (to == &ret->devices && milli > 0 && pod->device[0] &&
                 strcmp(pod->device, resource) != 0)
            refuse(pod, mem_printf("it requests both %s and %s", pod->device, resource));
        else if (to == &ret->devices && milli > 0 && !pod->device[0])
            free(pod->device), pod->device = mem_string(resource);
        else if (!to && milli > 0 && strcmp(resource, "ephemeral-storage") != 0) {
            json_t *other = json_pack("{s:I}", resource, (json_int_t)milli);
            add_others(ret, other, false);
            json_decref(other);
        }
        if (to == &ret->devices)
            milli /= 1000;
        if (to)
            *to = milli;
    }
}

/* Requests that are not stated equal the limits; the API server fills them in, but for devices. */
static struct amounts of_container(struct kube_pod *pod, const json_t *container)
{
    const json_t *resources = json_object_get(container, "resources");
    struct amounts limits = { 0 }, requests = { 0 };
    const json_t *stated = json_object_get(resources, "requests");

    read_amounts(pod, json_object_get(resources, "limits"), &limits);
    read_amounts(pod, stated, &requests);
    if (!json_object_get(stated, "cpu"))
        requests.cpu_milli = limits.cpu_milli;
    if (!json_object_get(stated, "memory"))
        requests.memory_mib = limits.memory_mib;
    requests.devices = larger(requests.devices, limits.devices);
    add_others(&requests, limits.others, false);
    json_decref(limits.others);
    return requests;
}

/* The rule of the scheduler: init containers run one after the other, beside the restartable ones
 * before them (sidecars), which stay beside the containers. */
static void read_requests(struct kube_pod *pod, const json_t *spec)
{
    static struct kube_shared shared;
    struct amounts sum = { 0 }, sidecars = { 0 }, most = { 0 }, over = { 0 }, whole = { 0 };
    json_t *container;
    size_t i;

    json_array_foreach(json_object_get(spec, "containers"), i, container)
    {
        struct amounts amounts = of_container(pod, container);
        add(&sum, &amounts);
        json_decref(amounts.others);
    }
    json_array_foreach(json_object_get(spec, "initContainers"), i, container)
    {
        struct amounts amounts = of_container(pod, container);
        if (strcmp(kube_text(container, "restartPolicy"), "Always") == 0) {
            add(&sidecars, &amounts);
            take_larger(&most, &sidecars);
        } else {
            add(&amounts, &sidecars);
            take_larger(&most, &amounts);
        }
        json_decref(amounts.others);
    }
    add(&sum, &sidecars);
    take_larger(&sum, &most);
    const json_t *stated = kube_at(spec, "resources", "requests", NULL);
    read_amounts(pod, stated, &whole);
    if (json_object_get(stated, "cpu"))
        sum.cpu_milli = whole.cpu_milli;
    if (json_object_get(stated, "memory"))
        sum.memory_mib = whole.memory_mib;
    read_amounts(pod, json_object_get(spec, "overhead"), &over);
    add(&sum, &over);
    pod->cpu_milli = sum.cpu_milli;
    pod->memory_mib = sum.memory_mib;
    pod->device_count = (uint32_t)sum.devices;
    pod->others = sum.others ? kube_json_share(&shared, sum.others) : NULL;
    json_decref(sidecars.others);
    json_decref(most.others);
    json_decref(over.others);
    json_decref(whole.others);
}

/* ---- what keeps pods apart ---- */

/* is_mark: only others keep apart from it. */
static void add_apart(struct kube_pod *pod, char *label, bool is_mark)
{
    uint32_t i = 0;

    while (i < pod->apart_count && strcmp(pod->apart[i], label) != 0)
        i++;
    if (i == KUBE_APART_MAX) {
        refuse(pod,
               mem_printf("it keeps apart from others for more than %d reasons", KUBE_APART_MAX));
    } else if (i == pod->apart_count) {
        snprintf(pod->apart[pod->apart_count++], KUBE_APART_SIZE, "%s", label);
        pod->apart_marks |= (uint32_t)is_mark << i;
    } else if (!is_mark) {
        pod->apart_marks &= ~(UINT32_C(1) << i);
    }
    free(label);
}

static void keep_apart(struct kube_pod *pod, char *label)
{
    add_apart(pod, label, false);
}

/* Two pods with the same port cannot share a node, unless each has an address of its own for it. */
static void read_ports_of(struct kube_pod *pod, const json_t *container)
{
    static const char *const every[] = { "", "0.0.0.0", "::", NULL };
    json_t *port;
    size_t i;

    json_array_foreach(json_object_get(container, "ports"), i, port)
    {
        const char *stated = kube_text(port, "protocol"), *address = kube_text(port, "hostIP");
        const char *protocol = stated[0] ? stated : "TCP";
        int64_t number = kube_number(port, "hostPort", 0);
        bool is_any = string_is_in(address, every);
        if (number <= 0)
            continue;
        add_apart(pod, mem_printf("port-%" PRId64 "-%.4s", number, protocol), !is_any);
        if (!is_any)
            keep_apart(pod, mem_printf("port-%" PRId64 "-%.4s-%07" PRIx64, number, protocol,
                                       map_hash(address, strlen(address)) & 0xfffffff));
    }
}

static void read_ports(struct kube_pod *pod, const json_t *containers)
{
    json_t *container;
    size_t i;

    json_array_foreach(containers, i, container) read_ports_of(pod, container);
}

/* Pods that keep apart from each other, on one node each: replicas that must not fail together. The
 * brain knows of it by a label, if there is room for one. */
static void read_alike(struct kube_pod *pod)
{
    json_t *rule;
    size_t i;

    json_array_foreach(pod->rules, i, rule)
    {
        if (kube_rule_kind(rule) != KUBE_RULE_APART || !kube_rule_is_of_nodes(rule) ||
            !kube_rule_meets_itself(rule, NULL) || pod->apart_count == KUBE_APART_MAX)
            continue;
        AUTO_FREE char *text =
            json_dumps(json_object_get(rule, "parts"), JSON_COMPACT | JSON_SORT_KEYS);
        keep_apart(pod, mem_printf("apart-%08" PRIx64, map_hash(text, strlen(text)) & UINT32_MAX));
    }
}

/* The claim of an ephemeral volume has the names of the pod and of the volume. */
static void read_claims(struct kube_pod *pod, const json_t *spec)
{
    json_t *names = json_array(), *volume;
    size_t i;

    json_array_foreach(json_object_get(spec, "volumes"), i, volume)
    {
        const json_t *claim = json_object_get(volume, "persistentVolumeClaim");
        if (claim)
            json_array_append_new(names, json_string(kube_text(claim, "claimName")));
        else if (json_object_get(volume, "ephemeral"))
            json_array_append_new(names,
                                  json_sprintf("%s-%s", pod->name, kube_text(volume, "name")));
    }
    if (json_array_size(names) > 0)
        pod->claims = json_incref(names);
    json_decref(names);
}

/* The name of a claim that is made from a template is in the status; "": it is not made yet. */
static const char *generated_name(const json_t *status, const char *name)
{
    json_t *made;
    size_t i;

    json_array_foreach(json_object_get(status, "resourceClaimStatuses"), i, made)
    {
        if (strcmp(kube_text(made, "name"), name) == 0)
            return kube_text(made, "resourceClaimName");
    }
    return "";
}

static void read_resource_claims(struct kube_pod *pod, const json_t *spec, const json_t *status)
{
    const json_t *stated = json_object_get(spec, "resourceClaims");
    json_t *claim;
    size_t i;

    if (json_array_size(stated) == 0)
        return;
    pod->resource_claims = json_array();
    json_array_foreach(stated, i, claim)
    {
        const char *own = kube_text(claim, "resourceClaimName");
        const char *name = own[0] ? own : generated_name(status, kube_text(claim, "name"));
        json_array_append_new(pod->resource_claims, json_string(name));
        if (name[0] || pod->unresolved)
            continue;
        pod->is_claim_missing = true;
        pod->unresolved =
            mem_printf("its ResourceClaim %s is not made yet from ResourceClaimTemplate %s",
                       kube_text(claim, "name"), kube_text(claim, "resourceClaimTemplateName"));
    }
    if (!pod->unresolved)
        pod->unresolved = mem_string("its ResourceClaims are not known yet");
    if (pod->device_count > 0)
        refuse(pod, mem_printf("it has ResourceClaims, and requests %s", pod->device));
}

/* ---- state ---- */

static bool read_mark(const char *text, struct kube_mark *ret)
{
    int end = 0;

    return sscanf(text, "%19[0-9a-f]/%" SCNu64 ".%" SCNu32 "/%" SCNu32 "%n", ret->instance,
                  &ret->job, &ret->attempt, &ret->rank, &end) == 4 &&
           !text[end];
}

static void read_gates(struct kube_pod *pod, const json_t *spec)
{
    json_t *gate;
    size_t i;

    json_array_foreach(json_object_get(spec, "schedulingGates"), i, gate)
    {
        if (strcmp(kube_text(gate, "name"), KUBE_QUEUE) == 0)
            pod->is_gated = true;
        else
            pod->is_gated_by_others = true;
    }
}

/* The first container that failed says how the pod ended. */
static void read_exits(struct kube_pod *pod, const json_t *status)
{
    json_t *container;
    size_t i;

    json_array_foreach(json_object_get(status, "containerStatuses"), i, container)
    {
        const json_t *state = json_object_get(container, "state");
        const json_t *end = json_object_get(state, "terminated");
        int code = (int)kube_number(end, "exitCode", 0);
        if (json_object_get(state, "running") || end)
            pod->is_started = true;
        if (!end || code == 0 || pod->exit_code != 0)
            continue;
        pod->exit_code = code;
        pod->was_oom = strcmp(kube_text(end, "reason"), "OOMKilled") == 0;
        pod->signal = (int)kube_number(end, "signal", code > SIGNAL_BASE ? code - SIGNAL_BASE : 0);
        free(pod->reason);
        pod->reason = mem_string(kube_text(end, "message"));
    }
}

/* A container that cannot start, for another reason than that its turn has not come. */
static void read_waits(struct kube_pod *pod, const json_t *containers)
{
    static const char *const usual[] = { "", "ContainerCreating", "PodInitializing", NULL };
    static const char *const hopeless[] = { "InvalidImageName", "ErrImageNeverPull", NULL };
    json_t *container;
    size_t i;

    json_array_foreach(containers, i, container)
    {
        const json_t *waiting = kube_at(container, "state", "waiting", NULL);
        const char *reason = kube_text(waiting, "reason"), *words = kube_text(waiting, "message");
        if (string_is_in(reason, usual) || pod->waits[0])
            continue;
        free(pod->waits);
        pod->waits = mem_printf("%s%s%s", reason, words[0] ? ": " : "", words);
        pod->is_hopeless = string_is_in(reason, hopeless);
    }
}

static void read_status(struct kube_pod *pod, const json_t *status)
{
    static const char *const taken_away[] = { "Evicted",
                                              "NodeLost",
                                              "Shutdown",
                                              "Terminated",
                                              "NodeShutdown",
                                              "NodeAffinity",
                                              "UnexpectedAdmissionError",
                                              NULL };
    const char *phase = kube_text(status, "phase"), *reason = kube_text(status, "reason");
    json_t *condition;
    size_t i;

    pod->phase = strcmp(phase, "Running") == 0     ? KUBE_RUNNING
                 : strcmp(phase, "Succeeded") == 0 ? KUBE_SUCCEEDED
                 : strcmp(phase, "Failed") == 0    ? KUBE_FAILED
                                                   : KUBE_PENDING;
    pod->is_started = pod->phase != KUBE_PENDING;
    read_exits(pod, status);
    read_waits(pod, json_object_get(status, "initContainerStatuses"));
    read_waits(pod, json_object_get(status, "containerStatuses"));
    if (pod->phase == KUBE_FAILED && pod->exit_code == 0)
        pod->exit_code = 1;
    pod->is_evicted = pod->phase == KUBE_FAILED &&
                      (string_is_in(reason, taken_away) || string_starts(reason, "OutOf"));
    json_array_foreach(json_object_get(status, "conditions"), i, condition)
    {
        if (strcmp(kube_text(condition, "type"), "DisruptionTarget") == 0 &&
            strcmp(kube_text(condition, "status"), "True") == 0)
            pod->is_evicted = true;
        if (strcmp(kube_text(condition, "type"), "PodScheduled") == 0)
            pod->is_unschedulable = strcmp(kube_text(condition, "reason"), KUBE_UNSCHEDULABLE) == 0;
    }
    if (!pod->reason[0]) {
        const char *message = kube_text(status, "message");
        free(pod->reason);
        pod->reason = mem_printf("%s%s%s", reason, reason[0] && message[0] ? ": " : "", message);
    }
}

/* Part of a GPU: KUBE_SHARE, or the annotations of KAI and Run:ai. New. */
static char *share_of(const json_t *notes)
{
    const char *share = kube_text(notes, KUBE_SHARE), *memory = kube_text(notes, "gpu-memory");

    if (share[0])
        return mem_string(share);
    return memory[0] ? mem_printf("mem=%sM", memory) : mem_string(kube_text(notes, "gpu-fraction"));
}

static void read_share(struct kube_pod *pod, const json_t *notes)
{
    pod->share = share_of(notes);
    if (!pod->share[0])
        return;
    if (pod->device_count > 0)
        refuse(pod, mem_string("it requests GPUs and a part of one"));
    pod->device_count = 1;
    free(pod->device);
    pod->device = mem_string("nvidia.com/gpu");
}

static void check_gang(struct kube_pod *pod, const json_t *notes)
{
    if (pod->group.kind == KUBE_GROUP_TARN && pod->group.size == 0)
        refuse(pod,
               mem_printf("annotation " KUBE_GANG_SIZE ": '%s': expected a number, 1 to 100000",
                          kube_text(notes, KUBE_GANG_SIZE)));
}

const char *kube_stated_queue(const json_t *about)
{
    static const char *const labels[] = { KUBE_QUEUE, "kueue.x-k8s.io/queue-name",
                                          "kai.scheduler/queue", "runai/queue" };
    const char *queue = "";

    for (size_t i = 0; i < COUNT_OF(labels) && !queue[0]; i++)
        queue = kube_text(json_object_get(about, "labels"), labels[i]);
    if (!queue[0])
        queue =
            kube_text(json_object_get(about, "annotations"), "scheduling.volcano.sh/queue-name");
    return queue;
}

static int8_t read_preemptible(const json_t *about)
{
    const char *text = kube_text(json_object_get(about, "annotations"), KUBE_PREEMPTIBLE);

    return (int8_t)(strcmp(text, "true") == 0 ? 1 : strcmp(text, "false") == 0 ? 0 : -1);
}

void *kube_pod_read(const json_t *object)
{
    const json_t *about = json_object_get(object, "metadata");
    const json_t *spec = json_object_get(object, "spec");
    const json_t *notes = json_object_get(about, "annotations");

    if (!kube_text(about, "uid")[0] || !spec)
        return NULL;
    struct kube_pod *pod = mem_zero(1, sizeof(*pod));
    *pod = (struct kube_pod){
        .uid = mem_string(kube_text(about, "uid")),
        .namespace = mem_string(kube_text(about, "namespace")),
        .name = mem_string(kube_text(about, "name")),
        .version = mem_string(kube_text(about, "resourceVersion")),
        .node = mem_string(kube_text(spec, "nodeName")),
        .scheduler = mem_string(kube_text(spec, "schedulerName")),
        .queue = mem_string(kube_stated_queue(about)),
        .is_deleting = json_object_get(about, "deletionTimestamp") != NULL,
        .priority = (int32_t)kube_number(spec, "priority", 0),
        .device = mem_string(""),
        .limit_s = kube_number(spec, "activeDeadlineSeconds", 0),
        .grace_s = kube_number(spec, "terminationGracePeriodSeconds", GRACE_S),
        .estimate = mem_string(kube_text(notes, KUBE_ESTIMATE)),
        .checkpoint = mem_string(kube_text(notes, KUBE_CHECKPOINT)),
        .preemptible = read_preemptible(about),
        .gpus = mem_string(kube_text(notes, KUBE_GPUS)),
        .output = mem_string(kube_text(notes, KUBE_OUTPUT)),
        .arrival = mem_string(kube_text(notes, KUBE_ARRIVAL)),
        .reason = mem_string(""),
        .waits = mem_string(""),
        .filter = mem_string(""),
        .shares_with = mem_string(""),
    };
    kube_group_read(object, &pod->group);
    read_requests(pod, spec);
    check_gang(pod, notes);
    read_share(pod, notes);
    pod->fits = kube_fits_read(spec);
    read_claims(pod, spec);
    read_resource_claims(pod, spec, json_object_get(object, "status"));
    pod->labels = kube_labels_read(json_object_get(about, "labels"));
    pod->rules = kube_rules_read(spec, pod);
    read_ports(pod, json_object_get(spec, "containers"));
    read_alike(pod);
    read_gates(pod, spec);
    read_status(pod, json_object_get(object, "status"));
    pod->is_marked = read_mark(kube_text(notes, KUBE_ATTEMPT), &pod->mark);
    return pod;
}

void kube_pod_destroy(void *value)
{
    struct kube_pod *pod = value;

    if (!pod)
        return;
    char *const owned[] = { pod->uid,     pod->namespace,   pod->name,       pod->version,
                            pod->node,    pod->scheduler,   pod->queue,      pod->device,
                            pod->refused, pod->estimate,    pod->reason,     pod->gpus,
                            pod->output,  pod->share,       pod->arrival,    pod->waits,
                            pod->filter,  pod->shares_with, pod->unresolved, pod->checkpoint };
    for (size_t i = 0; i < COUNT_OF(owned); i++)
        free(owned[i]);
    kube_group_release(&pod->group);
    json_decref(pod->fits);
    json_decref(pod->claims);
    json_decref(pod->resource_claims);
    json_decref(pod->places);
    json_decref(pod->labels);
    json_decref(pod->others);
    json_decref(pod->rules);
    free(pod);
}
