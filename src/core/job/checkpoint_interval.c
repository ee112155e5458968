/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/checkpoint_interval.h"

#include "base/wide.h"

/* The largest integer with a square that is not above value. */
static uint64_t root_of(wide_t value)
{
    uint64_t root = 0;

    for (uint64_t bit = UINT64_C(1) << 62; bit > 0; bit >>= 1) {
        wide_t tried = (wide_t)(root | bit);
        if (tried * tried <= value)
            root |= bit;
    }
    return root;
}

usec_t daly_interval(usec_t takes, usec_t between)
{
    uint64_t d = takes > 0 ? (uint64_t)takes : 1;
    uint64_t m = between > 0 ? (uint64_t)between : 1;
    uint64_t every = m;

    if (d / 2 < m) {
        uint64_t young = root_of((wide_t)2 * d * m);
        every = young + wide_scale(young, d, m) / 18 - d / 3 * 2;
    }
    return every > USEC_PER_SEC ? (usec_t)every : USEC_PER_SEC;
}

uint32_t daly_waste(usec_t takes, usec_t every, usec_t between)
{
    uint64_t saving = wide_scale((uint64_t)takes, DALY_WASTE_ONE, (uint64_t)every);
    uint64_t again = wide_scale((uint64_t)every, DALY_WASTE_ONE / 2, (uint64_t)between);
    uint64_t waste =
        saving > DALY_WASTE_ONE || again > DALY_WASTE_ONE ? DALY_WASTE_ONE : saving + again;

    return waste > DALY_WASTE_ONE ? DALY_WASTE_ONE : (uint32_t)waste;
}
