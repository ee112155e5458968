/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_TYPES_H
#define WIRE_CONFIG_CONFIG_TYPES_H

/* config_types - node_types of a configuration: machines that could be had
 *
 *   {h100x8: {gpus: 8, model: h100, cpus: 128, memory: 1T, price: 20, spot_price: 8, boot: 5m,
 *             most: 10, idle: 10m, cooldown: 10m}}
 */

#include <jansson.h>

#include "core/cluster/node_type.h"
#include "wire/reader.h"

/* ret: room for NODE_TYPES_MAX. */
int config_types_read(const struct reader *reader, const json_t *document, struct node_type *ret,
                      size_t *ret_count);
json_t *config_types_to_json(const struct node_type *types, size_t count);

#endif
