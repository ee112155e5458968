/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_NODE_TYPE_H
#define CORE_CLUSTER_NODE_TYPE_H

/* node_type - a machine that could be had: what it has, costs, and how long it takes to come */

#include "core/job/request.h"

struct node_type {
    char name[REQUEST_NAME_SIZE];
    char model[REQUEST_MODEL_SIZE]; /* of its GPUs; "": none */
    int64_t cpu_milli, memory_mib;
    int64_t price_micro, spot_micro; /* an hour; of spot 0: can't be had as such */
    usec_t boot;                     /* from the wish to the machine */
    usec_t idle;                     /* it may go after so long without work */
    usec_t cooldown;                 /* between two wishes */
    uint32_t gpus;
    uint32_t most; /* of this type, those that are there included */
};

enum { NODE_TYPES_MAX = 64, NODE_TYPE_GPUS_MAX = 64, NODE_TYPE_MOST_MAX = 100000 };

#endif
