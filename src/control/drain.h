/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_DRAIN_H
#define CONTROL_DRAIN_H

/* drain - stops placing new jobs on a node or GPU that is drained, or that its provider takes away
 *
 * Running jobs on a drained node or GPU continue. The journal records the drain, so neither a
 * restart of the daemon nor a report of the node ends it; but a node that goes down is no longer
 * drained when it returns. A spot node that will be taken away is interrupted: its preemptible jobs
 * save their work and restart elsewhere.
 *
 * Call all functions inside a change.
 */

#include "control/control.h"

enum { DRAIN_REASON_SIZE = 200 };

/* reason: NULL ends the drain. */
int drain_node(const struct control *control, const char *name, const char *reason,
               struct error *err);
/* name: as for device_find(). */
int drain_device(const struct control *control, const char *name, const char *reason,
                 struct error *err);

struct interruption {
    usec_t notice; /* time until the node is taken away */
    bool is_cancelled;
};

int interrupt(const struct control *control, const char *node, const struct interruption *wish,
              struct error *err);

#endif
