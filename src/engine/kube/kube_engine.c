/* SPDX-License-Identifier: Apache-2.0 */
/* The engine kube: the scheduler and queue of a Kubernetes cluster. It watches nodes and pods; the
 * pods of a workload arrive as one job of tarn, and its start binds them to their nodes. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/exporter/node_readings.h"
#include "engine/instance.h"
#include "engine/kube/client/kube_access.h"
#include "engine/kube/client/kube_client.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/client/kube_lease.h"
#include "engine/kube/kube_attempts.h"
#include "engine/kube/kube_claims.h"
#include "engine/kube/kube_dra.h"
#include "engine/kube/kube_faults.h"
#include "engine/kube/kube_mirrors.h"
#include "engine/kube/kube_nodes.h"
#include "engine/kube/kube_workloads.h"
#include "engine/kube/objects/kube_job.h"
#include "engine/kube/objects/kube_names.h"
#include "engine/kube/objects/kube_rule.h"
#include "engine/kube/provision/kube_provision.h"
#include "io/log.h"

enum {
    TICK_MS = 500,
    SOON_MS = 5,       /* after a change: those that come together are handled together */
    REPORT_ALL_S = 45, /* core/engine.h: at least once a minute */
    DRA_MS = 10000,    /* without the right to see slices and claims, the rest goes on */
};

/* Whose resources a pod uses on its node. */
enum charge { CHARGE_NONE, CHARGE_OURS, CHARGE_FOREIGN };

struct known_pod {
    struct kube_pod *pod;
    enum charge charge;
    bool is_seen, is_expected; /* expected: by kube_attempts_expects() */
};

struct kube_engine {
    struct engine engine;
    struct engine_options options;
    struct kube_client *client;
    struct kube_lease *lease;
    struct kube_nodes *nodes;
    struct kube_claims *claims;
    struct kube_dra *dra;
    struct kube_events *events;
    struct kube_mirrors *mirrors;
    struct kube_provision *provision;
    struct kube_workloads *workloads;
    struct kube_attempts *attempts;
    struct kube_faults *faults;
    struct node_readings *readings;
    uv_timer_t timer;
    char instance[ENGINE_INSTANCE_SIZE];
    struct map pods;                 /* hash of the UID -> struct known_pod */
    LIST(struct known_pod *) listed; /* all, while a list is compared */
    bool has_nodes, has_pods, has_jobs, has_namespaces, is_synced;
    bool has_new_claims;   /* pods with ResourceClaims are looked at again */
    uint64_t in_charge_at; /* uv_now() */
    size_t expected_count; /* pods; at least */
    uint64_t reported_at;
    char problem[ERROR_TEXT_SIZE], told[2 * ERROR_TEXT_SIZE], lease_trouble[ERROR_TEXT_SIZE];
};

static struct kube_engine only;

static void on_tick(uv_timer_t *timer);

/* ---- pods ---- */

static uint64_t key_of(const struct kube_pod *pod)
{
    return map_hash(pod->uid, strlen(pod->uid));
}

static struct known_pod *find_pod(const struct kube_pod *pod)
{
    uint64_t at;

    return map_get(&only.pods, key_of(pod), &at) ? (struct known_pod *)(uintptr_t)at : NULL;
}

static void soon(void)
{
    if (uv_timer_get_due_in(&only.timer) > SOON_MS)
        uv_timer_start(&only.timer, on_tick, SOON_MS, TICK_MS);
}

static void charge(struct known_pod *known, enum charge to)
{
    if (known->charge == to)
        return;
    if (known->charge != CHARGE_NONE)
        kube_nodes_charge(only.nodes, known->pod, false, known->charge == CHARGE_OURS);
    if (to != CHARGE_NONE)
        kube_nodes_charge(only.nodes, known->pod, true, to == CHARGE_OURS);
    known->charge = to;
}

static bool is_waiting(const struct kube_pod *pod)
{
    bool is_for_tarn = strcmp(pod->scheduler, KUBE_SCHEDULER) == 0 ||
                       watch_names_have(only.options.rules->kube_schedulers, pod->scheduler);

    return is_for_tarn && !pod->node[0] && !pod->is_deleting && pod->phase == KUBE_PENDING;
}

