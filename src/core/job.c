/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job.h"

#include <stdlib.h>

void job_destroy(struct job *job)
{
    if (!job)
        return;
    lease_destroy(job->lease);
    free(job->member_states);
    free(job->end.reason);
    free(job->cancelled_by);
    free(job->name);
    free(job);
}

#define RESULT(ID, name, meaning)
#define TRANSITION(FROM, TO, event, meaning)
#define STATE(ID, name, meaning) { name, meaning },
static const struct {
    const char *name, *meaning;
} states[] = {
#include "core/job_state.def"
};
#undef STATE
#undef RESULT

#define STATE(ID, name, meaning)
#define RESULT(ID, name, meaning) { name, meaning },
static const struct {
    const char *name, *meaning;
} results[] = {
#include "core/job_state.def"
};
#undef RESULT
#undef TRANSITION

#define RESULT(ID, name, meaning)
#define TRANSITION(FROM, TO, event, meaning) [JOB_##FROM][JOB_##TO] = true,
static const bool transitions[JOB_STATE_COUNT][JOB_STATE_COUNT] = {
#include "core/job_state.def"
};

const char *job_state_name(enum job_state state)
{
    return (size_t)state < COUNT_OF(states) ? states[state].name : "unknown";
}

const char *job_state_meaning(enum job_state state)
{
    return (size_t)state < COUNT_OF(states) ? states[state].meaning : "";
}

const char *job_result_name(enum job_result result)
{
    return (size_t)result < COUNT_OF(results) ? results[result].name : "unknown";
}

const char *job_result_meaning(enum job_result result)
{
    return (size_t)result < COUNT_OF(results) ? results[result].meaning : "";
}

bool job_may_become(enum job_state from, enum job_state to)
{
    return transitions[from][to];
}
