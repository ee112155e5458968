/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in a played world: people, faults, strangers, restarts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/config/apply.h"
#include "control/submit.h"
#include "world.h"

/* ---- people ---- */

struct asking {
    struct change change;
    json_t *documents; /* NULL: a configuration */
    json_t *config;
    uint64_t last; /* the newest job before */
};

static uint64_t newest_job(void)
{
    const struct job *last = hub_state(house.hub)->first_job;

    while (last && last->next)
        last = last->next;
    return last ? last->id : 0;
}

static int run_asking(struct change *change, struct error *err)
{
    struct asking *asking = CONTAINER_OF(change, struct asking, change);
    struct identity who;

    if (asking->config)
        return apply_impose(&house.ports->control, asking->config, err);
    identity_set(&who, IDENTITY_PEER, "root", 0, 0, 0);
    asking->last = newest_job();
    return submit_all(&house.ports->control, &who, asking->documents, err);
}

/* A job that was refused is nothing; what was acknowledged must never be lost. */
static void done_asking(struct change *change, int code, const struct error *err)
{
    struct asking *asking = CONTAINER_OF(change, struct asking, change);

    if (asking->config && code == -EINVAL)
        world_break("a configuration is refused: %s", err->text);
    world->is_configured |= code == 0 && asking->config;
    for (const struct job *job = hub_state(house.hub)->first_job; job && code == 0;
         job = job->next) {
        if (asking->documents && job->id > asking->last && world->job_count < WORLD_JOBS)
            world->jobs[world->job_count++] = job->id;
    }
    json_decref(asking->documents);
    json_decref(asking->config);
    free(asking);
}

static void ask(json_t *documents, json_t *config)
{
    struct asking *asking = mem_zero(1, sizeof(*asking));

    *asking = (struct asking){ .change = { .run = run_asking, .done = done_asking },
                               .documents = documents,
                               .config = config };
    hub_enqueue(house.hub, &asking->change);
}

static void submit(void)
{
    static const char *const gpus[] = { "1",           "1",           "2",           "0.5",
                                        "0.25",        "0.5",         "mem=20G",     "mem=40G",
                                        "mig=1g.10gb", "mig=2g.20gb", "mig=3g.40gb", "mig=1g.10gb",
                                        "mig=7g.80gb", "mig=4g.40gb", "mig=1g.20gb" };
    json_t *document = json_pack("{s:s, s:s, s:s, s:i}", "run", "true", "sender_cwd",
                                 world_chance(50) ? WORLD_HOME : "/", "gpus",
                                 gpus[world_below(COUNT_OF(gpus))], "retry", (int)world_below(3));

    if (world_chance(30))
        json_object_set_new(document, "output", json_string(WORLD_HOME "%j.out"));
    if (world_chance(20))
        json_object_set_new(document, "checkpoint", json_pack("{s:s}", "every", "10s"));

    if (world_chance(20))
        json_object_set_new(document, "priority", json_string("high"));
    if (world_chance(30))
        json_object_set_new(document, "preemptible", json_true());
    if (world_chance(10))
        json_object_set_new(document, "nodes", json_integer(1 + world_below(2)));
    world->asked_count++;
    ask(json_pack("[o]", document), NULL);
}

/* Which devices are to be cut into instances, and which are not. */
static json_t *wish_modes(void)
{
    uint32_t first = world_below(WORLD_GPUS);
    json_t *pools = json_pack("{s:{s:[i], s:s}}", "cut", "devices", (int)first, "mig", "on");

    if (world_chance(50))
        json_object_set_new(pools, "plain",
                            json_pack("{s:[i], s:s}", "devices",
                                      (int)((first + 1 + world_below(WORLD_GPUS - 1)) % WORLD_GPUS),
                                      "mig", "off"));
    return pools;
}

static void configure(void)
{
    const char *action = world_chance(50) ? "requeue" : "cancel";

    world->memory_grace_s = WORLD_GRACE_LEAST_S + world_below(WORLD_GRACE_MORE_S);
    json_t *config =
        json_pack("{s:o}", "memory_grace", json_sprintf("%us", (unsigned)world->memory_grace_s));
    if (world_chance(50))
        json_object_set_new(
            config, "idle",
            json_pack("{s:s, s:s, s:s}", "warn", "60s", "stop", "2m", "action", action));
    if (world_chance(60))
        json_object_set_new(config, "pools", wish_modes());
    ask(NULL, config);
}

static void cancel(void)
{
    if (world->job_count == 0)
        return;
    struct event event = { .kind = EVENT_CANCEL,
                           .cancel = { .job = world->jobs[world_below(world->job_count)],
                                       .user = "somebody" } };
    hub_report(house.hub, &event);
}

void world_note_greedy(uint64_t job)
{
    for (uint32_t i = 0; i < world->job_count; i++)
        world->was_greedy[i] |= world->jobs[i] == job;
}

