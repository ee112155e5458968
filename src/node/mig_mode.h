/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_MIG_MODE_H
#define NODE_MIG_MODE_H

/* mig_mode - gives devices the MIG mode that their pools want
 *
 * The state says which one that is (node.h); until a device has it, nothing new is put there. Once
 * nobody uses it any more, not even a stranger, it is held, as a sick one is, so that nothing comes
 * whatever is wanted meanwhile; then its instances are removed and the mode is changed, by a
 * worker. So it is also after a restart of the machine, which most devices do not keep their mode
 * over. What the driver refuses is tried again each minute, and told.
 *
 * Order of calls:  create, destroy before the watch, the probe and the hub go
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
    const struct machine_devices *devices;
    struct watcher *watcher;
};

struct mig_modes *mig_modes_create(const struct mig_modes_options *options);
/* A change under way is waited for by the loop. NULL is fine. */
void mig_modes_destroy(struct mig_modes *modes);

#endif