/* Whose it is, and what it has on its node. */
static void sort_pod(struct known_pod *known)
{
    const struct kube_pod *pod = known->pod;
    bool is_over = pod->phase == KUBE_SUCCEEDED || pod->phase == KUBE_FAILED;

    charge(known, CHARGE_NONE);
    if (is_over) /* another pod may be the first to get what it shared */
        kube_dra_forget(only.dra, pod);
    else if (pod->node[0] || is_waiting(pod))
        kube_dra_resolve(only.dra, known->pod);
    bool is_ours = kube_attempts_see(only.attempts, pod);
    bool is_own = pod->is_marked && !pod->arrival[0]; /* of a job of tarn, not bound yet */
    known->is_expected = !is_ours && kube_attempts_expects(only.attempts, pod);
    if (!is_ours && is_waiting(pod) && !is_own)
        kube_workloads_see(only.workloads, pod);
    else
        kube_workloads_gone(only.workloads, pod);
    if (pod->node[0] && !is_over)
        charge(known, is_ours || known->is_expected ? CHARGE_OURS : CHARGE_FOREIGN);
    only.expected_count += known->is_expected;
}

/* Pods that were expected: their attempt has been started, or is not expected any more. And with
 * has_left, pods that are still there, and no members any more. */
static void sort_again(bool has_left)
{
    if (only.expected_count == 0 && !has_left)
        return;
    only.expected_count = 0;
    LIST_EACH (struct known_pod *, at, &only.listed) {
        struct known_pod *known = *at;
        bool is_left = has_left && known->charge == CHARGE_OURS &&
                       !kube_attempts_have(only.attempts, known->pod);
        if (known->is_expected || is_left)
            sort_pod(known);
    }
}

/* What the claims of waiting pods request may be known now, or differ. */
static void look_at_claims(void)
{
    if (!only.has_new_claims)
        return;
    only.has_new_claims = false;
    LIST_EACH (struct known_pod *, at, &only.listed) {
        struct known_pod *known = *at;
        if (known->pod->resource_claims && !known->pod->node[0])
            sort_pod(known);
    }
}

/* It waits for tarn, and no attempt has it. */
static bool is_stray(const char *uid)
{
    uint64_t at;
    bool is_known = map_get(&only.pods, map_hash(uid, strlen(uid)), &at);
    const struct kube_pod *pod = is_known ? ((struct known_pod *)(uintptr_t)at)->pod : NULL;

    return pod && is_waiting(pod) && !kube_attempts_have(only.attempts, pod) &&
           kube_attempts_are_settled(only.attempts);
}

/* For rules about other pods: all that are on a node, or will be. */
static void assume_all(void *user)
{
    (void)user;
    LIST_EACH (struct known_pod *, at, &only.listed) {
        const struct known_pod *known = *at;
        const char *node = known->charge != CHARGE_NONE
                               ? known->pod->node
                               : kube_attempts_node(only.attempts, known->pod);
        if (node)
            kube_nodes_assume(only.nodes, known->pod, node, true);
    }
}

/* The conditions of a pod that tarn has stay known. */
static void need(const struct kube_pod *pod)
{
    const char *kind;

    kube_nodes_label(only.nodes, pod, NULL);
    if (!pod->node[0])
        json_decref(kube_nodes_forbid(only.nodes, pod, NULL));
    if (pod->filter[0])
        kube_nodes_device_label(only.nodes, pod, &kind, NULL);
}

/* The configuration may say now that tarn schedules them. The conditions of all pods that tarn has
 * are still needed. */
static void look_at_all(void)
{
    LIST_EACH (struct known_pod *, at, &only.listed) {
        struct known_pod *known = *at;
        if (!known->pod->node[0])
            sort_pod(known);
        if (known->charge == CHARGE_OURS || is_waiting(known->pod))
            need(known->pod);
    }
    kube_workloads_need(only.workloads);
}

