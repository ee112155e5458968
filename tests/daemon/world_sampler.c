/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler, and the loop's workers, in the one thread that there is: so that a seed plays the
 * same world each time. A device that hangs is not asked until it answers again. */
#include <stdlib.h>

#include "base/mem.h"
#include "device/sampler.h"
#include "io/workers.h"
#include "world.h"

struct sampler {
    struct sampler_options options;
    struct sampled got[WORLD_GPUS];
    bool has_got[WORLD_GPUS];
    usec_t asked[WORLD_GPUS]; /* 0: nothing is asked of it */
    LIST(struct probe_event) events;
    bool has_waited; /* the first time all devices are told to report */
};

usec_t sampler_now(void)
{
    return world->since_boot;
}

int sampler_create(const struct sampler_options *options, struct sampler **ret, struct error *err)
{
    (void)err;
    *ret = mem_zero(1, sizeof(**ret));
    (*ret)->options = *options;
    return 0;
}

bool sampler_destroy(struct sampler *sampler)
{
    for (uint32_t i = 0; sampler && i < WORLD_GPUS; i++)
        free(sampler->got[i].processes);
    if (sampler)
        list_release(&sampler->events);
    free(sampler);
    return true;
}

static void answer(struct sampler *sampler, uint32_t device)
{
    struct probe *probe = sampler->options.probe;
    struct sampled *got = &sampler->got[device];
    struct error err;

    free(got->processes);
    *got = (struct sampled){ 0 };
    got->code = probe->ops->sample(probe, device, &got->reading, &got->err);
    if (got->code == 0)
        got->has_processes =
            probe->ops->processes(probe, device, &got->processes, &got->process_count, &err) == 0;
    got->reading.at = sampler_now();
    sampler->has_got[device] = true;
    sampler->asked[device] = 0;
}

void sampler_ask_one(struct sampler *sampler, uint32_t device)
{
    world_moment();
    if (sampler->asked[device] == 0)
        sampler->asked[device] = sampler_now();
    if (!stub_is_hanging(device))
        answer(sampler, device);
    sampler->options.notify(sampler->options.user);
}

void sampler_ask(struct sampler *sampler)
{
    struct probe_event event;
    struct error err;

    for (uint32_t i = 0; i < sampler->options.device_count; i++)
        sampler_ask_one(sampler, i);
    if (!sampler->has_waited && !world_hangs()) {
        sampler->has_waited = true;
        house.heard = sampler_now();
    }
    while (sampler->has_waited &&
           sampler->options.probe->ops->wait(sampler->options.probe, 0, &event, &err) == 1)
        list_add(&sampler->events, event);
    sampler->options.notify(sampler->options.user);
}

bool sampler_take(struct sampler *sampler, uint32_t device, struct sampled *ret)
{
    bool has_got = sampler->has_got[device];

    if (has_got) {
        *ret = sampler->got[device];
        sampler->got[device] = (struct sampled){ 0 };
    }
    sampler->has_got[device] = false;
    return has_got;
}

bool sampler_take_event(struct sampler *sampler, struct probe_event *ret)
{
    if (sampler->events.count == 0)
        return false;
    *ret = sampler->events.items[0];
    list_remove(&sampler->events, 0);
    return true;
}

usec_t sampler_silent(struct sampler *sampler, uint32_t device)
{
    return sampler->asked[device] == 0 ? 0 : sampler_now() - sampler->asked[device];
}

/* ---- the workers of the loop ---- */

static LIST(struct work_item *) works;

/* No thread: nothing is ever waited for, and names are looked up at once. */
int __wrap_workers_start(uv_loop_t *loop, struct workers **ret, struct error *err);
int __wrap_workers_start(uv_loop_t *loop, struct workers **ret, struct error *err)
{
    (void)loop;
    (void)err;
    *ret = NULL;
    return 0;
}

void __wrap_names_start(struct workers *workers);
void __wrap_names_start(struct workers *workers)
{
    (void)workers;
}

void __wrap_workers_add(struct workers *workers, struct work_item *item);
void __wrap_workers_add(struct workers *workers, struct work_item *item)
{
    (void)workers;
    list_add(&works, item);
}

/* What a worker asks for is not known here: none continues while a device or a file hangs. */
void world_work(void)
{
    bool is_stuck = world->file_hangs_until > world->since_boot;

    while (works.count > 0 && !world_hangs() && !is_stuck) {
        struct work_item *item = works.items[0];
        list_remove(&works, 0);
        world_moment();
        world->is_working = true;
        item->run(item);
        world->is_working = false;
        world_moment();
        item->done(item);
    }
}
