/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of `workload`: transformations of a trace, and the generator. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/run/experiment.h"

const char *const adapt_keys[] = { "format", "file", "shuffle", "inflate", "departures", "load",
                                   "count", "run_max", "time_scale", "gpu_only", "gpus_max",
                                   "teams", "team", "estimates", "preemption", "restart_cost",
                                   "queues", "slices", "speeds",
                                   /* of the generator */
                                   "jobs", "users", "arrivals", "burst", "every", "diurnal", "run",
                                   "gpus", "limit_factor", "seed", NULL };

static int read_slices(const struct reader *above, const json_t *object, struct adapt *adapt)
{
    static const char *const keys[] = { "starts", "count", NULL };
    const json_t *slices = reader_get(object, "slices");
    struct reader reader = reader_at(above, "workload: slices");
    int64_t length = 0;

    if (!slices)
        return 0;
    int code = reader_check_keys(&reader, slices, keys);
    if (code == 0)
        code = reader_integer(&reader, slices, "count", 1, WORKLOAD_JOBS_MAX, &length);
    const json_t *starts = reader_get(slices, "starts");
    if (code == 0 && (!json_is_array(starts) || json_array_size(starts) == 0 || length == 0 ||
                      json_array_size(starts) > EXPERIMENT_SLICES_MAX))
        code = reader_fail(&reader, -EINVAL, slices, NULL,
                           "expected starts, a list of 1 to %d first jobs from 0, and count",
                           EXPERIMENT_SLICES_MAX);
    if (code < 0)
        return code;
    adapt->slice_length = (uint32_t)length;
    adapt->slice_starts = mem_zero(json_array_size(starts), sizeof(uint32_t));
    for (size_t i = 0; i < json_array_size(starts); i++) {
        const json_t *start = json_array_get(starts, i);
        if (!json_is_integer(start) || json_integer_value(start) < 0 ||
            json_integer_value(start) >= WORKLOAD_JOBS_MAX)
            return reader_fail(&reader, -EINVAL, slices, "starts", "expected numbers from 0");
        adapt->slice_starts[adapt->slice_count++] = (uint32_t)json_integer_value(start);
    }
    return 0;
}

static int add_speed(const struct reader *reader, const json_t *object, const char *key,
                     struct speed speed, struct adapt *adapt)
{
    int code = reader_real(reader, object, key, 0.001, 1000, &speed.factor);

    if (code == 0)
        list_add(&adapt->speeds, speed);
    return code;
}

/* "*": jobs of all other kinds. */
static int read_kinds(const struct reader *above, const char *model, const json_t *kinds,
                      struct adapt *adapt)
{
    struct reader reader = reader_at(above, "%s", model);
    const char *kind;
    json_t *value;
    int code = 0;

    json_object_foreach((json_t *)(uintptr_t)kinds, kind, value)
    {
        struct speed speed = { .model = model, .kind = strcmp(kind, "*") == 0 ? NULL : kind };
        code = add_speed(&reader, kinds, kind, speed, adapt);
        if (code < 0)
            break;
    }
    (void)value;
    return code;
}

static int read_speeds(const struct reader *above, const json_t *object, struct adapt *adapt)
{
    const json_t *speeds = reader_get(object, "speeds");
    struct reader reader = reader_at(above, "workload: speeds");
    const char *model;
    json_t *value;
    int code = 0;

    if (!speeds)
        return 0;
    if (!json_is_object(speeds))
        return reader_fail(above, -EINVAL, object, "speeds", "expected a map of models");
    json_object_foreach((json_t *)(uintptr_t)speeds, model, value)
    {
        code = json_is_object(value)
                   ? read_kinds(&reader, model, value, adapt)
                   : add_speed(&reader, speeds, model, (struct speed){ .model = model }, adapt);
        if (code < 0)
            return code;
    }
    return 0;
}

