/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/kube/kube_queues.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "core/model_name.h"
#include "wire/import.h"

enum { COUNT_LIMIT_MAX = 1000000, MIB_LIMIT_MAX = 1 << 30, VALUE_SHOWN_MAX = 80 };

/* ---- the report ---- */

void kube_report(struct kube_queues *queues, const struct kube_object *object, const json_t *map,
                 const char *key, const char *words)
{
    const json_t *value = reader_get(map, key);
    char clean[VALUE_SHOWN_MAX];

    AUTO_FREE char *dump = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    const char *plain = json_is_string(value) ? json_string_value(value) : dump;
    string_clean(clean, sizeof(clean), plain ? plain : "", plain ? strlen(plain) : 0);
    text_printf(queues->report, "%s:%u: %.40s %.60s: %s%s%s: %s\n", object->source,
                yaml_key_line(object->lines, map, key), object->kind, object->name, key,
                value ? "=" : "", clean, words);
}

void kube_report_key(struct kube_queues *queues, const struct kube_object *object,
                     const json_t *map, const char *key, const char *usual, const char *words)
{
    const json_t *value = reader_get(map, key);
    const char *string = json_string_value(value);

    if (value && !(usual && string && strcmp(string, usual) == 0))
        kube_report(queues, object, map, key, words);
}

void kube_report_keys(struct kube_queues *queues, const struct kube_object *object,
                      const json_t *map, const struct kube_note *notes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        kube_report_key(queues, object, map, notes[i].key, notes[i].usual, notes[i].words);
}

void kube_report_kind(struct kube_queues *queues, const struct kube_object *object,
                      const char *words)
{
    uint32_t line = yaml_key_line(object->lines, object->json, "kind");

    text_printf(queues->report, "%s:%u: %.40s %.60s: %s\n", object->source, line, object->kind,
                object->name, words);
}

void kube_fail(struct kube_queues *queues, const struct kube_object *object, const json_t *map,
               const char *key, const char *expected)
{
    struct reader reader = kube_object_reader(object, queues->err);
    const json_t *value = reader_get(map, key);
    AUTO_FREE char *dump = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    if (queues->code == 0)
        queues->code = reader_fail(&reader, -EINVAL, map, key, "%.60s, expected %s",
                                   dump ? dump : "nothing", expected);
}

/* ---- amounts ---- */

static bool is_mib(const struct kube_amount *amount)
{
    return strcmp(amount->resource, "memory") == 0;
}

static int64_t most_of(const struct kube_amount *amount)
{
    return is_mib(amount) ? MIB_LIMIT_MAX : COUNT_LIMIT_MAX;
}

bool kube_amount_is_gpu(const struct kube_amount *amount)
{
    static const char *const others[] = { "cpus", "memory", "tpu", "npu", NULL };

    return !string_is_in(amount->resource, others);
}

/* The names of the engine for Kubernetes: a MIG profile is a model, "mig-1g.10gb". NULL: tarn has
 * no such resource. */
static const char *resource_of(const char *resource, const char *model)
{
    static const char *const gpus[] = { "nvidia.com/gpu",   "nvidia.com/gpu.shared",
                                        "amd.com/gpu",      "gpu.intel.com/i915",
                                        "gpu.intel.com/xe", NULL };
    static const char *const npus[] = { "habana.ai/gaudi", "aws.amazon.com/neuron",
                                        "aws.amazon.com/neuroncore", NULL };
    static const char mig[] = "nvidia.com/mig-";

    if (string_is_in(resource, gpus))
        return model ? model : "gpus";
    if (string_starts(resource, mig) && strlen(resource) - strlen("nvidia.com/") < AMOUNT_NAME_SIZE)
        return resource + strlen("nvidia.com/");
    return strcmp(resource, "cpu") == 0              ? "cpus"
           : strcmp(resource, "memory") == 0         ? "memory"
           : strcmp(resource, "google.com/tpu") == 0 ? "tpu"
           : string_is_in(resource, npus)            ? "npu"
                                                     : NULL;
}

