/* SPDX-License-Identifier: Apache-2.0 */

/* Placement: what comes out of the caches is what a look at every machine gives. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "sched/brain.h"

enum { SEEDS = 40, STEPS = 250 };

static bool are_same(const struct lease *a, const struct lease *b)
{
    if (a->members_count != b->members_count || a->slices_count != b->slices_count ||
        a->alternative != b->alternative || a->milli != b->milli)
        return false;
    for (uint32_t i = 0; i < a->members_count; i++) {
        if (a->members[i].node != b->members[i].node || a->members[i].role != b->members[i].role)
            return false;
    }
    for (uint32_t i = 0; i < a->slices_count; i++) {
        if (a->slices[i].device != b->slices[i].device ||
            a->slices[i].milli != b->slices[i].milli || a->slices[i].rank != b->slices[i].rank)
            return false;
    }
    return true;
}

/* Every job that waits, placed both ways, promises aside. */
static uint32_t compare_choices(struct brain *brain, uint64_t seed)
{
    struct arena arena = { 0 };
    uint32_t compared = 0;

    brain_refresh(brain);
    for (const struct job *job = brain->state->first_job; job; job = job->next) {
        struct place_query query;
        struct lease cached, looked;
        struct why why;
        if (job->state != JOB_QUEUED)
            continue;
        query = brain_query(brain, job);
        bool is_cached = place_job(&query, &arena, &cached, &why);
        query.shapes = NULL;
        bool is_looked = place_job(&query, &arena, &looked, &why);
        if (is_cached != is_looked || (is_cached && !are_same(&cached, &looked)))
            fail_msg("seed %" PRIu64 ": job %" PRIu64 " is put elsewhere", seed, job->id);
        compared += is_cached;
        arena_clear(&arena);
    }
    arena_release(&arena);
    return compared;
}

static void cached_choices_are_those_of_a_look_at_every_machine(void **state)
{
    uint32_t compared = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(chaos) struct chaos *chaos = chaos_create(seed, CHAOS_ANY_ORDER);
        chaos->lab->is_silent = true;
        for (int i = 0; i < STEPS; i++) {
            chaos_act(chaos); /* before the plan takes what is free */
            compared += compare_choices(chaos->lab->brain, seed);
            lab_settle(chaos->lab);
        }
    }
    print_message("%" PRIu32 " choices compared\n", compared);
    assert_true(compared > 500);
}

/* The fleet, kept up by leases, is what the state says is free. */
static void the_fleet_follows_the_state(void **state)
{
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(chaos) struct chaos *chaos = chaos_create(seed, CHAOS_ANY);
        chaos->lab->is_silent = true;
        for (int i = 0; i < STEPS; i++) {
            chaos_step(chaos);
            struct brain *brain = chaos->lab->brain;
            const struct room *room = &brain->state->room;
            struct fleet fresh = { 0 };
            brain_refresh(brain);
            fleet_make(&fresh, &brain->layout, brain->state, false);
            for (size_t k = 0; k < fresh.nodes.count; k++) {
                const struct fleet_node *a = &fresh.nodes.items[k],
                                        *b = &brain->fleet.nodes.items[k];
                assert_int_equal(b->cpu_milli, room->nodes.items[k].cpu_milli);
                assert_int_equal(a->milli, b->milli);
                assert_int_equal(a->whole, b->whole);
            }
            for (size_t k = 0; k < fresh.slots.count; k++) {
                assert_int_equal(fresh.slots.items[k].milli, brain->fleet.slots.items[k].milli);
                assert_int_equal(fresh.slots.items[k].memory_mib,
                                 brain->fleet.slots.items[k].memory_mib);
            }
            fleet_release(&fresh);
        }
    }
}

struct random_end {
    usec_t end;
    struct job job;
    bool is_in;
};

static void the_ends_are_sorted_whatever_comes_and_goes(void **state)
{
    static struct random_end jobs[3000];
    struct random random = { .state = 7 };
    struct ends ends = { 0 };
    (void)state;

    for (uint32_t step = 0; step < 60000; step++) {
        struct random_end *one = &jobs[random_below(&random, COUNT_OF(jobs))];
        one->job.id = (uint64_t)(one - jobs) + 1;
        one->job.run = &job_no_run;
        if (one->is_in)
            ends_remove(&ends, one->end, &one->job);
        else {
            one->end = (usec_t)random_below(&random, 500) * USEC_PER_SEC;
            ends_add(&ends, one->end, &one->job);
        }
        one->is_in = !one->is_in;
        if (step % 5000 != 0)
            continue;
        struct ends_walk last = { 0 };
        size_t count = 0;
        for (struct ends_walk at = ends_first(&ends); at.job; ends_next(&at), count++) {
            assert_true(!last.job || last.end < at.end ||
                        (last.end == at.end && last.job->id < at.job->id));
            last = at;
        }
        assert_int_equal(count, ends.count);
    }
    ends_release(&ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_choices_are_those_of_a_look_at_every_machine),
        cmocka_unit_test(the_fleet_follows_the_state),
        cmocka_unit_test(the_ends_are_sorted_whatever_comes_and_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
