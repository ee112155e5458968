/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sbatch/sbatch_dependency.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "wire/job/sbatch/sbatch_given.h"
#include "wire/job/submission.h"

/* "afterok:12:13": a job for each number. */
static int add_dependency(const struct sbatch_given *option, char *text, json_t *depends,
                          struct error *err)
{
    static const struct {
        const char *name;
        const char *when;
    } kinds[] = {
        { "afterok", "ok" },
        { "afterany", "any" },
        { "afternotok", "failed" },
        { "after", "started" },
    };
    const char *when = NULL;
    char *rest = text;

    const char *kind = strsep(&rest, ":");
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(kinds[i].name, kind) == 0)
            when = kinds[i].when;
    }
    if (!when)
        return given_fail(option, err, "'%.40s': expected afterok, afterany, afternotok or after",
                          kind);
    if (!rest)
        return given_fail(option, err, "'%.40s': expected numbers of jobs after it, as in %s:12",
                          kind, kind);
    while (rest) {
        const char *number = strsep(&rest, ":");
        size_t digits = strspn(number, "0123456789");

        if (digits < 1 || digits > 18 || number[digits])
            return given_fail(option, err, "'%.40s': expected the number of a job", number);
        if (json_array_size(depends) >= SUBMISSION_DEPENDS_MAX)
            return given_fail(option, err, "more than %d jobs", SUBMISSION_DEPENDS_MAX);
        json_array_append_new(
            depends,
            json_pack("{s:I, s:s}", "on", (json_int_t)strtoll(number, NULL, 10), "when", when));
    }
    return 0;
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
        code = add_dependency(option, strsep(&rest, ","), depends, err);
    json_object_set_new(sbatch->job, "depends", depends);
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
