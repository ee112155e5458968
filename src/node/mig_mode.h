/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_MIG_MODE_H
#define NODE_MIG_MODE_H

/* mig_mode - gives devices the MIG mode that their pools want
 *
 * The state says which mode a device should have (core/cluster/node.h). Until it has that mode,
 * nothing new is placed on it. When no process uses the device any more, it is held back like a
 * sick device. Then a worker removes its instances and changes the mode. The same happens after a
 * restart of the machine, because most devices lose their mode then. A change that the driver
 * refuses is logged and tried again each minute.
 *
 * Order of calls:  create, destroy before the watcher, the probe and the port's objects go
 */

#include <uv.h>

#include "core/node_port.h"
#include "node/probe_choice.h"
#include "node/watcher.h"

struct mig_modes;

struct mig_modes_options {
    uv_loop_t *loop;
    struct node_port port;
    struct probe *probe; /* may be NULL, or have no MIG: then nothing is done */
    const struct probe_devices *devices;
    struct watcher *watcher;
};

struct mig_modes *mig_modes_create(const struct mig_modes_options *options);
/* A change under way is waited for by the loop. NULL is fine. */
void mig_modes_destroy(struct mig_modes *modes);

#endif
