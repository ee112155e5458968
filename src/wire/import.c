/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/import.h"

#include <string.h>
#include <strings.h>

#include "base/compiler.h"

void import_add_name(struct text *text, const char *name)
{
    static const char *const words[] = { "true", "false", "null", "yes", "no", "on", "off" };
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    bool is_plain = name[0] && strchr(letters, name[0]);

    for (size_t i = 0; i < COUNT_OF(words); i++)
        is_plain = is_plain && strcasecmp(name, words[i]) != 0;
    text_printf(text, is_plain ? "%s" : "\"%s\"", name);
}

static struct import_branch *find(struct import_branch *branches, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(branches[i].name, name) == 0)
            return &branches[i];
    }
    return NULL;
}

/* More than count: it is in a ring. */
static size_t depth_of(struct import_branch *branches, size_t count, size_t index)
{
    const struct import_branch *branch = &branches[index];
    size_t depth = 1;

    for (; branch->parent && depth <= count; depth++)
        branch = find(branches, count, branch->parent);
    return depth;
}

void import_settle(struct import_branch *branches, size_t count, import_moved_fn *moved, void *user)
{
    for (size_t i = 0; i < count; i++) {
        if (branches[i].parent && !find(branches, count, branches[i].parent)) {
            moved(user, i, branches[i].parent, "there is no such parent: the queue is at the top");
            branches[i].parent = NULL;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (depth_of(branches, count, i) > count) {
            moved(user, i, branches[i].name, "it is below itself: the queue is at the top");
            branches[i].parent = NULL;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (depth_of(branches, count, i) <= IMPORT_DEPTH_MAX)
            continue;
        moved(user, i, branches[i].name, "queues are at most 8 deep: raised");
        while (depth_of(branches, count, i) > IMPORT_DEPTH_MAX)
            branches[i].parent = find(branches, count, branches[i].parent)->parent;
    }
}
