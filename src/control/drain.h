/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_DRAIN_H
#define CONTROL_DRAIN_H

/* drain - a node or a GPU gets no new jobs, for as long as an administrator says
 *
 * Running jobs go on. The journal keeps it: neither a restart of the daemon nor what a node reports
 * of itself ends it; a node that goes down comes back undrained.
 */

#include "control/control.h"

enum { DRAIN_REASON_SIZE = 200 };

/* reason: NULL ends it. Inside a change. */
int drain_node(const struct control *control, const char *name, const char *reason,
               struct error *err);
/* By any name that device_find() takes. */
int drain_device(const struct control *control, const char *name, const char *reason,
                 struct error *err);

#endif
