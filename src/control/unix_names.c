/* SPDX-License-Identifier: Apache-2.0 */
#include "control/unix_names.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUPS_MAX = 1024 };

const char *group_name_of(gid_t gid, char *buffer, size_t size)
{
    const struct group *group = getgrgid(gid);

    if (group)
        snprintf(buffer, size, "%s", group->gr_name);
    else
        snprintf(buffer, size, "%u", (unsigned)gid);
    return buffer;
}

const char *home_of(uid_t uid, char *buffer, size_t size)
{
    const struct passwd *user = getpwuid(uid);

    snprintf(buffer, size, "%s", user && user->pw_dir[0] == '/' ? user->pw_dir : "/");
    return buffer;
}

bool find_group(const char *name, uint32_t *ret_gid)
{
    const struct group *group = getgrnam(name);
    char *end;

    errno = 0;
    unsigned long number = strtoul(name, &end, 10);
    bool is_number =
        isdigit((unsigned char)name[0]) && *end == 0 && errno == 0 && number < UINT32_MAX;
    if (!group && !is_number)
        return false;
    *ret_gid = group ? group->gr_gid : (uint32_t)number;
    return true;
}

/* The kernel says them of a peer; of others the group database does. */
bool user_is_in_group(const struct identity *who, gid_t gid)
{
    gid_t groups[GROUPS_MAX];
    int count = GROUPS_MAX;

    if (who->has_uid && who->gid == gid)
        return true;
    for (size_t i = 0; i < who->group_count; i++) {
        if (who->groups[i] == gid)
            return true;
    }
    if (who->groups || !who->has_uid || getgrouplist(who->name, who->gid, groups, &count) < 0)
        return false;
    for (int i = 0; i < count; i++) {
        if (groups[i] == gid)
            return true;
    }
    return false;
}
