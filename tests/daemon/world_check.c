/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold in a played world, whatever happens in it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/job/request.h"
#include "world.h"

enum {
    LOOK_S = 3,    /* so soon a fault that shows in a reading is seen */
    SILENT_S = 13, /* and one that keeps silent */
    MODE_S = 10,   /* and gets another mode, */
    AGAIN_S = 60,  /* or so much later, where the driver refused it */
    WELL_S = 90,   /* so soon a device is given out again */
};

static usec_t ago(uint32_t seconds)
{
    return world->since_boot - (usec_t)seconds * USEC_PER_SEC;
}

static bool is_alive(const struct world_member *member)
{
    return member->phase == MEMBER_STARTS || member->phase == MEMBER_RUNS;
}

static const struct device *device_of(uint32_t gpu)
{
    const struct state *state = hub_state(house.hub);
    int64_t found = state_find_device(state, house.stub->gpus[gpu].uuid);

    if (found < 0)
        world_break("the state does not know gpu %u", gpu);
    return &state->devices.items[found];
}

/* ---- no device is given twice ---- */

static int64_t total_mib(uint32_t gpu)
{
    return (int64_t)house.stub->gpus[gpu].values[STUB_memory];
}

static void check_alone(const struct world_member *member, const struct world_hold *hold)
{
    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        const struct world_member *other = &world->members[i];
        for (uint32_t k = 0; is_alive(other) && k < other->hold_count; k++) {
            if (&other->holds[k] != hold && other->holds[k].gpu == hold->gpu)
                world_break("job %" PRIu64 " is given all of gpu %u, which job %" PRIu64 " is on",
                            member->id.job, hold->gpu, other->id.job);
        }
    }
}

static void check_fraction(const struct world_member *member, const struct world_hold *hold)
{
    int64_t milli = 0, mib = 0;

    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        const struct world_member *other = &world->members[i];
        bool counts = is_alive(other) || other == member;
        for (uint32_t k = 0; counts && k < other->hold_count; k++) {
            const struct world_hold *beside = &other->holds[k];
            if (beside->gpu != hold->gpu)
                continue;
            if (beside->slice.kind != SHARE_FRACTION)
                world_break("job %" PRIu64 " shares gpu %u with job %" PRIu64 ", which does not",
                            member->id.job, hold->gpu, other->id.job);
            milli += beside->slice.milli;
            mib += beside->slice.memory_mib;
        }
    }
    if (milli > GPU_MILLI || mib > total_mib(hold->gpu))
        world_break("gpu %u is given out %" PRId64 " thousandths and %" PRId64 " MiB of %" PRId64,
                    hold->gpu, milli, mib, total_mib(hold->gpu));
    const struct world_foreign *foreign = &world->gpus[hold->gpu].foreign;
    if (foreign->looks > LOOK_S &&
        mib + foreign->mib > total_mib(hold->gpu) + 2 * HEALTH_FOREIGN_MIB)
        world_break("gpu %u: %" PRId64 " MiB are given out beside %" PRId64 " MiB of a stranger",
                    hold->gpu, mib, foreign->mib);
}

static const struct nvml_instance *find_instance(const struct world_hold *hold)
{
    const struct stub_mig *mig = &house.stub->migs[hold->gpu];

    for (uint32_t i = 0; i < STUB_INSTANCES; i++) {
        const struct nvml_instance *instance = &mig->instances[i];
        if (instance->is_there && instance->has_compute &&
            strcmp(mig->devices[i].uuid, hold->name) == 0 &&
            instance->placement.start == hold->slice.mig_start &&
            instance->placement.size == hold->slice.mig_size)
            return instance;
    }
    return NULL;
}

static void check_instance(const struct world_member *member, struct world_hold *hold)
{
    const struct nvml_instance *instance = find_instance(hold);

    if (!instance)
        world_break("job %" PRIu64 ": %s is not the instance at %u of %u of gpu %u", member->id.job,
                    hold->name, hold->slice.mig_start, hold->slice.mig_size, hold->gpu);
    hold->instance = instance->id;
    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        const struct world_member *other = &world->members[i];
        for (uint32_t k = 0; is_alive(other) && k < other->hold_count; k++) {
            if (&other->holds[k] != hold && strcmp(other->holds[k].name, hold->name) == 0)
                world_break("job %" PRIu64 " is given %s, which job %" PRIu64 " has",
                            member->id.job, hold->name, other->id.job);
        }
    }
}

