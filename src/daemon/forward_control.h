/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_FORWARD_CONTROL_H
#define DAEMON_FORWARD_CONTROL_H

/* forward_control - runs use cases on a state that is simulated in virtual time
 *
 * Their events change that state only; nothing is durable, and blobs are not stored.
 */

#include "control/control.h"
#include "forecast/forward.h"

struct forward_control {
    struct control control;
    struct forward *forward;
    usec_t wall_ahead;
    struct error err; /* about the first event that the state refused */
    int code;
};

void forward_control_init(struct forward_control *in, struct forward *forward, usec_t wall_ahead);
/* code: the result of the use case. Also fails if the state refused one of its events. */
int forward_control_end(const struct forward_control *in, int code, struct error *err);

#endif
