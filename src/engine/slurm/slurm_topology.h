/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_TOPOLOGY_H
#define ENGINE_SLURM_SLURM_TOPOLOGY_H

/* slurm_topology - racks and blocks of nodes, from Slurm's description of the network
 *
 * With topology/tree, a leaf switch is a rack, and a switch above leaf switches is a block. With
 * topology/block, Slurm's blocks are racks. Higher levels are left out.
 */

#include <stdint.h>

#include "base/mem.h"

enum slurm_group_kind { SLURM_GROUP_RACK, SLURM_GROUP_BLOCK };

struct slurm_group {
    enum slurm_group_kind kind;
    char *name, *nodes; /* nodes: "n[1-4]" */
};

struct slurm_topology {
    LIST(struct slurm_group) groups;
};

/* text: as `scontrol -o show topology` prints it. */
void slurm_topology_read(const char *text, struct slurm_topology *ret);
void slurm_topology_release(struct slurm_topology *topology);

#endif