static struct kube_amount *amount_find(const struct kube_amounts *amounts, const char *resource)
{
    LIST_EACH (struct kube_amount, amount, &amounts->all) {
        if (strcmp(amount->resource, resource) == 0)
            return amount;
    }
    return NULL;
}

struct kube_amount *kube_amount_make(struct kube_amounts *amounts, const char *resource)
{
    struct kube_amount *found = amount_find(amounts, resource);

    if (found)
        return found;
    struct kube_amount fresh = { .nominal = 0 };
    snprintf(fresh.resource, sizeof(fresh.resource), "%s", resource);
    list_add(&amounts->all, fresh);
    return &amounts->all.items[amounts->all.count - 1];
}

struct kube_amount *kube_amounts_of(struct kube_queues *queues, struct kube_amounts *amounts,
                                    const struct kube_object *object, const json_t *map,
                                    const char *resource, const char *model)
{
    const char *name = resource_of(resource, model);

    if (name)
        return kube_amount_make(amounts, name);
    bool is_key = reader_get(map, resource);
    if (is_key)
        kube_report(queues, object, map, resource, "tarn has no quota of this resource");
    else
        kube_report(queues, object, map, "name", "tarn has no quota of this resource");
    return NULL;
}

bool kube_quantity(struct kube_queues *queues, const struct kube_object *object, const json_t *map,
                   const char *key, const struct kube_amount *amount, int64_t *ret)
{
    struct reader reader = kube_object_reader(object, queues->err);
    char buffer[READER_SCALAR_SIZE];
    const char *text = NULL;

    static const char expected[] = "a quantity such as 8, 500m or 36Gi";
    int code = reader_scalar(&reader, map, key, expected, buffer, &text);
    if (code < 0 && queues->code == 0)
        queues->code = code;
    if (code < 0 || !text)
        return false;
    bool is_good = is_mib(amount) ? quantity_mib(text, ret) : quantity_milli(text, ret);
    if (!is_good) {
        kube_fail(queues, object, map, key, expected);
        return false;
    }
    int64_t most = most_of(amount);
    *ret = is_mib(amount) ? *ret : (*ret + 999) / 1000;
    if (*ret > most) {
        kube_report(queues, object, map, key, "more than tarn counts: it is reduced");
        *ret = most;
    }
    return true;
}

void kube_amounts_read(struct kube_queues *queues, struct kube_amounts *amounts,
                       const struct kube_object *object, const json_t *map)
{
    const char *key;
    json_t *value;

    if (map && !json_is_object(map)) {
        struct reader reader = kube_object_reader(object, queues->err);
        if (queues->code == 0)
            queues->code =
                reader_fail(&reader, -EINVAL, NULL, NULL,
                            "%s, expected a map from resource to quantity", reader_kind(map));
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)map, key, value)
    {
        struct kube_amount *amount = kube_amounts_of(queues, amounts, object, map, key, NULL);
        if (amount)
            amount->has_nominal = kube_quantity(queues, object, map, key, amount, &amount->nominal);
    }
}

bool kube_bool(struct kube_queues *queues, const struct kube_object *object, const json_t *map,
               const char *key, bool usual)
{
    struct reader reader = kube_object_reader(object, queues->err);
    int code = reader_bool(&reader, map, key, &usual);

    if (code < 0 && queues->code == 0)
        queues->code = code;
    return usual;
}

const char *kube_string(struct kube_queues *queues, const struct kube_object *object,
                        const json_t *map, const char *key)
{
    struct reader reader = kube_object_reader(object, queues->err);
    const char *string = NULL;
    int code = reader_string(&reader, map, key, SIZE_MAX, &string);

    if (code < 0 && queues->code == 0)
        queues->code = code;
    return string && string[0] ? string : NULL;
}

