/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NODES_INVENTORY_H
#define DAEMON_NODES_INVENTORY_H

/* inventory - updates the nodes and devices of the state from reports
 *
 * The probe of this machine, or an engine with nodes of its own, reports nodes as struct
 * engine_node. Only differences from the state become events. A known device that is missing from
 * the report of its node is lost: it stays known, but is not allocated. A known node that is
 * missing from a complete report is down.
 *
 * After a start of the daemon, the nodes of an engine get no jobs until it has reported all of
 * them: the state has them as they were.
 *
 * Calls:  expect, note, complete and describe emit events, so call them only inside a change;
 * report can be called at any time
 */

#include "core/engine.h"
#include "daemon/hub.h"

struct inventory;

/* completed is called when all nodes have been reported for the first time. */
struct inventory *inventory_create(struct hub *hub, void *user, void (*completed)(void *user));
void inventory_destroy(struct inventory *inventory); /* NULL is fine; before the hub */

/* Nodes will be reported later: those that are up are drained until then. */
void inventory_expect(struct inventory *inventory);
void inventory_note(struct inventory *inventory, const struct engine_node *node);
/* All nodes have been reported. */
void inventory_complete(struct inventory *inventory);
bool inventory_is_complete(const struct inventory *inventory);
/* The devices that the configuration describes for this machine (devices:), after reported ones. */
void inventory_describe(struct inventory *inventory, const struct engine_node *node);

/* A report of an engine, which becomes a separate change. */
void inventory_report(struct inventory *inventory, const struct engine_node *node, bool is_last);

/* The names of nodes that the engine can bring up, as it reported last; valid until the next call.
 */
const char *const *inventory_on_call(const struct inventory *inventory, size_t *ret_count);

/* A device as an event; name is a buffer for its name, and must live as long as the event. */
enum { INVENTORY_NAME_SIZE = PROBE_UUID_SIZE + 32 };
void inventory_device_event(const char *node, const struct probe_device *device, uint32_t index,
                            char *name, struct event *ret);

#endif
