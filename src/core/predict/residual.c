/* SPDX-License-Identifier: Apache-2.0 */
#include "core/predict/residual.h"

#include <assert.h>

enum { UNIT_S = 30 };

usec_t residual_start(uint32_t bin)
{
    assert(bin <= RESIDUAL_BINS);

    uint32_t octave = (bin + 1) / 2;
    usec_t start = bin == 0 ? 0 : (usec_t)1 << octave;

    if (bin > 0 && bin % 2 == 0)
        start += start / 2;
    return start * UNIT_S * USEC_PER_SEC;
}

uint32_t residual_bin(usec_t attained)
{
    uint64_t units = attained > 0 ? (uint64_t)(attained / (UNIT_S * USEC_PER_SEC)) : 0;

    if (units < 2)
        return 0;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(units);
    uint32_t bin = 2 * octave - 1 + (units >> (octave - 1) & 1);
    return bin < RESIDUAL_BINS ? bin : RESIDUAL_BINS - 1;
}

uint32_t residual_class(int64_t milli)
{
    uint64_t gpus = milli > 1000 ? (uint64_t)milli / 1000 : 1;
    uint32_t class = 63 - (uint32_t)__builtin_clzll(gpus);

    return class < RESIDUAL_SIZES ? class : RESIDUAL_SIZES - 1;
}

void residual_pass(struct residual *residual, uint32_t class, uint32_t from, uint32_t to)
{
    assert(class < RESIDUAL_SIZES && to <= RESIDUAL_BINS);
    for (uint32_t bin = from; bin < to; bin++) {
        residual->left[class][bin]++;
        residual->left[RESIDUAL_ALL][bin]++;
    }
}

void residual_end(struct residual *residual, uint32_t class, uint32_t bin)
{
    assert(class < RESIDUAL_SIZES && bin < RESIDUAL_BINS);
    residual_pass(residual, class, bin, bin + 1);
    residual->ended[class][bin]++;
    residual->ended[RESIDUAL_ALL][bin]++;
}
