/* SPDX-License-Identifier: Apache-2.0 */

/* MIG instances: whatever comes and goes they stand side by side, where they take least from
 * others. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "sched/brain.h"

static void give_gpus(struct lab *lab, const char *node, const char *model, int64_t memory_mib,
                      uint32_t count, bool is_split)
{
    static uint32_t number;

    for (uint32_t i = 0; i < count; i++) {
        AUTO_FREE char *uuid = mem_printf("%s.%s.%u", node, model, number++);
        lab_tell(lab, &(struct event){ .kind = EVENT_DEVICE,
                                       .device = { .node = node,
                                                   .uuid = uuid,
                                                   .model = model,
                                                   .index = i + (is_split ? 0 : 100),
                                                   .memory_mib = memory_mib,
                                                   .mig_enabled = is_split } });
    }
}

static void set_policy(struct lab *lab, enum placement placement)
{
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .half_life = USEC_PER_HOUR,
                                                 .placement = (uint8_t)placement,
                                                 .backfill_depth = 4 } });
}

static struct lab *mixed_lab(void)
{
    struct lab *lab = lab_create();

    lab->is_silent = true;
    set_policy(lab, PLACEMENT_SFG);
    lab_node(lab, "a", 64000, 1 << 20);
    give_gpus(lab, "a", "h100", 81559, 3, true);
    give_gpus(lab, "a", "h100", 81559, 2, false);
    lab_node(lab, "b", 64000, 1 << 20);
    give_gpus(lab, "b", "h100", 81559, 4, true);
    lab_node(lab, "c", 64000, 1 << 20);
    give_gpus(lab, "c", "a30", 24576, 2, true);
    return lab;
}

static bool holds(const struct job *job)
{
    return job->run->lease && job_is_active(job);
}

/* ---- what must hold ---- */

static void assert_instance(const struct state *state, const struct job *job,
                            const struct slice *slice)
{
    const struct device *device = &state->devices.items[slice->device];
    const struct gpu_ask *ask = &state_request(state, job)->gpus[job->run->lease->alternative];
    bool is_instance = ask->kind == SHARE_MIG;

    assert_int_equal(slice->kind, ask->kind);
    assert_int_equal(device->mig_enabled, is_instance);
    if (!is_instance)
        return;
    const struct mig_board *board = mig_board_of(device->model, device->memory_mib);
    int number = mig_find_profile(board, ask->profile);
    assert_true(number >= 0);
    const struct mig_profile *profile = &mig_layout(board->layout)->profiles[number];
    assert_true(profile->starts >> slice->mig_start & 1);
    assert_int_equal(slice->mig_size, profile->memory);
    assert_int_equal(slice->mig_compute, profile->compute);
    assert_int_equal(slice->mig_media, profile->has_media);
    assert_int_equal(slice->milli, GPU_MILLI * profile->memory / mig_layout(board->layout)->memory);
}

static void assert_device(const struct brain *brain, uint32_t number)
{
    const struct state *state = brain->state;
    const struct device *device = &state->devices.items[number];
    const struct mig_layout *layout =
        device->mig_enabled ? mig_layout(mig_board_of(device->model, device->memory_mib)->layout)
                            : NULL;
    uint32_t mask = 0, compute = 0, media = 0, held = 0;
    int64_t memory_mib = device->memory_mib;

    for (const struct job *job = state->first_job; job; job = job->next) {
        for (uint32_t i = 0; holds(job) && i < job->run->lease->slices_count; i++) {
            const struct slice *slice = &job->run->lease->slices[i];
            if (slice->device != number)
                continue;
            assert_instance(state, job, slice);
            memory_mib -= slice->memory_mib;
            if (!layout)
                continue;
            uint32_t slices = ((1u << slice->mig_size) - 1) << slice->mig_start;
            assert_int_equal(mask & slices, 0);
            mask |= slices;
            compute += slice->mig_compute;
            media += slice->mig_media;
            held += mig_hold_of_slice(slice);
        }
    }
    assert_true(memory_mib >= 0);
    assert_int_equal(state->room.devices.items[number].mig, held);
    assert_int_equal(state->room.devices.items[number].memory_mib, memory_mib);
    if (!brain->is_moved) {
        uint32_t slot = brain->layout.slot_of_device.items[number];
        assert_int_equal(brain->fleet.slots.items[slot].mig, held);
    }
    if (!layout)
        return;
    assert_true(mask < 1u << layout->memory && compute <= layout->compute && media <= 1);
    assert_int_equal(mig_mask(held), mask);
    assert_int_equal(mig_compute(held), compute);
}

