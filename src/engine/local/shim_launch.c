/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/shim_launch.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "shim/shim_order.h"

enum { ACCOUNTS_MAX = 4096, GROUPS_MAX = 65536 };

#define ACCOUNT_KEPT (60 * USEC_PER_SEC)

char *member_name(char *buffer, struct member_id id)
{
    snprintf(buffer, MEMBER_NAME_SIZE, "%" PRIu64 ".%" PRIu32 ".%" PRIu32, id.job, id.attempt,
             id.rank);
    return buffer;
}

bool member_parse(const char *name, size_t length, struct member_id *ret)
{
    char copy[MEMBER_NAME_SIZE], again[MEMBER_NAME_SIZE];

    if (length >= sizeof(copy))
        return false;
    memcpy(copy, name, length);
    copy[length] = '\0';
    if (sscanf(copy, "%" SCNu64 ".%" SCNu32 ".%" SCNu32, &ret->job, &ret->attempt, &ret->rank) != 3)
        return false;
    return strcmp(member_name(again, *ret), copy) == 0;
}

void launch_add(struct text *order, const char *key, const char *format, ...)
{
    va_list args;
    char *value = NULL;

    va_start(args, format);
    int length = vasprintf(&value, format, args);
    va_end(args);
    if (length < 0)
        abort();
    text_add_bytes(order, key, strlen(key) + 1);
    text_add_bytes(order, value, (size_t)length + 1);
    mem_resize(value, 0, 1);
}

static void add_string(struct text *order, const char *key, const char *value)
{
    text_add_bytes(order, key, strlen(key) + 1);
    text_add_bytes(order, value, strlen(value) + 1);
}

static int check_path(const char *what, const char *path, struct error *err)
{
    if (!path || path[0] != '/')
        return error_set(err, -EINVAL, "%s %s: not an absolute path", what, path ? path : "(none)");
    return 0;
}

static int check(const struct engine_launch *launch, struct error *err)
{
    int code = check_path("working directory", launch->cwd, err);

    if (!launch->argv || !launch->argv[0])
        return error_set(err, -EINVAL, "no command to start");
    if (code == 0)
        code = check_path("output", launch->output, err);
    if (code == 0 && launch->error)
        code = check_path("error output", launch->error, err);
    if (code == 0 && launch->input)
        code = check_path("input", launch->input, err);
    return code;
}

int launch_write(const struct engine_launch *launch, struct text *order, struct error *err)
{
    int code = check(launch, err);
    if (code < 0)
        return code;
    add_string(order, ORDER_CWD, launch->cwd);
    add_string(order, ORDER_OUTPUT, launch->output);
    if (launch->error)
        add_string(order, ORDER_ERROR, launch->error);
    if (launch->input)
        add_string(order, ORDER_INPUT, launch->input);
    launch_add(order, ORDER_APPEND, "%d", launch->append);
    launch_add(order, ORDER_BYTES, "%" PRId64,
               launch->output_bytes_max > 0 ? launch->output_bytes_max : 0);
    launch_add(order, ORDER_UMASK, "%" PRIu32, launch->umask & 0777);
    launch_add(order, ORDER_GRACE, "%" PRId64, launch->grace > 0 ? launch->grace / USEC_PER_MS : 0);
    if (launch->stop_signal > 0)
        launch_add(order, ORDER_SIGNAL, "%d", launch->stop_signal);
    if (launch->cpus)
        add_string(order, ORDER_CPUS, launch->cpus);
    if (launch->cpus && launch->memory_node >= 0)
        launch_add(order, ORDER_MEMORY, "%" PRId64, launch->memory_node);
    for (size_t i = 0; launch->argv[i]; i++)
        add_string(order, ORDER_ARG, launch->argv[i]);
    for (size_t i = 0; launch->envp && launch->envp[i]; i++)
        add_string(order, ORDER_ENV, launch->envp[i]);
    if (order->length > ORDER_BYTES_MAX)
        return error_set(err, -E2BIG, "arguments and environment: %zu bytes, more than %d",
                         order->length, ORDER_BYTES_MAX);
    return 0;
}

struct account {
    uint32_t uid, gid;
    usec_t read_at;
    char *groups; /* "100,101" */
};

struct accounts {
    LIST(struct account) list;
};

struct accounts *accounts_create(void)
{
    return mem_zero(1, sizeof(struct accounts));
}

static void accounts_clear(struct accounts *accounts)
{
    for (size_t i = 0; i < accounts->list.count; i++)
        mem_resize(accounts->list.items[i].groups, 0, 1);
    list_release(&accounts->list);
}

void accounts_destroy(struct accounts *accounts)
{
    if (!accounts)
        return;
    accounts_clear(accounts);
    mem_resize(accounts, 0, 1);
}

static char *groups_read(uint32_t uid, uint32_t gid)
{
    struct text list = { 0 };
    struct passwd entry, *found = NULL;
    int count = GROUPS_MAX;
    AUTO_FREE char *buffer = mem_zero(1, 65536);
    AUTO_FREE gid_t *groups = mem_zero(GROUPS_MAX, sizeof(gid_t));

    if (getpwuid_r(uid, &entry, buffer, 65536, &found) != 0 || !found ||
        getgrouplist(found->pw_name, gid, groups, &count) < 0) {
        groups[0] = gid;
        count = 1;
    }
    for (int i = 0; i < count; i++)
        text_printf(&list, "%s%u", i > 0 ? "," : "", groups[i]);
    return text_take(&list);
}

static struct account *account_find(struct accounts *accounts, uint32_t uid, uint32_t gid,
                                    usec_t now)
{
    for (size_t i = 0; i < accounts->list.count; i++) {
        struct account *account = &accounts->list.items[i];

        if (account->uid != uid || account->gid != gid)
            continue;
        if (now - account->read_at > ACCOUNT_KEPT) {
            mem_resize(account->groups, 0, 1);
            account->groups = groups_read(uid, gid);
            account->read_at = now;
        }
        return account;
    }
    if (accounts->list.count == ACCOUNTS_MAX)
        accounts_clear(accounts);
    list_add(&accounts->list,
             (struct account){
                 .uid = uid, .gid = gid, .read_at = now, .groups = groups_read(uid, gid) });
    return &accounts->list.items[accounts->list.count - 1];
}

void accounts_add(struct accounts *accounts, uint32_t uid, uint32_t gid, usec_t now,
                  struct text *order)
{
    const struct account *account = account_find(accounts, uid, gid, now);

    launch_add(order, ORDER_UID, "%" PRIu32, uid);
    launch_add(order, ORDER_GID, "%" PRIu32, gid);
    launch_add(order, ORDER_GROUPS, "%s", account->groups);
}
