/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_ROLE_ORDER_H
#define SCHED_PLACEMENT_ROLE_ORDER_H

/* cast - in which order the roles of a gang are placed, and by which of their alternatives
 *
 * Each role takes the cheapest machines for its members, and may so take what only another could
 * have used. The role whose members want most comes first: GPUs, then CPUs, then memory. One that
 * finds no place after others is tried before them; one that finds none as the first has none by
 * this alternative. Then other alternatives are tried, those of the last role first.
 *
 * Order of calls:  start, (use it, next)* until next says no
 * Limits:          CAST_TRIES tries: a gang of many roles with many alternatives is not looked at
 *                  in all ways
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/job/role.h"

enum { CAST_TRIES = 48 };

#define CAST_ALL_PLACED UINT32_MAX

struct cast {
    const struct request *request;
    uint32_t roles[REQUEST_ROLES_MAX];        /* in this order */
    uint32_t alternatives[REQUEST_ROLES_MAX]; /* by role */
    uint32_t moves, tries;                    /* so far: by these alternatives, and in all */
};

void cast_start(struct cast *cast, const struct request *request);
/* failed: the role that found no place; CAST_ALL_PLACED: it was something else. False: all was
 * tried. */
bool cast_next(struct cast *cast, uint32_t failed);

#endif
