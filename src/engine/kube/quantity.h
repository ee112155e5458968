/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_QUANTITY_H
#define ENGINE_KUBE_QUANTITY_H

/* quantity - amounts of resources as the Kubernetes API writes them
 *
 *   QUANTITY := [sign] digits ['.' digits] [SUFFIX]
 *   SUFFIX   := n u m "" k M G T P E | Ki Mi Gi Ti Pi Ei | e EXPONENT | E EXPONENT
 *
 * Source: the API reference of resource.Quantity. Amounts are rounded up, so that a request is
 * never counted as less than it is.
 */

#include <stdbool.h>
#include <stdint.h>

/* In thousandths: "500m" -> 500, "2" -> 2000. False: not a quantity, negative, or too large. */
bool quantity_milli(const char *text, int64_t *ret);
/* A number of bytes in MiB: "1Gi" -> 1024, "1500k" -> 2. */
bool quantity_mib(const char *text, int64_t *ret);

#endif
