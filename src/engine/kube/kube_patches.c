/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_patches.h"

#include "base/mem.h"

enum { PATIENCE_MS = 120000 };

static char *path_of(const struct kube_pod *pod, const char *rest)
{
    return mem_printf("/api/v1/namespaces/%s/pods/%s%s", pod->namespace, pod->name, rest);
}

void kube_patch_condition(struct kube_client *client, const struct kube_pod *pod, const char *words,
                          const char *reason)
{
    AUTO_FREE char *path = path_of(pod, "/status");
    json_t *condition = json_pack("{s:s, s:s, s:s, s:s}", "type", "PodScheduled", "status", "False",
                                  "reason", reason, "message", words);

    kube_client_call(client, &(struct kube_call){
                                 .method = "PATCH",
                                 .path = path,
                                 .type = "application/strategic-merge-patch+json",
                                 .body = json_pack("{s:{s:s}, s:{s:[o]}}", "metadata", "uid",
                                                   pod->uid, "status", "conditions", condition) });
}

void kube_patch_gates(struct kube_client *client, const struct kube_pod *pod)
{
    AUTO_FREE char *path = path_of(pod, "");

    kube_client_call(client,
                     &(struct kube_call){ .method = "PATCH",
                                          .path = path,
                                          .type = "application/merge-patch+json",
                                          .body = json_pack("{s:{s:s}, s:{s:n}}", "metadata", "uid",
                                                            pod->uid, "spec", "schedulingGates"),
                                          .patience_ms = PATIENCE_MS });
}

void kube_patch_delete(struct kube_client *client, const struct kube_pod *pod)
{
    AUTO_FREE char *path = path_of(pod, "");

    kube_client_call(client, &(struct kube_call){
                                 .method = "DELETE",
                                 .path = path,
                                 .body = json_pack("{s:{s:s}}", "preconditions", "uid", pod->uid),
                                 .patience_ms = PATIENCE_MS });
}

void kube_patch_object(struct kube_client *client, const char *path, json_t *patch,
                       const char *note, const char *words)
{
    json_object_set_new(patch, "metadata", json_pack("{s:{s:s?}}", "annotations", note, words));
    kube_client_call(client, &(struct kube_call){ .method = "PATCH",
                                                  .path = path,
                                                  .type = "application/merge-patch+json",
                                                  .body = patch,
                                                  .patience_ms = PATIENCE_MS });
}
