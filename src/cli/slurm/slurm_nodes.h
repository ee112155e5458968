/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SLURM_NODES_H
#define CLI_SLURM_SLURM_NODES_H

/* slurm_nodes - formats nodes and pools as Slurm's commands do
 *
 * A line is a pool and some of its nodes, which are in the same state: {"pool", "limit", "state",
 * "nodes": [NODE of the API...], "gres": [one text per node]}.
 */

#include <jansson.h>

#include "cli/session.h"
#include "cli/slurm/slurm_listing.h"

extern const struct slurm_field slurm_node_fields[];

/* One line for each pool and state, or with each_node for each node; new. pools: only these, or
 * NULL. */
int slurm_nodes_find(struct session *session, const char *pools, bool each_node, json_t **ret,
                     struct error *err);

#endif
