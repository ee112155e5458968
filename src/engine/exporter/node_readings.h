/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_EXPORTER_NODE_READINGS_H
#define ENGINE_EXPORTER_NODE_READINGS_H

/* node_readings - what the exporters on the nodes (tarn exporter) say about the GPUs
 *
 * A thread asks every node once a second, and less often if there are many. The reports come in the
 * thread of the loop. A GPU of the engine is the exporter's device with its UUID; if it has another
 * name, that with its index: both have the order of the driver. An XID is reported if it comes
 * after the first answer of its node.
 *
 * Exporters are not authenticated: what is read is only as true as the network.
 *
 * Order of calls:  create, follow*, destroy
 * On failure:      a node that does not answer for NODE_READINGS_PATIENCE_S (three periods, if
 *                  that is longer) has its devices reported as not known, and is asked again; so
 *                  has one whose answer cannot be read, which is logged once
 * Limits:          NODE_READINGS_BYTES_MAX of an answer. With more than five times
 *                  NODE_READINGS_RATE nodes, readings are too rare to count as usage of jobs
 */

#include <uv.h>

#include "core/engine.h"

enum {
    NODE_READINGS_PATIENCE_S = 8,
    NODE_READINGS_BYTES_MAX = 1 << 20,
    NODE_READINGS_RATE = 500, /* nodes that are asked in a second */
};

struct node_readings;

/* A node whose exporter is asked. */
struct readings_node {
    const char *name, *address;     /* a host name, or an address of IPv4 or IPv6 */
    char (*uuids)[PROBE_UUID_SIZE]; /* names of its GPUs, by index */
    uint32_t count;
    uint32_t expected; /* indices count only if its exporter has so many GPUs; 0: any number */
};

/* An exporter states that the pod with this UID has the device; with every reading. */
typedef void node_readings_pod_fn(void *user, const char *uuid, const char *pod);

int node_readings_create(uv_loop_t *loop, const struct engine_reports *reports,
                         struct node_readings **ret, struct error *err);
void node_readings_destroy(struct node_readings *readings); /* NULL is fine */

/* Before the first follow(). */
void node_readings_on_pod(struct node_readings *readings, node_readings_pod_fn *on_pod, void *user);

/* These nodes are asked from now on, at this port; 0: none. They are copied. */
void node_readings_follow(struct node_readings *readings, const struct readings_node *nodes,
                          size_t count, uint32_t port);

/* Set the memory of the devices for which only an exporter has stated it. */
void node_readings_fill(const struct node_readings *readings, struct probe_device *devices,
                        uint32_t count);

#endif
