/* SPDX-License-Identifier: Apache-2.0 */
#include "control/unix_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/names.h"

const char *group_name_of(gid_t gid, char *buffer, size_t size)
{
    const struct name_entry *group;

    if (names_group(gid, &group, NULL) == 0)
        snprintf(buffer, size, "%s", group->name);
    else
        snprintf(buffer, size, "%u", (unsigned)gid);
    return buffer;
}

const char *home_of(uid_t uid, char *buffer, size_t size)
{
    const struct name_entry *user;

    bool has_home = names_user(uid, &user, NULL) == 0 && user->home[0] == '/';
    snprintf(buffer, size, "%s", has_home ? user->home : "/");
    return buffer;
}

int find_group(const char *name, uint32_t *ret_gid, struct error *err)
{
    const struct name_entry *group;
    char *end;

    errno = 0;
    unsigned long number = strtoul(name, &end, 10);
    bool is_number =
        isdigit((unsigned char)name[0]) && *end == 0 && errno == 0 && number < UINT32_MAX;
    int code = names_group_called(name, &group, err);
    if (code == 0 || (code == -ENOENT && is_number)) {
        *ret_gid = code == 0 ? group->number : (uint32_t)number;
        return 0;
    }
    return code == -ENOENT ? error_set(err, -EINVAL, "no Unix group '%s'", name) : code;
}

/* The kernel says them of a peer; of others the group database does. While that does not answer,
 * the user is in no other group. */
bool user_is_in_group(const struct identity *who, gid_t gid)
{
    const struct name_entry *user;

    if (who->has_uid && who->gid == gid)
        return true;
    for (size_t i = 0; i < who->group_count; i++) {
        if (who->groups[i] == gid)
            return true;
    }
    if (who->groups || !who->has_uid || names_user(who->uid, &user, NULL) < 0)
        return false;
    for (size_t i = 0; i < user->group_count; i++) {
        if (user->groups[i] == gid)
            return true;
    }
    return false;
}
