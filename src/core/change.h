/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHANGE_H
#define CORE_CHANGE_H

/* change - a step that checks the state and then emits events
 *
 * The daemon runs changes in order of arrival, each against the state at that moment, and
 * answers once the emitted events are durable.
 */

#include "base/error.h"

struct change {
    /* Check against the state, then emit events; on failure, nothing was emitted. */
    int (*run)(struct change *change, struct error *err);
    /* code 0: the events are durable. Frees the change. */
    void (*done)(struct change *change, int code, const struct error *err);
    struct change *next;
};

#endif
