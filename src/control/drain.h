/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_DRAIN_H
#define CONTROL_DRAIN_H

/* drain - a node or a GPU gets no new jobs: an administrator drains it, or its owner takes it away
 *
 * Running jobs on a drained node or GPU continue. A drain is in the journal: neither a restart of
 * the daemon nor a report of the node ends it; a node that goes down comes back undrained. A node
 * that will be taken away (spot) is interrupted: its preemptible jobs save their work and leave.
 *
 * Call all functions inside a change.
 */

#include "control/control.h"

enum { DRAIN_REASON_SIZE = 200 };

/* reason: NULL ends it. */
int drain_node(const struct control *control, const char *name, const char *reason,
               struct error *err);
/* By any name that device_find() takes. */
int drain_device(const struct control *control, const char *name, const char *reason,
                 struct error *err);

struct interruption {
    usec_t notice; /* how long it stays */
    bool is_cancelled;
};

int interrupt(const struct control *control, const char *node, const struct interruption *wish,
              struct error *err);

#endif
