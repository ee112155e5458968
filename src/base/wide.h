/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_WIDE_H
#define BASE_WIDE_H

/* wide - products that do not fit into 64 bits on their way */

#include <stdint.h>

__extension__ typedef unsigned __int128 wide_t;

/* value * numerator / denominator, rounded down; UINT64_MAX when it does not fit. */
static inline uint64_t wide_scale(uint64_t value, uint64_t numerator, uint64_t denominator)
{
    wide_t result = (wide_t)value * numerator / denominator;

    return result > UINT64_MAX ? UINT64_MAX : (uint64_t)result;
}

/* a * b against c * d: -1, 0, 1 */
static inline int wide_compare(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    wide_t left = (wide_t)a * b, right = (wide_t)c * d;

    return (left > right) - (left < right);
}

#endif
