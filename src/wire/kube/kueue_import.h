/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBE_KUEUE_IMPORT_H
#define WIRE_KUBE_KUEUE_IMPORT_H

/* kueue_import - a configuration of tarn from the objects of Kueue, and what has no equal
 *
 * Cohorts and ClusterQueues become queues with their nominal quota as the guarantee, LocalQueues
 * the queues below them. A ResourceFlavor whose labels name a GPU is that model.
 */

#include "wire/kube/kube_queues.h"

/* The objects have been read. config: YAML. Failures are in queues->code. */
void kueue_import(struct kube_queues *queues, struct text *config);

#endif
