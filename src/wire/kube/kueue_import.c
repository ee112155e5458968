/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/kube/kueue_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char cohort[] = "Cohort", cluster[] = "ClusterQueue", local[] = "LocalQueue";

enum { PRIORITY_MOST = 1000 };

struct flavor {
    const char *name;
    char *model; /* NULL: its nodes are not told apart by their GPUs */
};

struct kueue {
    struct kube_queues *queues;
    LIST(struct flavor) flavors;
    LIST(const struct kube_object *) classes; /* of priorities */
};

static const struct kube_note queue_notes[] = {
    { "queueingStrategy", "BestEffortFIFO", "the order is one of all queues: see `order: fifo`" },
    { "admissionChecks", NULL, "tarn has no admission checks" },
    { "admissionChecksStrategy", NULL, "tarn has no admission checks" },
    { "flavorFungibility", NULL, "a job starts with the first model of its queue that is free" },
    { "stopPolicy", "None", "no queue of tarn is stopped; this one starts jobs" },
    { "admissionScope", NULL, "tarn orders queues by their use, and jobs inside of them" },
};

static const struct kube_note preemption_notes[] = {
    { "borrowWithinCohort", NULL, "tarn preempts for a queue up to its guarantee" },
};

static const struct kube_note flavor_notes[] = {
    { "nodeTaints", NULL, "pods must tolerate the taints of nodes themselves" },
    { "tolerations", NULL, "tarn adds no tolerations to pods: write them in the pods" },
    { "topologyName", NULL, "tarn reads racks and blocks from the labels of nodes" },
};

/* ---- flavors ---- */

static const struct flavor *flavor_of(const struct kueue *kueue, const char *name)
{
    LIST_EACH (const struct flavor, flavor, &kueue->flavors) {
        if (strcmp(flavor->name, name) == 0)
            return flavor;
    }
    return NULL;
}

static const struct flavor *flavor_of_model(const struct kueue *kueue, const char *model)
{
    LIST_EACH (const struct flavor, flavor, &kueue->flavors) {
        if (string_equal(flavor->model, model))
            return flavor;
    }
    return NULL;
}

/* Quotas of tarn are by model: what else the labels tell apart is lost. */
static void report_labels(struct kueue *kueue, const struct kube_object *object, const char *model)
{
    const size_t count = json_object_size(reader_get(object->spec, "nodeLabels"));
    const struct flavor *same = model ? flavor_of_model(kueue, model) : NULL;
    AUTO_FREE char *words = NULL;

    if (count > 0 && !model)
        words = mem_string("no model of GPU: its amounts are added to those of other flavors; see "
                           "`where` of pools");
    else if (same)
        words = mem_printf("the model is %s, as of flavor %s: quotas are by model, so their "
                           "amounts are added; see `where` of pools",
                           model, same->name);
    else if (count > 1)
        words = mem_printf("quotas are by model, here %s: for the other labels, see `where` of "
                           "pools",
                           model);
    if (words)
        kube_report(kueue->queues, object, object->spec, "nodeLabels", words);
}

static void add_flavor(struct kueue *kueue, const struct kube_object *object)
{
    const json_t *labels = reader_get(object->spec, "nodeLabels");
    struct flavor flavor = { .name = object->name, .model = kube_model_of_labels(labels) };

    report_labels(kueue, object, flavor.model);
    kube_report_keys(kueue->queues, object, object->spec, flavor_notes, COUNT_OF(flavor_notes));
    list_add(&kueue->flavors, flavor);
}

/* ---- quota ---- */

static void add_model(struct kube_queue *queue, const char *model)
{
    LIST_EACH (const char *, known, &queue->models) {
        if (strcmp(*known, model) == 0)
            return;
    }
    list_add(&queue->models, model);
}

static const char *const no_devices[] = { "pods", "ephemeral-storage", NULL };

