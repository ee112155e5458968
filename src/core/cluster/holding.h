/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_HOLDING_H
#define CORE_CLUSTER_HOLDING_H

/* holding - what each user and each Unix group holds now in each queue, with all below it
 *
 * Kept for all, so that a limit that is set later finds it. Follows from the leases: not saved.
 */

#include "base/map.h"
#include "core/cluster/quota.h"

struct holding {
    uint32_t queue, id;
    uint8_t kind; /* SUBJECT_USER or SUBJECT_GROUP */
    struct amounts amounts;
};

struct holdings {
    LIST(struct holding) items;
    struct map places; /* (queue, kind, id) -> place plus one */
};

void holding_add(struct holdings *holdings, uint32_t queue, enum subject_kind kind, uint32_t id,
                 const struct amounts *amounts, int sign);
/* NULL: it never held anything. */
const struct amounts *holding_of(const struct holdings *holdings, uint32_t queue,
                                 enum subject_kind kind, uint32_t id);
void holdings_release(struct holdings *holdings);

#endif