bool world_has_greedy(uint64_t job)
{
    for (uint32_t i = 0; i < world->job_count; i++) {
        if (world->jobs[i] == job)
            return world->was_greedy[i];
    }
    return false;
}

/* ---- faults ---- */

static void harm(uint32_t number)
{
    static const uint32_t xids[] = { 13, 31, 43, 45, 63, 64, 48, 74, 79, 94, 95, 119, 140 };
    struct world_gpu *gpu = &world->gpus[number];

    world->faults++;
    gpu->harms++;
    switch (world_below(6)) {
    case 0:
        if (gpu->lost > 0)
            break;
        gpu->lost = world->since_boot;
        world_say("gpu %u error GPU_IS_LOST", number);
        break;
    case 1:
        world_say("gpu %u hang %u", number, 1 + world_below(30));
        break;
    case 2:
    case 3: {
        uint32_t xid = xids[world_below(COUNT_OF(xids))];
        world_say("gpu %u xid %u", number, xid);
        enum xid_action action = xid_action(xid);
        if (action != XID_NONE && action != XID_APP && action != XID_ASK && gpu->harmed == 0) {
            gpu->harmed = world->since_boot;
            gpu->harmed_life = world->lives;
        }
        break;
    }
    case 4:
        world_say("gpu %u temp %u", number, world_chance(50) ? 96 : 50);
        break;
    default:
        world_say("gpu %u ecc_corrected %u", number, world_below(4000));
    }
}

/* No job is on it: it is reset, and counts from 0. */
static void mend(uint32_t number)
{
    struct world_gpu *gpu = &world->gpus[number];
    struct nvml_device *device = &house.stub->gpus[number];

    if (gpu->lost > 0) {
        gpu->lost = 0;
        world_say("gpu %u error SUCCESS", number);
    } else if (device->process_count == 0 && !stub_is_hanging(number)) {
        gpu->harmed = 0;
        gpu->known_sick = 0;
        house.stub->energy[number] = 0;
        world_say("gpu %u ecc_corrected 0 temp 50", number);
    }
    gpu->leak_mib = 0;
}

static bool is_still_sick(uint32_t number)
{
    const struct world_gpu *gpu = &world->gpus[number];

    return gpu->well > 0 && gpu->lost == 0 && gpu->harmed == 0 &&
           (world->since_boot - gpu->well) / USEC_PER_SEC % 20 == 19;
}

static void visit(uint32_t number)
{
    struct world_foreign *foreign = &world->gpus[number].foreign;

    if (foreign->pid != 0) {
        world_say("gpu %u no-process %u", number, foreign->pid);
        *foreign = (struct world_foreign){ 0 };
        return;
    }
    *foreign = (struct world_foreign){ .pid = WORLD_FOREIGN_PID + world->step,
                                       .mib = 100 + world_below(60000) };
    if (!house.stub->migs[number].is_on)
        world_say("gpu %u process %u memory %lld use 5", number, foreign->pid,
                  (long long)foreign->mib);
    else
        *foreign = (struct world_foreign){ 0 };
}

/* What a device says of its memory is what is on it. */
static void count_memory(uint32_t number)
{
    const struct nvml_device *device = &house.stub->gpus[number];
    int64_t used = 500 + world->gpus[number].leak_mib;

    for (unsigned i = 0; i < device->process_count; i++)
        used += (int64_t)device->processes[i].memory_mib;
    world_say("gpu %u used %lld use %u", number, (long long)used,
              device->process_count > 0 ? 50 : 0);
}

/* For up to a minute. */
static void maybe_until(usec_t *until)
{
    if (world_chance(2) && *until <= world->since_boot)
        *until = world->since_boot + (1 + world_below(60)) * USEC_PER_SEC;
}

/* The machine lacks processes, descriptors or memory, or space on its disk; or a file server does
 * not answer. */
static void run_short(void)
{
    usec_t full = world->full_until;

    maybe_until(&world->lacks_until);
    maybe_until(&world->full_until);
    maybe_until(&world->file_hangs_until);
    if (world->full_until == full)
        return;
    world->lacks_inodes = world_chance(50);
    world->room = 0;
}

void world_play(void)
{
    /* More often while something is under way. */
    if (!world->is_configured || world_chance(world_hangs() ? 12 : 1))
        configure();
    if (world_chance(35))
        submit();
    if (world_chance(4))
        cancel();
    run_short();
    if (world_chance(8))
        harm(world_below(WORLD_GPUS));
    for (uint32_t i = 0; i < WORLD_GPUS; i++) {
        /* Also once more: the daemon may have been killed before it saw it. */
        if (world_chance(6) || is_still_sick(i))
            mend(i);
        if (world_chance(2))
            visit(i);
        count_memory(i);
    }
}
