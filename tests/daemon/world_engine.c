/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of a played world: its members are rows of a table, and their processes are what the
 * driver is told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "world.h"

struct world_member *world_member_of(struct member_id id)
{
    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        struct world_member *member = &world->members[i];
        if (member->phase != MEMBER_NONE && member->id.job == id.job &&
            member->id.attempt == id.attempt && member->id.rank == id.rank)
            return member;
    }
    return NULL;
}

static struct world_member *claim_member(struct member_id id)
{
    struct world_member *member = world->members;

    while (member < world->members + WORLD_MEMBERS && member->phase != MEMBER_NONE)
        member++;
    if (member == world->members + WORLD_MEMBERS)
        world_break("the table of members is full");
    *member = (struct world_member){ .id = id, .pid = ++world->next_pid };
    return member;
}

static const char *find_env(const struct engine_launch *launch, const char *name)
{
    size_t length = strlen(name);

    for (const char *const *at = launch->envp; *at; at++) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return *at + length + 1;
    }
    return "";
}

static uint32_t gpu_of(const struct state *state, uint32_t device)
{
    for (uint32_t i = 0; i < house.stub->gpu_count; i++) {
        if (strcmp(house.stub->gpus[i].uuid, state->devices.items[device].uuid) == 0)
            return i;
    }
    world_break("a lease names device %u, which the machine does not have", device);
}

/* The names that the programs are told go with the slices, in their order. */
static void fill_holds(struct world_member *member, const struct engine_launch *launch,
                       const struct job *job)
{
    const struct lease *lease = job->run->lease;
    uint32_t place = lease_place(lease, member->id.rank);
    AUTO_FREE char *names = mem_string(find_env(launch, "CUDA_VISIBLE_DEVICES"));
    char *rest = names;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (lease->slices[i].rank != place)
            continue;
        struct world_hold *hold = &member->holds[member->hold_count++];
        const char *name = strsep(&rest, ",");
        *hold = (struct world_hold){ .gpu = gpu_of(hub_state(house.hub), lease->slices[i].device),
                                     .slice = lease->slices[i],
                                     .instance = NVML_NO_INSTANCE };
        hold->is_greedy =
            !member->opens_none && hold->slice.kind == SHARE_FRACTION && world_chance(15);
        member->is_greedy |= hold->is_greedy;
        if (!name || !name[0])
            world_break("job %llu is told of fewer devices than it holds",
                        (unsigned long long)job->id);
        snprintf(hold->name, sizeof(hold->name), "%s", name);
    }
    if (rest)
        world_break("job %llu is told of more devices than it holds", (unsigned long long)job->id);
}

static void start_member(const struct engine_launch *launch)
{
    const struct job *job = state_job(hub_state(house.hub), launch->id.job);
    struct world_member *member = world_member_of(launch->id);

    world_moment();
    if (member)
        return;
    member = claim_member(launch->id);
    member->opens_none = world_chance(15);
    fill_holds(member, launch, job);
    member->since = world->since_boot;
    if (member->is_greedy)
        world_note_greedy(member->id.job);
    member->is_idle = world_chance(10);
    member->fails = world_chance(10);
    member->until = world->since_boot + (1 + world_below(40)) * USEC_PER_SEC;
    if (member->is_greedy) /* it runs until it is stopped */
        member->until += USEC_PER_HOUR;
    world_check_start(member, job);
    member->phase = MEMBER_STARTS;
    world->started++;
    world_moment();
}

static void stop_member(struct member_id id, usec_t grace)
{
    struct world_member *member = world_member_of(id);

    world_moment();
    if (!member || member->phase == MEMBER_IS_OVER)
        return;
    usec_t takes = world_below(4) * USEC_PER_SEC;
    member->was_stopped = true;
    member->stopping = world->since_boot + (takes < grace ? takes : grace);
}

/* After a restart of the machine no trace of a member is left: it is lost. */
static bool recover_member(struct member_id id, bool was_started)
{
    struct world_member *member = world_member_of(id);

    if (!member && world->is_rebooted) {
        member = claim_member(id);
        member->phase = MEMBER_IS_OVER;
        member->is_lost = true;
    }
    if (member) {
        member->told_start = was_started;
        member->told_end = false;
    }
    return member != NULL;
}

