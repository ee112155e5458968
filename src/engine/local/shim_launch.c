/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/shim_launch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/shim_order.h"

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
    free(value);
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
    if (launch->attach != ENGINE_ATTACH_NONE)
        add_string(order, ORDER_ATTACH,
                   launch->attach == ENGINE_ATTACH_STDIN ? ORDER_STDIN : ORDER_TERMINAL);
    launch_add(order, ORDER_APPEND, "%d", launch->append);
    launch_add(order, ORDER_BYTES, "%" PRId64,
               launch->output_bytes_max > 0 ? launch->output_bytes_max : 0);
    launch_add(order, ORDER_UMASK, "%" PRIu32, launch->umask & 0777);
    launch_add(order, ORDER_GRACE, "%" PRId64, launch->grace > 0 ? launch->grace / USEC_PER_MS : 0);
    if (launch->stop_signal > 0)
        launch_add(order, ORDER_SIGNAL, "%d", launch->stop_signal);
    if (launch->warning.signal > 0)
        launch_add(order, ORDER_WARN, "%d:%" PRId64 ":%d", launch->warning.signal,
                   launch->warning.after / USEC_PER_MS, launch->warning.to);
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

void launch_add_user(struct text *order, const struct engine_launch *launch)
{
    AUTO_RELEASE(text) struct text groups = { 0 };

    for (uint32_t i = 0; i < launch->group_count; i++)
        text_printf(&groups, "%s%" PRIu32, i > 0 ? "," : "", launch->groups[i]);
    if (launch->group_count == 0)
        text_printf(&groups, "%" PRIu32, launch->gid);
    launch_add(order, ORDER_UID, "%" PRIu32, launch->uid);
    launch_add(order, ORDER_GID, "%" PRIu32, launch->gid);
    launch_add(order, ORDER_GROUPS, "%s", text_string(&groups));
}