static void assert_sound(const struct lab *lab)
{
    for (uint32_t i = 0; i < lab->state->devices.count; i++)
        assert_device(lab->brain, i);
}

static const char *const asks[] = {
    "mig=1g.10gb",   "mig=1g.10gb:3", "mig=1g.20gb", "mig=2g.20gb", "mig=2g.20gb:2",
    "mig=3g.40gb",   "mig=3g:4",      "mig=4g.40gb", "mig=7g.80gb", "mig=1g+me",
    "mig=1g.6gb",    "mig=2g",        "a30,mig=4g",  "1",           "0.5",
    "mig=7g.80gb|1", "h100,mig=1g:9", "mem=20G",
};

static void say_stopped(struct lab *lab, const struct job *job)
{
    struct event_ended ended = { .job = job->id,
                                 .attempt = job->run->attempt,
                                 .kind = ENGINE_ENDED,
                                 .signal = 15,
                                 .exit_code = -1,
                                 .was_stopped = true };

    lab_tell(lab, &(struct event){ .kind = EVENT_ENDED, .ended = ended });
}

static void end_some(struct lab *lab, struct random *random, uint32_t percent)
{
    for (struct job *job = lab->state->first_job, *next; job; job = next) {
        next = job->next;
        if (job->state == JOB_GRANTED)
            lab_started(lab, job->id);
        if (job->state == JOB_STOPPING)
            say_stopped(lab, job);
        else if (job->state == JOB_RUNNING && random_chance(random, percent))
            lab_ended(lab, job->id, 0);
    }
}

/* What waits is put by the caches where a look at every machine puts it: nowhere, or there. */
static uint32_t assert_caches(struct lab *lab)
{
    uint32_t waiting = 0;

    brain_refresh(lab->brain);
    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        struct place_query query;
        struct lease cached, looked;
        struct why why;
        if (job->state != JOB_QUEUED)
            continue;
        query = brain_query(lab->brain, job);
        bool is_cached = place_job(&query, &lab->arena, &cached, &why);
        query.shapes = NULL;
        assert_int_equal(place_job(&query, &lab->arena, &looked, &why), is_cached);
        for (uint32_t i = 0; is_cached && i < cached.slices_count; i++) {
            assert_int_equal(cached.slices[i].device, looked.slices[i].device);
            assert_int_equal(cached.slices[i].mig_start, looked.slices[i].mig_start);
        }
        waiting++;
    }
    return waiting;
}

static uint64_t submit_above(struct lab *lab, const char *gpus, usec_t limit, int32_t priority,
                             bool is_preemptible)
{
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = lab->state->next_id,
                    .name = "j",
                    .user = "ana",
                    .queue = "default",
                    .priority = priority,
                    .preemptible = is_preemptible,
                    .estimate = limit == USEC_NEVER ? USEC_PER_HOUR : limit },
    };
    struct error err;

    request_default(&event.submit.request);
    assert_int_equal(request_parse_gpus(&event.submit.request, gpus, &err), 0);
    event.submit.request.max_duration = limit;
    lab_tell(lab, &event);
    return event.submit.id;
}

/* Returns how often jobs were stopped for others, more or less. */
static uint32_t run_mix(uint64_t seed, enum placement placement)
{
    AUTO(lab) struct lab *lab = mixed_lab();
    struct random random = { seed };
    uint32_t waited = 0, preempted = 0;

    set_policy(lab, placement);
    for (int step = 0; step < 250; step++) {
        lab->now += USEC_PER_MIN;
        uint32_t arrivals = random_below(&random, 3);
        for (uint32_t i = 0; i < arrivals; i++) {
            const char *ask = asks[random_below(&random, COUNT_OF(asks))];
            usec_t limit = (1 + random_below(&random, 120)) * USEC_PER_MIN;
            limit = random_chance(&random, 20) ? USEC_NEVER : limit;
            int32_t priority = random_chance(&random, 20) ? 1 : 0;
            submit_above(lab, ask, limit, priority, random_chance(&random, 50));
        }
        waited += assert_caches(lab);
        lab_settle(lab);
        assert_sound(lab);
        end_some(lab, &random, step % 50 < 25 ? 8 : 20);
        for (const struct job *job = lab->state->first_job; job; job = job->next)
            preempted += job->run->preemptions;
        if (step % 100 == 99)
            lab_reload(lab);
        lab_settle(lab);
        assert_sound(lab);
    }
    assert_true(waited > 100);
    return preempted;
}

