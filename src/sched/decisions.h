/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_DECISIONS_H
#define SCHED_DECISIONS_H

/* decisions - what a plan decided, as events in their order */

#include "base/mem.h"
#include "core/journal/event.h"

struct decisions {
    LIST(struct event) events; /* leases are valid until the next step */
};

#endif
