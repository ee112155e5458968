/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHANGE_H
#define CORE_CHANGE_H

/* change - a step that checks the state and then emits events
 *
 * The daemon runs changes in the order of arrival, each against the state of that moment, and
 * answers when what was emitted is durable.
 */

#include "base/error.h"

struct change {
    /* Check against the state, emit events; a failure has emitted nothing. */
    int (*run)(struct change *change, struct error *err);
    /* code 0: durable. Frees the change. */
    void (*done)(struct change *change, int code, const struct error *err);
    struct change *next;
};

#endif
