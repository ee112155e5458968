/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/kube/volcano_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/import.h"

#define HIERARCHY "volcano.sh/hierarchy"
#define WEIGHTS   "volcano.sh/hierarchy-weights"

static const char kind[] = "Queue", group[] = "path"; /* path: a queue that only has others below */

static const struct kube_note notes[] = {
    { "affinity", NULL, "the nodes of a queue are those of a pool: see `where` of pools" },
    { "dequeueStrategy", "traverse", "the order is one of all queues: see `order: fifo`" },
    { "extendClusters", NULL, "tarn dispatches no jobs to other clusters" },
    { "priority", NULL, "queues of tarn have no priority: see `guarantee` and `weight`" },
    { "type", NULL, "queues of tarn have no types" },
};

/* ---- quota ---- */

/* What Volcano guarantees is never lent; the rest of what the queue deserves is. */
static void add_guarantee(struct kube_queues *queues, struct kube_queue *queue)
{
    const json_t *spec = queue->object->spec;
    struct kube_amounts kept = { 0 };

    kube_amounts_read(queues, &kept, queue->object,
                      reader_get(reader_get(spec, "guarantee"), "resource"));
    kube_amounts_read(queues, &queue->quota, queue->object, reader_get(spec, "deserved"));
    LIST_EACH (struct kube_amount, amount, &queue->quota.all) {
        amount->borrows_freely = true;
        amount->lend = amount->nominal;
    }
    LIST_EACH (const struct kube_amount, part, &kept.all) {
        struct kube_amount *amount = kube_amount_make(&queue->quota, part->resource);
        int64_t nominal = amount->nominal > part->nominal ? amount->nominal : part->nominal;
        amount->lend = nominal - part->nominal;
        amount->nominal = nominal;
        amount->has_nominal = amount->has_lend = amount->borrows_freely = true;
    }
    list_release(&kept.all);
}

/* ---- paths ---- */

/* The number at this place of "1/2/8"; 0: there is none. */
static int64_t weight_at(const char *weights, size_t place)
{
    for (; weights && place > 0; place--) {
        weights = strchr(weights, '/');
        weights = weights ? weights + 1 : NULL;
    }
    long weight = weights ? strtol(weights, NULL, 10) : 0;
    return weight >= 1 && weight <= IMPORT_WEIGHT_MAX ? weight : 0;
}

/* "root/eng/prod": queues for "root" (which is tarn's) and "root/eng", above this queue. */
static void add_path(struct kube_queues *queues, const struct kube_object *object,
                     const char *hierarchy, const char *weights)
{
    const char *parent = NULL;
    size_t place = 0;

    for (const char *at = hierarchy; strchr(at, '/'); place++) {
        const char *end = strchr(at, '/');
        AUTO_FREE char *path = mem_string_of(hierarchy, (size_t)(end - hierarchy));
        AUTO_FREE char *name = mem_string_of(at, (size_t)(end - at));
        struct kube_queue *above = place > 0 ? kube_queue_find(queues, group, path) : NULL;
        if (place > 0 && !above)
            above = kube_queue_add(queues, group, path, name, NULL);
        if (above) {
            above->parent_kind = group;
            above->parent_origin = parent;
            above->weight = weight_at(weights, place);
            parent = above->origin;
        }
        at = end + 1;
    }
    struct kube_queue *queue = kube_queue_find(queues, kind, object->name);
    queue->parent_kind = group;
    queue->parent_origin = parent;
    queue->weight = weight_at(weights, place);
}

/* ---- queues ---- */

static void add_queue(struct kube_queues *queues, const struct kube_object *object)
{
    const json_t *spec = object->spec;
    const char *parent = kube_string(queues, object, spec, "parent");

    if (strcmp(object->name, "root") == 0) {
        kube_report_keys(queues, object, spec, notes, COUNT_OF(notes));
        return;
    }
    struct kube_queue *queue = kube_queue_add(queues, kind, object->name, object->name, object);
    if (!queue)
        return;
    bool has_parent = parent && strcmp(parent, "root") != 0;
    queue->parent_kind = kind;
    queue->parent_origin = has_parent ? parent : NULL;
    queue->weight = kube_weight(queues, object, spec, "weight");
    queue->is_firm = !kube_bool(queues, object, spec, "reclaimable", true);
    queue->is_preemptible = !queue->is_firm;
    add_guarantee(queues, queue);
    kube_amounts_read(queues, &queue->limit, object, reader_get(spec, "capability"));
    kube_report_keys(queues, object, spec, notes, COUNT_OF(notes));
    kube_report_key(queues, object, reader_get(object->json, "status"), "state", "Open",
                    "no queue of tarn is closed; this one takes jobs: see `submit` of a queue");

    const json_t *annotations = reader_get(reader_get(object->json, "metadata"), "annotations");
    const char *hierarchy = json_string_value(reader_get(annotations, HIERARCHY));
    if (hierarchy && strchr(hierarchy, '/'))
        add_path(queues, object, hierarchy, json_string_value(reader_get(annotations, WEIGHTS)));
}

void volcano_import(struct kube_queues *queues, struct text *config)
{
    text_add(config, "# made by tarn import volcano\n");
    LIST_EACH (const struct kube_object, object, &queues->objects.all) {
        if (strcmp(object->kind, kind) == 0)
            add_queue(queues, object);
        else
            kube_report_kind(queues, object, "tarn has no equal of this kind");
    }
    if (queues->code == 0)
        kube_queues_write(queues, config);
}
