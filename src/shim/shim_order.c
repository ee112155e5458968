/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { SIGNAL_MAX = 64 };

static bool number_read(const char *text, char end, int64_t *ret, const char **ret_rest)
{
    char *rest;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    long long value = strtoll(text, &rest, 10);
    if (errno != 0 || *rest != end)
        return false;
    *ret = value;
    if (ret_rest)
        *ret_rest = rest + 1;
    return true;
}

static bool rlimit_read(struct order *order, const char *text)
{
    int64_t resource, soft, hard;

    if (order->rlimit_count == ORDER_RLIMITS_MAX)
        return false;
    if (!number_read(text, ':', &resource, &text) || !number_read(text, ':', &soft, &text) ||
        !number_read(text, '\0', &hard, NULL))
        return false;
    order->rlimits[order->rlimit_count++] = (struct rlimit_order){ .resource = (int)resource,
                                                                   .soft = (uint64_t)soft,
                                                                   .hard = (uint64_t)hard };
    return true;
}

static bool text_key(struct order *order, const char *key, const char *value)
{
    const struct {
        const char *key;
        const char **place;
    } texts[] = {
        { ORDER_ID, &order->id },         { ORDER_STATUS, &order->status },
        { ORDER_NOTE, &order->note },     { ORDER_CWD, &order->cwd },
        { ORDER_OUTPUT, &order->output }, { ORDER_ERROR, &order->error },
        { ORDER_INPUT, &order->input },   { ORDER_GROUPS, &order->groups },
        { ORDER_INTO, &order->into },     { ORDER_KILL, &order->kill },
        { ORDER_OOM, &order->oom },
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcmp(key, texts[i].key) != 0)
            continue;
        *texts[i].place = value;
        return true;
    }
    return false;
}

/* The kernel takes the highest id as "no change", which would remain root. */
static bool is_account(int64_t number)
{
    return number < UINT32_MAX;
}

/* Numbers; *ret_ok says whether the value was one. */
static bool number_key(struct order *order, const char *key, const char *value, bool *ret_ok)
{
    static const char *const keys[] = { ORDER_APPEND, ORDER_BYTES, ORDER_KEEP, ORDER_UMASK,
                                        ORDER_GRACE,  ORDER_UID,   ORDER_GID,  ORDER_SIGNAL };
    size_t which = 0;
    int64_t number = 0;

    while (which < sizeof(keys) / sizeof(keys[0]) && strcmp(key, keys[which]) != 0)
        which++;
    if (which == sizeof(keys) / sizeof(keys[0]))
        return false;
    *ret_ok = number_read(value, '\0', &number, NULL);
    switch (which) {
    case 0:
        order->append = number != 0;
        break;
    case 1:
        order->bytes_max = number;
        break;
    case 2:
        order->keep = (unsigned)number;
        break;
    case 3:
        order->umask = (mode_t)number;
        break;
    case 4:
        order->grace_ms = number;
        break;
    case 5:
        *ret_ok = *ret_ok && is_account(number);
        order->uid = (uid_t)number;
        order->has_user = true;
        break;
    case 7:
        *ret_ok = *ret_ok && number >= 1 && number <= SIGNAL_MAX;
        order->signal = (int)number;
        break;
    default:
        *ret_ok = *ret_ok && is_account(number);
        order->gid = (gid_t)number;
        break;
    }
    return true;
}

static bool deny_read(struct order *order, const char *value)
{
    struct deny_order *deny = &order->denies[order->deny_count];
    int64_t major = 0, minor = 0;
    const char *rest = NULL;

    if (order->deny_count == ORDER_DENY_MAX || !number_read(value, ':', &major, &rest) ||
        !number_read(rest, '\0', &minor, NULL) || major > INT32_MAX || minor > INT32_MAX)
        return false;
    *deny = (struct deny_order){ (uint32_t)major, (uint32_t)minor };
    order->deny_count++;
    return true;
}

/* "0-3,8-11" */
static bool cpus_read(struct order *order, const char *text)
{
    const size_t bits = 8 * sizeof(order->cpus[0]);

    do {
        char *rest;
        if (*text < '0' || *text > '9')
            return false;
        unsigned long first = strtoul(text, &rest, 10), last = first;
        if (*rest == '-' && rest[1] >= '0' && rest[1] <= '9')
            last = strtoul(rest + 1, &rest, 10);
        if (last < first || last >= ORDER_CPUS_MAX || (*rest != ',' && *rest != '\0'))
            return false;
        for (unsigned long cpu = first; cpu <= last; cpu++)
            order->cpus[cpu / bits] |= 1UL << cpu % bits;
        text = *rest == ',' ? rest + 1 : rest;
        if (*rest == ',' && *text == '\0')
            return false;
    } while (*text != '\0');
    order->has_cpus = true;
    return true;
}

static bool memory_read(struct order *order, const char *text)
{
    if (!number_read(text, '\0', &order->memory_node, NULL) ||
        order->memory_node >= ORDER_NODES_MAX)
        return false;
    order->memory_node++;
    return true;
}

