/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_world.h"

#include <stdlib.h>
#include <string.h>

#include "worlds/fuzz_make.h"

#define FIELD(tag, member, meaning) RECORD_UINT(struct fuzz_temper, tag, member, meaning)
static const struct field temper_fields[] = {
    FIELD(1, seed, "of what the engine does"),
    RECORD_INT(struct fuzz_temper, 2, quantum, "times are multiples of it"),
    RECORD_INT(struct fuzz_temper, 3, run_usual, "of jobs that say nothing"),
    FIELD(4, is_obedient, "no surprises"),
    FIELD(5, is_twin, "two brains after a restart"),
    FIELD(6, is_repeated, "the run is done twice"),
    FIELD(7, fails, "percent"),
    FIELD(8, late, "percent"),
    FIELD(9, doubled, "percent"),
    FIELD(10, silent, "percent"),
    FIELD(11, old, "percent"),
    FIELD(12, chooses, "percent"),
};
const struct record_type fuzz_temper_record = { "world", sizeof(struct fuzz_temper), temper_fields,
                                                COUNT_OF(temper_fields) };

static void draw_temper(struct making *making, uint64_t seed)
{
    struct fuzz_temper *temper = &making->world->temper;
    static const usec_t quanta[] = { USEC_PER_SEC, 30 * USEC_PER_SEC, 5 * USEC_PER_MIN,
                                     10 * USEC_PER_MIN, 20 * USEC_PER_MIN };

    temper->seed = seed;
    temper->quantum = quanta[making_below(making, COUNT_OF(quanta))];
    temper->run_usual = (usec_t)(1 + making_below(making, 120)) * USEC_PER_MIN;
    temper->is_obedient = making_chance(making, 15);
    temper->is_repeated = making_chance(making, 8);
    temper->is_twin = temper->is_obedient ? seed % 3 == 0 : making_chance(making, 20);
    if (temper->is_obedient)
        return;
    temper->chooses = seed % 11 == 5 ? 40 : 0;
    temper->fails = (uint8_t)making_below(making, 30);
    temper->late = making_chance(making, 50) ? (uint8_t)making_below(making, 10) : 0;
    temper->doubled = making_chance(making, 50) ? (uint8_t)making_below(making, 20) : 0;
    temper->silent = making_chance(making, 40) ? (uint8_t)making_below(making, 5) : 0;
    temper->old = making_chance(making, 30) ? (uint8_t)making_below(making, 10) : 0;
}

/* Most of what happens happens at once, or soon; now and then nothing does for long. */
static void let_time_pass(struct making *making)
{
    usec_t quantum = making->world->temper.quantum;
    uint32_t dice = making_below(making, 100);
    usec_t before = making->now;

    if (making->world->temper.is_obedient)
        making->now +=
            (usec_t)making_below(making, (uint32_t)(2 * making->pace / quantum) + 1) * quantum;
    else if (dice >= 99)
        making->now += (usec_t)(1 + making_below(making, 72)) * USEC_PER_HOUR;
    else if (dice >= 80)
        making->now +=
            (usec_t)making_below(making, (uint32_t)(5 * making->pace / quantum) + 2) * quantum;
    if (making->crowd_gpus == 0)
        return;
    making_crowd(making, making->now - before);
    if (making_chance(making, 30)) /* while the protected start of a job passes */
        making_restart(making);
}

static void do_something(struct making *making)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < making_act_count; i++)
        sum += making->weights[i];
    uint32_t dice = making_below(making, sum);
    for (size_t i = 0; i < making_act_count; i++) {
        if (dice < making->weights[i]) {
            making_acts[i].act(making);
            return;
        }
        dice -= making->weights[i];
    }
}

/* Each world has its own few things that happen often, and others that never do. */
static void draw_weights(struct making *making)
{
    static const uint8_t factors[] = { 0, 1, 1, 4 };

    for (size_t i = 0; i < making_act_count; i++) {
        const struct making_act *act = &making_acts[i];
        uint32_t factor = factors[making_below(making, COUNT_OF(factors))];
        if (making->world->temper.is_obedient)
            making->weights[i] = act->is_obedient ? act->weight : 0;
        else
            making->weights[i] = act->weight * (act->is_obedient && factor == 0 ? 1 : factor);
    }
}

struct fuzz_world *fuzz_world_make(uint64_t seed, uint32_t steps)
{
    struct fuzz_world *world = mem_zero(1, sizeof(*world));
    struct making making = {
        .world = world, .dice = dice_of(seed), .now = USEC_PER_HOUR, .next_id = 1
    };

    draw_temper(&making, seed);
    for (size_t i = 0; i < making_part_count; i++)
        making_parts[i].make(&making);
    draw_weights(&making);
    for (uint32_t i = 0; i < steps; i++) {
        let_time_pass(&making);
        do_something(&making);
    }
    making_release(&making);
    return world;
}

struct fuzz_world *fuzz_world_part(const struct fuzz_world *world, const bool *is_kept)
{
    struct fuzz_world *part = mem_zero(1, sizeof(*part));

    part->temper = world->temper;
    for (size_t i = 0; i < world->actions.count; i++) {
        if (is_kept[i])
            list_add(&part->actions, world->actions.items[i]);
    }
    return part;
}

void fuzz_world_destroy(struct fuzz_world *world)
{
    if (!world)
        return;
    list_release(&world->actions);
    arena_release(&world->strings);
    free(world);
}
