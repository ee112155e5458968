/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/job/sbatch/sbatch.h"
#include "wire/job/sbatch/sbatch_dependency.h"
#include "wire/job/sbatch/sbatch_export.h"
#include "wire/job/sbatch/sbatch_given.h"
#include "wire/job/sbatch/sbatch_mail.h"
#include "wire/job/sbatch/sbatch_place.h"
#include "wire/job/sbatch/sbatch_shape.h"
#include "wire/job/sbatch/sbatch_signal.h"
#include "wire/job/sbatch/sbatch_variables.h"
#include "wire/job/submission.h"
#include "wire/reader.h"

enum { NICE_DEFAULT = 100, NICE_MOST = 2147483645 };

static int read_count(struct sbatch *sbatch, enum sbatch_id id, const char *key, int64_t max,
                      struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, id);
    int64_t count = 0;

    int code = option ? given_parse_count(option, max, &count, err) : 0;
    if (option && code == 0)
        json_object_set_new(sbatch->job, key, json_integer(count));
    return code;
}

static int read_time(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *slurm = given_find(sbatch, SBATCH_TIME);
    usec_t duration;

    if (!slurm)
        return 0;
    int code = units_parse_slurm_time(slurm->value, &duration, err);
    if (code < 0)
        return given_prefix(slurm, code, err);
    if (duration == USEC_NEVER || duration == 0) {
        sbatch_set_string(sbatch, "max_duration", "unlimited");
        return 0;
    }
    AUTO_FREE char *text = mem_printf("%" PRId64 "ms", duration / USEC_PER_MS);
    sbatch_set_string(sbatch, "max_duration", text);
    return 0;
}

/* Slurm takes 2147483645 at most; the priorities of tarn end before. */
static int nice_parse(struct sbatch *sbatch, const struct sbatch_given *nice, int32_t *ret,
                      struct error *err)
{
    const int32_t most = SUBMISSION_PRIORITY_MAX;
    char *end;

    errno = 0;
    long value = strtol(nice->value, &end, 10);
    if (end == nice->value || *end || errno != 0 || value < -NICE_MOST || value > NICE_MOST)
        return error_set(err, -EINVAL, "'%.40s', expected -%d to %d", nice->value, NICE_MOST,
                         NICE_MOST);
    *ret = value > most ? most : value < -most ? -most : (int32_t)value;
    if (value == *ret)
        return 0;
    AUTO_FREE char *words = mem_printf("--nice=%ld counts as %" PRId32, value, *ret);
    sbatch_note(sbatch, nice->place, words);
    return 0;
}

static int read_priority(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *nice = given_find(sbatch, SBATCH_NICE);
    const struct sbatch_given *priority = given_find(sbatch, SBATCH_PRIORITY);
    int32_t value = -NICE_DEFAULT;
    int code = 0;

    if (priority)
        code = priority_parse(priority->value, &value, err);
    else if (nice && nice->value)
        code = nice_parse(sbatch, nice, &value, err);
    if (code < 0)
        return given_prefix(priority ? priority : nice, code, err);
    if (!priority && nice && nice->value)
        value = -value;
    if (nice || priority)
        json_object_set_new(sbatch->job, "priority", json_integer(value));
    return 0;
}

/* Four or six digits are a date there, and seconds in a job file. */
static int check_date(const struct sbatch *sbatch, enum sbatch_id id, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, id);
    const size_t length = option ? strlen(option->value) : 0;

    if (!given_is_slurms(sbatch, option) || (length != 4 && length != 6) ||
        strspn(option->value, "0123456789") != length)
        return 0;
    return given_fail(option, err,
                      "'%.40s': MMDD[YY] is not supported; expected MM/DD/YY or YYYY-MM-DD",
                      option->value);
}

static int check_dates(struct sbatch *sbatch, struct error *err)
{
    int code = check_date(sbatch, SBATCH_BEGIN, err);

    return code < 0 ? code : check_date(sbatch, SBATCH_DEADLINE, err);
}

