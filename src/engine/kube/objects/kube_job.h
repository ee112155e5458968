/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_JOB_H
#define ENGINE_KUBE_KUBE_JOB_H

/* kube_job - Jobs that are suspended until tarn starts them
 *
 * A Job that is created with `suspend: true` and the label KUBE_QUEUE has no pods while it waits,
 * so that a long queue costs the cluster nothing. Its pod template says what its pods will request.
 * tarn ends the suspension when the job may run. One that tarn suspended itself (KUBE_STOPPED)
 * stays.
 * In namespaces that tarn manages, the label of Kueue's queues counts as well.
 */

#include "engine/kube/objects/kube_pod.h"

struct kube_job {
    char *key;            /* of its group: "NAMESPACE/UID" */
    struct kube_pod *pod; /* as its pods will be; NULL: it does not wait for tarn */
    uint32_t size;
    bool needs_managed; /* only in a namespace that tarn manages */
};

/* NULL: not a Job. Runs in the thread of the client. */
void *kube_job_read(const json_t *object);
void kube_job_destroy(void *job); /* NULL is fine */

#endif
