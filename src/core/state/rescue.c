/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/rescue.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/state/state.h"

/* Nothing of it runs yet. */
static bool is_new(const struct job *job)
{
    return job->state == JOB_GRANTED && job->run->members_started == 0 &&
           job->run->members_ended == 0;
}

enum harm rescue_harm(const struct state *state, const struct job *job, uint32_t *ret_device)
{
    const struct lease *lease = job->run->lease;
    enum harm worst = HARM_NONE, least = is_new(job) ? HARM_LEAVE : HARM_NONE;

    for (uint32_t i = 0; lease && i < lease->slices_count; i++) {
        const struct device *device = &state->devices.items[lease->slices[i].device];
        enum harm harm = device->harm > least ? device->harm : least;
        if (device->sick && harm > worst) {
            worst = harm;
            *ret_device = lease->slices[i].device;
        }
    }
    return worst;
}

/* It goes on later where it was. */
static bool saves_its_work(const struct job *job)
{
    return job->checkpoint_every != USEC_NEVER &&
           (job->is_preemptible || job->checkpoint_every > 0 || job->checkpoint_is_auto);
}

bool rescue_may(const struct state *state, const struct job *job, enum harm harm)
{
    const struct job_run *run = job->run;
    uint8_t rule = state->settings.watch.sick_jobs;

    if (harm == HARM_NONE || run->is_cancel_wanted)
        return false;
    if (is_new(job))
        return !run->external; /* its engine can start it only once */
    if (rule == SICK_STAY || run->rescues >= RESCUES_MOST)
        return false;
    if (saves_its_work(job))
        return true;
    return harm == HARM_DIE && !job->no_requeue &&
           (rule == SICK_ALL || run->retries < job->retry_max || run->heals < job->heal_max);
}

usec_t rescue_unsaved(const struct job *job, enum harm harm, usec_t now)
{
    const struct job_run *run = job->run;
    bool has_run = run->members_started > 0 && run->started >= run->granted;
    usec_t since = run->checkpointed > run->started ? run->checkpointed : run->started;

    if (!has_run || now <= since)
        return 0;
    /* On a dead device nothing can be saved any more. */
    if (saves_its_work(job) && (harm != HARM_DIE || job->checkpoint_every > 0))
        return job_unsaved(job, now);
    return now - since;
}

void rescue_note(const struct state *state, struct job *job, uint32_t number)
{
    assert(number < state->devices.count);

    const struct device *device = &state->devices.items[number];
    struct job_run *run = job_claim_run(job);

    free(run->rescued_from);
    free(run->rescued_reason);
    run->rescued_from =
        mem_printf("%s:%" PRIu32, state->nodes.items[device->node].name, device->index);
    run->rescued_reason = mem_string(device->sick ? device->sick : "");
    run->rescued_harm = device->harm;
    run->rescued = state->now;
}
