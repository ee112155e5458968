/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NODES_NODE_FAULTS_H
#define DAEMON_NODES_NODE_FAULTS_H

/* node_faults - tells the engine which of its nodes have a faulty device
 *
 * Only for an engine with faulty(). The engine hears of each node once after the start, and of each
 * change; that a node is healthy again, when it has been so for 20 seconds.
 */

#include <uv.h>

#include "core/engine.h"
#include "daemon/hub.h"

struct node_faults;

/* NULL: the engine does not want to know. */
struct node_faults *node_faults_create(uv_loop_t *loop, const struct hub *hub,
                                       struct engine *engine);
void node_faults_destroy(struct node_faults *faults); /* NULL is fine */

#endif
