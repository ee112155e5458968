/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_NODE_H
#define CORE_CLUSTER_NODE_H

/* node - nodes, their devices, and their free resources
 *
 * struct node and struct device contain the hardware, which changes rarely. struct room contains
 * the free resources as plain tables of numbers: the state has the actual one, and a plan works on
 * copies. A known device is never removed: it becomes sick (faulty), and keeps its number.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/units.h"
#include "core/job/lease.h"
#include "core/job/request.h"

enum { NODE_LABELS_SIZE = 1024, NODE_SETTINGS_MAX = 20000 };

typedef char node_labels[NODE_LABELS_SIZE], place_name[REQUEST_NAME_SIZE];

/* Configured properties of a node, which may not exist yet. The members are defined in config.def.
 * 0 and "": not set. */
struct node_settings {
    char name[REQUEST_NAME_SIZE];
#define NODE(tag, form, type, member, ...) type member;
#include "core/config.def"
};

/* Properties that the engine reports; "" and 0: not known. */
struct node_report {
    char *rack, *block, *type;
    char *labels; /* comma-separated */
    int64_t price_micro;
    bool is_spot;
};

enum node_state { NODE_UP, NODE_DRAINED, NODE_DOWN };

/* So begins the reason of a drained node on which nothing can be started for a moment
 * (daemon/nodes/shortage.h), and of no other. */
#define NODE_SHORTAGE "shortage: "

struct node {
    char *name;
    char *reason;  /* why it is not up, or NULL; valid for JSON */
    char *drained; /* why an administrator did, also while it is down; NULL: not (or before this) */
    struct node_report reported;
    char *rack, *block; /* location; "": not known. As reported or as configured; so are type,
                           price and spot */
    int64_t cpu_milli;
    int64_t memory_mib;
    char *type;          /* node type; "": not known */
    char *labels;        /* reported and configured labels, comma-separated; "": none */
    int64_t price_micro; /* per hour; 0: not known */
    usec_t used_at;      /* when a job last released resources on it, or when it was added */
    usec_t going_at;     /* the provider takes it away then; 0: not announced */
    uint8_t state;       /* enum node_state */
    bool is_spot;        /* its provider may take it away */
};

bool node_is_short(const struct node *node);

/* The fault of a device that disappeared. */
#define DEVICE_GONE "not found any more"

struct device {
    char *uuid, *model, *product, *address, *vendor;
    char *sick;         /* why it must not be allocated, or NULL */
    char *drained;      /* why an administrator drained it, or NULL */
    int64_t memory_mib; /* 0: not known */
    uint32_t node;
    uint32_t index;         /* on its node */
    int32_t numa_node;      /* plus one; 0: not known */
    uint32_t pool;          /* the static pool that owns it; 0: shared */
    uint32_t island;        /* devices of a node with the same number are linked; 0: none */
    uint32_t resource;      /* number of its model among the resources; 0: it has none */
    uint32_t kind_resource; /* number of its kind, unless it is a GPU; 0: it has none */
    uint32_t bridge;        /* devices with the same number share a PCIe switch; 0: not known */
    int64_t foreign_mib;    /* memory of foreign processes */
    uint32_t faults;        /* faults that last until a reset (health.h), as bits */
    uint32_t xid;           /* the XID of these faults; 0: none */
    uint8_t harm;           /* effect of its fault on its jobs (enum harm) */
    char *boot;             /* boot ID of the node when the faults occurred; "" */
    char *said_labels;      /* reported or described labels, comma-separated */
    char *labels;           /* these, and the configured labels */
    char *kind;             /* "tpu", "fpga" ...; "" or NULL: a GPU */
    bool is_synthetic;
    bool is_recorded; /* is_synthetic, and replayed from a recording */
    bool is_gone;     /* lost: its node no longer has it; sick is set, too */
    bool is_occupied; /* not faulty: others use it; sick is set, too */
    bool mig_now;     /* its current MIG mode */
    bool mig_enabled; /* its required MIG mode: it is not allocated until it has this mode */
};

/* Free resources. Index i is node, device or pool i of the state. */
struct room_node {
    int64_t cpu_milli;
    int64_t memory_mib;
};

struct room_device {
    int64_t memory_mib;
    int64_t milli;
    uint32_t mig; /* the part that its MIG instances hold (mig.h) */
};

struct room {
    LIST(struct room_node) nodes;
    LIST(struct room_device) devices;
    LIST(int64_t) pools; /* milli-GPUs that each pool's jobs hold */
};

static inline bool device_is_gpu(const struct device *device)
{
    return !device->kind || !device->kind[0];
}

/* The device is of the requested model and size, sharing aside. */
bool device_is_asked_for(const struct gpu_ask *ask, const struct device *device);

/* Whether new jobs may be placed there. */
static inline bool node_is_usable(const struct node *node)
{
    return node->state == NODE_UP && node->going_at == 0;
}

/* Set is_gone and is_recorded, which older journals and snapshots state only in text. */
void device_settle(struct device *device);

/* Compute the labels from the reported ones and, unless NULL, the settings of its node. */
void device_settle_labels(struct device *device, const struct node_settings *settings);

/* Compute rack, block, type, price, spot and labels from the report and, unless NULL, the settings.
 */
void node_settle(struct node *node, const struct node_settings *settings);

void node_release(struct node *node);
void device_release(struct device *device);

void room_release(struct room *room);
/* Subtract the resources of a lease from the free ones, or add them (sign 1). The result may be
 * negative if a node lost resources that its jobs hold. */
void room_add(struct room *room, const struct lease *lease, int sign);

const char *node_state_name(enum node_state state);

/* A type of node that can be added: its resources, price, and time until it is usable */

enum { NODE_TYPES_MAX = 64, NODE_TYPE_GPUS_MAX = 64, NODE_TYPE_MOST_MAX = 100000 };

/* The members are defined in config.def. */
struct node_type {
    char name[REQUEST_NAME_SIZE];
#define NODE_TYPE(tag, form, type, member, ...) type member;
#include "core/config.def"
};

#endif