/* {name: nvidia.com/gpu, nominalQuota: 8, borrowingLimit: 4, lendingLimit: 2} */
static void add_resource(struct kueue *kueue, struct kube_queue *queue, const json_t *resource,
                         const char *model)
{
    struct kube_queues *queues = kueue->queues;
    const struct kube_object *object = queue->object;
    const char *name = json_string_value(reader_get(resource, "name"));
    int64_t nominal = 0, borrow = 0, lend = 0;

    if (!name) {
        kube_fail(queues, object, resource, "name", "the name of a resource");
        return;
    }
    struct kube_amount *amount =
        kube_amounts_of(queues, &queue->quota, object, resource, name, model);
    queue->has_unknown |= !amount && !string_is_in(name, no_devices);
    if (!amount)
        return;
    if (!kube_quantity(queues, object, resource, "nominalQuota", amount, &nominal)) {
        kube_fail(queues, object, resource, "nominalQuota", "a quantity such as 8, 500m or 36Gi");
        return;
    }
    bool has_borrow = kube_quantity(queues, object, resource, "borrowingLimit", amount, &borrow);
    bool has_lend = kube_quantity(queues, object, resource, "lendingLimit", amount, &lend);
    amount->has_nominal = true;
    amount->nominal += nominal;
    amount->borrow += borrow;
    amount->lend += has_lend && lend < nominal ? lend : nominal;
    amount->borrows_freely |= !has_borrow;
    amount->has_lend |= has_lend;
    bool is_slice = string_starts(amount->resource, "mig-");
    if (is_slice || (model && strcmp(amount->resource, model) == 0))
        add_model(queue, is_slice ? strchr(name, '/') + 1 : model);
}

static void add_flavor_quotas(struct kueue *kueue, struct kube_queue *queue, const json_t *quotas)
{
    const char *name = json_string_value(reader_get(quotas, "name"));
    const json_t *resources = reader_get(quotas, "resources");

    if (!name || !json_is_array(resources)) {
        kube_fail(kueue->queues, queue->object, quotas, name ? "resources" : "name",
                  name ? "a list of resources" : "the name of a flavor");
        return;
    }
    const struct flavor *flavor = flavor_of(kueue, name);
    if (!flavor)
        kube_report(kueue->queues, queue->object, quotas, "name",
                    "there is no such ResourceFlavor: no model of GPU");
    for (size_t i = 0; i < json_array_size(resources); i++)
        add_resource(kueue, queue, json_array_get(resources, i), flavor ? flavor->model : NULL);
}

/* If some flavors are no model, jobs may use any. */
static void settle_models(struct kube_queue *queue)
{
    LIST_EACH (const struct kube_amount, amount, &queue->quota.all) {
        if (strcmp(amount->resource, "gpus") == 0)
            queue->models.count = 0;
    }
}

static void add_quotas(struct kueue *kueue, struct kube_queue *queue)
{
    const json_t *groups = reader_get(queue->object->spec, "resourceGroups");

    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *flavors = reader_get(json_array_get(groups, i), "flavors");
        for (size_t k = 0; k < json_array_size(flavors); k++)
            add_flavor_quotas(kueue, queue, json_array_get(flavors, k));
    }
    settle_models(queue);
    queue->weight = kube_weight(kueue->queues, queue->object,
                                reader_get(queue->object->spec, "fairSharing"), "weight");
}

/* ---- cohorts ---- */

static const char *first_string(struct kueue *kueue, const struct kube_object *object,
                                const char *key, const char *other)
{
    const char *value = kube_string(kueue->queues, object, object->spec, key);

    return value ? value : kube_string(kueue->queues, object, object->spec, other);
}

/* One that is only mentioned is one without quotas of its own. */
static void want_cohort(struct kueue *kueue, const char *name)
{
    struct kube_queue *queue = kube_queue_find(kueue->queues, cohort, name)
                                   ? NULL
                                   : kube_queue_add(kueue->queues, cohort, name, name, NULL);

    if (queue)
        queue->is_group = queue->is_closed = true;
}

static void add_cohort(struct kueue *kueue, const struct kube_object *object)
{
    struct kube_queue *queue =
        kube_queue_add(kueue->queues, cohort, object->name, object->name, object);

    if (!queue)
        return;
    queue->is_group = true;
    queue->parent_kind = cohort;
    queue->parent_origin = first_string(kueue, object, "parentName", "parent");
    queue->is_closed = !queue->parent_origin;
    add_quotas(kueue, queue);
    queue->models.count = 0; /* those of its members count */
}

