/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOG2_H
#define BASE_LOG2_H

/* log2 - logarithms in parts of 2^8, without floats: exact at powers of two, linear between */

#include <stdint.h>

enum { LOG2_ONE = 256 };

/* Of what is below 1: 0. */
static inline int32_t log2_of(int64_t value)
{
    if (value < 1)
        return 0;
    int32_t octave = 63 - __builtin_clzll((uint64_t)value);
    uint64_t mantissa =
        octave >= 8 ? (uint64_t)value >> (octave - 8) : (uint64_t)value << (8 - octave);

    return octave * LOG2_ONE + (int32_t)(mantissa - LOG2_ONE);
}

/* The other way round; above 2^62: 2^62. */
static inline int64_t log2_power(int32_t log)
{
    if (log < 0)
        return 0;
    int32_t octave = log / LOG2_ONE;
    uint64_t mantissa = (uint64_t)(log % LOG2_ONE) + LOG2_ONE;

    if (octave >= 62)
        return INT64_C(1) << 62;
    return (int64_t)(octave >= 8 ? mantissa << (octave - 8) : mantissa >> (8 - octave));
}

#endif