int64_t kube_weight(struct kube_queues *queues, const struct kube_object *object, const json_t *map,
                    const char *key)
{
    struct reader reader = kube_object_reader(object, queues->err);
    char buffer[READER_SCALAR_SIZE];
    const char *text = NULL;
    int64_t milli;

    int code = reader_scalar(&reader, map, key, "a weight such as 2", buffer, &text);
    if (code < 0 && queues->code == 0)
        queues->code = code;
    if (code < 0 || !text)
        return 0;
    if (!quantity_milli(text, &milli)) {
        kube_fail(queues, object, map, key, "a weight such as 2");
        return 0;
    }
    int64_t weight = (milli + 999) / 1000;
    int64_t kept = weight < 1 ? 1 : weight > IMPORT_WEIGHT_MAX ? IMPORT_WEIGHT_MAX : weight;
    if (kept * 1000 != milli)
        kube_report(queues, object, map, key, "weights are whole numbers from 1 to 1000000");
    return kept;
}

char *kube_model_of_labels(const json_t *labels)
{
    static const char *const keys[] = { "nvidia.com/gpu.product",
                                        "cloud.google.com/gke-accelerator",
                                        "karpenter.k8s.aws/instance-gpu-name",
                                        "gpu.nvidia.com/model", "amd.com/gpu.product-name" };
    char model[PROBE_MODEL_SIZE];

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *product = json_string_value(reader_get(labels, keys[i]));
        if (product) {
            model_shorten(product, model);
            return mem_string(model);
        }
    }
    return NULL;
}

/* ---- queues ---- */

struct kube_queue *kube_queue_find(const struct kube_queues *queues, const char *kind,
                                   const char *origin)
{
    LIST_EACH (struct kube_queue, queue, &queues->all) {
        if (strcmp(queue->kind, kind) == 0 && strcmp(queue->origin, origin) == 0)
            return queue;
    }
    return NULL;
}

static bool is_taken(const struct kube_queues *queues, const char *name)
{
    LIST_EACH (const struct kube_queue, queue, &queues->all) {
        if (strcmp(queue->name, name) == 0)
            return true;
    }
    return strcmp(name, "root") == 0;
}

/* "team", "team-2" ...: names of several kinds become names of one. */
static char *free_name(const struct kube_queues *queues, const char *wanted)
{
    char *name = mem_string(wanted);

    for (unsigned i = 2; is_taken(queues, name); i++) {
        free(name);
        name = mem_printf("%.50s-%u", wanted, i);
    }
    return name;
}

struct kube_queue *kube_queue_add(struct kube_queues *queues, const char *kind, const char *origin,
                                  const char *name, const struct kube_object *object)
{
    if (kube_queue_find(queues, kind, origin)) {
        if (object)
            kube_report_kind(queues, object, "there is another one of this name: left out");
        return NULL;
    }
    if (!name_is_valid(name)) {
        if (object)
            kube_report_kind(queues, object, "this is no name of a queue: left out");
        return NULL;
    }
    struct kube_queue queue = { .kind = kind, .origin = mem_string(origin), .object = object };
    queue.name = free_name(queues, name);
    list_add(&queues->all, queue);
    return &queues->all.items[queues->all.count - 1];
}

void kube_queues_release(struct kube_queues *queues)
{
    LIST_EACH (struct kube_queue, queue, &queues->all) {
        free(queue->origin);
        free(queue->name);
        list_release(&queue->quota.all);
        list_release(&queue->limit.all);
        list_release(&queue->models);
    }
    list_release(&queues->all);
    kube_objects_release(&queues->objects);
}

/* ---- writing ---- */

static void queue_moved(void *user, size_t index, const char *what, const char *words)
{
    struct kube_queues *queues = user;
    const struct kube_queue *queue = &queues->all.items[index];

    if (queue->object)
        text_printf(queues->report, "%s: %s %s: %s: %s\n", queue->object->source, queue->kind,
                    queue->origin, what, words);
}

