/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/workload.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/request.h"

void workload_release(struct workload *workload)
{
    list_release(&workload->jobs);
    arena_release(&workload->strings);
    map_release(&workload->known);
}

struct sim_job sim_job_default(void)
{
    return (struct sim_job){
        .name = "",
        .user = "",
        .group = "",
        .queue = "",
        .partition = "",
        .models = "",
        .waited = -1,
        .milli = GPU_MILLI,
        .members = 1,
    };
}

int workload_add(struct workload *workload, const struct sim_job *job, struct error *err)
{
    if (workload->jobs.count >= WORKLOAD_JOBS_MAX)
        return error_set(err, -E2BIG, "more than %d jobs", WORKLOAD_JOBS_MAX);
    list_add(&workload->jobs, *job);
    return 0;
}

const char *workload_string(struct workload *workload, const char *string)
{
    size_t length = string ? strnlen(string, WORKLOAD_TEXT_MAX) : 0;
    uint64_t found;

    if (length == 0)
        return "";
    uint64_t hash = map_hash(string, length);
    if (map_get(&workload->known, hash, &found)) {
        const char *known = (const char *)(uintptr_t)found;
        if (strncmp(known, string, length) == 0 && known[length] == '\0')
            return known;
    }
    const char *added = arena_string(&workload->strings, string, length);
    map_set(&workload->known, hash, (uint64_t)(uintptr_t)added);
    return added;
}

const char *workload_lower(struct workload *workload, const char *string)
{
    char lower[WORKLOAD_TEXT_MAX + 1];
    size_t i;

    for (i = 0; string[i] && i < WORKLOAD_TEXT_MAX; i++)
        lower[i] = (char)tolower((unsigned char)string[i]);
    lower[i] = '\0';
    return workload_string(workload, lower);
}

static int compare(const void *a, const void *b, void *user)
{
    const struct sim_job *jobs = user;
    uint32_t left, right;

    memcpy(&left, a, sizeof(left));
    memcpy(&right, b, sizeof(right));
    if (jobs[left].submit != jobs[right].submit)
        return jobs[left].submit < jobs[right].submit ? -1 : 1;
    return left < right ? -1 : left > right;
}

void workload_sort(struct workload *workload)
{
    size_t count = workload->jobs.count;
    bool is_sorted = true;

    for (size_t i = 1; i < count && is_sorted; i++)
        is_sorted = workload->jobs.items[i - 1].submit <= workload->jobs.items[i].submit;
    if (is_sorted)
        return;
    AUTO_FREE uint32_t *order = mem_zero(count, sizeof(order[0]));
    struct sim_job *jobs = mem_zero(count, sizeof(jobs[0]));
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, count, sizeof(order[0]), compare, workload->jobs.items);
    for (size_t i = 0; i < count; i++)
        jobs[i] = workload->jobs.items[order[i]];
    free(workload->jobs.items);
    workload->jobs.items = jobs;
    workload->jobs.capacity = count;
}

int workload_pass_over(struct workload *workload, bool skip_bad, int code)
{
    if (code != -EBADMSG || !skip_bad)
        return code;
    workload->skipped++;
    return 0;
}
