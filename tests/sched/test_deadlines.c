/* SPDX-License-Identifier: Apache-2.0 */

/* Deadlines that can be met are met in the default order, though no job may be stopped. Of 2,000
 * worlds, 3 have a job that is late. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "lab.h"
#include "sched/brain.h"

enum { WORLDS = 300, OTHERS = 120, DATED_MOST = 60, GPUS_MOST = 24 };

struct world {
    struct lab *lab;
    struct random random;
    uint32_t gpus;
    bool has_estimates;
    usec_t runs[OTHERS + DATED_MOST + 1], limits[OTHERS + DATED_MOST + 1]; /* by job */
    usec_t ends[OTHERS + DATED_MOST + 1];                                  /* 0: waits */
};

static usec_t random_run(struct random *random)
{
    return (usec_t)(1 + random_below(random, 20)) * (1 + random_below(random, 20)) * USEC_PER_MIN;
}

static void submit(struct world *world, usec_t run, usec_t limit, usec_t deadline)
{
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = world->lab->state->next_id,
                                       .name = "j",
                                       .user = "ana",
                                       .queue = "default",
                                       .estimate = world->has_estimates ? run : 0,
                                       .deadline = deadline } };

    request_default(&event.submit.request);
    event.submit.request.cpu_milli = 0;
    event.submit.request.gpu_alternatives = 1;
    event.submit.request.gpus[0] = (struct gpu_ask){ .count = 1, .milli = GPU_MILLI };
    event.submit.request.max_duration = limit;
    world->runs[event.submit.id] = run;
    world->limits[event.submit.id] = limit;
    lab_tell(world->lab, &event);
}

/* What runs ends, and what can starts. Returns when the next one ends. */
static usec_t step(struct world *world)
{
    struct lab *lab = world->lab;
    usec_t next = USEC_NEVER;

    for (uint64_t id = 1; id < lab->state->next_id; id++) {
        if (job_is_active(lab_job(lab, id)) && world->ends[id] <= lab->now)
            lab_ended(lab, id, 0);
    }
    lab_settle(lab);
    for (uint64_t id = 1; id < lab->state->next_id; id++) {
        if (lab_job(lab, id)->state == JOB_GRANTED) {
            lab_started(lab, id);
            world->ends[id] = lab->now + world->runs[id];
        }
        if (job_is_active(lab_job(lab, id)) && world->ends[id] < next)
            next = world->ends[id];
    }
    return next;
}

static void run_until(struct world *world, usec_t until)
{
    struct lab *lab = world->lab;

    for (;;) {
        usec_t next = step(world), wake = sched_next_wakeup(lab->brain);
        next = wake > lab->now && wake < next ? wake : next;
        if (next >= until)
            break;
        lab->now = next;
    }
    lab->now = until == USEC_NEVER ? lab->now : until;
}

/* The first GPU that is free is taken for so long. Returns when that ends. */
static usec_t take_first(usec_t *free, uint32_t gpus, usec_t length)
{
    uint32_t first = 0;

    for (uint32_t i = 1; i < gpus; i++)
        first = free[i] < free[first] ? i : first;
    return free[first] += length;
}

/* Jobs with deadlines that a list of them meets, with a quarter of its time to spare: after all
 * that runs now has come to its limit, and the job that has been promised the next start. */
static void submit_dated(struct world *world, uint32_t count)
{
    const struct lab *lab = world->lab;
    const struct pending_queue *queue = &lab->brain->pending.queues.items[QUEUE_DEFAULT];
    usec_t free[GPUS_MOST];
    uint32_t at = 0;

    for (uint32_t i = 0; i < world->gpus; i++)
        free[i] = lab->now;
    for (uint64_t id = 1; id < lab->state->next_id; id++) {
        if (job_is_active(lab_job(lab, id)))
            free[at++] = world->ends[id] - world->runs[id] + world->limits[id];
    }
    take_first(free, world->gpus, queue->served != 0 ? world->limits[queue->served] : 0);
    for (uint32_t i = 0; i < count; i++) {
        usec_t run = random_run(&world->random);
        usec_t limit = run * (usec_t)(4 + random_below(&world->random, 8)) / 4;
        usec_t end = take_first(free, world->gpus, limit);
        submit(world, run, limit, end + (end - lab->now) / 4 + limit / 8 + 10 * USEC_PER_MIN);
    }
}

static void deadlines_that_can_be_met_are_met(void **state)
{
    uint32_t dated = 0, late = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        AUTO(lab) struct lab *lab = lab_create();
        struct world world = { .lab = lab, .random = { .state = seed } };
        struct random *random = &world.random;
        world.gpus = 2 + random_below(random, GPUS_MOST - 1);
        world.has_estimates = random_chance(random, 50);
        lab->is_silent = true;
        lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                       .settings = { .backfill_depth = 1,
                                                     .order = ORDER_DEFAULT,
                                                     .predict = random_chance(random, 50) } });
        lab_node(lab, "n", 1000000, 0);
        lab_gpus(lab, "n", "h100", 1024, world.gpus);
        for (uint32_t i = 0; i < OTHERS; i++) {
            usec_t run = random_run(random);
            submit(&world, run, run * (usec_t)(4 + random_below(random, 8)) / 4, 0);
            if (i == OTHERS / 2) {
                step(&world);
                submit_dated(&world, 1 + random_below(random, DATED_MOST));
            }
            if (random_chance(random, 50))
                run_until(&world, lab->now + random_below(random, 20) * USEC_PER_MIN);
        }
        run_until(&world, USEC_NEVER);
        for (uint64_t id = 1; id < lab->state->next_id; id++) {
            const struct job *job = lab_job(lab, id);
            assert_true(world.ends[id] > 0);
            dated += job->deadline > 0;
            late += job->deadline > 0 && world.ends[id] > job->deadline;
        }
    }
    printf("%" PRIu32 " jobs with deadlines, %" PRIu32 " late\n", dated, late);
    assert_int_equal(late, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(deadlines_that_can_be_met_are_met) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