/* The index of the parent of each queue, SIZE_MAX at the top. */
static size_t *settle(struct kube_queues *queues)
{
    LIST(struct import_branch) branches = { 0 };
    size_t *parents = mem_zero(queues->all.count + 1, sizeof(*parents));

    LIST_EACH (const struct kube_queue, queue, &queues->all) {
        const struct kube_queue *parent =
            queue->parent_origin ? kube_queue_find(queues, queue->parent_kind, queue->parent_origin)
                                 : NULL;
        list_add(&branches, ((struct import_branch){ .name = queue->name,
                                                     .parent = parent ? parent->name
                                                                      : queue->parent_origin }));
    }
    import_settle(branches.items, branches.count, queue_moved, queues);
    for (size_t i = 0; i < branches.count; i++) {
        parents[i] = SIZE_MAX;
        for (size_t k = 0; k < branches.count && branches.items[i].parent; k++) {
            if (strcmp(branches.items[k].name, branches.items[i].parent) == 0)
                parents[i] = k;
        }
    }
    list_release(&branches);
    return parents;
}

/* The quota of a group includes those of the queues below it. */
static void sum_groups(struct kube_queues *queues, const size_t *parents)
{
    LIST(struct kube_amounts)
    own = { 0 }; /* copies: those that are added to must not count twice */

    list_zero(&own, queues->all.count);
    for (size_t i = 0; i < queues->all.count; i++)
        list_copy(&own.items[i].all, &queues->all.items[i].quota.all);
    for (size_t i = 0; i < queues->all.count; i++) {
        for (size_t at = parents[i]; at != SIZE_MAX; at = parents[at]) {
            struct kube_queue *group = &queues->all.items[at];
            for (size_t k = 0; k < own.items[i].all.count && group->is_group; k++) {
                const struct kube_amount *amount = &own.items[i].all.items[k];
                bool is_own = amount_find(&group->quota, amount->resource);
                struct kube_amount *sum = kube_amount_make(&group->quota, amount->resource);
                int64_t most = most_of(sum) - sum->nominal;
                sum->nominal += amount->nominal < most ? amount->nominal : most;
                sum->has_nominal |= amount->has_nominal;
                sum->borrows_freely |= !is_own;
            }
        }
    }
    LIST_EACH (struct kube_amounts, amounts, &own)
        list_release(&amounts->all);
    list_release(&own);
}

static void add_amount(struct text *map, const char *resource, int64_t value)
{
    bool is_memory = strcmp(resource, "memory") == 0;
    bool is_gib = is_memory && value % 1024 == 0;

    text_add(map, map->length > 0 ? ", " : "");
    import_add_name(map, resource);
    text_printf(map, ": %lld%s", (long long)(is_gib ? value / 1024 : value),
                is_gib      ? "G"
                : is_memory ? "M"
                            : "");
}

enum part { NOMINAL, LIMIT, BORROW, LEND };

static bool has_part(const struct kube_amount *amount, enum part part)
{
    switch (part) {
    case NOMINAL:
        return amount->nominal > 0;
    case LIMIT:
        return amount->has_nominal;
    case BORROW:
        return amount->has_nominal && !amount->borrows_freely;
    case LEND:
        return amount->has_lend;
    }
    return false;
}

static int64_t value_of(const struct kube_amount *amount, enum part part)
{
    return part == BORROW ? amount->borrow : part == LEND ? amount->lend : amount->nominal;
}

/* An amount of `gpus` counts those of all models. */
static int64_t gpus_of(const struct kube_amounts *amounts, enum part part)
{
    int64_t sum = 0;

    LIST_EACH (const struct kube_amount, amount, &amounts->all)
        sum += kube_amount_is_gpu(amount) ? value_of(amount, part) : 0;
    return sum < COUNT_LIMIT_MAX ? sum : COUNT_LIMIT_MAX;
}

