/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/group.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"

DEFINE_NAMES(group_kind_name, enum group_kind, "array", "stage", "pipeline")

void group_note_need(struct group *group, uint64_t on, uint8_t kind)
{
    for (uint32_t i = 0; i < group->needs_count; i++) {
        if (group->needs[i].on == on && group->needs[i].kind == kind)
            return;
    }
    group->needs = mem_resize(group->needs, group->needs_count + 1, sizeof(group->needs[0]));
    group->needs[group->needs_count++] = (struct group_need){ on, kind };
}

void group_destroy(struct group *group)
{
    if (!group)
        return;
    free(group->name);
    free(group->needs);
    free(group);
}