static void see_pod(struct kube_pod *pod)
{
    struct known_pod *known = find_pod(pod);

    if (!known) {
        known = mem_zero(1, sizeof(*known));
        map_set(&only.pods, key_of(pod), (uint64_t)(uintptr_t)known);
        list_add(&only.listed, known);
    }
    known->is_seen = true;
    struct kube_pod *before = known->pod;
    charge(known, CHARGE_NONE);
    if (before) /* it may have belonged to another workload */
        kube_workloads_gone(only.workloads, before);
    known->pod = pod;
    sort_pod(known);
    kube_pod_destroy(before);
}

/* Takes the pod over: its last state. */
static void lose_pod(struct kube_pod *pod)
{
    struct known_pod *known = find_pod(pod);

    if (!known) {
        kube_pod_destroy(pod);
        return;
    }
    charge(known, CHARGE_NONE);
    struct kube_pod *before = known->pod;
    if (before)
        kube_workloads_gone(only.workloads, before);
    known->pod = pod == before ? NULL : pod;
    if (!kube_attempts_gone(only.attempts, pod))
        kube_workloads_gone(only.workloads, pod);
    map_remove(&only.pods, key_of(pod));
    for (size_t i = 0; i < only.listed.count; i++) {
        if (only.listed.items[i] != known)
            continue;
        only.listed.items[i] = only.listed.items[--only.listed.count];
        break;
    }
    if (before != pod)
        kube_pod_destroy(before);
    kube_dra_forget(only.dra, pod);
    kube_pod_destroy(pod);
    free(known);
}

static void end_list(void)
{
    for (size_t i = only.listed.count; i-- > 0;) {
        struct known_pod *known = only.listed.items[i];
        if (!known->is_seen)
            lose_pod(known->pod);
    }
    only.has_pods = true;
}

static void on_pod(void *user, enum kube_event event, void *object)
{
    (void)user;
    switch (event) {
    case KUBE_LIST_BEGINS:
        LIST_EACH (struct known_pod *, known, &only.listed)
            (*known)->is_seen = false;
        break;
    case KUBE_OBJECT:
        see_pod(object);
        break;
    case KUBE_GONE:
        lose_pod(object);
        break;
    case KUBE_LIST_ENDS:
        end_list();
        break;
    }
    soon();
}

static void on_node(void *user, enum kube_event event, void *object)
{
    (void)user;
    switch (event) {
    case KUBE_LIST_BEGINS:
        kube_nodes_begin(only.nodes);
        break;
    case KUBE_OBJECT:
        kube_nodes_see(only.nodes, object);
        break;
    case KUBE_GONE:
        kube_nodes_gone(only.nodes, object);
        break;
    case KUBE_LIST_ENDS:
        kube_nodes_end(only.nodes);
        only.has_nodes = true;
        break;
    }
    soon();
}

static void on_job(void *user, enum kube_event event, void *object)
{
    struct kube_job *job = object;

    (void)user;
    switch (event) {
    case KUBE_LIST_BEGINS:
        kube_workloads_begin_jobs(only.workloads);
        break;
    case KUBE_OBJECT:
        kube_workloads_see_job(only.workloads, job);
        break;
    case KUBE_GONE:
        kube_workloads_lose_job(only.workloads, job->key);
        kube_job_destroy(job);
        break;
    case KUBE_LIST_ENDS:
        kube_workloads_end_jobs(only.workloads);
        only.has_jobs = true;
        break;
    }
    soon();
}

struct space {
    char *name;
    json_t *labels; /* kube_labels_read() */
    bool is_managed;
};

static void *read_namespace(const json_t *object)
{
    const json_t *about = json_object_get(object, "metadata");
    const json_t *labels = json_object_get(about, "labels");
    struct space *space = mem_zero(1, sizeof(*space));

    space->name = mem_string(kube_text(about, "name"));
    space->labels = kube_labels_read(labels);
    space->is_managed = strcmp(kube_text(labels, KUBE_MANAGED), "true") == 0;
    return space;
}

static void release_namespace(void *object)
{
    struct space *space = object;

    if (!space)
        return;
    free(space->name);
    json_decref(space->labels);
    free(space);
}

