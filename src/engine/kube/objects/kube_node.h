/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_NODE_H
#define ENGINE_KUBE_KUBE_NODE_H

/* kube_node - what the engine needs of a node, in values of its own
 *
 * Accelerators are what device plugins advertise. GPU feature discovery's labels state their model
 * and memory. A device has the name "NODE-gpu0", or its UUID if the annotation KUBE_GPUS lists
 * them.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/probe.h"

struct kube_node {
    char *name, *boot, *reason; /* reason: if it is down or drained */
    char *rack, *block;         /* "": not known */
    char *address;              /* in the cluster; "": not known */
    json_t *labels, *taints;    /* as in the API; taints without those of the node's condition */
    int64_t cpu_milli, memory_mib;
    json_t *others; /* other resources, in thousandths: {"rdma/hca": 8000} */
    uint32_t pods_max;
    bool is_down, is_drained;
    struct probe_device *devices;
    char (*resources)[64]; /* of each device */
    uint32_t device_count;
};

/* NULL: not a node. Runs in the thread of the client. */
void *kube_node_read(const json_t *object);
/* Whether nothing that counts differs: nodes report their health all the time. */
bool kube_node_is_same(const struct kube_node *a, const struct kube_node *b);
void kube_node_destroy(void *node); /* NULL is fine */

#endif
