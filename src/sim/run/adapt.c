/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/adapt.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/trace/dice.h"

static int compare_names(const void *a, const void *b)
{
    const struct sim_job *left = a, *right = b;

    return strcmp(left->name, right->name);
}

static void shuffle(struct workload *workload, struct dice *dice)
{
    struct sim_job *jobs = workload->jobs.items;

    qsort(jobs, workload->jobs.count, sizeof(jobs[0]), compare_names);
    for (size_t i = workload->jobs.count; i > 1; i--) {
        size_t other = dice_below(dice, i);
        struct sim_job held = jobs[i - 1];
        jobs[i - 1] = jobs[other];
        jobs[other] = held;
    }
}

static int inflate(struct workload *workload, double wanted_milli, struct dice *dice,
                   struct error *err)
{
    size_t original = workload->jobs.count;
    double asked = 0;

    for (size_t i = 0; i < original; i++)
        asked += (double)sim_job_milli(&workload->jobs.items[i]);
    if (asked <= 0)
        return error_set(err, -EINVAL, "inflate: no job requests a gpu");
    while (asked > wanted_milli && workload->jobs.count > 1) {
        size_t which = dice_below(dice, workload->jobs.count);
        asked -= (double)sim_job_milli(&workload->jobs.items[which]);
        list_remove(&workload->jobs, which);
    }
    if (workload->jobs.count < original)
        return 0;
    while (asked < wanted_milli) {
        struct sim_job clone = workload->jobs.items[dice_below(dice, original)];
        asked += (double)sim_job_milli(&clone);
        int code = workload_add(workload, &clone, err);
        if (code < 0)
            return code;
    }
    return 0;
}

/* Draw jobs, and when they come. */
static int make_load(struct workload *workload, const struct adapt *adapt, double gpus,
                     struct dice *dice, struct error *err)
{
    size_t count = adapt->count > 0 ? adapt->count : workload->jobs.count;
    struct workload drawn = { 0 };
    double work = 0, now = 0;

    for (size_t i = 0; i < count; i++) {
        struct sim_job job = workload->jobs.items[dice_below(dice, workload->jobs.count)];
        work += (double)sim_job_milli(&job) / GPU_MILLI * (double)job.run;
        int code = workload_add(&drawn, &job, err);
        if (code < 0) {
            list_release(&drawn.jobs);
            return code;
        }
    }
    double every = work > 0 && gpus > 0 ? work / (double)count / gpus / adapt->load : 0;
    for (size_t i = 0; i < count; i++) {
        struct sim_job *job = &drawn.jobs.items[i];
        usec_t left = job->deadline - job->submit;
        job->submit = now < (double)WORKLOAD_TIME_MAX ? (usec_t)now : WORKLOAD_TIME_MAX;
        job->deadline = job->deadline > 0 ? job->submit + left : 0;
        now += dice_exponential(dice, every);
    }
    list_release(&workload->jobs);
    workload->jobs.items = drawn.jobs.items;
    workload->jobs.count = drawn.jobs.count;
    workload->jobs.capacity = drawn.jobs.capacity;
    if (work <= 0 || gpus <= 0 || now > (double)WORKLOAD_TIME_MAX)
        return error_set(err, -EINVAL, "load: the jobs request no GPU time");
    return 0;
}

static int take_slice(struct workload *workload, const struct adapt *adapt, int64_t slice,
                      struct error *err)
{
    size_t start = adapt->slice_starts[slice], count = workload->jobs.count;

    if (start >= count)
        return error_set(err, -ERANGE, "slices: job %zu is the first, but there are %zu", start,
                         count);
    size_t length = adapt->slice_length < count - start ? adapt->slice_length : count - start;
    memmove(workload->jobs.items, workload->jobs.items + start,
            length * sizeof(workload->jobs.items[0]));
    workload->jobs.count = length;
    return 0;
}

static void cut(struct workload *workload, const struct adapt *adapt)
{
    size_t kept = 0;

    for (size_t i = 0; i < workload->jobs.count; i++) {
        struct sim_job job = workload->jobs.items[i];
        if (adapt->gpu_only && job.gpus == 0)
            continue;
        if (adapt->gpus_max > 0 && sim_job_milli(&job) > (int64_t)adapt->gpus_max * GPU_MILLI)
            continue;
        if (job.run > adapt->run_max)
            job.run = adapt->run_max;
        workload->jobs.items[kept++] = job;
    }
    workload->jobs.count = kept;
    if (adapt->count > 0 && adapt->load <= 0 && kept > adapt->count)
        workload->jobs.count = adapt->count;
}

