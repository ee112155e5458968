/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBE_VOLCANO_IMPORT_H
#define WIRE_KUBE_VOLCANO_IMPORT_H

/* volcano_import - a configuration of tarn from the queues of Volcano, and what has no equal
 *
 * What a queue deserves is its guarantee, of which it keeps the part that Volcano guarantees; its
 * capability is its limit. Parents are those of `spec.parent`, or of the annotations with a path.
 */

#include "wire/kube/kube_queues.h"

/* The objects have been read. config: YAML. Failures are in queues->code. */
void volcano_import(struct kube_queues *queues, struct text *config);

#endif
