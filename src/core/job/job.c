/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "core/job/checkpoint_interval.h"
#include "core/job/why.h"

const struct job_run job_no_run;

struct job *job_create(const char *name)
{
    size_t length = name ? strlen(name) : 0;
    struct job *job = mem_zero(1, sizeof(*job) + length + 1);

    job->run = &job_no_run;
    job->name = (char *)(job + 1);
    mem_copy(job->name, name, length);
    return job;
}

struct job_run *job_claim_run(struct job *job)
{
    if (job->run == &job_no_run)
        job->run = mem_zero(1, sizeof(*job->run));
    return (struct job_run *)(uintptr_t)job->run;
}

void job_destroy(struct job *job)
{
    if (!job)
        return;
    if (job->run != &job_no_run) {
        struct job_run *run = job_claim_run(job);
        lease_destroy(run->lease);
        free(run->member_states);
        free(run->end.reason);
        free(run->cancelled_by);
        free(run->cancel_reason);
        free(run->external);
        usage_destroy(run->usage);
        free(run->moved_from);
        free(run->moved_to);
        free(run->rescued_from);
        free(run->place);
        free(run->restarted);
        free(run->rescued_reason);
        free(run);
    }
    free(job);
}

const char *job_end_reason(const struct job_run *run)
{
    if (run->end.reason && strcmp(run->end.reason, JOB_NEEDS_BROKEN) == 0)
        return "a job that it needs did not end as required";
    return run->end.reason;
}

void job_note_restart(struct job *job, char *words)
{
    struct job_run *run = job_claim_run(job);

    free(run->restarted);
    run->restarted = words;
}

void job_note_requeue(struct job *job, const char *by)
{
    job_note_restart(job, by && by[0] ? mem_printf("requeued by %s", by) : mem_string("requeued"));
}

char *job_end_words(const struct job *job)
{
    const struct job_end *end = &job->run->end;

    if (end->kind != ENGINE_ENDED)
        return mem_string(end->reason ? end->reason : "it was lost");
    if (end->was_oom)
        return mem_string("out of memory");
    return end->signal > 0 ? mem_printf("signal %" PRIu32, end->signal)
                           : mem_printf("exit status %" PRId32, end->exit_code);
}

void job_set_cancel(struct job_run *run, const char *by, const char *reason)
{
    assert(run != &job_no_run);

    const char *colon = by && !(reason && reason[0]) ? strstr(by, ": ") : NULL;
    char *new_by = colon         ? mem_string_of(by, (size_t)(colon - by))
                   : by && by[0] ? mem_string(by)
                                 : NULL;
    char *new_reason = colon                 ? mem_string(colon + 2)
                       : reason && reason[0] ? mem_string(reason)
                                             : NULL;

    free(run->cancelled_by);
    free(run->cancel_reason);
    run->cancelled_by = new_by;
    run->cancel_reason = new_reason;
}

#define STATE(ID, name, meaning) { name, meaning },
static const struct {
    const char *name, *meaning;
} states[] = {
#include "core/job/job_state.def"
};

#define RESULT(ID, name, meaning) { name, meaning },
static const struct {
    const char *name, *meaning;
} results[] = {
#include "core/job/job_state.def"
};

#define TRANSITION(FROM, TO, event, meaning) [JOB_##FROM][JOB_##TO] = true,
static const bool transitions[JOB_STATE_COUNT][JOB_STATE_COUNT] = {
#include "core/job/job_state.def"
};

DEFINE_WORDS(job_state, enum job_state, states)
DEFINE_WORDS(job_result, enum job_result, results)

bool job_may_become(enum job_state from, enum job_state to)
{
    assert(from < JOB_STATE_COUNT && to < JOB_STATE_COUNT);
    return transitions[from][to];
}

bool job_has_interval(const struct job *job)
{
    return job->checkpoint_every > 0 && job->checkpoint_every != USEC_NEVER;
}

usec_t job_unsaved(const struct job *job, usec_t now)
{
    const struct job_run *run = job->run;
    bool has_run = run->members_started > 0 && run->started >= run->granted;
    usec_t since = run->checkpointed > run->started ? run->checkpointed : run->started;

    if (!has_run || now <= since)
        return 0;
    if (job->checkpoint_every == 0)
        return 0; /* it saves its work when it is stopped */
    /* What it did not say it does when it said it would. */
    return run->checkpointed > run->started ? now - since : (now - since) % job->checkpoint_every;
}

bool job_is_near_limit(const struct job *job, usec_t now)
{
    usec_t ran = now - job->run->started;

    return job->state == JOB_RUNNING && job->run->started > 0 && job->max_duration != USEC_NEVER &&
           ran > job->max_duration / 10 * 9;
}

bool job_may_heal(const struct job *job)
{
    const struct job_run *run = job->run;

    /* A command that can't be run won't be there the next time either. */
    return run->heals < job->heal_max && run->end.kind != ENGINE_FAILED && !run->is_cancel_wanted;
}

usec_t job_checkpoint_takes(const struct job *job)
{
    return job->checkpoint_takes_ms > 0 ? job->checkpoint_takes_ms * USEC_PER_MS
                                        : DALY_TAKES_DEFAULT;
}

static const struct {
    const char *name, *meaning;
} rules[] = {
    [STOP_IN_QUEUE] = { "in_queue", "comes before it in its queue" },
    [STOP_FOR_GUARANTEE] = { "guarantee", "is within its guarantee" },
    [STOP_FOR_LESS] = { "less", "borrows no more than this queue, even with it" },
    [STOP_FOR_FAIR] = { "fair", "borrows less than this queue did" },
    [STOP_FOR_EARLIER] = { "earlier", "comes before its members beyond the minimum" },
    [STOP_FOR_RESERVATION] = { "reservation", "its GPUs or its node are reserved" },
    [STOP_FOR_WINDOW] = { "window", "a time window lowers the limit of its queue" },
    [STOP_FOR_BUDGET] = { "budget", "the budget of its queue is used up" },
    [STOP_FOR_MACHINE] = { "machine", "its node is taken away" },
    [STOP_TO_MOVE] = { "defrag", "gets room because other jobs move" },
};

bool stop_rule_is_of_time(uint8_t rule)
{
    return rule >= STOP_FOR_RESERVATION && rule <= STOP_FOR_BUDGET;
}

DEFINE_WORDS(stop_rule, uint8_t, rules)

#define WHY(ID, name, meaning) { name, meaning },
static const struct {
    const char *name, *meaning;
} reasons[] = {
#include "core/job/why.def"
};

DEFINE_WORDS(why, enum why_kind, reasons)