static void add_parent_cohort(struct kueue *kueue, const struct kube_object *object)
{
    const char *parent = first_string(kueue, object, "parentName", "parent");

    if (parent)
        want_cohort(kueue, parent);
}

/* ---- ClusterQueues ---- */

static const char *policy_of(const struct kube_queue *queue, const char *key)
{
    const json_t *preemption = queue->object ? reader_get(queue->object->spec, "preemption") : NULL;
    const char *policy = json_string_value(reader_get(preemption, key));

    return policy ? policy : "Never";
}

/* A workload of Kueue may be preempted wherever a policy allows it. */
static bool is_preemptible(const struct kube_queues *queues, const struct kube_queue *queue)
{
    if (strcmp(policy_of(queue, "withinClusterQueue"), "Never") != 0)
        return true;
    LIST_EACH (const struct kube_queue, other, &queues->all) {
        bool is_beside = other->kind == cluster && queue->parent_origin && other->parent_origin &&
                         strcmp(other->parent_origin, queue->parent_origin) == 0;
        if (is_beside && strcmp(policy_of(other, "reclaimWithinCohort"), "Never") != 0)
            return true;
    }
    return false;
}

/* Workloads may use only what a ClusterQueue covers; devices that tarn does not know may be GPUs.
 */
static void close_uncovered(struct kube_queue *queue)
{
    bool has_gpus = queue->has_unknown;

    LIST_EACH (const struct kube_amount, amount, &queue->quota.all)
        has_gpus |= kube_amount_is_gpu(amount);
    struct kube_amounts *limit = queue->is_closed ? &queue->quota : &queue->limit;
    if (!has_gpus)
        kube_amount_make(limit, "gpus")->has_nominal = true;
}

static void report_queue(struct kueue *kueue, const struct kube_object *object)
{
    const json_t *preemption = reader_get(object->spec, "preemption");
    const json_t *selector = reader_get(object->spec, "namespaceSelector");
    struct kube_queues *queues = kueue->queues;

    kube_report_keys(queues, object, object->spec, queue_notes, COUNT_OF(queue_notes));
    kube_report_keys(queues, object, preemption, preemption_notes, COUNT_OF(preemption_notes));
    if (json_object_size(selector) > 0)
        kube_report(queues, object, object->spec, "namespaceSelector",
                    "queues of tarn are not limited to namespaces: see `submit` of a queue");
}

static void add_cluster_queue(struct kueue *kueue, const struct kube_object *object)
{
    const char *parent = first_string(kueue, object, "cohort", "cohortName");

    if (parent)
        want_cohort(kueue, parent);
    struct kube_queue *queue =
        kube_queue_add(kueue->queues, cluster, object->name, object->name, object);
    if (!queue)
        return;
    queue->parent_kind = cohort;
    queue->parent_origin = parent;
    queue->is_closed = !parent; /* there is nothing to borrow from */
    add_quotas(kueue, queue);
    close_uncovered(queue);
    report_queue(kueue, object);
}

/* ---- LocalQueues ---- */

static bool is_unique(const struct kueue *kueue, const struct kube_object *object)
{
    size_t count = 0;

    LIST_EACH (const struct kube_object, other, &kueue->queues->objects.all) {
        bool is_queue = strcmp(other->kind, local) == 0 || strcmp(other->kind, cluster) == 0 ||
                        strcmp(other->kind, cohort) == 0;
        count += is_queue && strcmp(other->name, object->name) == 0;
    }
    return count == 1 && !kube_queue_find(kueue->queues, cohort, object->name);
}

