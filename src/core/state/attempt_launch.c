/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/attempt_launch.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

static uint32_t add_slices(const struct state *state, const struct lease *lease, uint32_t place,
                           struct engine_slice *slices)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct slice *slice = &lease->slices[i];
        const struct device *device = &state->devices.items[slice->device];
        if (slice->rank == place)
            slices[count++] = (struct engine_slice){ .uuid = device->uuid,
                                                     .model = device->model,
                                                     .index = device->index,
                                                     .milli = slice->milli,
                                                     .memory_mib = slice->memory_mib,
                                                     .is_mps = slice->kind == SHARE_MPS };
    }
    return count;
}

void attempt_launch_make(const struct state *state, const struct job *job,
                         struct attempt_launch *ret)
{
    assert(job_is_active(job));

    const struct lease *lease = job->run->lease;
    struct engine_slice *slices = mem_zero(lease->slices_count + 1, sizeof(*slices));

    *ret = (struct attempt_launch){ .count = lease->members_count, .slices = slices };
    ret->members = mem_zero(lease->members_count, sizeof(ret->members[0]));
    for (uint32_t place = 0; place < lease->members_count; place++) {
        uint32_t count = add_slices(state, lease, place, slices);
        ret->members[place] = (struct engine_launch){
            .id = { job->id, job->run->attempt, lease_rank(lease, place) },
            .node = state->nodes.items[lease->members[place].node].name,
            .slices = slices,
            .slices_count = count,
            .external = job->run->external,
            .title = job->name,
            .queue = state->queues.items[job->queue].name,
            .duration_max = job->max_duration,
            .uid = job->uid,
            .gid = job->gid,
            .grace = job->grace,
            .memory_node = -1,
        };
        slices += count;
    }
}

void attempt_launch_release(struct attempt_launch *launch)
{
    free(launch->members);
    free(launch->slices);
}

struct event event_of_outcome(const struct engine_outcome *outcome)
{
    const struct member_id id = outcome->id;

    if (outcome->kind == ENGINE_STARTED)
        return (struct event){
            .kind = EVENT_STARTED,
            .started = { .job = id.job,
                         .attempt = id.attempt,
                         .rank = id.rank,
                         .processes = (uint8_t)outcome->isolation.processes,
                         .cpu = (uint8_t)outcome->isolation.cpu,
                         .memory = (uint8_t)outcome->isolation.memory,
                         .gpu = (uint8_t)outcome->isolation.gpu },
        };
    return (struct event){
        .kind = EVENT_ENDED,
        .ended = { .job = id.job,
                   .attempt = id.attempt,
                   .rank = id.rank,
                   .kind = (uint8_t)outcome->kind,
                   .exit_code = outcome->exit_code,
                   .signal = (uint32_t)outcome->signal,
                   .was_stopped = outcome->was_stopped,
                   .was_oom = outcome->was_oom,
                   .was_killed = outcome->was_killed,
                   .user_us = outcome->user_us,
                   .system_us = outcome->system_us,
                   .memory_kib_max = outcome->memory_kib_max,
                   .reason = outcome->reason },
    };
}

/* Whether a member may have that device in place of one of its lease. */
static bool may_have(const struct state *state, const struct lease *lease, uint32_t place,
                     uint32_t device)
{
    bool may = false;

    for (uint32_t i = 0; i < lease->slices_count; i++)
        may |= lease->slices[i].rank == place &&
               state_may_exchange(state, lease->slices[i].device, device);
    return may;
}

struct event event_of_assignment(const struct state *state, struct member_id id,
                                 const char *const *uuids, uint32_t count, struct event_held *held,
                                 uint32_t *ret_refused)
{
    const struct job *job = state_job(state, id.job);
    bool is_active = job && job_is_active(job) && job->run->attempt == id.attempt;
    const struct lease *lease = is_active ? job->run->lease : NULL;
    uint32_t place = lease ? lease_place(lease, id.rank) : 0, leased = 0;
    struct event event = {
        .kind = EVENT_ASSIGNED,
        .assigned = { .job = id.job, .attempt = id.attempt, .rank = id.rank, .devices = held }
    };

    *ret_refused = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t device = state_find_device(state, uuids[i]);
        *ret_refused += device < 0 || (lease && !may_have(state, lease, place, (uint32_t)device));
        if (device >= 0)
            held[event.assigned.devices_count++].device = (uint32_t)device;
    }
    for (uint32_t i = 0; lease && i < lease->slices_count; i++)
        leased += lease->slices[i].rank == place;
    if (lease)
        *ret_refused += leased > count ? leased - count : count - leased;
    return event;
}
