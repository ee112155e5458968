/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/run_time.h"

#include <assert.h>

#include "core/job/own_speed.h"
#include "core/job/role.h"
#include "core/state/job_speed.h"
#include "sched/job_facts.h"

static int64_t part(int64_t amount, int64_t of)
{
    return of > 0 ? amount * QUEUE_SHARE_ONE / of : 0;
}

/* The largest of its parts of the cluster's GPUs, CPUs and memory. */
static uint32_t share_of(const struct state *state, const struct request *request,
                         uint8_t *ret_kind)
{
    int64_t most = 0;
    const int64_t parts[SHARES] = {
        [SHARE_OF_GPUS] = part(request_milli(request, 0, 0), state->capacity.milli),
        [SHARE_OF_CPUS] = part(request_cpus(request), state->capacity.cpu_milli),
        [SHARE_OF_MEMORY] = part(request_memory(request), state->capacity.memory_mib),
    };

    *ret_kind = SHARE_OF_GPUS;
    for (uint8_t i = 0; i < SHARES; i++) {
        if (parts[i] > most) {
            most = parts[i];
            *ret_kind = i;
        }
    }
    return (uint32_t)(most < QUEUE_SHARE_ONE ? most : QUEUE_SHARE_ONE);
}

static usec_t least(usec_t a, usec_t b)
{
    return a < b ? a : b;
}

void run_time_bucket_for(const struct state *state, const struct request *request,
                         struct pending_bucket *bucket)
{
    const struct job *job = bucket->first;
    struct history_job described;
    struct history_guess guess;

    assert(bucket->first);
    bucket->share = share_of(state, request, &bucket->kind);
    if (job->estimate > 0) { /* one that outlived its estimate: as long again, at least */
        usec_t left =
            bucket->estimate > 0 ? bucket->estimate : job->run->attained / 2 + USEC_PER_SEC;
        bucket->usual = bucket->most = least(left, bucket->max_duration);
        if (request->speeds_count == 0)
            return;
        struct job_speeds speeds = job_speeds_of(state, request);
        bucket->usual = least(own_speed_run(left, speeds.mean), bucket->max_duration);
        bucket->most = least(own_speed_run(left, speeds.least), bucket->max_duration);
        return;
    }
    uint32_t version =
        state->settings.predict ? history_version(&state->history, job->user) + 1 : 1;
    if (bucket->guess_version == version)
        return;
    bucket->guess_version = version;
    bucket->usual = bucket->most = bucket->max_duration;
    if (!state->settings.predict)
        return;
    job_describe(job, request, &described);
    history_guess(&state->history, &described, &guess);
    bucket->usual = guess.usual;
    bucket->most = bucket->max_duration == USEC_NEVER ? guess.most : bucket->max_duration;
}

void run_time_bucket(const struct state *state, struct pending_bucket *bucket)
{
    run_time_bucket_for(state, state_request(state, bucket->first), bucket);
}

/* Of a stated run time: what is left of it, with a restart. 0: none was stated. */
static usec_t stated_left(const struct job *job)
{
    usec_t attained = job->run->attained;

    if (job->estimate <= 0)
        return 0;
    return job->estimate - attained + (attained > 0 ? job->restart_cost : 0);
}

usec_t run_time_on(const struct state *state, const struct job *job, const struct lease *lease)
{
    const struct request *request = state_request(state, job);
    usec_t left = stated_left(job);

    if (left > 0)
        left = own_speed_run(left, job_speed_on(state, request, lease));
    return least(left, job->max_duration);
}

usec_t run_time_window(const struct state *state, const struct job *job)
{
    usec_t start = job->run->started >= job->run->granted ? job->run->started : job->run->granted;
    usec_t elapsed = state->now - start, known = 0;
    struct history_job described;

    assert(start >= 0 && elapsed >= 0);
    if (job->estimate > 0)
        known = run_time_on(state, job, job->run->lease);
    if (known > elapsed)
        return known;
    if (!state->settings.predict || job->max_duration != USEC_NEVER)
        return job->max_duration;
    state_describe(state, job, &described);
    usec_t most = history_most_after(&state->history, &described, job->run->attained + elapsed);
    if (most == USEC_NEVER)
        return most;
    /* What ran before counts as one run with it, but its limit is for each attempt. */
    usec_t window = most - job->run->attained, longer = elapsed + elapsed / 8 + USEC_PER_SEC;
    return least(window > longer ? window : longer, job->max_duration);
}

/* Of one that runs: what is left, and its restart. */
static usec_t elsewhere(const struct state *state, const struct job *job)
{
    usec_t left = job->run->expected_end > state->now ? job->run->expected_end - state->now : 0;

    return usec_after(left, job_restart_cost(job));
}

usec_t run_time_usual(const struct state *state, const struct job *job)
{
    const struct pending_bucket *bucket = job->pending_bucket;

    if (!bucket)
        return elsewhere(state, job);
    return bucket->has_speeds && bucket->estimate > 0 ? bucket->most : bucket->usual;
}

usec_t run_time_most(const struct state *state, const struct job *job)
{
    return job->pending_bucket ? job->pending_bucket->most : elsewhere(state, job);
}
