/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_TWICE_H
#define FORECAST_TWICE_H

/* twice - simulates a state without and with a change, in parallel
 *
 * The first runs in a copy of this process (io/copy.h), the second in this one. Both start from the
 * same state and brain, and consume them.
 */

#include "forecast/outlook.h"

struct twice_ask {
    struct forward_options forward;
    /* Tell events before the start; for the first in the copy. */
    int (*prepare)(void *user, struct forward *forward, bool is_change, struct error *err);
    void *user;
};

int twice_go(const struct twice_ask *ask, struct outlook_side *ret_now,
             struct outlook_side *ret_change, struct error *err);

#endif