static void instances_stand_side_by_side_whatever_comes_and_goes(void **state)
{
    uint32_t preempted = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= 8; seed++)
        preempted += run_mix(seed, PLACEMENT_SFG);
    for (int placement = 0; placement < PLACEMENT_COUNT; placement++)
        preempted += run_mix(100 + (uint64_t)placement, (enum placement)placement);
    assert_true(preempted > 100);
}

/* ---- the choice ---- */

struct best {
    int64_t cost;
    uint32_t free, device, start;
    bool is_any;
};

/* Slices that are free side by side, counted without the table. */
static uint32_t count_ways(const struct mig_layout *layout, uint32_t profile, uint32_t held)
{
    const struct mig_profile *of = &layout->profiles[profile];
    uint32_t count = 0, mask = mig_mask(held), compute = mig_compute(held);

    for (uint32_t start = 0; start < 8; start++) {
        uint32_t slices = ((1u << of->memory) - 1) << start;
        if (!(of->starts >> start & 1) || (mask & slices) ||
            compute + of->compute > layout->compute || (of->has_media && mig_has_media(held)))
            continue;
        mask |= slices;
        compute += of->compute;
        if (++count == 1 && of->has_media)
            break;
    }
    return count;
}

static void try_device(const struct brain *brain, const struct gpu_ask *ask, uint32_t number,
                       struct best *best)
{
    const struct device *device = &brain->state->devices.items[number];
    const struct mig_board *board = mig_board_of(device->model, device->memory_mib);
    int profile = device->mig_enabled ? mig_find_profile(board, ask->profile) : -1;
    uint32_t held = brain->state->room.devices.items[number].mig;

    if (profile < 0)
        return;
    const struct mig_layout *layout = mig_layout(board->layout);
    const struct mig_profile *of = &layout->profiles[profile];
    uint32_t slot = brain->layout.slot_of_device.items[number];
    uint32_t kind = brain->layout.slots.items[slot].kind, free = 0;
    const int32_t *weights = &brain->typical.scarcity.items[(size_t)kind * MIG_PROFILES_MAX];
    for (uint32_t i = 0; i < layout->memory; i++)
        free += !(mig_mask(held) >> i & 1);
    for (uint32_t start = 0; start < 8; start++) {
        uint32_t slices = ((1u << of->memory) - 1) << start;
        if (!(of->starts >> start & 1) || (mig_mask(held) & slices) ||
            mig_compute(held) + of->compute > layout->compute ||
            (of->has_media && mig_has_media(held)))
            continue;
        uint32_t after = held + mig_hold(of, start);
        int64_t cost = 0;
        for (uint32_t p = 0; p < layout->profile_count; p++)
            cost += (int64_t)weights[p] *
                    ((int64_t)count_ways(layout, p, held) - (int64_t)count_ways(layout, p, after));
        if (!best->is_any || cost < best->cost || (cost == best->cost && free < best->free))
            *best = (struct best){ cost, free, number, start, true };
    }
}

static void the_choice_is_the_least_of_all_places(void **state)
{
    static const char *const single[] = { "mig=1g.10gb", "mig=1g.20gb", "mig=2g.20gb",
                                          "mig=3g.40gb", "mig=4g.40gb", "mig=7g.80gb",
                                          "mig=1g+me",   "mig=1g",      "mig=2g" };
    uint32_t compared = 0, refused = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= 4; seed++) {
        AUTO(lab) struct lab *lab = mixed_lab();
        struct random random = { seed };
        for (int step = 0; step < 400; step++) {
            lab->now += USEC_PER_SEC;
            uint64_t id =
                lab_submit(lab, single[random_below(&random, COUNT_OF(single))], USEC_PER_HOUR);
            struct best best = { 0 };
            brain_refresh(lab->brain);
            for (uint32_t i = 0; i < lab->state->devices.count; i++)
                try_device(lab->brain, &state_request(lab->state, lab_job(lab, id))->gpus[0], i,
                           &best);
            lab_settle(lab);
            const struct job *job = lab_job(lab, id);
            assert_int_equal(holds(job), best.is_any);
            if (best.is_any) {
                assert_int_equal(job->run->lease->slices[0].device, best.device);
                assert_int_equal(job->run->lease->slices[0].mig_start, best.start);
                compared++;
            } else {
                assert_int_equal(lab_why(lab, id), WHY_GPUS);
                lab_tell(lab, &(struct event){ .kind = EVENT_CANCEL,
                                               .cancel = { .job = id, .user = "ana" } });
                refused++;
            }
            end_some(lab, &random, 5);
            lab_settle(lab);
        }
    }
    assert_true(compared > 800 && refused > 50);
}

