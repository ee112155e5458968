/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/provision/kube_request.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_names.h"

enum { MESSAGE_SIZE = 300 };

/* ---- reading ---- */

static const json_t *condition_of(const json_t *object, const char *type, const char *status)
{
    json_t *condition;
    size_t i;

    json_array_foreach(kube_at(object, "status", "conditions", NULL), i, condition)
    {
        if (strcmp(kube_text(condition, "type"), type) == 0 &&
            strcmp(kube_text(condition, "status"), status) == 0)
            return condition;
    }
    return NULL;
}

static char *words_of(const json_t *condition)
{
    const char *message = kube_text(condition, "message");
    char clean[MESSAGE_SIZE];

    string_clean(clean, sizeof(clean), message, strlen(message));
    return mem_printf("%s%s%s", kube_text(condition, "type"), clean[0] ? ": " : "", clean);
}

/* The condition that says most: a request keeps all that it ever had. */
static void read_conditions(struct kube_request *request, const json_t *object)
{
    static const struct {
        const char *type, *status;
        bool is_over, is_provisioned;
    } known[] = {
        { "Failed", "True", true, false },         { "CapacityRevoked", "True", true, false },
        { "BookingExpired", "True", true, false }, { "Provisioned", "True", false, true },
        { "Provisioned", "False", false, false },  { "Accepted", "True", false, false },
    };

    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const json_t *condition = condition_of(object, known[i].type, known[i].status);
        bool is_silent = i == 4 && !kube_text(condition, "message")[0];
        if (!condition || is_silent)
            continue;
        request->is_over = known[i].is_over;
        request->is_provisioned = known[i].is_provisioned;
        request->words = words_of(condition);
        return;
    }
    request->words = mem_string("");
}

void *kube_request_read(const json_t *object)
{
    const json_t *about = json_object_get(object, "metadata");
    const json_t *spec = json_object_get(object, "spec");
    const char *arrival = kube_text(json_object_get(about, "annotations"), KUBE_ARRIVAL);

    if (!arrival[0] || !kube_text(about, "name")[0] || !kube_text(about, "namespace")[0])
        return NULL;
    struct kube_request *request = mem_zero(1, sizeof(*request));
    request->namespace = mem_string(kube_text(about, "namespace"));
    request->name = mem_string(kube_text(about, "name"));
    request->uid = mem_string(kube_text(about, "uid"));
    request->class = mem_string(kube_text(spec, "provisioningClassName"));
    request->arrival = mem_string(arrival);
    request->set_count = (uint32_t)json_array_size(json_object_get(spec, "podSets"));
    read_conditions(request, object);
    return request;
}

void kube_request_destroy(void *value)
{
    struct kube_request *request = value;

    if (!request)
        return;
    free(request->namespace);
    free(request->name);
    free(request->uid);
    free(request->class);
    free(request->arrival);
    free(request->words);
    free(request);
}

/* ---- making ---- */

static bool is_job(const json_t *object)
{
    return json_is_object(kube_at(object, "spec", "template", NULL));
}

json_t *kube_request_owner(const json_t *object)
{
    const json_t *about = json_object_get(object, "metadata");
    const char *api = is_job(object) ? "batch/v1" : "v1", *kind = is_job(object) ? "Job" : "Pod";
    json_t *owner;
    size_t i;

    json_array_foreach(json_object_get(about, "ownerReferences"), i, owner)
    {
        if (!is_job(object) && json_is_true(json_object_get(owner, "controller")))
            return json_pack("{s:O?, s:O?, s:O?, s:O?}", "apiVersion",
                             json_object_get(owner, "apiVersion"), "kind",
                             json_object_get(owner, "kind"), "name", json_object_get(owner, "name"),
                             "uid", json_object_get(owner, "uid"));
    }
    return json_pack("{s:s, s:s, s:O, s:O}", "apiVersion", api, "kind", kind, "name",
                     json_object_get(about, "name"), "uid", json_object_get(about, "uid"));
}

json_t *kube_request_template(const json_t *object, const char *name, const json_t *owner)
{
    static const char *const keys[] = { "schedulingGates", "nodeName", "ephemeralContainers" };
    const json_t *pod = is_job(object) ? kube_at(object, "spec", "template", NULL) : object;
    const json_t *about = json_object_get(pod, "metadata");
    json_t *spec = json_deep_copy(json_object_get(pod, "spec"));

    if (!json_is_object(spec))
        return NULL;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        json_object_del(spec, keys[i]);
    return json_pack("{s:s, s:s, s:{s:s, s:[O]}, s:{s:{s:O*, s:O*}, s:o}}", "apiVersion", "v1",
                     "kind", "PodTemplate", "metadata", "name", name, "ownerReferences", owner,
                     "template", "metadata", "labels", json_object_get(about, "labels"),
                     "annotations", json_object_get(about, "annotations"), "spec", spec);
}

char *kube_request_template_name(const char *name, size_t i)
{
    return mem_printf("%s-%zu", name, i);
}

json_t *kube_request_make(const struct kube_request_plan *plan)
{
    json_t *sets = json_array();

    for (size_t i = 0; i < plan->set_count; i++) {
        AUTO_FREE char *name = kube_request_template_name(plan->name, i);
        json_array_append_new(sets, json_pack("{s:{s:s}, s:i}", "podTemplateRef", "name", name,
                                              "count", (int)plan->counts[i]));
    }
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s}, s:[O]}, s:{s:s, s:o}}", "apiVersion",
                     KUBE_REQUEST_API, "kind", "ProvisioningRequest", "metadata", "name",
                     plan->name, "annotations", KUBE_ARRIVAL, plan->arrival, "ownerReferences",
                     plan->owner, "spec", "provisioningClassName", plan->class, "podSets", sets);
}
