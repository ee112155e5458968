/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NODES_NODE_CALLS_H
#define DAEMON_NODES_NODE_CALLS_H

/* node_calls - tells the engine every second, and soon after a change, which of its nodes on call
 * the waiting jobs need
 *
 * Only for an engine with want(). The answer is that of sched_want_nodes().
 */

#include <uv.h>

#include "core/engine.h"
#include "daemon/hub.h"
#include "daemon/nodes/inventory.h"

struct node_calls;

/* NULL: the engine has no nodes on call. */
struct node_calls *node_calls_create(uv_loop_t *loop, struct hub *hub,
                                     const struct inventory *inventory, struct engine *engine);
/* Jobs have changed: look sooner. NULL is fine. */
void node_calls_changed(struct node_calls *calls);
void node_calls_destroy(struct node_calls *calls); /* NULL is fine */

#endif
