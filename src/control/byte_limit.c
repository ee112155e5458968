/* SPDX-License-Identifier: Apache-2.0 */
#include "control/byte_limit.h"

#include <inttypes.h>

#include "core/state/allowance.h"

int byte_limit_check(const struct control *control, const struct identity *who, uint64_t bytes,
                     struct error *err)
{
    const struct state *state = control_state(control);
    uint64_t limit = allowance_limit(state);

    if (!control->world.written || limit == 0 || who->is_admin)
        return 0;
    uint64_t used = allowance_used(state, who->name, control_now(control));
    if (used < limit && bytes <= limit - used)
        return 0;
    return error_set(err, REFUSED_TOO_MANY,
                     "your requests of the last day have added %" PRIu64 " MiB to the journal, "
                     "and this one has %" PRIu64 " MiB; expected at most %" PRIu64
                     " MiB a day (journal: user_mib); to cancel and to remove is possible",
                     used >> 20, bytes >> 20, limit >> 20);
}
