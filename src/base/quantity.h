/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

/* quantity - amounts of resources as Kubernetes writes them
 *
 * A decimal number and a suffix: n, u, m, none, k, M, G, T, P, E (powers of 1000), Ki to Ei (powers
 * of 1024), or an exponent, as in "1e3". What is less than the unit of the result is rounded up.
 *
 * Limits: no sign; results up to QUANTITY_MAX
 */

#include <stdbool.h>
#include <stdint.h>

#define QUANTITY_MAX (INT64_MAX / 1024)

/* In thousandths: "500m" -> 500, "2" -> 2000. False: not a quantity (NULL is none), negative, or
 * too large. */
bool quantity_milli(const char *text, int64_t *ret);
/* A number of bytes in MiB: "1Gi" -> 1024, "1500k" -> 2. */
bool quantity_mib(const char *text, int64_t *ret);

#endif
