/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_NODE_H
#define CORE_CLUSTER_NODE_H

/* node - a machine, its devices, and the room that is left on them
 *
 * What a machine has stands in node and device and changes rarely. What is free stands in a
 * room, a plain table of numbers: the state keeps the true one, a plan works on copies.
 * A device that is known never goes away: it turns sick, and its number stays.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/units.h"
#include "core/job/lease.h"
#include "core/job/request.h"

enum { NODE_LABELS_SIZE = 1024, NODE_SETTINGS_MAX = 20000 };

typedef char node_labels[NODE_LABELS_SIZE], place_name[REQUEST_NAME_SIZE];

/* What an administrator says of a node, which may not be there yet. Members and what they mean:
 * config.def. 0 and "": not said. */
struct node_settings {
    char name[REQUEST_NAME_SIZE];
#define NODE(tag, form, type, member, ...) type member;
#include "core/config.def"
};

/* What its engine or its provider says; "" and 0: not known. */
struct node_report {
    char *rack, *block, *type;
    int64_t price_micro;
    bool is_spot;
};

enum node_state { NODE_UP, NODE_DRAINED, NODE_DOWN };

struct node {
    char *name;
    char *reason; /* why it is not up, or NULL; fit for people and for JSON */
    struct node_report reported;
    char *rack, *block; /* where it stands; "": not known. As reported, or as settings say; so are
                           type, price and spot */
    int64_t cpu_milli;
    int64_t memory_mib;
    char *type;          /* what it is rented as; "": not known */
    char *labels;        /* of settings, with commas between; "": none */
    int64_t price_micro; /* for an hour; 0: not known */
    usec_t used_at;      /* when a job last gave something of it back, or it came */
    usec_t going_at;     /* the provider takes it away then; 0: not announced */
    uint8_t state;       /* enum node_state */
    bool is_spot;        /* its owner may take it away */
};

/* What is wrong with a device that was there once. */
#define DEVICE_GONE "not found any more"

struct device {
    char *uuid, *model, *product, *address, *vendor;
    char *sick;         /* why it must not be given out, or NULL */
    char *drained;      /* why an administrator drained it, or NULL */
    int64_t memory_mib; /* 0: not known */
    uint32_t node;
    uint32_t index;         /* on its node */
    int32_t numa_node;      /* plus one; 0: not known */
    uint32_t pool;          /* the static pool that owns it; 0: shared */
    uint32_t island;        /* linked with those of its node that have the same; 0: with none */
    uint32_t resource;      /* number of its model among the resources; 0: it has none */
    uint32_t kind_resource; /* of its kind, unless it is a GPU; the same */
    uint32_t bridge;        /* behind the same PCIe switch; 0: not known */
    int64_t foreign_mib;    /* of its memory: processes that were not started here have it */
    uint32_t faults;        /* that stay until a reset (health.h), as bits */
    uint32_t xid;           /* of them; 0: none */
    uint8_t harm;           /* sick: what that does to jobs on it (enum harm) */
    char *boot;             /* the run of the machine in which they came; "" */
    char *said_labels;      /* as the engine or a description says, with commas between */
    char *labels;           /* these, and those that settings of its node give it */
    char *kind;             /* "tpu", "fpga" ...; "" or NULL: a GPU */
    bool is_synthetic;
    bool is_recorded; /* is_synthetic: played from a recording */
    bool is_gone;     /* its machine does not have it any more; sick says so, too */
    bool mig_now;     /* its mode */
    bool mig_enabled; /* the one that it has, or is to have: it is not given out until it has it */
};

/* What is free. Index i is node, device or pool i of the state. */
struct room_node {
    int64_t cpu_milli;
    int64_t memory_mib;
};

struct room_device {
    int64_t memory_mib;
    int64_t milli;
    uint32_t mig; /* what its MIG instances hold (mig.h) */
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

/* Whether anything new may be put there. */
static inline bool node_is_usable(const struct node *node)
{
    return node->state == NODE_UP && node->going_at == 0;
}

/* What journals and snapshots from before a field say in words: is_gone, is_recorded. */
void device_settle(struct device *device);

/* Make the labels of what is said and, unless NULL, of the settings of its node. */
void device_settle_labels(struct device *device, const struct node_settings *settings);

/* Make rack, block, type, price, spot and labels of what is reported and, unless NULL, of settings.
 */
void node_settle(struct node *node, const struct node_settings *settings);

void node_release(struct node *node);
void device_release(struct device *device);

void room_release(struct room *room);
/* Free minus what this lease holds, or plus (sign 1). Free may go below zero when a machine
 * shrank under its jobs. */
void room_add(struct room *room, const struct lease *lease, int sign);

const char *node_state_name(enum node_state state);

/* A machine that could be had: what it has, costs, and how long it takes to come */

enum { NODE_TYPES_MAX = 64, NODE_TYPE_GPUS_MAX = 64, NODE_TYPE_MOST_MAX = 100000 };

/* Members and what they mean: config.def. */
struct node_type {
    char name[REQUEST_NAME_SIZE];
#define NODE_TYPE(tag, form, type, member, ...) type member;
#include "core/config.def"
};

#endif
