/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_DUE_H
#define FORECAST_DUE_H

/* due - end times of job attempts: a heap, ordered by time, then by job
 *
 * Entries are never removed early: the caller that takes one checks whether the attempt still runs.
 */

#include <stdbool.h>

#include "base/mem.h"
#include "base/units.h"

struct due {
    usec_t at;
    uint32_t job, attempt;
};

struct dues {
    LIST(struct due) heap; /* its owner releases it */
};

void due_add(struct dues *dues, struct due end);
usec_t due_first(const struct dues *dues); /* USEC_NEVER: none */
/* Take the first one, unless it is after now. */
bool due_take(struct dues *dues, usec_t now, struct due *ret);

#endif
