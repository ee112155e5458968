/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_INVENTORY_H
#define DAEMON_INVENTORY_H

/* inventory - keeps the nodes and devices of the journal to what their machines say
 *
 * This machine's probe and an engine that has nodes of its own say what there is in the same words
 * (struct engine_node). Only what differs from the state becomes an event. A device that is known
 * on a node and not said of it any more is gone: it stays known, and nothing of it is given out. A
 * known node that was not reported, once all were, is down.
 *
 * Calls:  note, complete and describe emit, so they are for a change's run; report is for any time
 */

#include "core/engine.h"
#include "daemon/hub.h"

struct inventory;

struct inventory *inventory_create(struct hub *hub);
void inventory_destroy(struct inventory *inventory); /* NULL is fine; before the hub */

void inventory_note(struct inventory *inventory, const struct engine_node *node);
/* All nodes were said. */
void inventory_complete(struct inventory *inventory);
/* The devices that the configuration describes for this machine (devices:), behind those it said.
 */
void inventory_describe(struct inventory *inventory, const struct engine_node *node);

/* What an engine reports: becomes a change of its own. */
void inventory_report(struct inventory *inventory, const struct engine_node *node, bool is_last);

/* A device as an event; name holds what it is called, and must live as long. */
enum { INVENTORY_NAME_SIZE = PROBE_UUID_SIZE + 32 };
void inventory_device_event(const char *node, const struct probe_device *device, uint32_t index,
                            char *name, struct event *ret);

#endif