/* Times from 0 on; without departures one job comes a second, in order. */
static void place_in_time(struct workload *workload, const struct adapt *adapt)
{
    usec_t first = USEC_NEVER;

    for (size_t i = 0; i < workload->jobs.count; i++) {
        struct sim_job *job = &workload->jobs.items[i];
        if (!adapt->departures) {
            job->submit = (usec_t)i * USEC_PER_SEC;
            job->run = USEC_NEVER;
            job->deadline = job->limit = 0;
        }
        first = job->submit < first ? job->submit : first;
    }
    for (size_t i = 0; i < workload->jobs.count; i++) {
        struct sim_job *job = &workload->jobs.items[i];
        usec_t left = job->deadline - job->submit;
        double scaled = (double)(job->submit - first) * adapt->time_scale;
        job->submit = scaled < (double)WORKLOAD_TIME_MAX ? llrint(scaled) : WORKLOAD_TIME_MAX;
        job->deadline = job->deadline > 0 ? job->submit + left : 0;
    }
}

static bool has_users(const struct workload *workload)
{
    for (size_t i = 1; i < workload->jobs.count; i++) {
        if (strcmp(workload->jobs.items[i].user, workload->jobs.items[0].user) != 0)
            return true;
    }
    return false;
}

/* Each user is in one team, whatever else runs; where there is but one user, each job is. */
static void deal_teams(struct workload *workload, const struct adapt *adapt)
{
    const char *names[EXPERIMENT_TEAMS_MAX];
    bool by_user = has_users(workload);
    char name[16];
    size_t kept = 0;

    for (uint32_t i = 0; i < adapt->teams; i++) {
        snprintf(name, sizeof(name), "team%" PRIu32, i + 1);
        names[i] = workload_string(workload, name);
    }
    for (size_t i = 0; i < workload->jobs.count; i++) {
        struct sim_job job = workload->jobs.items[i];
        uint64_t hash = by_user ? map_hash(job.user, strlen(job.user)) : map_hash(&i, sizeof(i));
        uint32_t team = (uint32_t)(hash % adapt->teams) + 1;
        job.queue = names[team - 1];
        if (adapt->team == 0 || adapt->team == team)
            workload->jobs.items[kept++] = job;
    }
    workload->jobs.count = kept;
}

/* Gangs over whole machines. */
static int fit(struct workload *workload, const struct cluster *cluster, struct error *err)
{
    uint32_t most = cluster->gpus_max < REQUEST_GPUS_MAX ? cluster->gpus_max : REQUEST_GPUS_MAX;

    for (size_t i = 0; i < workload->jobs.count; i++) {
        struct sim_job *job = &workload->jobs.items[i];
        if (job->gpus == 0 || job->gpus <= most)
            continue;
        if (most == 0)
            return error_set(err, -EINVAL, "job %zu: asks for gpus, and the cluster has none", i);
        uint32_t parts = (uint32_t)(((uint64_t)job->gpus + most - 1) / most);
        if ((uint64_t)job->members * parts > REQUEST_MEMBERS_MAX)
            return error_set(err, -E2BIG, "job %zu: a gang of %" PRIu64 " members, at most %d", i,
                             (uint64_t)job->members * parts, REQUEST_MEMBERS_MAX);
        job->members *= parts;
        job->gpus = most;
        job->cpu_milli /= parts;
        job->memory_mib /= parts;
    }
    return 0;
}

int adapt_workload(const struct experiment *experiment, const struct workload *from, uint64_t seed,
                   int64_t slice, struct workload *ret, struct error *err)
{
    const struct adapt *adapt = &experiment->adapt;
    double gpus = (double)experiment->cluster.gpu_count;
    struct dice dice = dice_of(seed);
    int code = 0;

    list_reserve(&ret->jobs, from->jobs.count);
    memcpy(ret->jobs.items, from->jobs.items, from->jobs.count * sizeof(from->jobs.items[0]));
    ret->jobs.count = from->jobs.count;
    ret->is_in_steps = from->is_in_steps;
    if (!adapt->shuffle && adapt->inflate <= 0)
        workload_sort(ret);
    if (slice >= 0)
        code = take_slice(ret, adapt, slice, err);
    cut(ret, adapt);
    if (ret->jobs.count == 0)
        return error_set(err, -EINVAL, "no job is left of the workload");
    if (adapt->shuffle)
        shuffle(ret, &dice);
    if (code == 0 && adapt->inflate > 0)
        code = inflate(ret, adapt->inflate * gpus * GPU_MILLI, &dice, err);
    if (code == 0 && adapt->load > 0 && experiment->format->has_file)
        code = make_load(ret, adapt, gpus, &dice, err);
    if (code < 0)
        return code;
    place_in_time(ret, adapt);
    if (adapt->teams > 0)
        deal_teams(ret, adapt);
    if (ret->jobs.count == 0)
        return error_set(err, -EINVAL, "team %" PRIu32 ": no job is left of the workload",
                         adapt->team);
    workload_sort(ret);
    return fit(ret, &experiment->cluster, err);
}
