/* SPDX-License-Identifier: Apache-2.0 */

/* Random worlds, random events, and after each of them what must always hold.
 *
 *     test_properties [SEED [STEPS]]     one run with that seed; a failure prints the seed
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "chaos.h"
#include "check.h"

enum { SEEDS = 60, STEPS = 400 };

static uint64_t events;

static bool check_all(const struct lab *lab, const struct check_states *states, bool is_any_order,
                      struct error *err)
{
    if (states->problem[0]) {
        snprintf(err->text, sizeof(err->text), "%s", states->problem);
        return false;
    }
    if (!check_counts(lab, err) || !check_leases(lab, err))
        return false;
    /* Who waits for what, and till when, was written down for the plain rules. */
    return is_any_order || (check_waiting(lab, err) && check_wakeup(lab, err));
}

static void run_any(uint64_t seed, uint32_t steps, enum chaos_kind kind)
{
    AUTO(chaos) struct chaos *chaos = chaos_create(seed, kind);
    struct lab *lab = chaos->lab;
    struct check_states states = { 0 };
    struct error err;

    lab->is_silent = true;
    lab->counted = &events;
    check_states_watch(&states, lab);
    for (uint32_t step = 0; step < steps; step++) {
        chaos_act(chaos);
        if (!check_counts(lab, &err))
            fail_msg("seed %" PRIu64 ", step %" PRIu32 ": %s", seed, step, err.text);
        while (sched_next_wakeup(lab->brain) <= lab->now) {
            lab_plan(lab);
            if (!check_grants(lab, &err))
                fail_msg("seed %" PRIu64 ", step %" PRIu32 ": %s", seed, step, err.text);
        }
        if (lab->state->now == lab->now && !check_all(lab, &states, kind == CHAOS_ANY_ORDER, &err))
            fail_msg("seed %" PRIu64 ", step %" PRIu32 ": %s", seed, step, err.text);
    }
    check_states_release(&states);
}

/* job -> the earliest time that it was promised */
static void note_promises(const struct lab *lab, struct map *promises)
{
    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        struct why why;
        uint64_t known = 0;

        if (job->state != JOB_QUEUED)
            continue;
        sched_why(lab->brain, lab->inquiry, job, &why, NULL);
        if (why.at == 0 || why.at == USEC_NEVER || why_is_never(why.kind))
            continue;
        if (!map_get(promises, job->id, &known) || (uint64_t)why.at < known)
            map_set(promises, job->id, (uint64_t)why.at);
    }
}

static void run_obedient(uint64_t seed, uint32_t steps, uint32_t *promised)
{
    AUTO(chaos) struct chaos *chaos = chaos_create(seed, CHAOS_OBEDIENT);
    struct lab *lab = chaos->lab;
    struct map promises = { 0 };

    lab->is_silent = true;
    lab->counted = &events;
    for (uint32_t step = 0; step < steps; step++) {
        chaos_step(chaos);
        for (const struct job *job = lab->state->first_job; job; job = job->next) {
            uint64_t at = 0;
            if (!map_get(&promises, job->id, &at))
                continue;
            if (job->state == JOB_QUEUED && (usec_t)at < lab->now)
                fail_msg("seed %" PRIu64 ", step %" PRIu32 ": job %" PRIu64
                         " was promised an earlier start",
                         seed, step, job->id);
            if (job->state != JOB_QUEUED) {
                assert_true(job->run->granted <= (usec_t)at);
                map_remove(&promises, job->id);
                ++*promised;
            }
        }
        note_promises(lab, &promises);
    }
    map_release(&promises);
}

static void leases_are_sound_in_any_order_and_placement(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_any(seed, STEPS, CHAOS_ANY_ORDER);
}

static void whatever_happens_the_invariants_hold(void **state)
{
    (void)state;
    clock_t start = clock();

    events = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_any(seed, STEPS, CHAOS_ANY);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("%" PRIu64 " events, %.0f per second with all checks\n", events,
                  (double)events / (seconds > 0 ? seconds : 1));
}

static void what_was_promised_comes_true(void **state)
{
    uint32_t promised = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_obedient(seed, STEPS, &promised);
    print_message("%" PRIu32 " promises kept\n", promised);
    assert_true(promised > 100);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_happens_the_invariants_hold),
        cmocka_unit_test(leases_are_sound_in_any_order_and_placement),
        cmocka_unit_test(what_was_promised_comes_true),
    };

    if (argc > 1) {
        uint32_t promised = 0, steps = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : STEPS;
        run_any(strtoull(argv[1], NULL, 10), steps, CHAOS_ANY);
        run_any(strtoull(argv[1], NULL, 10), steps, CHAOS_ANY_ORDER);
        run_obedient(strtoull(argv[1], NULL, 10), steps, &promised);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
