/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_meeting.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char START[] = "MASTER_ADDR=";

struct engine_launch slurm_meeting_set(struct slurm_meeting *meeting,
                                       const struct slurm_nodes *nodes,
                                       const struct engine_launch *launch)
{
    struct engine_launch set = *launch;
    const char *address = NULL;
    size_t count = 0, at = 0;

    *meeting = (struct slurm_meeting){ 0 };
    for (; launch->envp[count]; count++) {
        if (!string_starts(launch->envp[count], START))
            continue;
        at = count;
        const struct slurm_node *node =
            slurm_nodes_find(nodes, launch->envp[count] + strlen(START));
        address = node ? node->address : NULL;
    }
    if (!address)
        return set;
    meeting->envp = mem_zero(count + 1, sizeof(*meeting->envp));
    memcpy(meeting->envp, launch->envp, count * sizeof(*meeting->envp));
    meeting->envp[at] = meeting->variable = mem_printf("%s%s", START, address);
    set.envp = meeting->envp;
    return set;
}

void slurm_meeting_release(struct slurm_meeting *meeting)
{
    free(meeting->envp);
    free(meeting->variable);
}