static void on_namespace(void *user, enum kube_event event, void *object)
{
    const struct space *space = object;
    bool is_there = event == KUBE_OBJECT;

    (void)user;
    if (space) {
        kube_workloads_manage(only.workloads, space->name, space->is_managed && is_there);
        kube_rules_see_space(kube_nodes_rules(only.nodes), space->name,
                             is_there ? space->labels : NULL);
    }
    only.has_namespaces |= event == KUBE_LIST_ENDS;
    release_namespace(object);
    soon();
}

static void on_problem(void *user, const char *words)
{
    (void)user;
    if (words[0])
        log_line(LOG_WARNING, "a request to Kubernetes failed reason='%s'", words);
    else
        log_line(LOG_INFO, "Kubernetes answers again");
    snprintf(only.problem, sizeof(only.problem), "%s%s", words[0] ? "Kubernetes: " : "", words);
}

/* Why this daemon does nothing is in the log, too: once for each reason. */
static void note_lease(void)
{
    const char *trouble = kube_lease_trouble(only.lease);

    if (!trouble || strcmp(trouble, only.lease_trouble) == 0)
        return;
    snprintf(only.lease_trouble, sizeof(only.lease_trouble), "%s", trouble);
    log_line(LOG_NOTICE, "is not in charge of the cluster reason='%s'", trouble);
}

/* Which GPU the kubelet gave to a pod. */
static void on_given(void *user, const char *uuid, const char *pod)
{
    (void)user;
    if (!kube_nodes_are_exact(only.nodes))
        kube_attempts_give(only.attempts, uuid, pod);
}

static void on_tick(uv_timer_t *timer)
{
    uint64_t now = uv_now(timer->loop);
    bool is_all = now - only.reported_at >= REPORT_ALL_S * 1000;

    note_lease();
    if (!only.has_nodes || !only.has_pods || !only.has_jobs || !only.has_namespaces)
        return;
    if (!kube_dra_is_known(only.dra) && now - only.in_charge_at < DRA_MS)
        return;
    look_at_claims();
    if (!only.is_synced) {
        only.is_synced = true;
        kube_attempts_synced(only.attempts);
        log_line(LOG_INFO, "the cluster is known pods=%zu", only.listed.count);
        malloc_trim(0); /* what the lists took while they were read */
    }
    sort_again(kube_attempts_tick(only.attempts));
    kube_dra_tick(only.dra, now, is_stray);
    if (is_all)
        look_at_all();
    kube_nodes_report(only.nodes, is_all);
    kube_nodes_follow(only.nodes, only.readings, only.options.rules->kube_exporter);
    if (is_all)
        only.reported_at = now;
    kube_faults_tick(only.faults, now);
    kube_provision_tick(only.provision);
    kube_workloads_tick(only.workloads);
}

/* ---- engine_ops ---- */

static int start(struct engine *engine, const struct engine_launch *members, uint32_t count,
                 struct error *err)
{
    (void)engine;
    int code = kube_attempts_start(only.attempts, members, count, err);
    sort_again(false);
    soon(); /* for claims */
    return code;
}

static void stop(struct engine *engine, const struct engine_attempt *which, usec_t grace)
{
    (void)engine;
    kube_attempts_stop(only.attempts, which, grace);
}

static void recover(struct engine *engine, const struct engine_attempt *which,
                    const bool *was_started, bool *ret_found)
{
    (void)engine;
    kube_attempts_recover(only.attempts, which, was_started, ret_found);
}

static void forget(struct engine *engine, const struct engine_attempt *which)
{
    (void)engine;
    kube_attempts_forget(only.attempts, which);
}

static void answer(struct engine *engine, const char *name, uint64_t job, const struct error *err,
                   bool lacks_nodes)
{
    (void)engine;
    kube_workloads_answer(only.workloads, name, job, err, lacks_nodes);
}

static void note(struct engine *engine, const char *name, uint64_t job, const char *words,
                 enum engine_fate fate)
{
    (void)engine;
    kube_workloads_note(only.workloads, name, job, words, fate);
}

static bool show(struct engine *engine, const struct engine_view *view)
{
    (void)engine;
    return kube_workloads_show(only.workloads, view);
}