static bool attach_read(struct order *order, const char *value)
{
    if (strcmp(value, ORDER_STDIN) == 0)
        order->attach = ATTACH_STDIN;
    else if (strcmp(value, ORDER_TERMINAL) == 0)
        order->attach = ATTACH_TERMINAL;
    return order->attach != ATTACH_NONE;
}

/* "10:3540000:2" */
static bool warn_read(struct order *order, const char *value)
{
    int64_t signal = 0, to = 0;
    const char *rest;

    if (!number_read(value, ':', &signal, &rest) ||
        !number_read(rest, ':', &order->warn_ms, &rest) || !number_read(rest, '\0', &to, NULL) ||
        signal < 1 || signal > SIGNAL_MAX || to >= WARN_KINDS)
        return false;
    order->warn_signal = (int)signal;
    order->warn_to = (int)to;
    return true;
}

static bool key_read(struct order *order, const char *key, const char *value)
{
    bool ok = true;

    if (text_key(order, key, value))
        return true;
    if (number_key(order, key, value, &ok))
        return ok;
    if (strcmp(key, ORDER_RLIMIT) == 0)
        return rlimit_read(order, value);
    if (strcmp(key, ORDER_CPUS) == 0)
        return cpus_read(order, value);
    if (strcmp(key, ORDER_MEMORY) == 0)
        return memory_read(order, value);
    if (strcmp(key, ORDER_ATTACH) == 0)
        return attach_read(order, value);
    if (strcmp(key, ORDER_WARN) == 0)
        return warn_read(order, value);
    if (strcmp(key, ORDER_DENY) == 0)
        return deny_read(order, value);
    if (strcmp(key, ORDER_MKDIR) == 0 && order->dir_count < ORDER_DIRS_MAX) {
        order->dirs[order->dir_count++] = value;
        return true;
    }
    if (strcmp(key, ORDER_JOIN) == 0 && order->join_count < ORDER_DIRS_MAX) {
        order->joins[order->join_count++] = value;
        return true;
    }
    return strcmp(key, ORDER_WRITE) == 0 || strcmp(key, ORDER_TRY_WRITE) == 0;
}

/* The order's next key and value; false at its end. Its last byte is a NUL. */
static bool pair_next(const struct order *order, size_t *at, const char **ret_key,
                      const char **ret_value)
{
    if (*at >= order->length)
        return false;
    *ret_key = order->bytes + *at;
    *at += strlen(*ret_key) + 1;
    if (*at >= order->length)
        return false;
    *ret_value = order->bytes + *at;
    *at += strlen(*ret_value) + 1;
    return true;
}

/* The arguments and the environment as exec wants them: one mapping for both arrays. */
static bool vectors_read(struct order *order, size_t arg_count, size_t env_count)
{
    size_t size = (arg_count + env_count + 2) * sizeof(char *);
    const char *key, *value;
    size_t at = 0;

    char **pointers = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pointers == MAP_FAILED)
        return false;
    order->argv = pointers;
    order->envp = pointers + arg_count + 1;
    char **arg = order->argv;
    char **env = order->envp;
    while (pair_next(order, &at, &key, &value)) {
        if (strcmp(key, ORDER_ARG) == 0)
            *arg++ = (char *)value;
        else if (strcmp(key, ORDER_ENV) == 0)
            *env++ = (char *)value;
    }
    return true;
}

bool order_read(struct order *order, int fd)
{
    struct stat info;
    const char *key, *value;
    size_t arg_count = 0, env_count = 0, at = 0;

    *order = (struct order){ 0 };
    if (fstat(fd, &info) < 0 || info.st_size < 1 || info.st_size > ORDER_BYTES_MAX)
        return false;
    order->length = (size_t)info.st_size;
    order->bytes = mmap(NULL, order->length, PROT_READ, MAP_PRIVATE, fd, 0);
    if (order->bytes == MAP_FAILED || order->bytes[order->length - 1] != '\0')
        return false;
    while (pair_next(order, &at, &key, &value)) {
        if (strcmp(key, ORDER_ARG) == 0)
            arg_count++;
        else if (strcmp(key, ORDER_ENV) == 0)
            env_count++;
        else if (!key_read(order, key, value))
            return false;
    }
    if (!order->id || !order->status || !order->cwd || !order->output || arg_count == 0)
        return false;
    return vectors_read(order, arg_count, env_count);
}

const char *order_value(const struct order *order, const char *wanted, size_t n)
{
    const char *key, *value;
    size_t at = 0;

    while (pair_next(order, &at, &key, &value)) {
        if (strcmp(key, wanted) != 0)
            continue;
        if (n == 0)
            return value;
        n--;
    }
    return NULL;
}

size_t order_groups(const struct order *order, gid_t *groups, size_t count_max)
{
    const char *text = order->groups ? order->groups : "";
    size_t count = 0;

    while (*text != '\0' && count < count_max) {
        char *rest;

        groups[count++] = (gid_t)strtoul(text, &rest, 10);
        if (*rest != ',')
            break;
        text = rest + 1;
    }
    return count;
}