/* Nothing is started where it was known, when it was decided, that nothing may be. */
static void check_well(const struct world_member *member, const struct job *job,
                       const struct world_hold *hold)
{
    const struct world_gpu *gpu = &world->gpus[hold->gpu];
    usec_t granted = job->run->granted - (clock_now(hub_clock(house.hub)) - world->since_boot);

    if (gpu->lost > 0 && gpu->lost_known > 0 && gpu->lost_known < granted)
        world_break("job %" PRIu64 " is put on gpu %u, which is lost for %" PRId64 " s",
                    member->id.job, hold->gpu, (granted - gpu->lost) / USEC_PER_SEC);
    if (gpu->known_sick > 0 && gpu->known_sick < granted)
        world_break("job %" PRIu64 " is put on gpu %u, which needs a reset", member->id.job,
                    hold->gpu);
}

void world_check_start(const struct world_member *member, const struct job *job)
{
    for (uint32_t i = 0; i < member->hold_count; i++) {
        struct world_hold *hold = (struct world_hold *)&member->holds[i];
        bool is_mig = house.stub->migs[hold->gpu].is_on;
        if (is_mig != (hold->slice.kind == SHARE_MIG))
            world_break("job %" PRIu64 ": gpu %u has MIG %s", member->id.job, hold->gpu,
                        is_mig ? "on" : "off");
        if (hold->slice.kind == SHARE_WHOLE)
            check_alone(member, hold);
        else if (hold->slice.kind == SHARE_MIG)
            check_instance(member, hold);
        else
            check_fraction(member, hold);
        check_well(member, job, hold);
    }
}

/* ---- no illegal layout; neighbours are left alone ---- */

static void check_layouts(void)
{
    if (house.stub->refused > 0)
        world_break("the driver was asked for what can't be: %s", house.stub->refusal);
    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        const struct world_member *member = &world->members[i];
        for (uint32_t k = 0; is_alive(member) && k < member->hold_count; k++) {
            const struct world_hold *hold = &member->holds[k];
            if (house.stub->migs[hold->gpu].is_on != (hold->slice.kind == SHARE_MIG))
                world_break("job %" PRIu64 " runs on gpu %u, whose MIG mode is changed",
                            member->id.job, hold->gpu);
            if (hold->slice.kind == SHARE_MIG && !find_instance(hold))
                world_break("job %" PRIu64 " runs on %s, which is gone", member->id.job,
                            hold->name);
            if (hold->slice.kind != SHARE_MIG && house.stub->migs[hold->gpu].is_on)
                world_break("job %" PRIu64 " runs on gpu %u, which got MIG meanwhile",
                            member->id.job, hold->gpu);
        }
    }
}

/* ---- no reading of a lost device ---- */

static void check_readings(uint32_t gpu)
{
    const struct watch *watch = watcher_watch(house.watcher);
    const struct state *state = hub_state(house.hub);
    struct watch_device seen;
    bool is_lost = world->gpus[gpu].lost > 0 && world->gpus[gpu].lost < ago(LOOK_S);

    if (!watch->ops->device(watch, (uint32_t)(device_of(gpu) - state->devices.items), &seen))
        return;
    if (is_lost && !stub_is_hanging(gpu) && house.looked < ago(LOOK_S) && watch_is_fresh(&seen))
        world_break("gpu %u is lost, and shows a reading that is %" PRId64 " s old", gpu,
                    seen.age / USEC_PER_SEC);
    if (seen.silent > SILENT_S * USEC_PER_SEC && watch_is_fresh(&seen))
        world_break("gpu %u is silent, and shows a reading as if it were fresh", gpu);
    if (watch_is_fresh(&seen) && seen.age > SILENT_S * USEC_PER_SEC)
        world_break("gpu %u: a reading of %" PRId64 " s passes as fresh", gpu,
                    seen.age / USEC_PER_SEC);
}

