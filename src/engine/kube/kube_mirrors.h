/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_MIRRORS_H
#define ENGINE_KUBE_KUBE_MIRRORS_H

/* kube_mirrors - objects of the API that show what tarn knows of workloads and queues
 *
 * `kubectl get workloads.tarn.dev` and `kubectl get queues.tarn.dev` list them. They are mirrors:
 * nothing is read from them, and a change of one is overwritten with the next change in tarn. They
 * exist only where their CustomResourceDefinitions do (dist/kube/chart, `mirrors.enabled`).
 *
 * Order of calls:  create, look, then all others in any order, destroy
 * Owner:           the caller of create
 */

#include "core/engine.h"
#include "engine/kube/client/kube_client.h"

struct kube_mirrors;

struct kube_mirrors *kube_mirrors_create(struct kube_client *client);
void kube_mirrors_destroy(struct kube_mirrors *mirrors); /* NULL is fine */

/* Ask once whether the cluster has the definitions; done() after that. */
void kube_mirrors_look(struct kube_mirrors *mirrors, void (*done)(void *user), void *user);
bool kube_mirrors_are_on(const struct kube_mirrors *mirrors);

/* The path of the mirror of a workload; title: for people, key: unique. New; NULL: there are no
 * mirrors. */
char *kube_mirrors_path(const struct kube_mirrors *mirrors, const char *namespace,
                        const char *title, const char *key);
void kube_mirrors_show(struct kube_mirrors *mirrors, const char *path,
                       const struct engine_view *view);
/* The workload is over, or gone. NULL path is fine. */
void kube_mirrors_drop(struct kube_mirrors *mirrors, const char *path);
/* All queues; those that are not among them any more are removed. */
void kube_mirrors_show_queues(struct kube_mirrors *mirrors, const struct engine_queue *queues,
                              size_t count);
/* Remove mirrors that an earlier daemon left: all that were not shown since create. False: it is
 * too early. */
bool kube_mirrors_sweep(struct kube_mirrors *mirrors);

#endif