/* ---- volume ---- */

struct load {
    const char *name;
    uint32_t parts[6]; /* how often each of `profiles` */
};

static const struct {
    const char *ask;
    uint32_t size;
} profiles[] = { { "mig=1g", 1 }, { "mig=1g.20gb", 2 }, { "mig=2g", 2 },
                 { "mig=3g", 4 }, { "mig=4g", 4 },      { "mig=7g", 8 } };

enum { DEVICES = 20, SLICES = 8 * DEVICES, ARRIVALS = 3000 };

/* Memory slices of jobs that found a place at once, of all arrivals; no job waits. Jobs hold what
 * they have for 2 to 2 * mean arrivals, so that as much is asked for as there is. */
static uint32_t accepted_volume(const struct load *load, uint64_t seed, enum placement placement,
                                uint32_t *ret_offered)
{
    AUTO(lab) struct lab *lab = lab_create();
    struct random random = { seed };
    uint64_t *ends = mem_zero(ARRIVALS + 1, sizeof(ends[0]));
    uint32_t accepted = 0, total = 0, volume = 0;

    lab->is_silent = true;
    set_policy(lab, placement);
    for (uint32_t i = 0; i < DEVICES / 4; i++) {
        AUTO_FREE char *name = mem_printf("n%u", i);
        lab_node(lab, name, 1000000, 1 << 20);
        give_gpus(lab, name, "h100", 81559, 4, true);
    }
    for (uint32_t i = 0; i < COUNT_OF(profiles); i++) {
        total += load->parts[i];
        volume += load->parts[i] * profiles[i].size;
    }
    uint32_t mean = SLICES * total / volume;
    for (uint32_t step = 0; step < ARRIVALS; step++) {
        uint32_t pick = random_below(&random, total), i = 0;
        uint32_t until = step + 2 + random_below(&random, 2 * mean - 2);
        lab->now += USEC_PER_SEC;
        for (struct job *job = lab->state->first_job, *next; job; job = next) {
            next = job->next;
            if (job->state == JOB_RUNNING && ends[job->id % (ARRIVALS + 1)] <= step)
                lab_ended(lab, job->id, 0);
        }
        for (; pick >= load->parts[i]; i++)
            pick -= load->parts[i];
        uint64_t id = lab_submit(lab, profiles[i].ask, USEC_PER_HOUR * 1000);
        ends[id % (ARRIVALS + 1)] = until;
        lab_settle(lab);
        *ret_offered += profiles[i].size;
        if (lab_job(lab, id)->state == JOB_GRANTED) {
            lab_started(lab, id);
            accepted += profiles[i].size;
        } else {
            lab_tell(lab, &(struct event){ .kind = EVENT_CANCEL,
                                           .cancel = { .job = id, .user = "ana" } });
        }
    }
    free(ends);
    return accepted;
}

static void more_is_accepted_than_by_first_fit(void **state)
{
    static const struct load loads[] = {
        { "uniform", { 1, 1, 1, 1, 1, 1 } },
        { "small", { 8, 2, 4, 2, 1, 1 } },
        { "large", { 1, 1, 2, 4, 4, 4 } },
        { "no 7g", { 2, 1, 2, 2, 2, 0 } },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(loads); i++) {
        uint32_t scarcity = 0, first_fit = 0, offered = 0;
        for (uint64_t seed = 1; seed <= 2; seed++) {
            uint32_t twice = 0;
            scarcity += accepted_volume(&loads[i], seed, PLACEMENT_SFG, &offered);
            first_fit += accepted_volume(&loads[i], seed, PLACEMENT_FIRST_FIT, &twice);
        }
        print_message("%-8s accepted volume: first-fit %.1f %%, scarcity %.1f %%\n", loads[i].name,
                      100.0 * first_fit / offered, 100.0 * scarcity / offered);
        assert_true(scarcity >= first_fit);
    }
}