/* The daemon passes on all soft limits, and so more than a list asks for. */
static int check_propagate(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, SBATCH_PROPAGATE);

    if (!option || !option->value || strcasecmp(option->value, "ALL") == 0)
        return 0;
    if (strcasecmp(option->value, "NONE") == 0)
        return given_fail(option, err, "NONE: not supported; expected ulimit in the script");
    sbatch_note(sbatch, option->place, "--propagate: all soft limits are passed on");
    return 0;
}

static int read_exclusive(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, SBATCH_EXCLUSIVE);

    if (!option)
        return 0;
    if (option->value)
        return given_fail(option, err,
                          "'%.40s': expected no value; whole nodes are for one job alone",
                          option->value);
    json_object_set_new(sbatch->job, "exclusive", json_true());
    return 0;
}

static int read_open_mode(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, SBATCH_OPEN_MODE);

    if (!option)
        return 0;
    bool is_append = strcmp(option->value, "append") == 0;
    if (!is_append && strcmp(option->value, "truncate") != 0)
        return given_fail(option, err, "'%.40s': expected append or truncate", option->value);
    json_object_set_new(sbatch->job, "append", json_boolean(is_append));
    return 0;
}

static int read_heals(struct sbatch *sbatch, struct error *err)
{
    return read_count(sbatch, SBATCH_HEALS, "heals", SUBMISSION_HEALS_MAX, err);
}

static int read_retry(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, SBATCH_RETRY);

    if (!option || strcmp(option->value, "0") != 0)
        return read_count(sbatch, SBATCH_RETRY, "retry", SUBMISSION_RETRY_MAX, err);
    json_object_set_new(sbatch->job, "retry", json_integer(0));
    return 0;
}

/* "[0-4]%2" is "0-4%2" to Slurm. */
static json_t *array_value(const char *value)
{
    const char *end = value[0] == '[' ? strchr(value, ']') : NULL;

    if (!end || (end[1] && end[1] != '%'))
        return json_string(value);
    return json_sprintf("%.*s%s", (int)(end - value - 1), value + 1, end + 1);
}

/* "none" is no file to Slurm. */
static json_t *plain_value(const struct sbatch *sbatch, const struct sbatch_given *option,
                           const char *key)
{
    static const char *const files[] = { "output", "error", "input", NULL };
    bool is_no_file = given_is_slurms(sbatch, option) && string_is_in(key, files) &&
                      strcasecmp(option->value, "none") == 0;

    if (!option->value)
        return json_true();
    if (strcmp(key, "array") == 0)
        return array_value(option->value);
    return json_string(is_no_file ? "/dev/null" : option->value);
}

static void set_plain(struct sbatch *sbatch)
{
    static const struct {
        enum sbatch_id id;
        const char *key;
    } plain[] = {
#define PLAIN(ID, letter, name, argument, group, meaning) { SBATCH_##ID, group },
#include "wire/job/sbatch/sbatch_options.def"
    };

    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        const struct sbatch_given *option = given_find(sbatch, plain[i].id);
        if (option)
            json_object_set_new(sbatch->job, plain[i].key,
                                plain_value(sbatch, option, plain[i].key));
    }
    if (given_either(sbatch, SBATCH_REQUEUE, SBATCH_NO_REQUEUE))
        json_object_set_new(sbatch->job, "requeue",
                            json_boolean(given_find(sbatch, SBATCH_REQUEUE) != NULL));
}

int sbatch_finish(struct sbatch *sbatch, struct error *err)
{
    static int (*const others[])(struct sbatch *, struct error *) = {
        read_time,
        sbatch_read_dependency,
        sbatch_read_invalid_dependency,
        sbatch_read_export,
        read_priority,
        read_open_mode,
        read_retry,
        read_heals,
        sbatch_read_checkpoint,
        sbatch_read_mail,
        sbatch_read_constraint,
        sbatch_read_places,
        read_exclusive,
        check_dates,
        check_propagate,
    };
    struct sbatch_shape shape;

    set_plain(sbatch);
    int code = sbatch_read_shape(sbatch, &shape, err);
    if (code == 0)
        sbatch_set_variables(sbatch, &shape);
    for (size_t i = 0; i < COUNT_OF(others) && code == 0; i++)
        code = others[i](sbatch, err);
    return code;
}