/* Pods name a LocalQueue of their namespace; tarn's queues have one name each. */
static void add_local_queue(struct kueue *kueue, const struct kube_object *object)
{
    struct kube_queues *queues = kueue->queues;
    const char *parent = json_string_value(reader_get(object->spec, "clusterQueue"));
    AUTO_FREE char *origin = mem_printf("%s/%s", object->space, object->name);
    AUTO_FREE char *whole = mem_printf("%s-%s", object->space, object->name);

    if (!parent || !kube_queue_find(queues, cluster, parent)) {
        kube_report(queues, object, object->spec, "clusterQueue",
                    "there is no such ClusterQueue: left out");
        return;
    }
    struct kube_queue *queue = kube_queue_add(
        queues, local, origin, is_unique(kueue, object) ? object->name : whole, object);
    if (!queue)
        return;
    queue->parent_kind = cluster;
    queue->parent_origin = parent;
    queue->weight = kube_weight(queues, object, reader_get(object->spec, "fairSharing"), "weight");
    if (strcmp(queue->name, object->name) != 0) {
        AUTO_FREE char *words = mem_printf("other queues have this name: pods of namespace %s need "
                                           "the label tarn.dev/queue: %s",
                                           object->space, queue->name);
        kube_report_kind(queues, object, words);
    }
    kube_report_key(queues, object, object->spec, "stopPolicy", "None",
                    "no queue of tarn is stopped; this one starts jobs");
}

/* ---- priorities ---- */

static int by_value(const void *a, const void *b)
{
    const struct kube_object *const *left = a, *const *right = b;
    json_int_t x = json_integer_value(reader_get((*left)->json, "value"));
    json_int_t y = json_integer_value(reader_get((*right)->json, "value"));

    return (x > y) - (x < y);
}

static bool in_range(const struct kueue *kueue)
{
    LIST_EACH (const struct kube_object *, class, &kueue->classes) {
        json_int_t value = json_integer_value(reader_get((*class)->json, "value"));
        if (value < 0 || value > PRIORITY_MOST)
            return false;
    }
    return true;
}

/* Values outside of tarn's range keep their order, with equal distances. */
static void report_classes(struct kueue *kueue)
{
    size_t count = kueue->classes.count;
    bool is_kept = in_range(kueue);

    list_sort(&kueue->classes, by_value);
    for (size_t i = 0; i < count; i++) {
        const struct kube_object *class = kueue->classes.items[i];
        json_int_t value = json_integer_value(reader_get(class->json, "value"));
        json_int_t priority = is_kept ? value : (json_int_t)(PRIORITY_MOST * (i + 1) / (count + 1));
        AUTO_FREE char *words = mem_printf("tarn has no classes of priorities: jobs state a number "
                                           "from 0 to 1000, such as %lld",
                                           (long long)priority);
        kube_report(kueue->queues, class, class->json, "value", words);
        if (priority > kueue->queues->priority_max)
            kueue->queues->priority_max = priority;
    }
}

/* ---- all of it ---- */

static void other_kind(struct kueue *kueue, const struct kube_object *object)
{
    static const char *const done[] = { "ResourceFlavor",        "Cohort",
                                        "ClusterQueue",          "LocalQueue",
                                        "WorkloadPriorityClass", NULL };

    if (!string_is_in(object->kind, done))
        kube_report_kind(kueue->queues, object, "tarn has no equal of this kind");
    else if (strcmp(object->kind, "WorkloadPriorityClass") == 0)
        list_add(&kueue->classes, object);
}

static void each_of(struct kueue *kueue, const char *kind,
                    void (*add)(struct kueue *kueue, const struct kube_object *object))
{
    LIST_EACH (const struct kube_object, object, &kueue->queues->objects.all) {
        if (!kind || strcmp(object->kind, kind) == 0)
            add(kueue, object);
    }
}

void kueue_import(struct kube_queues *queues, struct text *config)
{
    struct kueue kueue = { .queues = queues };

    text_add(config, "# made by tarn import kueue\n");
    each_of(&kueue, "ResourceFlavor", add_flavor);
    each_of(&kueue, cohort, add_cohort);
    each_of(&kueue, cohort, add_parent_cohort);
    each_of(&kueue, cluster, add_cluster_queue);
    each_of(&kueue, local, add_local_queue);
    each_of(&kueue, NULL, other_kind);
    report_classes(&kueue);
    LIST_EACH (struct kube_queue, queue, &queues->all)
        queue->is_preemptible = queue->kind == cluster && is_preemptible(queues, queue);
    if (queues->code == 0)
        kube_queues_write(queues, config);
    LIST_EACH (struct flavor, flavor, &kueue.flavors)
        free(flavor->model);
    list_release(&kueue.flavors);
    list_release(&kueue.classes);
}