/* ---- one by one ---- */

static void what_is_asked_for_and_scarce_weighs_more(void **state)
{
    AUTO(lab) struct lab *lab = lab_create();
    (void)state;

    set_policy(lab, PLACEMENT_SFG);
    lab_node(lab, "a", 64000, 1 << 20);
    give_gpus(lab, "a", "h100", 81559, 2, true);
    for (int i = 0; i < 16; i++) {
        lab_tell(lab, &(struct event){ .kind = EVENT_CANCEL,
                                       .cancel = { .job = lab_submit(lab, "mig=4g", USEC_PER_HOUR),
                                                   .user = "ana" } });
        if (i % 2 == 0)
            lab_tell(lab,
                     &(struct event){ .kind = EVENT_CANCEL,
                                      .cancel = { .job = lab_submit(lab, "mig=1g", USEC_PER_HOUR),
                                                  .user = "ana" } });
    }
    brain_refresh(lab->brain);
    const int32_t *weights = lab->brain->typical.scarcity.items;
    /* 16 at 4 slices over 2 + 1 options; 8 at 1 slice over 14 + 1; 2g: never. 40 to 1. */
    assert_true(weights[5] > 38 * weights[0] && weights[5] < 42 * weights[0]);
    assert_true(weights[3] < weights[0] / 8);
    int64_t worth = 0;
    struct mig_table *table = lab->brain->layout.tables[MIG_SEVEN];
    for (uint32_t p = 0; p < table->layout->profile_count; p++)
        worth += (int64_t)weights[p] * mig_options(table, 0, p);
    assert_true(worth <= SCARCITY_MOST && worth > SCARCITY_MOST * 9 / 10);
}

static void a_device_is_split_or_whole(void **state)
{
    AUTO(lab) struct lab *lab = lab_create();
    (void)state;

    lab_node(lab, "a", 64000, 1 << 20);
    give_gpus(lab, "a", "h100", 81559, 2, false);
    uint64_t instance = lab_submit(lab, "mig=3g.40gb", USEC_NEVER);
    lab_settle(lab);
    assert_int_equal(lab_why(lab, instance), WHY_NEVER_MIG);
    lab_tell(lab,
             &(struct event){ .kind = EVENT_CANCEL, .cancel = { .job = instance, .user = "ana" } });

    lab_node(lab, "b", 64000, 1 << 20);
    give_gpus(lab, "b", "h100", 81559, 1, true);
    uint64_t pair = lab_submit(lab, "mig=3g.40gb:2", USEC_NEVER);
    uint64_t wrong = lab_submit(lab, "mig=3g.71gb", USEC_NEVER);
    uint64_t whole = lab_submit(lab, "2", USEC_NEVER), part = lab_submit(lab, "0.1", USEC_NEVER);
    lab_settle(lab);
    assert_true(holds(lab_job(lab, pair)));
    assert_int_equal(lab_job(lab, pair)->run->lease->slices_count, 2);
    assert_int_equal(lab_job(lab, pair)->run->lease->milli, 1000);
    assert_int_equal(lab_job(lab, pair)->run->lease->slices[0].device, 2);
    assert_int_equal(lab_job(lab, pair)->run->lease->slices[1].device, 2);
    assert_int_equal(lab_why(lab, wrong), WHY_NEVER_MIG);
    assert_true(holds(lab_job(lab, whole)));
    assert_false(holds(lab_job(lab, part)));
    assert_sound(lab);
}

/* No job may hold the place where the head of the queue will start. */
static void a_promise_of_instances_is_kept(void **state)
{
    AUTO(lab) struct lab *lab = lab_create();
    (void)state;

    lab_node(lab, "a", 64000, 1 << 20);
    give_gpus(lab, "a", "h100", 81559, 1, true);
    uint64_t first = lab_submit(lab, "mig=4g", USEC_PER_HOUR);
    lab_settle(lab);
    uint64_t head = lab_submit(lab, "mig=7g", USEC_PER_HOUR);
    lab_settle(lab);
    uint64_t longer = lab_submit(lab, "mig=1g", 2 * USEC_PER_HOUR);
    uint64_t shorter = lab_submit(lab, "mig=3g", USEC_PER_HOUR / 2);
    lab_settle(lab);
    assert_false(holds(lab_job(lab, head)));
    assert_false(holds(lab_job(lab, longer)));
    assert_true(holds(lab_job(lab, shorter)));
    lab_started(lab, first);
    lab_started(lab, shorter);
    lab->now += USEC_PER_HOUR / 4;
    lab_ended(lab, first, 0);
    lab_ended(lab, shorter, 0);
    lab_settle(lab);
    assert_true(holds(lab_job(lab, head)));
    assert_sound(lab);
}

