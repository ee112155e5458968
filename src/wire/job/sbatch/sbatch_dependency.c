/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sbatch/sbatch_dependency.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "wire/job/sbatch/sbatch_given.h"
#include "wire/job/submission.h"

/* "12", "12_3" of an array, "12_*" for all its tasks */
static json_t *parse_job(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    const char *task = text[digits] == '_' ? text + digits + 1 : NULL;
    const size_t task_digits = task ? strspn(task, "0123456789") : 0;

    if (digits < 1 || digits > 18 || (!task && text[digits]))
        return NULL;
    json_t *depend = json_pack("{s:I}", "on", (json_int_t)strtoll(text, NULL, 10));
    if (!task || strcmp(task, "*") == 0)
        return depend;
    json_object_set_new(depend, "task", json_integer(strtoll(task, NULL, 10)));
    if (task_digits >= 1 && task_digits <= 9 && !task[task_digits])
        return depend;
    json_decref(depend);
    return NULL;
}

/* "12:13_4": a job for each. */
static int add_jobs(const struct sbatch_given *option, char *rest, const char *when,
                    bool is_own_task, json_t *depends, struct error *err)
{
    while (rest) {
        const char *number = strsep(&rest, ":");
        json_t *depend = parse_job(number);

        if (!depend)
            return given_fail(option, err, "'%.40s': expected the number of a job", number);
        json_object_set_new(depend, "when", json_string(when));
        if (is_own_task)
            json_object_set_new(depend, "task", json_string("own"));
        json_array_append_new(depends, depend);
        if (json_array_size(depends) > SUBMISSION_DEPENDS_MAX)
            return given_fail(option, err, "more than %d jobs", SUBMISSION_DEPENDS_MAX);
    }
    return 0;
}

/* "afterok:12:13", "singleton" */
static int add_dependency(struct sbatch *sbatch, const struct sbatch_given *option, char *text,
                          json_t *depends, struct error *err)
{
    static const struct {
        const char *name;
        const char *when;
        bool is_own_task;
    } kinds[] = {
        { "afterok", "ok", false },        { "afterany", "any", false },
        { "afternotok", "failed", false }, { "after", "started", false },
        { "aftercorr", "ok", true },
    };
    char *rest = text;

    const char *kind = strsep(&rest, ":");
    if (strcmp(kind, "singleton") == 0 && !rest) {
        json_object_set_new(sbatch->job, "singleton", json_true());
        return 0;
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(kinds[i].name, kind) == 0 && rest)
            return add_jobs(option, rest, kinds[i].when, kinds[i].is_own_task, depends, err);
        if (strcmp(kinds[i].name, kind) == 0)
            return given_fail(
                option, err, "'%.40s': expected numbers of jobs after it, as in %s:12", kind, kind);
    }
    return given_fail(option, err,
                      "'%.40s': expected afterok, afterany, afternotok, after, aftercorr or "
                      "singleton",
                      kind);
}

int sbatch_read_dependency(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, SBATCH_DEPENDENCY);
    int code = 0;

    if (!option)
        return 0;
    if (strchr(option->value, '?'))
        return given_fail(option, err,
                          "'?' (one of several) is not supported; ',' needs all of them");
    json_t *depends = json_array();
    AUTO_FREE char *copy = mem_string(option->value);
    char *rest = copy;
    while (rest && code == 0)
        code = add_dependency(sbatch, option, strsep(&rest, ","), depends, err);
    if (json_array_size(depends) > 0)
        json_object_set(sbatch->job, "depends", depends);
    json_decref(depends);
    return code;
}

int sbatch_read_invalid_dependency(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, SBATCH_KILL_ON_INVALID_DEP);

    if (!option || strcasecmp(option->value, "yes") == 0)
        return 0;
    if (strcasecmp(option->value, "no") != 0)
        return given_fail(option, err, "'%.40s': expected yes or no", option->value);
    sbatch_note(sbatch, option->place,
                "--kill-on-invalid-dep=no: the job is cancelled all the same when a dependency "
                "has failed");
    return 0;
}
