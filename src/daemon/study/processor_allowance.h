/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STUDY_PROCESSOR_ALLOWANCE_H
#define DAEMON_STUDY_PROCESSOR_ALLOWANCE_H

/* processor_allowance - how much processor time a copy of the daemon may use
 *
 * ALLOWANCE_PERCENT of a core, of which up to ALLOWANCE_SAVED of unused time are saved.
 *
 * Units: microseconds
 */

#include <uv.h>

#include "base/units.h"

enum { ALLOWANCE_PERCENT = 1 };
#define ALLOWANCE_SAVED (2 * USEC_PER_SEC)

struct processor_allowance {
    usec_t left;      /* less than 0: too much was used */
    uint64_t counted; /* the loop's time, in ms: what came until then is in `left` */
};

static inline struct processor_allowance processor_allowance_full(const uv_loop_t *loop)
{
    return (struct processor_allowance){ ALLOWANCE_SAVED, uv_now(loop) };
}

/* Add what time has brought since. */
static inline void processor_allowance_count(struct processor_allowance *allowance,
                                             const uv_loop_t *loop)
{
    uint64_t now = uv_now(loop);
    usec_t more = (usec_t)(now - allowance->counted) * USEC_PER_MS * ALLOWANCE_PERCENT / 100;

    allowance->counted = now;
    allowance->left += more < ALLOWANCE_SAVED ? more : ALLOWANCE_SAVED;
    allowance->left = allowance->left < ALLOWANCE_SAVED ? allowance->left : ALLOWANCE_SAVED;
}

#endif