/* One device with 3g at 4 and 1g below it for an hour, and one who waits for 4g, which goes at 0
 * alone. Slices are left over at any time, but not those. */
static uint64_t start_waiting_for_low(struct lab *lab)
{
    lab_node(lab, "a", 64000, 1 << 20);
    give_gpus(lab, "a", "h100", 81559, 1, true);
    uint64_t high = lab_submit(lab, "mig=3g", USEC_PER_HOUR);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, high)->run->lease->slices[0].mig_start, 4);
    uint64_t low = lab_submit(lab, "mig=1g", USEC_PER_HOUR);
    lab_settle(lab);
    assert_true(lab_job(lab, low)->run->lease->slices[0].mig_start < 4);
    uint64_t head = lab_submit(lab, "mig=4g", USEC_PER_HOUR);
    lab_settle(lab);
    assert_false(holds(lab_job(lab, head)));
    return head;
}

static void nobody_stays_on_slices_that_are_promised(void **state)
{
    AUTO(lab) struct lab *lab = lab_create();
    (void)state;

    start_waiting_for_low(lab);
    uint64_t longer = lab_submit(lab, "mig=1g", 2 * USEC_PER_HOUR);
    uint64_t shorter = lab_submit(lab, "mig=1g", USEC_PER_HOUR / 2);
    lab_settle(lab);
    assert_false(holds(lab_job(lab, longer)));
    assert_true(holds(lab_job(lab, shorter)));
    assert_sound(lab);
}

static void a_promise_whose_slices_are_taken_is_made_anew(void **state)
{
    AUTO(lab) struct lab *lab = lab_create();
    (void)state;

    uint64_t head = start_waiting_for_low(lab);
    uint64_t above = submit_above(lab, "mig=1g", 2 * USEC_PER_HOUR, 1000, false);
    lab_settle(lab);
    assert_true(holds(lab_job(lab, above)));
    /* Now it is two hours until it can start: room for who needs less than that. */
    uint64_t longer = lab_submit(lab, "mig=1g", USEC_PER_HOUR * 3 / 2);
    lab_settle(lab);
    assert_false(holds(lab_job(lab, head)));
    assert_true(holds(lab_job(lab, longer)));
    assert_sound(lab);
}

static void a_gang_waits_for_as_many_as_go_in(void **state)
{
    AUTO(lab) struct lab *lab = lab_create();
    (void)state;

    lab_node(lab, "a", 64000, 1 << 20);
    give_gpus(lab, "a", "h100", 81559, 2, true);
    lab_submit(lab, "mig=1g", USEC_PER_HOUR);
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = lab->state->next_id, .name = "j", .user = "ana", .queue = "default" },
    };
    struct error err;
    request_default(&event.submit.request);
    assert_int_equal(request_parse_gpus(&event.submit.request, "mig=3g", &err), 0);
    event.submit.request.members = 4;
    event.submit.request.max_duration = USEC_PER_HOUR;
    lab_tell(lab, &event);
    lab_settle(lab);
    uint64_t longer = lab_submit(lab, "mig=1g", 2 * USEC_PER_HOUR);
    uint64_t shorter = lab_submit(lab, "mig=1g", USEC_PER_HOUR / 2);
    lab_settle(lab);
    assert_false(holds(lab_job(lab, event.submit.id)));
    assert_false(holds(lab_job(lab, longer)));
    assert_true(holds(lab_job(lab, shorter)));
    assert_sound(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_stand_side_by_side_whatever_comes_and_goes),
        cmocka_unit_test(the_choice_is_the_least_of_all_places),
        cmocka_unit_test(more_is_accepted_than_by_first_fit),
        cmocka_unit_test(what_is_asked_for_and_scarce_weighs_more),
        cmocka_unit_test(a_device_is_split_or_whole),
        cmocka_unit_test(a_promise_of_instances_is_kept),
        cmocka_unit_test(a_gang_waits_for_as_many_as_go_in),
        cmocka_unit_test(nobody_stays_on_slices_that_are_promised),
        cmocka_unit_test(a_promise_whose_slices_are_taken_is_made_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
