/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_DEVICES_H
#define WIRE_CONFIG_CONFIG_DEVICES_H

/* config_devices - devices of a configuration: those that an administrator describes
 *
 * Limits:  DEVICE_TYPES_MAX types
 */

#include <jansson.h>

#include "core/cluster/device_type.h"
#include "wire/reader.h"

/* ret: room for DEVICE_TYPES_MAX. */
int config_devices_read(const struct reader *reader, const json_t *document,
                        struct device_type *ret, size_t *ret_count);
json_t *config_devices_to_json(const struct device_type *types, size_t count);

/* labels: a name or a list, of a device or a pool, with commas between them. */
int config_labels_read(const struct reader *reader, const json_t *object, char *ret, size_t size);
void config_labels_to_json(const char *labels, json_t *object);

#endif
