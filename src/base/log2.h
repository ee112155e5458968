/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOG2_H
#define BASE_LOG2_H

/* log2 - base-2 logarithms in units of 1/256, in integers: exact at powers of two, else to one unit
 */

#include <stdint.h>

enum { LOG2_ONE = 256 };

/* log2(1 + i/32) - i/32 in units of 1/256. */
static const uint8_t log2_bulge[] = { 0,  3,  6,  9,  12, 14, 15, 17, 18, 20, 20,
                                      21, 22, 22, 22, 22, 22, 21, 21, 20, 19, 18,
                                      17, 16, 15, 13, 12, 10, 8,  6,  4,  2,  0 };

/* 0 for values below 1. */
static inline int32_t log2_of(int64_t value)
{
    if (value < 1)
        return 0;
    int32_t octave = 63 - __builtin_clzll((uint64_t)value);
    uint64_t mantissa =
        octave >= 8 ? (uint64_t)value >> (octave - 8) : (uint64_t)value << (8 - octave);

    int32_t part = (int32_t)(mantissa - LOG2_ONE);
    return octave * LOG2_ONE + part + log2_bulge[(part + 4) / 8];
}

/* The inverse; at most 2^62. */
static inline int64_t log2_power(int32_t log)
{
    if (log < 0)
        return 0;
    int32_t octave = log / LOG2_ONE;
    int32_t part = log % LOG2_ONE;

    part -= log2_bulge[(part + 4) / 8]; /* near enough: the bulge is flat */
    part -= part + log2_bulge[(part + 4) / 8] - log % LOG2_ONE;
    uint64_t mantissa = (uint64_t)(part > 0 ? part : 0) + LOG2_ONE;
    if (octave >= 62)
        return INT64_C(1) << 62;
    return (int64_t)(octave >= 8 ? mantissa << (octave - 8) : mantissa >> (8 - octave));
}

#endif
