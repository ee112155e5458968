/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_MEETING_H
#define ENGINE_SLURM_SLURM_MEETING_H

/* slurm_meeting - where the ranks of a gang meet
 *
 * The daemon names the node of the first rank (MASTER_ADDR). That name need not resolve on the
 * other nodes; the address that Slurm has for the node (NodeAddr) does. A node that Slurm has not
 * told yet keeps its name.
 */

#include "core/engine.h"
#include "engine/slurm/slurm_api.h"

struct slurm_meeting {
    const char **envp; /* NULL: that of the launch is right as it is */
    char *variable;    /* in it */
};

/* The launch itself, with an environment that is meeting's. */
struct engine_launch slurm_meeting_set(struct slurm_meeting *meeting,
                                       const struct slurm_nodes *nodes,
                                       const struct engine_launch *launch);
void slurm_meeting_release(struct slurm_meeting *meeting);

#endif
