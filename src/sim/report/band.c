/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/band.h"

#include "base/mem.h"

static const char *const band_names[BAND_COUNT] = { "0", "<1", "1", "2-4", "5-8", "9-64", ">64" };

enum band band_of(int64_t milli)
{
    static const int64_t tops[] = { 0, 999, 1000, 4000, 8000, 64000 };

    for (int i = 0; i < (int)COUNT_OF(tops); i++) {
        if (milli <= tops[i])
            return (enum band)i;
    }
    return BAND_MORE;
}

const char *band_name(enum band band)
{
    return band_names[band];
}
