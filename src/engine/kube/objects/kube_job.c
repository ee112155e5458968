/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/objects/kube_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_names.h"

/* The label with its queue; NULL: none. */
static const char *queue_label(const json_t *about)
{
    static const char *const labels[] = { KUBE_QUEUE, "kueue.x-k8s.io/queue-name" };

    for (size_t i = 0; i < COUNT_OF(labels); i++) {
        if (kube_text(json_object_get(about, "labels"), labels[i])[0])
            return labels[i];
    }
    return NULL;
}

static bool is_waiting(const json_t *about, const json_t *spec)
{
    return json_is_true(json_object_get(spec, "suspend")) && queue_label(about) &&
           !kube_text(json_object_get(about, "annotations"), KUBE_STOPPED)[0] &&
           !json_object_get(about, "deletionTimestamp");
}

/* The pod that its controller would create now. */
static struct kube_pod *pod_of(const json_t *about, const json_t *spec)
{
    json_t *pod = json_deep_copy(json_object_get(spec, "template"));
    json_t *pod_about = json_object_get(pod, "metadata");

    if (!pod_about) {
        pod_about = json_object();
        json_object_set_new(pod, "metadata", pod_about);
    }
    if (!json_object_get(pod_about, "labels"))
        json_object_set_new(pod_about, "labels", json_object());
    json_object_set(json_object_get(pod_about, "labels"), KUBE_QUEUE,
                    kube_at(about, "labels", queue_label(about), NULL));
    for (const char *const *key = (const char *const[]){ "uid", "name", "namespace", NULL }; *key;
         key++)
        json_object_set(pod_about, *key, json_object_get(about, *key));
    json_object_set_new(pod_about, "ownerReferences",
                        json_pack("[{s:s, s:s, s:O, s:O, s:b}]", "apiVersion", "batch/v1", "kind",
                                  "Job", "name", json_object_get(about, "name"), "uid",
                                  json_object_get(about, "uid"), "controller", 1));
    struct kube_pod *read = kube_pod_read(pod);
    json_decref(pod);
    return read;
}

void *kube_job_read(const json_t *object)
{
    const json_t *about = json_object_get(object, "metadata");
    const json_t *spec = json_object_get(object, "spec");

    if (!kube_text(about, "uid")[0] || !spec)
        return NULL;
    struct kube_job *job = mem_zero(1, sizeof(*job));
    job->key = mem_printf("%s/%s", kube_text(about, "namespace"), kube_text(about, "uid"));
    if (is_waiting(about, spec)) {
        job->pod = pod_of(about, spec);
        if (job->pod && job->pod->group.kind != KUBE_GROUP_BATCH_JOB) {
            kube_pod_destroy(job->pod); /* its pods wait for others than those of the Job */
            job->pod = NULL;
        }
        if (job->pod && job->pod->resource_claims && !job->pod->refused)
            job->pod->refused = mem_string("a suspended Job whose pods have ResourceClaims is not "
                                           "supported; expected `suspend: false`");
        job->size = kube_group_size(KUBE_GROUP_BATCH_JOB, object);
        job->needs_managed = strcmp(queue_label(about), KUBE_QUEUE) != 0;
    }
    return job;
}

void kube_job_destroy(void *value)
{
    struct kube_job *job = value;

    if (!job)
        return;
    free(job->key);
    kube_pod_destroy(job->pod);
    free(job);
}