/* What is seen can be recorded: the disk has had room for some time. */
static bool is_roomy(void)
{
    return world->full_until < ago(LOOK_S);
}

/* ---- the sick are kept out, and come back ---- */

static void check_health(uint32_t number)
{
    struct world_gpu *gpu = &world->gpus[number];
    const struct device *device = device_of(number);
    bool is_kept = is_roomy();
    bool is_watched = house.looked < ago(LOOK_S) && is_kept;
    bool is_well = is_kept && !gpu->is_unfound && gpu->foreign.pid == 0 && gpu->lost == 0 &&
                   gpu->harmed == 0 && gpu->leak_mib == 0 && !stub_is_hanging(number);

    if (is_watched && gpu->lost > 0 && gpu->lost < ago(LOOK_S) && !device->sick &&
        !stub_is_hanging(number))
        world_break("gpu %u is lost for %" PRId64 " s, and not said to be sick", number,
                    (world->since_boot - gpu->lost) / USEC_PER_SEC);
    if (gpu->harmed > 0 && gpu->harmed_life == world->lives && gpu->harmed < ago(LOOK_S) &&
        house.heard > 0 && house.heard < ago(LOOK_S) && is_kept && !device->sick)
        world_break("gpu %u needs a reset for %" PRId64 " s, and is not said to be sick", number,
                    (world->since_boot - gpu->harmed) / USEC_PER_SEC);
    if (gpu->known_sick > 0 && is_watched && !device->sick)
        world_break("gpu %u needs a reset still, and is said to be well", number);
    if (gpu->known_sick == 0 && gpu->harmed > 0 && is_watched && device->sick &&
        device->faults != 0 && gpu->lost == 0)
        gpu->known_sick = world->since_boot;
    if (gpu->harms == 0 && is_watched && device->faults != 0)
        world_break(
            "gpu %u: nothing was done to it since the machine started, and it needs a reset",
            number);
    if (!is_well || !device->sick)
        gpu->well = world->since_boot;
    if (is_well && is_watched && gpu->well < ago(WELL_S) && device->sick)
        world_break("gpu %u is well for %d s, and is still said to be sick: %s", number, WELL_S,
                    device->sick);
}

/* ---- every device has the mode that it should have ---- */

static bool is_held(uint32_t gpu)
{
    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        const struct world_member *member = &world->members[i];
        for (uint32_t k = 0; member->phase != MEMBER_NONE && k < member->hold_count; k++) {
            if (member->holds[k].gpu == gpu)
                return true;
        }
    }
    return false;
}

static void check_mode(uint32_t number)
{
    struct world_gpu *gpu = &world->gpus[number];
    const struct device *device = device_of(number);
    bool goes_on = is_roomy() && world->file_hangs_until < ago(LOOK_S) && !world_hangs();
    bool can_be =
        goes_on && !device->sick && !is_held(number) && house.stub->gpus[number].process_count == 0;

    gpu->waits = can_be && device->mig_now != device->mig_enabled ? gpu->waits + 1 : 0;
    if (gpu->lost > 0 || gpu->foreign.pid != 0 || stub_is_hanging(number))
        gpu->upset = world->since_boot;
    bool is_upset = gpu->upset > 0 && gpu->upset > ago(AGAIN_S + MODE_S);
    if (gpu->waits > (is_upset ? MODE_S + AGAIN_S : MODE_S))
        world_break("gpu %u is idle for %u s, and does not get the MIG mode that it should have",
                    number, gpu->waits);
    if (!device->sick && device->mig_now != house.stub->migs[number].is_on && gpu->lost == 0 &&
        gpu->waits == 0 && house.looked < ago(LOOK_S) && goes_on && !gpu->is_unfound &&
        ++gpu->lies > MODE_S)
        world_break("gpu %u has MIG %s, and is said to have it %s", number,
                    device->mig_now ? "off" : "on", device->mig_now ? "on" : "off");
}

