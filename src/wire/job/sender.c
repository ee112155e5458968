/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "wire/job/submission.h"

static const struct limit {
    const char *name;
    int resource;
} limits[] = {
#define LIMIT(name, resource) { name, (int)(resource) },
#include "wire/job/sender_limits.def"
};

static int read_env(const struct reader *reader, const json_t *document, struct sender *ret)
{
    const char *name;
    json_t *value;
    size_t size = 0;

    ret->env = reader_get(document, "sender_env");
    if (!ret->env)
        return 0;
    if (!json_is_object(ret->env))
        return reader_fail(reader, -EINVAL, document, "sender_env",
                           "expected a map from name to value, not %s", reader_kind(ret->env));
    json_object_foreach((json_t *)(uintptr_t)ret->env, name, value)
    {
        if (!json_is_string(value) || name[0] == '\0' || strchr(name, '='))
            return reader_fail(reader, -EINVAL, document, "sender_env",
                               "'%.60s': expected names without '=' and strings", name);
        size += strlen(name) + json_string_length(value);
    }
    if (size > SUBMISSION_ARGUMENTS_MAX)
        return reader_fail(reader, -E2BIG, document, "sender_env",
                           "%zu bytes, at most %d are accepted", size, SUBMISSION_ARGUMENTS_MAX);
    return 0;
}

static int read_cwd(const struct reader *reader, const json_t *document, struct sender *ret)
{
    int code = reader_string(reader, document, "sender_cwd", SUBMISSION_PATH_MAX, &ret->cwd);

    if (code == 0 && ret->cwd && ret->cwd[0] != '/')
        return reader_fail(reader, -EINVAL, document, "sender_cwd",
                           "'%.80s': expected an absolute path", ret->cwd);
    return code;
}

/* "0077" */
static int read_umask(const struct reader *reader, const json_t *document, struct sender *ret)
{
    const char *text = NULL;

    int code = reader_string(reader, document, "sender_umask", SUBMISSION_NAME_MAX, &text);
    if (code < 0 || !text)
        return code;
    if (text[0] == '\0' || strlen(text) > 4 || strspn(text, "01234567") != strlen(text) ||
        strtoul(text, NULL, 8) > 0777)
        return reader_fail(reader, -EINVAL, document, "sender_umask",
                           "'%.20s': expected octal digits, 0000 to 0777", text);
    ret->umask = (mode_t)strtoul(text, NULL, 8);
    ret->has_umask = true;
    return 0;
}

static const struct limit *find_limit(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        if (strcmp(limits[i].name, name) == 0)
            return &limits[i];
    }
    return NULL;
}

static int read_limits(const struct reader *reader, const json_t *document, struct sender *ret)
{
    const json_t *object = reader_get(document, "sender_limits");
    const char *name;
    json_t *value;

    if (!object)
        return 0;
    if (!json_is_object(object))
        return reader_fail(reader, -EINVAL, document, "sender_limits",
                           "expected a map from name to number, not %s", reader_kind(object));
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const struct limit *limit = find_limit(name);
        if (!limit || !json_is_integer(value) || json_integer_value(value) < -1)
            return reader_fail(reader, -EINVAL, document, "sender_limits",
                               "'%.20s': expected core, cpu, data, fsize, memlock, nofile, nproc, "
                               "rss, stack or as, and a number; -1: unlimited",
                               name);
        ret->limits[ret->limit_count++] = (struct engine_limit){
            .resource = limit->resource,
            .soft = json_integer_value(value),
        };
    }
    return 0;
}

static int read_job(const struct reader *reader, const json_t *document, struct sender *ret)
{
    int64_t job = 0;
    int code = reader_integer(reader, document, "sender_job", 0, INT64_MAX, &job);

    ret->job = (uint64_t)job;
    return code;
}

int sender_read(const struct reader *reader, const json_t *document, struct sender *ret)
{
    int code = read_env(reader, document, ret);

    if (code == 0)
        code = read_cwd(reader, document, ret);
    if (code == 0)
        code = read_umask(reader, document, ret);
    if (code == 0)
        code = read_job(reader, document, ret);
    return code < 0 ? code : read_limits(reader, document, ret);
}

/* The daemon of that job is meant as long as its socket is. */
static void add_job(json_t *document)
{
    const char *number = getenv("TARN_SOCKET") ? getenv("TARN_JOB_ID") : NULL;
    long long job = number ? strtoll(number, NULL, 10) : 0;

    if (job > 0 && !json_object_get(document, "sender_job"))
        json_object_set_new(document, "sender_job", json_integer(job));
}

void sender_add_own(json_t *document)
{
    json_t *object = json_object();
    mode_t own = umask(0077);

    umask(own);
    AUTO_FREE char *text = mem_printf("%04o", (unsigned)own);
    json_object_set_new(document, "sender_umask", json_string(text));
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)limits[i].resource, &limit) < 0)
            continue;
        bool is_unlimited = limit.rlim_cur > INT64_MAX;
        json_object_set_new(object, limits[i].name,
                            json_integer(is_unlimited ? -1 : (json_int_t)limit.rlim_cur));
    }
    json_object_set_new(document, "sender_limits", object);
    add_job(document);
}
