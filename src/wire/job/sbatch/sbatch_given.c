/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sbatch/sbatch_given.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

const struct sbatch_given *given_find(const struct sbatch *sbatch, enum sbatch_id id)
{
    return sbatch->given[id].is_set ? &sbatch->given[id] : NULL;
}

const struct sbatch_given *given_either(const struct sbatch *sbatch, enum sbatch_id first,
                                        enum sbatch_id second)
{
    const struct sbatch_given *option = given_find(sbatch, first);

    return option ? option : given_find(sbatch, second);
}

int given_prefix(const struct sbatch_given *option, int code, struct error *err)
{
    error_prefix(err, code, "--%s", option->name);
    return option->place ? error_prefix(err, code, "%s", option->place) : code;
}

int given_fail(const struct sbatch_given *option, struct error *err, const char *format, ...)
{
    char words[ERROR_TEXT_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    error_set(err, -EINVAL, "%s", words);
    return given_prefix(option, -EINVAL, err);
}

bool given_is_slurms(const struct sbatch *sbatch, const struct sbatch_given *option)
{
    return option && (option->place || sbatch->is_slurm);
}

int given_parse_count(const struct sbatch_given *option, int64_t max, int64_t *ret,
                      struct error *err)
{
    size_t digits = strspn(option->value, "0123456789");

    if (digits < 1 || digits > 9 || option->value[digits])
        return given_fail(option, err, "'%.40s': expected a whole number", option->value);
    *ret = strtoll(option->value, NULL, 10);
    if (*ret < 1 || *ret > max)
        return given_fail(option, err, "%s, expected 1 to %" PRId64, option->value, max);
    return 0;
}

void sbatch_set_string(struct sbatch *sbatch, const char *key, const char *value)
{
    json_object_set_new(sbatch->job, key, json_string(value));
}
