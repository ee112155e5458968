/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The value of a word "KEY=value" of the line, malloc'd; NULL: there is none. */
static char *find_value(const char *line, size_t length, const char *key)
{
    size_t key_length = strlen(key);

    for (const char *at = line; at < line + length; at += strcspn(at, " \n") + 1) {
        if (strncmp(at, key, key_length) == 0 && at[key_length] == '=')
            return mem_string_of(at + key_length + 1, strcspn(at + key_length + 1, " \n"));
    }
    return NULL;
}

static void read_line(const char *line, size_t length, struct slurm_topology *ret)
{
    AUTO_FREE char *level = find_value(line, length, "Level");
    AUTO_FREE char *leaf = find_value(line, length, "BlockName");
    char *name = find_value(line, length, leaf ? "BlockName" : "SwitchName");
    char *nodes = find_value(line, length, "Nodes");
    bool is_rack = leaf || (level && strcmp(level, "0") == 0);
    bool is_block = level && strcmp(level, "1") == 0;
    struct slurm_group group = { is_rack ? SLURM_GROUP_RACK : SLURM_GROUP_BLOCK, name, nodes };

    if (name && name[0] && nodes && (is_rack || is_block)) {
        list_add(&ret->groups, group);
        return;
    }
    free(name);
    free(nodes);
}

void slurm_topology_read(const char *text, struct slurm_topology *ret)
{
    *ret = (struct slurm_topology){ 0 };
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        read_line(line, length, ret);
        line += length + (line[length] == '\n');
    }
}

void slurm_topology_release(struct slurm_topology *topology)
{
    LIST_EACH (struct slurm_group, group, &topology->groups) {
        free(group->name);
        free(group->nodes);
    }
    list_release(&topology->groups);
}
