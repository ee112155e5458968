/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_ALLOWANCE_H
#define CONTROL_ALLOWANCE_H

/* allowance - how many bytes the submissions of each user have added to the journal in a day
 *
 * What a user has used up comes back evenly within ALLOWANCE_PERIOD. Content that the journal has
 * already costs nothing. A new daemon begins with nothing used.
 */

#include "base/map.h"
#include "base/units.h"

#define ALLOWANCE_PERIOD USEC_PER_DAY

struct allowance {
    struct map used; /* uid -> bytes at `at` */
    struct map at;   /* uid -> journal time */
    uint64_t last_blob;
};

void allowance_release(struct allowance *allowance);

/* limit: bytes in a day. */
uint64_t allowance_used(const struct allowance *allowance, uint32_t uid, uint64_t limit,
                        usec_t now);
/* A blob was stored for this user; its number says whether it is new. */
void allowance_take(struct allowance *allowance, uint32_t uid, uint64_t limit, usec_t now,
                    uint64_t blob, uint64_t bytes);

#endif
