/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"

enum { CGROUP_BYTES_MAX = 16384, ENVIRON_BYTES_MAX = 1 << 20, STATUS_BYTES_MAX = 16384 };

/* "0::/a/tarn/KEY/12.1.0/sub" */
static bool find_in_groups(const char *groups, const char *key, struct member_id *ret)
{
    AUTO_FREE char *mark = mem_printf("/tarn/%s/", key);

    for (const char *at = strstr(groups, mark); at; at = strstr(at + 1, mark)) {
        const char *name = at + strlen(mark);
        if (member_parse(name, strcspn(name, "/\n"), ret))
            return true;
    }
    return false;
}

static bool find_in_environment(const struct text *environment, const char *key,
                                struct member_id *ret)
{
    AUTO_FREE char *mark = mem_printf("TARN_MEMBER=%s/", key);
    const char *end = environment->bytes + environment->length;

    for (const char *at = environment->bytes; at && at < end; at += strlen(at) + 1) {
        if (string_starts(at, mark))
            return member_parse(at + strlen(mark), strlen(at) - strlen(mark), ret);
    }
    return false;
}

static bool find_user(const struct owner_ask *ask, uint32_t *ret)
{
    AUTO_RELEASE(text) struct text status = { 0 };
    AUTO_FREE char *path = mem_printf("%s/proc/%" PRIu32 "/status", ask->root, ask->pid);

    if (file_read(path, STATUS_BYTES_MAX, &status, NULL) < 0)
        return false;
    const char *line = strstr(text_string(&status), "\nUid:");
    return line && sscanf(line, " Uid: %" SCNu32, ret) == 1;
}

bool owner_find(const struct owner_ask *ask, struct member_id *ret, uint32_t *ret_uid)
{
    AUTO_RELEASE(text) struct text groups = { 0 }, environment = { 0 };
    AUTO_FREE char *group_path = mem_printf("%s/proc/%" PRIu32 "/cgroup", ask->root, ask->pid);
    AUTO_FREE char *path = mem_printf("%s/proc/%" PRIu32 "/environ", ask->root, ask->pid);

    *ret_uid = UINT32_MAX;
    if (file_read(group_path, CGROUP_BYTES_MAX, &groups, NULL) == 0 &&
        find_in_groups(text_string(&groups), ask->key, ret))
        return true;
    return !ask->has_groups && file_read(path, ENVIRON_BYTES_MAX, &environment, NULL) == 0 &&
           find_in_environment(&environment, ask->key, ret) && find_user(ask, ret_uid);
}
