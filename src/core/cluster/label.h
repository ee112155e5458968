/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_LABEL_H
#define CORE_CLUSTER_LABEL_H

/* label - a name of a node or a device, with or without a value: "fast", "zone=a"
 *
 * An administrator sets labels, and engines report some; a list is a comma-separated text. A device
 * has its own labels and those of its node. Built-in labels follow from the node and the device:
 * node, rack, block, type, spot (without a value), model and kind; in addition, the name of its
 * model.
 */

#include <stdbool.h>

#include "core/job/where.h"

struct device;
struct node;

bool label_is_builtin(const char *key);

/* The value in a list, which ends at its comma; NULL: it has no such label with a value. */
const char *label_value(const char *labels, const char *key);

/* Whether all conditions hold for the device; device NULL: for the node. */
bool where_holds(const struct where_term *terms, uint32_t count, const struct node *node,
                 const struct device *device);

#endif