static int read_queues(const struct reader *above, const json_t *object, struct adapt *adapt)
{
    static const char *const keys[] = { "column", NULL };
    static const char *const columns[] = { "none", "user", "group", "queue", "partition", NULL };
    const json_t *queues = reader_get(object, "queues");
    size_t column = QUEUES_NONE;
    int code;

    if (json_is_object(queues)) {
        const struct reader reader = reader_at(above, "workload: queues");
        code = reader_check_keys(&reader, queues, keys);
        if (code == 0)
            code = reader_word(&reader, queues, "column", columns, &column);
    } else
        code = reader_word(above, object, "queues", columns, &column);
    adapt->queues = (enum queue_column)column;
    return code;
}

static int read_teams(const struct reader *reader, const json_t *object, struct adapt *adapt)
{
    int64_t teams = 0, team = 0, gpus_max = 0;

    int code = reader_integer(reader, object, "teams", 1, EXPERIMENT_TEAMS_MAX, &teams);
    if (code == 0)
        code = reader_integer(reader, object, "team", 1, EXPERIMENT_TEAMS_MAX, &team);
    if (code == 0)
        code = reader_integer(reader, object, "gpus_max", 1, WORKLOAD_GPUS_MAX, &gpus_max);
    if (code == 0 && team > teams)
        code = reader_fail(reader, -EINVAL, object, "team",
                           "team %" PRId64 " of %" PRId64 "; expected one of teams", team, teams);
    if (code == 0 && teams > 0 && adapt->queues != QUEUES_NONE)
        code = reader_fail(reader, -EINVAL, object, "teams",
                           "its jobs have queues of a column; expected one of teams and queues");
    adapt->teams = (uint32_t)teams;
    adapt->team = (uint32_t)team;
    adapt->gpus_max = (uint32_t)gpus_max;
    adapt->queues = teams > 0 ? QUEUES_QUEUE : adapt->queues;
    return code;
}

int adapt_read(const struct reader *reader, const json_t *object, struct adapt *adapt)
{
    static const char *const estimates[] = { "request", "oracle",   "predicted", "double",
                                             "none",    "by_model", NULL };
    size_t estimate = ESTIMATES_REQUEST;
    int64_t count = 0;

    *adapt = (struct adapt){ .departures = true, .time_scale = 1, .run_max = USEC_NEVER };
    int code = reader_bool(reader, object, "shuffle", &adapt->shuffle);
    if (code == 0)
        code = reader_bool(reader, object, "departures", &adapt->departures);
    if (code == 0)
        code = reader_bool(reader, object, "preemption", &adapt->preemption);
    if (code == 0)
        code = reader_bool(reader, object, "gpu_only", &adapt->gpu_only);
    if (code == 0)
        code = reader_real(reader, object, "inflate", 0.001, 1000, &adapt->inflate);
    if (code == 0)
        code = reader_real(reader, object, "load", 0.001, 1000, &adapt->load);
    if (code == 0)
        code = reader_real(reader, object, "time_scale", 1e-6, 1e6, &adapt->time_scale);
    if (code == 0)
        code = reader_integer(reader, object, "count", 1, WORKLOAD_JOBS_MAX, &count);
    if (code == 0)
        code = reader_duration(reader, object, "run_max", &adapt->run_max);
    if (code == 0)
        code = reader_duration(reader, object, "restart_cost", &adapt->restart_cost);
    if (code == 0 && adapt->restart_cost > 365 * USEC_PER_DAY)
        code = reader_fail(reader, -ERANGE, object, "restart_cost", "expected at most a year");
    if (code == 0)
        code = reader_word(reader, object, "estimates", estimates, &estimate);
    if (code == 0)
        code = read_queues(reader, object, adapt);
    if (code == 0)
        code = read_teams(reader, object, adapt);
    if (code == 0)
        code = read_slices(reader, object, adapt);
    if (code == 0)
        code = read_speeds(reader, object, adapt);
    adapt->estimates = (enum estimates)estimate;
    adapt->count = (uint32_t)count;
    return code;
}

