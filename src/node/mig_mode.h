/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_MIG_MODE_H
#define NODE_MIG_MODE_H

/* mig_mode - sets the MIG mode that the pools require
 *
 * The state contains the mode that a device should have (core/cluster/node.h). Until it has that
 * mode, no new job is placed on it. When no process uses the device any more, it is treated like a
 * faulty device while a worker removes its instances and changes the mode. The same happens after a
 * restart of the node, because most devices then lose their mode. If the driver refuses the change,
 * that is logged, and the change is tried again every minute.
 *
 * Order of calls:  create, destroy before the watcher, the probe and the port's objects
 */

#include <uv.h>

#include "core/node_port.h"
#include "node/probe_choice.h"
#include "node/watcher.h"

struct mig_modes;
struct workers;

struct mig_modes_options {
    uv_loop_t *loop;
    struct workers *workers;
    struct node_port port;
    struct probe *probe; /* NULL, or a probe without MIG: nothing is done */
    const struct probe_devices *devices;
    struct watcher *watcher;
};

struct mig_modes *mig_modes_create(const struct mig_modes_options *options);
/* A change in progress still refers to it: before the workers are stopped. NULL is fine. */
void mig_modes_destroy(struct mig_modes *modes);

#endif