static void show_queues(struct engine *engine, const struct engine_queue *queues, size_t count)
{
    (void)engine;
    kube_mirrors_show_queues(only.mirrors, queues, count);
}

static const char *trouble(struct engine *engine, uint64_t job, uint32_t attempt)
{
    AUTO_FREE char *request = attempt == 0 ? kube_workloads_request(only.workloads, job) : NULL;
    const char *reason = attempt > 0 ? kube_attempts_trouble(only.attempts, job, attempt) : request;
    const char *lease = kube_lease_trouble(only.lease);

    (void)engine;
    if (only.problem[0])
        reason = only.problem;
    else if (lease)
        reason = lease;
    if (!reason)
        return NULL;
    bool is_ours = string_starts(reason, "Kubernetes: ");
    snprintf(only.told, sizeof(only.told), "%s%s", is_ours ? "" : "Kubernetes: ", reason);
    return only.told;
}

static char *spell(struct engine *engine, const char *words)
{
    (void)engine;
    return kube_nodes_spell(only.nodes, words);
}

static void faulty(struct engine *engine, const char *node, const char *reason)
{
    (void)engine;
    if (!kube_nodes_are_exact(only.nodes))
        kube_faults_set(only.faults, node, reason);
}

static void destroy(struct engine *engine)
{
    struct kube_call last;

    (void)engine;
    uv_timer_stop(&only.timer);
    bool is_held = kube_lease_give_up(only.lease, &last);
    kube_client_destroy(only.client, is_held ? &last : NULL);
    node_readings_destroy(only.readings);
    kube_faults_destroy(only.faults);
    kube_lease_destroy(only.lease);
    kube_attempts_destroy(only.attempts);
    kube_workloads_destroy(only.workloads);
    kube_provision_destroy(only.provision);
    kube_nodes_destroy(only.nodes);
    kube_dra_destroy(only.dra);
    kube_claims_destroy(only.claims);
    kube_events_destroy(only.events);
    kube_mirrors_destroy(only.mirrors);
    for (size_t i = 0; i < only.listed.count; i++) {
        kube_pod_destroy(only.listed.items[i]->pod);
        free(only.listed.items[i]);
    }
    list_release(&only.listed);
    map_release(&only.pods);
}

/* ---- creation ---- */

static void on_claim(void *user, enum kube_event event, void *object)
{
    kube_claims_see(only.claims, (enum kube_claims_kind)(uintptr_t)user, event, object);
}

static void on_touched(void *user, const char *node)
{
    (void)user;
    kube_nodes_touch(only.nodes, node);
}

static void on_claims(void *user)
{
    (void)user;
    only.has_new_claims = true;
    soon();
}

/* Without the right to see them, only pods with volumes wait. */
static void watch_claims(void)
{
    static const struct {
        const char *path;
        void *(*read)(const json_t *object);
    } kinds[KUBE_CLAIMS_KINDS] = {
        [KUBE_CLAIM] = { "/api/v1/persistentvolumeclaims", kube_claim_read },
        [KUBE_VOLUME] = { "/api/v1/persistentvolumes", kube_volume_read },
        [KUBE_STORAGE_CLASS] = { "/apis/storage.k8s.io/v1/storageclasses",
                                 kube_storage_class_read },
    };

    for (size_t i = 0; i < KUBE_CLAIMS_KINDS; i++)
        kube_client_watch(only.client, &(struct kube_watch){ .path = kinds[i].path,
                                                             .read = kinds[i].read,
                                                             .on_event = on_claim,
                                                             .release = kube_claim_destroy,
                                                             .user = (void *)(uintptr_t)i });
}