static int read_run(const struct reader *above, const json_t *object, struct generator *generator)
{
    static const char *const keys[] = { "median", "sigma", "tail", "max", NULL };
    const json_t *run = reader_get(object, "run");
    struct reader reader = reader_at(above, "workload: run");

    if (!run)
        return 0;
    int code = reader_check_keys(&reader, run, keys);
    if (code == 0)
        code = reader_duration(&reader, run, "median", &generator->run_median);
    if (code == 0)
        code = reader_duration(&reader, run, "max", &generator->run_max);
    if (code == 0)
        code = reader_real(&reader, run, "sigma", 0, 10, &generator->run_sigma);
    if (code == 0)
        code = reader_real(&reader, run, "tail", 0, 1, &generator->tail);
    if (code == 0 && (generator->run_median == USEC_NEVER || generator->run_max == USEC_NEVER))
        code = reader_fail(&reader, -EINVAL, run, NULL, "expected an end");
    return code;
}

/* {1: 70, 8: 10}: GPUs of a job, and how often */
static int read_sizes(const struct reader *above, const json_t *object, struct generator *generator)
{
    const json_t *sizes = reader_get(object, "gpus");
    struct reader reader = reader_at(above, "workload: gpus");
    const char *key;
    json_t *value;
    int64_t milli;

    if (!sizes)
        return 0;
    if (!json_is_object(sizes) || json_object_size(sizes) == 0 ||
        json_object_size(sizes) > GENERATOR_SIZES_MAX)
        return reader_fail(above, -EINVAL, object, "gpus", "expected {GPUS: how often, ...}");
    generator->size_count = 0;
    json_object_foreach((json_t *)(uintptr_t)sizes, key, value)
    {
        double weight = 0;
        int code = units_parse_milli(key, INT64_C(65536000), &milli, reader.err);
        if (code < 0)
            return reader_place(&reader, code, sizes, key);
        if (milli > GPU_MILLI && milli % GPU_MILLI != 0)
            return reader_fail(&reader, -EINVAL, sizes, key,
                               "expected a whole number of GPUs, or less than one");
        code = reader_real(&reader, sizes, key, 0.000001, 1e9, &weight);
        if (code < 0)
            return code;
        generator->sizes[generator->size_count].gpus = (double)milli / GPU_MILLI;
        generator->sizes[generator->size_count++].weight = weight;
    }
    (void)value;
    return 0;
}

int generator_read(const struct reader *reader, const json_t *object, struct generator *generator)
{
    static const char *const arrivals[] = { "poisson", "bursty", NULL };
    size_t arrival = 0;

    *generator = generator_default();
    int64_t jobs = generator->jobs, users = generator->users, seed = 1;
    int code = reader_integer(reader, object, "jobs", 1, WORKLOAD_JOBS_MAX, &jobs);
    if (code == 0)
        code = reader_integer(reader, object, "users", 1, 100000, &users);
    if (code == 0)
        code = reader_integer(reader, object, "seed", 0, INT64_MAX, &seed);
    if (code == 0)
        code = reader_word(reader, object, "arrivals", arrivals, &arrival);
    generator->burst = arrival == 1 ? 8 : 1;
    if (code == 0)
        code = reader_real(reader, object, "burst", 1, 1e6, &generator->burst);
    if (code == 0)
        code = reader_real(reader, object, "diurnal", 0, 1, &generator->diurnal);
    if (code == 0)
        code = reader_real(reader, object, "limit_factor", 2, 1000, &generator->limit_factor_max);
    if (code == 0)
        code = reader_real(reader, object, "load", 0.001, 1000, &generator->load);
    if (code == 0)
        code = reader_duration(reader, object, "every", &generator->every);
    if (code == 0)
        code = read_run(reader, object, generator);
    if (code == 0)
        code = read_sizes(reader, object, generator);
    generator->jobs = (uint32_t)jobs;
    generator->users = (uint32_t)users;
    generator->seed = (uint64_t)seed;
    return code;
}
