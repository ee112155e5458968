/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_LABEL_H
#define CORE_CLUSTER_LABEL_H

/* label - a name of a node or a device, with or without a value: "fast", "zone=a"
 *
 * An administrator sets them; a list is a text with commas between. A device has its own labels and
 * those of its node. The built-in ones follow from the node and the device: node, rack, block,
 * type, spot (without a value), model and kind; and a device has the name of its model.
 */

#include <stdbool.h>

#include "core/job/where.h"

struct device;
struct node;

bool label_is_builtin(const char *key);

/* All conditions hold for the device, or where it is NULL for the node alone. */
bool where_holds(const struct where_term *terms, uint32_t count, const struct node *node,
                 const struct device *device);

#endif
