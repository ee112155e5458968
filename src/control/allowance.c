/* SPDX-License-Identifier: Apache-2.0 */
#include "control/allowance.h"

void allowance_release(struct allowance *allowance)
{
    map_release(&allowance->used);
    map_release(&allowance->at);
}

uint64_t allowance_used(const struct allowance *allowance, uint32_t uid, uint64_t limit, usec_t now)
{
    uint64_t used = 0, at = 0;

    map_get(&allowance->used, uid, &used);
    map_get(&allowance->at, uid, &at);
    usec_t passed = now - (usec_t)at;
    if (passed >= ALLOWANCE_PERIOD)
        return 0;
    /* In steps of a second, so that the product fits. */
    uint64_t back = limit / (ALLOWANCE_PERIOD / USEC_PER_SEC) * (uint64_t)(passed / USEC_PER_SEC);
    return used > back ? used - back : 0;
}

void allowance_take(struct allowance *allowance, uint32_t uid, uint64_t limit, usec_t now,
                    uint64_t blob, uint64_t bytes)
{
    if (blob <= allowance->last_blob)
        return;
    allowance->last_blob = blob;
    uint64_t used = allowance_used(allowance, uid, limit, now);
    map_set(&allowance->used, uid, used + bytes);
    map_set(&allowance->at, uid, (uint64_t)now);
}