static void write_amounts(struct text *config, const char *key, const struct kube_amounts *amounts,
                          enum part part)
{
    AUTO_RELEASE(text) struct text map = { 0 };

    LIST_EACH (const struct kube_amount, amount, &amounts->all) {
        bool is_total = strcmp(amount->resource, "gpus") == 0;
        if (has_part(amount, part))
            add_amount(&map, amount->resource,
                       is_total ? gpus_of(amounts, part) : value_of(amount, part));
    }
    if (map.length > 0)
        text_printf(config, "    %s: {%s}\n", key, map.bytes);
}

static void write_models(struct text *config, const struct kube_queue *queue)
{
    if (queue->models.count == 0)
        return;
    text_add(config, "    models: [");
    LIST_EACH (const char *, model, &queue->models) {
        text_add(config, model == queue->models.items ? "" : ", ");
        import_add_name(config, *model);
    }
    text_add(config, "]\n");
}

/* Reduce the quota of a resource to what a limit leaves for it; the rest. */
static int64_t bound_amount(struct kube_queues *queues, struct kube_queue *queue,
                            const char *resource, int64_t most)
{
    struct kube_amount *amount = amount_find(&queue->quota, resource);

    if (!amount)
        return most;
    if (amount->nominal > most) {
        int64_t kept = amount->nominal - amount->lend;
        amount->nominal = most;
        amount->lend = most > kept ? most - kept : 0;
        kube_report_kind(queues, queue->object, "its quota is above the limit: it is reduced");
    }
    return most - amount->nominal;
}

/* A guarantee above the limit is worth nothing: its own, and those of the queues below it. */
static void bound_quotas(struct kube_queues *queues, const size_t *parents, size_t index)
{
    struct kube_queue *queue = &queues->all.items[index];

    LIST_EACH (const struct kube_amount, limit, &queue->limit.all) {
        int64_t rest = limit->nominal;
        bound_amount(queues, queue, limit->resource, rest);
        for (size_t i = 0; i < queues->all.count; i++) {
            if (parents[i] == index)
                rest = bound_amount(queues, &queues->all.items[i], limit->resource, rest);
        }
    }
}

static void write_queue(struct text *config, const struct kube_queue *queue, const char *parent)
{
    text_add(config, "  ");
    import_add_name(config, queue->name);
    text_add(config, ":\n");
    if (parent) {
        text_add(config, "    parent: ");
        import_add_name(config, parent);
        text_add(config, "\n");
    }
    text_printf(config, "    weight: %lld\n", (long long)(queue->weight ? queue->weight : 1));
    write_amounts(config, "guarantee", &queue->quota, NOMINAL);
    write_amounts(config, "limit", queue->is_closed ? &queue->quota : &queue->limit, LIMIT);
    if (!queue->is_closed)
        write_amounts(config, "borrow", &queue->quota, BORROW);
    write_amounts(config, "lend", &queue->quota, LEND);
    write_models(config, queue);
    if (queue->is_preemptible || queue->is_firm)
        text_printf(config, "    preemptible: %s\n", queue->is_firm ? "never" : "default");
}

void kube_queues_write(struct kube_queues *queues, struct text *config)
{
    size_t *parents = settle(queues);

    sum_groups(queues, parents);
    if (queues->all.count > 0)
        text_add(config, "queues:\n");
    for (size_t i = 0; i < queues->all.count; i++)
        bound_quotas(queues, parents, i);
    for (size_t i = 0; i < queues->all.count; i++) {
        write_queue(config, &queues->all.items[i],
                    parents[i] == SIZE_MAX ? NULL : queues->all.items[parents[i]].name);
        if (parents[i] == SIZE_MAX && queues->priority_max > 0)
            text_printf(config, "    max_priority: %lld\n", (long long)queues->priority_max);
    }
    free(parents);
}
