/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_NODE_TYPE_H
#define CORE_CLUSTER_NODE_TYPE_H

/* node_type - a machine that could be had: what it has, costs, and how long it takes to come */

#include "base/units.h"
#include "core/job/request.h"

enum { NODE_TYPES_MAX = 64, NODE_TYPE_GPUS_MAX = 64, NODE_TYPE_MOST_MAX = 100000 };

/* Members and what they mean: config.def. */
struct node_type {
    char name[REQUEST_NAME_SIZE];
#define NODE_TYPE(tag, form, type, member, ...) type member;
#include "core/config.def"
};

#endif
