/* SPDX-License-Identifier: Apache-2.0 */
#include "control/byte_limit.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/units.h"
#include "core/state/allowance.h"

enum { KIB = 1024 };

static uint64_t kib_of(uint64_t bytes)
{
    return (bytes + KIB - 1) / KIB;
}

/* When there is room, as a sentence has it. */
static char *next_step(const struct state *state, uint64_t excess, bool is_possible)
{
    char buffer[UNITS_TEXT_SIZE];

    if (!is_possible)
        return mem_string("make it smaller, or ask an administrator");
    return mem_printf("there is room for it in %s",
                      units_format_duration(buffer, allowance_wait(state, excess)));
}

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
    uint64_t excess = used + bytes - limit;
    AUTO_FREE char *next = next_step(state, excess > 0 ? excess : 1, bytes <= limit);
    return error_set(err, REFUSED_TOO_MANY,
                     "your requests of the last day have added %" PRIu64 " KiB to the journal, "
                     "and this one has %" PRIu64 " KiB; expected at most %" PRIu64
                     " MiB a day (journal: user_mib); %s; to cancel and to remove is possible",
                     kib_of(used), kib_of(bytes), limit >> 20, next);
}