static void forget_member(struct member_id id)
{
    struct world_member *member = world_member_of(id);

    world_moment();
    if (member)
        member->phase = MEMBER_NONE;
}

static bool owner(struct engine *of, uint32_t pid, struct member_id *ret, uint32_t *ret_uid)
{
    (void)of;
    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        const struct world_member *member = &world->members[i];
        if (member->phase != MEMBER_RUNS || member->pid != pid)
            continue;
        *ret = member->id;
        *ret_uid = UINT32_MAX;
        return true;
    }
    return false;
}

const struct world_engine world_engine = {
    .start = start_member,
    .stop = stop_member,
    .recover = recover_member,
    .forget = forget_member,
    .owner = owner,
};

/* ---- their lives ---- */

static void tell(const struct world_member *member, enum engine_outcome_kind kind)
{
    struct engine_outcome outcome = {
        .id = member->id,
        .kind = kind,
        .exit_code = member->fails && !member->was_stopped ? 1 : 0,
        .was_stopped = member->was_stopped,
    };

    snprintf(outcome.reason, sizeof(outcome.reason), "%s",
             kind == ENGINE_LOST       ? "the node restarted"
             : kind == ENGINE_RETURNED ? "fork: Resource temporarily unavailable"
                                       : "");
    house.reports.outcome(house.reports.user, &outcome);
}

/* Its processes open the devices, if they do. */
static void begin(struct world_member *member)
{
    member->phase = MEMBER_RUNS;
    for (uint32_t i = 0; i < member->hold_count && !member->opens_none; i++) {
        const struct world_hold *hold = &member->holds[i];
        char words[64] = "";
        int64_t mib = hold->slice.memory_mib / 2;
        if (hold->is_greedy)
            mib = hold->slice.memory_mib + hold->slice.memory_mib / 4 + 512;
        if (hold->instance != NVML_NO_INSTANCE)
            snprintf(words, sizeof(words), "instance %u", hold->instance);
        world_say("gpu %u process %u memory %lld use %u %s", hold->gpu, member->pid, (long long)mib,
                  member->is_idle ? 0 : 20 + hold->slice.milli / 20, words);
    }
}

/* Nothing of it could be started. */
static void give_back(struct world_member *member)
{
    member->phase = MEMBER_IS_OVER;
    member->is_returned = true;
    world->returned++;
}

static void note_failure(const struct world_member *member)
{
    for (uint32_t i = 0; i < world->job_count; i++)
        world->has_failed[i] |=
            world->jobs[i] == member->id.job && member->fails && !member->was_stopped;
}

static void end(struct world_member *member)
{
    member->phase = MEMBER_IS_OVER;
    world->ended++;
    note_failure(member);
    for (uint32_t i = 0; i < member->hold_count; i++) {
        struct world_gpu *gpu = &world->gpus[member->holds[i].gpu];
        world_say("gpu %u no-process %u", member->holds[i].gpu, member->pid);
        if (world_chance(3))
            gpu->leak_mib = 2000 + world_below(20000);
    }
}

void world_engine_step(void)
{
    usec_t now = world->since_boot;

    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        struct world_member *member = &world->members[i];
        bool is_due = member->until <= now || (member->was_stopped && member->stopping <= now);
        if (member->phase == MEMBER_STARTS && now < world->lacks_until)
            give_back(member);
        else if (member->phase == MEMBER_STARTS)
            begin(member);
        else if (member->phase == MEMBER_RUNS && is_due)
            end(member);
    }
    /* A report may be lost with the daemon: then it is asked for by recover(). */
    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        struct world_member *member = &world->members[i];
        bool is_here = !member->is_lost && !member->is_returned;
        if (member->phase >= MEMBER_RUNS && !member->told_start && is_here)
            tell(member, ENGINE_STARTED);
        if (member->phase == MEMBER_IS_OVER && !member->told_end)
            tell(member, member->is_lost       ? ENGINE_LOST
                         : member->is_returned ? ENGINE_RETURNED
                                               : ENGINE_ENDED);
        member->told_start |= member->phase >= MEMBER_RUNS;
        member->told_end |= member->phase == MEMBER_IS_OVER;
    }
}
