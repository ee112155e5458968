/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_INTERRUPTION_H
#define CONTROL_INTERRUPTION_H

/* interruption - a machine will be taken away, or will not after all (spot) */

#include "control/control.h"

struct interruption {
    usec_t notice; /* how long it stays */
    bool is_cancelled;
};

/* Inside a change. */
int interrupt(const struct control *control, const char *node, const struct interruption *wish,
              struct error *err);

#endif
