/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_DRA_CEL_MATCH_H
#define ENGINE_KUBE_DRA_CEL_MATCH_H

/* cel_match - run the program of a device selector for a device
 *
 * Attributes and capacities without a domain are of the driver's. An error, such as an attribute
 * that the device does not have, is no match. Values of different types are not equal, and have no
 * order. Amounts are compared in thousandths; larger ones than QUANTITY_MAX are errors.
 */

#include <jansson.h>

#include "engine/kube/dra/cel.h"

/* As the API has them. */
struct cel_device {
    const char *driver;
    const json_t *attributes, *capacity; /* NULL: none */
};

bool cel_match(const struct cel *cel, const struct cel_device *device);

#endif
