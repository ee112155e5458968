/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_DEMAND_H
#define CORE_JOB_DEMAND_H

/* demand - the most frequent requests: shapes of the submitted jobs, by weight
 *
 * A space-saving counter (Metwally 2005): at most DEMAND_SHAPES_MAX shapes; a new one takes the
 * place of the lightest and inherits its weight. Each member counts as one; weights halve every
 * 24 hours. Placement keeps room for the most frequent requests
 * (sched/placement/fragmentation.h).
 */

#include "base/units.h"
#include "core/job/class.h"

enum { DEMAND_SHAPES_MAX = 64, DEMAND_ONE = 1 << 16 };

struct demand_shape {
    uint32_t class; /* holds a reference */
    uint64_t weight;
};

struct demand {
    LIST(struct demand_shape) shapes;
    uint64_t noted; /* members counted since the beginning */
    usec_t decayed; /* the time up to which weights have decayed */
};

void demand_note(struct demand *demand, struct class_table *classes, uint32_t class,
                 uint32_t members, usec_t now);
void demand_release(struct demand *demand); /* before the classes */

#endif
