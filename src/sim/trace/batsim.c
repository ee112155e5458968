/* SPDX-License-Identifier: Apache-2.0 */
/* Batsim's workloads: jobs that name a profile, which says how long they run. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/trace/format.h"
#include "sim/trace/lines.h"
#include "wire/json.h"

enum { BATSIM_BYTES_MAX = 512 << 20 };

static int fail(const struct format_ask *ask, size_t index, struct error *err, const char *words)
{
    return error_set(err, -EBADMSG, "%s: jobs[%zu]: %s", ask->path, index, words);
}

static bool amount(const json_t *object, const char *key, double max, double *ret)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_number(value))
        return false;
    *ret = json_number_value(value);
    return *ret >= 0 && *ret <= max;
}

/* Seconds on the machines that it asks for; -1: of a kind that takes no fixed time. */
static double time_of(const json_t *profile)
{
    const json_t *type = json_object_get(profile, "type");
    double seconds;

    if (json_is_string(type) && strcmp(json_string_value(type), "delay") != 0 &&
        !json_object_get(profile, "delay"))
        return -1;
    return amount(profile, "delay", 1e9, &seconds) ? seconds : -1;
}

static int read_job(const struct format_ask *ask, const json_t *profiles, const json_t *object,
                    size_t index, struct workload *workload, struct sim_job *job, struct error *err)
{
    const json_t *profile = json_object_get(object, "profile");
    const json_t *id = json_object_get(object, "id");
    double submit, size, limit, run;
    char name[64];

    if (!json_is_object(object))
        return fail(ask, index, err, "expected a map");
    if (!amount(object, "subtime", 1e9, &submit))
        return fail(ask, index, err, "subtime: expected seconds, 0 to 1e9");
    if (!amount(object, "res", WORKLOAD_GPUS_MAX, &size) || size < 1)
        return fail(ask, index, err, "res: expected a number of machines, 1 to 1000000");
    if (!json_is_string(profile))
        return fail(ask, index, err, "profile: expected a name");
    run = time_of(json_object_get(profiles, json_string_value(profile)));
    if (run < 0)
        return fail(ask, index, err, "profile: expected one of type delay, with its delay");
    *job = sim_job_default();
    job->submit = llrint(submit * 1e6);
    job->run = llrint(run * 1e6);
    job->gpus = (uint32_t)size;
    if (amount(object, "walltime", 1e9, &limit) && limit > 0)
        job->limit = llrint(limit * 1e6);
    if (json_is_string(id))
        snprintf(name, sizeof(name), "%.60s", json_string_value(id));
    else
        snprintf(name, sizeof(name), "%" JSON_INTEGER_FORMAT, json_integer_value(id));
    job->name = workload_string(workload, name);
    job->group = workload_string(workload, json_string_value(profile));
    return 0;
}

int read_batsim(const struct format_ask *ask, struct workload *workload, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO(json) json_t *document = NULL;
    struct sim_job job;

    int code = lines_read_all(ask->path, BATSIM_BYTES_MAX, &bytes, err);
    if (code == 0)
        code = json_parse(text_string(&bytes), bytes.length, BATSIM_BYTES_MAX, ask->path, &document,
                          err);
    if (code < 0)
        return code;
    const json_t *jobs = json_object_get(document, "jobs");
    const json_t *profiles = json_object_get(document, "profiles");
    if (!json_is_array(jobs) || !json_is_object(profiles))
        return error_set(err, -EINVAL, "%s: expected a map with jobs and profiles", ask->path);
    for (size_t i = 0; i < json_array_size(jobs) && code == 0; i++) {
        code = read_job(ask, profiles, json_array_get(jobs, i), i, workload, &job, err);
        if (code == 0)
            code = workload_add(workload, &job, err);
        else
            code = workload_pass_over(workload, ask->skip_bad, code);
    }
    return code;
}
