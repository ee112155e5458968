/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_EVENTS_H
#define ENGINE_KUBE_KUBE_EVENTS_H

/* kube_events - what tarn does with pods, as Events of Kubernetes (kubectl describe)
 *
 * Events are news, the condition of the pod is the truth: they are limited and may be lost. Of a
 * pod, an Event with the same reason is written once a minute at most; the same words again raise
 * the count of the first one. Beyond 20 a second in the long run, Events are dropped.
 *
 * Owner: the caller of create.
 */

#include <stdint.h>

#include "engine/kube/client/kube_client.h"
#include "engine/kube/objects/kube_pod.h"

struct kube_events;

enum kube_event_kind {
    KUBE_EVENT_SCHEDULED, /* it was bound */
    KUBE_EVENT_WAITS,     /* it cannot start yet, or is refused */
    KUBE_EVENT_STOPPED,   /* tarn evicts it: its job is preempted, cancelled or over its time */
    KUBE_EVENT_UNDONE,    /* tarn evicts it: not all pods of its workload could start */
};

/* instance: the identity of this daemon. */
struct kube_events *kube_events_create(struct kube_client *client, const char *instance);
void kube_events_destroy(struct kube_events *events); /* NULL is fine */

/* now_ms: uv_now(). words: cut to what an Event holds. */
void kube_events_say(struct kube_events *events, const struct kube_pod *pod,
                     enum kube_event_kind kind, const char *words, uint64_t now_ms);

#endif
