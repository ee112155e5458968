/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_meeting.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char START[] = "MASTER_ADDR=";

static const char *find_address(const struct slurm_nodes *nodes, const char *name)
{
    for (size_t i = 0; i < nodes->all.count; i++) {
        if (strcmp(nodes->all.items[i].name, name) == 0)
            return nodes->all.items[i].address;
    }
    return NULL;
}

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
        address = find_address(nodes, launch->envp[count] + strlen(START));
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
