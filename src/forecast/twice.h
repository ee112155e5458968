/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_TWICE_H
#define FORECAST_TWICE_H

/* twice - a state driven on as it is, and with a change, at the same time
 *
 * The first in a copy of this process (io/copy.h), the second in this one: state and brain are
 * the same for both, and used up.
 */

#include "forecast/outlook.h"

struct twice_ask {
    struct forward_options forward;
    /* Tell what is to be told before anything happens; in the copy for the first. */
    int (*prepare)(void *user, struct forward *forward, bool is_change, struct error *err);
    void *user;
};

int twice_go(const struct twice_ask *ask, struct outlook_side *ret_now,
             struct outlook_side *ret_change, struct error *err);

#endif