/* Whether there are mirrors is known before the first workload is. */
static void on_looked(void *user)
{
    (void)user;
    watch_claims();
    kube_dra_watch(only.dra);
    kube_client_watch(only.client, &(struct kube_watch){ .path = "/api/v1/nodes",
                                                         .read = kube_node_read,
                                                         .on_event = on_node,
                                                         .release = kube_node_destroy });
    kube_client_watch(only.client, &(struct kube_watch){ .path = "/apis/batch/v1/jobs",
                                                         .read = kube_job_read,
                                                         .on_event = on_job,
                                                         .release = kube_job_destroy });
    kube_client_watch(only.client, &(struct kube_watch){ .path = "/api/v1/namespaces",
                                                         .read = read_namespace,
                                                         .on_event = on_namespace,
                                                         .release = release_namespace });
    kube_client_watch(only.client, &(struct kube_watch){ .path = "/api/v1/pods",
                                                         .read = kube_pod_read,
                                                         .on_event = on_pod,
                                                         .release = kube_pod_destroy });
}

/* This daemon is in charge now. */
static void on_charge(void *user)
{
    (void)user;
    only.in_charge_at = uv_now(only.options.loop);
    kube_mirrors_look(only.mirrors, on_looked, NULL);
}

/* A file that the configuration names may be corrected only while the daemon runs: what is wrong
 * with it becomes the answer to every request. */
static int open_access(const char *path, struct kube_access **ret, struct error *err)
{
    int code = kube_access_open(path, ret, err);

    if (code == 0) {
        log_line(LOG_INFO, "uses the cluster server=%s", kube_access_server(*ret));
    } else if (path[0]) {
        log_line(LOG_ERR, "has no cluster reason='%s'", err->text);
        *ret = kube_access_refuse(err);
        code = 0;
    }
    return code;
}

static int create(const struct engine_options *options, struct engine **ret, struct error *err)
{
    static const struct engine_ops ops = { .name = "kube",
                                           .start = start,
                                           .stop = stop,
                                           .recover = recover,
                                           .forget = forget,
                                           .answer = answer,
                                           .note = note,
                                           .show = show,
                                           .show_queues = show_queues,
                                           .trouble = trouble,
                                           .spell = spell,
                                           .faulty = faulty,
                                           .destroy = destroy };
    struct kube_access *access = NULL;

    only.engine = (struct engine){ &ops,
                                   { .starts_whole = true,
                                     .has_own_nodes = true,
                                     .has_output = true,
                                     .has_readings = true,
                                     .has_exact_devices = options->at_start->kube_exact,
                                     .has_fractions = options->at_start->kube_exact } };
    only.options = *options;
    int code = engine_instance_open(options->state_dir, "kube", only.instance, err);
    if (code == 0)
        code = open_access(options->at_start->kube_kubeconfig, &access, err);
    if (code < 0)
        return error_prefix(err, code, "engine kube");
    code = kube_client_create(options->loop, access, on_problem, NULL, &only.client, err);
    if (code < 0)
        return code;
    code = node_readings_create(options->loop, &options->reports, &only.readings, err);
    if (code < 0)
        return error_prefix(err, code, "engine kube");
    node_readings_on_pod(only.readings, on_given, NULL);
    const char *namespace = options->at_start->kube_namespace;
    only.claims = kube_claims_create();
    only.dra = kube_dra_create(
        only.client, &(struct kube_dra_told){ .touched = on_touched, .changed = on_claims });
    only.nodes = kube_nodes_create(options, only.claims, only.dra);
    kube_nodes_on_each(only.nodes, assume_all, NULL);
    only.faults = kube_faults_create(only.client, only.nodes, only.instance);
    only.events = kube_events_create(only.client, only.instance);
    only.mirrors = kube_mirrors_create(only.client);
    only.provision = kube_provision_create(&only.options, only.client);
    only.workloads = kube_workloads_create(options, only.client, only.nodes, only.events,
                                           only.mirrors, only.provision);
    only.attempts = kube_attempts_create(
        options, only.instance, namespace[0] ? namespace : kube_access_namespace(access),
        only.client, only.nodes, only.workloads, only.events, only.dra);
    uv_timer_init(options->loop, &only.timer);
    uv_timer_start(&only.timer, on_tick, TICK_MS, TICK_MS);
    only.lease = kube_lease_create(options->loop, only.client, only.instance, on_charge, NULL);
    *ret = &only.engine;
    return 0;
}

extern const struct engine_module tarn_engine_module;
const struct engine_module tarn_engine_module = { ENGINE_MODULE_VERSION, create };
