/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_AMOUNTS_H
#define WIRE_CONFIG_CONFIG_AMOUNTS_H

/* config_amounts - amounts of resources in a document: GPUs as a number, or a map from resource to
 * amount
 */

#include "wire/config/config_keys.h"

struct resource_amounts {
    uint32_t count;
    struct resource_amount {
        char resource[REQUEST_MODEL_SIZE];
        int64_t amount;
    } items[RESOURCES_MAX];
};

/* The amounts of a key. beside: keys of the map that are no resources, ends with NULL; or NULL. */
int amounts_read(const struct reader *reader, const json_t *object, const char *key,
                 const char *const *beside, struct resource_amounts *ret);

/* Add an amount to a map as it is read. */
void amounts_set(json_t *map, const char *resource, int64_t amount);

/* Takes the map. A map that has GPUs only becomes a number; an empty map becomes NULL. */
json_t *amounts_shorten(json_t *map);

/* "gpus", "cpus", "memory" or a model, in lower case; ret of REQUEST_MODEL_SIZE. */
int resource_read(const struct reader *reader, const json_t *object, const char *key, char *ret);
bool lower_copy(char ret[REQUEST_MODEL_SIZE], const char *name); /* false: it is too long */

#endif
