/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_LABEL_H
#define CORE_CLUSTER_LABEL_H

/* label - a name of a node or a device, with or without a value: "fast", "zone=a"
 *
 * An administrator sets them; a list is a text with commas between. The built-in ones follow from
 * the node and the device: node, rack, block, type, spot, model and kind.
 */

#include <stdbool.h>

bool label_is_builtin(const char *key);

#endif
