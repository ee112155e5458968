/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/deadline_start.h"

#include "base/wide.h"

enum spot_rule progress_rule(const struct progress *progress, usec_t now, usec_t *ret_until)
{
    usec_t attained =
        progress->attained < progress->estimate ? progress->attained : progress->estimate;
    usec_t left = progress->estimate - attained;
    usec_t last = progress->deadline - usec_after(left, progress->restart_cost);
    usec_t behind =
        progress->submitted +
        (usec_t)wide_scale((uint64_t)attained, (uint64_t)(progress->deadline - progress->submitted),
                           (uint64_t)progress->estimate);

    *ret_until = USEC_NEVER;
    if (now >= last)
        return SPOT_NEVER;
    *ret_until = last;
    if (now >= behind)
        return SPOT_PREFER;
    *ret_until = behind < last ? behind : last;
    return SPOT_ONLY;
}