/* ---- no job is blamed for its neighbour ---- */

/* Nor stopped for memory before the grace is over, as far as those who took it are there still. */
static void check_grace(uint64_t job)
{
    usec_t longest = -1;

    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        const struct world_member *member = &world->members[i];
        if (member->id.job == job && member->phase == MEMBER_RUNS && member->is_greedy &&
            world->since_boot - member->since > longest)
            longest = world->since_boot - member->since;
    }
    if (longest >= 0 && longest < WORLD_GRACE_LEAST_S * USEC_PER_SEC)
        world_break("job %" PRIu64 " is stopped for memory that it has for %" PRId64 " s", job,
                    longest / USEC_PER_SEC);
}

static void check_blame(void)
{
    for (uint32_t i = 0; i < world->job_count; i++) {
        const struct job *job = state_job(hub_state(house.hub), world->jobs[i]);
        if (!job)
            world_break("job %" PRIu64 " was acknowledged, and is lost", world->jobs[i]);
        const char *why = job->run->cancelled_by;
        bool is_blamed = why && strcmp(why, "gpu memory") == 0;
        if (is_blamed && !world->was_greedy[i])
            world_break("job %" PRIu64 " is stopped for memory that its neighbour took: %s",
                        job->id, job->run->cancel_reason);
        if (is_blamed && !world->was_blamed[i])
            check_grace(job->id);
        world->was_blamed[i] |= is_blamed;
    }
}

/* A job fails by what its own processes did, not by what the machine lacks for a while. */
static void check_failures(void)
{
    for (uint32_t i = 0; i < world->job_count; i++) {
        const struct job *job = state_job(hub_state(house.hub), world->jobs[i]);
        if (job && job->state == JOB_ENDED && job->result == RESULT_FAILED && !world->has_failed[i])
            world_break("job %" PRIu64 " failed, and none of its processes did: %s", job->id,
                        job_end_reason(job->run) ? job_end_reason(job->run) : "no reason");
    }
}

/* Who takes more for longer than the grace, where that can be seen, is ended. */
static void check_greedy(const struct world_member *member)
{
    usec_t grace_s = WORLD_GRACE_LEAST_S + WORLD_GRACE_MORE_S;
    usec_t most = (grace_s + 2 * LOOK_S + (world->is_configured ? 0 : 60)) * USEC_PER_SEC;

    for (uint32_t i = 0; i < member->hold_count; i++) {
        const struct world_hold *hold = &member->holds[i];
        const struct world_gpu *gpu = &world->gpus[hold->gpu];
        bool is_upset = gpu->upset > 0 && gpu->upset > world->since_boot - most;
        if (!hold->is_greedy || is_upset || gpu->is_unfound)
            return;
    }
    if (member->is_greedy && !member->was_stopped && world->since_boot - member->since > most &&
        house.looked < world->since_boot - most && world->full_until < world->since_boot - most)
        world_break("job %" PRIu64 " takes more memory than it was given, and is not stopped",
                    member->id.job);
}

/* What the daemon could have seen in this step, too. */
static void note_looks(uint32_t number)
{
    struct world_gpu *gpu = &world->gpus[number];
    bool can_ask =
        is_roomy() && !gpu->is_unfound && !stub_is_hanging(number) && house.looked < ago(1);

    if (gpu->foreign.pid != 0 && gpu->lost == 0)
        gpu->foreign.looks += can_ask;
    gpu->lost_looks = gpu->lost > 0 ? gpu->lost_looks + can_ask : 0;
    if (gpu->lost_looks <= LOOK_S)
        gpu->lost_known = 0;
    else if (gpu->lost_known == 0)
        gpu->lost_known = world->since_boot;
}

void world_check(void)
{
    check_layouts();
    check_blame();
    check_failures();
    for (uint32_t i = 0; i < WORLD_GPUS; i++) {
        check_readings(i);
        check_health(i);
        check_mode(i);
        note_looks(i);
    }
    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        if (world->members[i].phase == MEMBER_RUNS)
            check_greedy(&world->members[i]);
    }
}
