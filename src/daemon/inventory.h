/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_INVENTORY_H
#define DAEMON_INVENTORY_H

/* inventory - updates the nodes and devices of the state from the reports of their machines
 *
 * The probe of this machine, or an engine with nodes of its own, reports nodes as struct
 * engine_node. Only differences from the state become events. A known device that a report of its
 * node no longer has is lost: it stays known, but is not allocated. After a complete report, a
 * known node that was not in it is down.
 *
 * Calls:  note, complete and describe emit, so they are for a change's run; report is for any time
 */

#include "core/engine.h"
#include "daemon/hub.h"

struct inventory;

struct inventory *inventory_create(struct hub *hub);
void inventory_destroy(struct inventory *inventory); /* NULL is fine; before the hub */

void inventory_note(struct inventory *inventory, const struct engine_node *node);
/* All nodes have been reported. */
void inventory_complete(struct inventory *inventory);
/* The devices that the configuration describes for this machine (devices:), after reported ones. */
void inventory_describe(struct inventory *inventory, const struct engine_node *node);

/* A report of an engine, which becomes a separate change. */
void inventory_report(struct inventory *inventory, const struct engine_node *node, bool is_last);

/* A device as an event; name is the buffer of its name, and must live as long. */
enum { INVENTORY_NAME_SIZE = PROBE_UUID_SIZE + 32 };
void inventory_device_event(const char *node, const struct probe_device *device, uint32_t index,
                            char *name, struct event *ret);

#endif
