/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_FORWARD_CONTROL_H
#define DAEMON_FORWARD_CONTROL_H

/* forward_control - use cases in a state that is driven on in virtual time
 *
 * What they emit happens to that state; nothing is durable, and blobs are not kept.
 */

#include "control/control.h"
#include "forecast/forward.h"

struct forward_control {
    struct control control;
    struct forward *forward;
    usec_t wall_ahead;
    struct error err; /* of the first event that the state refused */
    int code;
};

void forward_control_init(struct forward_control *in, struct forward *forward, usec_t wall_ahead);
/* code: of the use case. Fails also when the state refused what it emitted. */
int forward_control_end(const struct forward_control *in, int code, struct error *err);

#endif
