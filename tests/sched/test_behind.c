/* SPDX-License-Identifier: Apache-2.0 */

/* How far a job that may be stopped falls behind (sched/ordering/plain.h): random workloads on one
 * node, with starts of a textbook's EASY. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lab.h"
#include "sched/brain.h"
#include "textbook.h"

enum { WORLDS = 300, LONGER = 30, BEHIND = 9, PATIENCE = 10 };

struct one { /* a job, as it really runs */
    usec_t done, since;
    uint32_t restarts;
    bool runs, is_over;
};

struct world {
    struct workload workload, textbook;
    struct one ones[JOBS];
    struct lab *lab;
    bool is_stated; /* run times are */
    usec_t due[JOBS];
    usec_t restart_cost;
    uint64_t submitted, seed;
};

static uint32_t ended, stops, on_line;

/* ---- when a job is due, by the book ---- */

static usec_t line_of(const struct world *world, size_t i, usec_t run)
{
    const struct work *work = &world->textbook.works[i];

    return world->due[i] + run + BEHIND * (world->is_stated ? work->runs : run);
}

static usec_t protected_by(const struct workload *textbook, const struct work *work)
{
    usec_t wait = work->start - work->submitted, longest = 0;

    for (size_t i = 0; i < JOBS; i++) {
        const struct work *other = &textbook->works[i];
        if (other->start <= work->start && other->start - other->submitted > longest)
            longest = other->start - other->submitted;
    }
    wait += USEC_PER_HOUR;
    return work->submitted + (wait > longest / 2 ? wait : longest / 2);
}

/* In the order of the starts: of all that started before it, as far as they were then. */
static void set_due(struct world *world, size_t i)
{
    const struct work *work = &world->textbook.works[i];

    world->due[i] = protected_by(&world->textbook, work);
    for (size_t k = 0; k < JOBS; k++) {
        const struct work *other = &world->textbook.works[k];
        usec_t run = work->start - other->start;
        if (run <= 0 || (world->is_stated && run < other->runs))
            continue;
        usec_t line = line_of(world, k, run < other->runs ? run : other->runs);
        world->due[i] = line > world->due[i] ? line : world->due[i];
    }
}

static void set_all_due(struct world *world)
{
    for (usec_t at = 0, next; at != USEC_NEVER; at = next) {
        next = USEC_NEVER;
        for (size_t i = 0; i < JOBS; i++) {
            usec_t start = world->textbook.works[i].start;
            if (start == at)
                set_due(world, i);
            if (start > at && start < next)
                next = start;
        }
    }
}

/* ---- as it really goes ---- */

static void make_world(struct world *world, uint64_t seed, bool is_stated, usec_t restart_cost)
{
    *world = (struct world){ .workload = random_workload(seed),
                             .is_stated = is_stated,
                             .restart_cost = restart_cost,
                             .seed = seed };
    for (size_t i = 0; i < JOBS; i++) {
        struct work *work = &world->workload.works[i];
        work->submitted *= LONGER;
        work->runs *= LONGER;
        work->limit = work->limit * LONGER * (restart_cost > 0 ? 2 : 1); /* restarts count */
    }
    world->textbook = world->workload;
    for (size_t i = 0; i < JOBS; i++) {
        struct work *work = &world->textbook.works[i];
        work->behind = (is_stated ? work->runs : work->limit) / PATIENCE;
    }
    run_textbook(&world->textbook);
    set_all_due(world);
    world->lab = lab_create();
    world->lab->is_silent = true;
    lab_tell(world->lab,
             &(struct event){ .kind = EVENT_SETTINGS,
                              .settings = { .backfill_depth = 1, .order = ORDER_DEFAULT } });
    lab_node(world->lab, "n", 1000000, 0);
    lab_gpus(world->lab, "n", "h100", 1024, world->workload.gpus);
}

static void submit(struct world *world)
{
    const struct work *work = &world->workload.works[world->submitted];
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = ++world->submitted,
                                       .name = "j",
                                       .user = "ana",
                                       .queue = "default",
                                       .preemptible = true,
                                       .restart_cost = world->restart_cost,
                                       .estimate = world->is_stated ? work->runs : 0 } };

    request_default(&event.submit.request);
    event.submit.request.gpu_alternatives = 1;
    event.submit.request.gpus[0] =
        (struct gpu_ask){ .count = (uint16_t)work->gpus, .milli = GPU_MILLI };
    event.submit.request.max_duration = work->limit;
    lab_tell(world->lab, &event);
}

/* It goes on from where it was stopped after its restart. */
static usec_t goes_on(const struct world *world, size_t i)
{
    const struct one *one = &world->ones[i];

    return one->since + (one->restarts > 0 ? world->restart_cost : 0);
}

static usec_t end_of(const struct world *world, size_t i)
{
    const struct one *one = &world->ones[i];

    return one->runs ? goes_on(world, i) + world->workload.works[i].runs - one->done : USEC_NEVER;
}

/* False: nothing happened to it. */
static bool follow(struct world *world, size_t i)
{
    struct lab *lab = world->lab;
    struct one *one = &world->ones[i];
    const struct job *job = one->is_over ? NULL : state_job(lab->state, i + 1);

    if (job && job->state == JOB_GRANTED) {
        on_line += job->run->tier == CLAIM_PROTECTED;
        lab_started(lab, i + 1);
        one->runs = true;
        one->since = lab->now;
        return true;
    }
    if (job && job->state == JOB_STOPPING) {
        one->done += lab->now > goes_on(world, i) ? lab->now - goes_on(world, i) : 0;
        one->runs = false;
        one->restarts++;
        stops++;
        lab_tell(lab, &(struct event){ .kind = EVENT_ENDED,
                                       .ended = { .job = job->id,
                                                  .attempt = job->run->attempt,
                                                  .kind = ENGINE_ENDED,
                                                  .exit_code = -1,
                                                  .signal = 15,
                                                  .was_stopped = true } });
        return true;
    }
    return false;
}

/* Each job ends on its line at the latest; a second is for times that are rounded up. */
static void check_end(const struct world *world, size_t i)
{
    usec_t by = line_of(world, i, world->workload.works[i].runs) + USEC_PER_SEC;
    usec_t now = world->lab->now;

    ended++;
    if (now > by && world->restart_cost == 0) /* restarts come on top of it */
        fail_msg("seed %" PRIu64 "%s: job %zu ends at %" PRId64 " s, by its line at %" PRId64
                 ", stopped %" PRIu32 " times",
                 world->seed, world->is_stated ? ", stated" : "", i + 1, now / USEC_PER_SEC,
                 by / USEC_PER_SEC, world->ones[i].restarts);
}

static void settle(struct world *world)
{
    bool is_any = true;

    while (is_any) {
        lab_settle(world->lab);
        is_any = false;
        for (size_t i = 0; i < world->submitted; i++)
            is_any |= follow(world, i);
    }
}

/* Ends and submissions are at whole seconds: the plain schedule takes what is half a second apart
 * for one instant. */
static usec_t whole_seconds(usec_t at)
{
    return at == USEC_NEVER ? at : (at + USEC_PER_SEC - 1) / USEC_PER_SEC * USEC_PER_SEC;
}

static void run_world(uint64_t seed, bool is_stated, usec_t restart_cost)
{
    struct world world;

    make_world(&world, seed, is_stated, restart_cost);
    struct lab *lab = world.lab;
    for (;;) {
        usec_t next = whole_seconds(sched_next_wakeup(lab->brain));
        if (world.submitted < JOBS && world.workload.works[world.submitted].submitted < next)
            next = world.workload.works[world.submitted].submitted;
        for (size_t i = 0; i < JOBS; i++)
            next = end_of(&world, i) < next ? end_of(&world, i) : next;
        if (next == USEC_NEVER)
            break;
        lab->now = next;
        for (size_t i = 0; i < JOBS; i++) {
            if (end_of(&world, i) > next)
                continue;
            world.ones[i].runs = false;
            world.ones[i].is_over = true;
            lab_ended(lab, i + 1, 0);
            check_end(&world, i);
        }
        while (world.submitted < JOBS && world.workload.works[world.submitted].submitted <= next)
            submit(&world);
        settle(&world);
    }
    for (size_t i = 0; i < JOBS; i++)
        assert_true(world.ones[i].is_over);
    lab_destroy(lab);
}

static void a_job_with_a_stated_run_time_ends_on_its_line(void **state)
{
    (void)state;
    ended = stops = on_line = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        run_world(seed, true, 0);
    assert_int_equal(ended, WORLDS * JOBS);
    print_message("%" PRIu32 " stops, %" PRIu32 " starts on a line\n", stops, on_line);
    assert_true(stops > WORLDS && on_line > WORLDS / 10);
}

static void a_job_without_one_ends_on_its_line(void **state)
{
    (void)state;
    ended = stops = on_line = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        run_world(seed, false, 0);
    assert_int_equal(ended, WORLDS * JOBS);
    print_message("%" PRIu32 " stops, %" PRIu32 " starts on a line\n", stops, on_line);
    assert_true(stops > WORLDS && on_line > WORLDS / 10);
}

/* Some of them did so every restart cost, for hours. */
static void restarts_do_not_make_jobs_stop_each_other_again_and_again(void **state)
{
    (void)state;
    for (usec_t cost = 1; cost <= 100; cost *= 10) {
        ended = stops = 0;
        for (uint64_t seed = 1; seed <= WORLDS / 3; seed++)
            run_world(seed, true, cost * USEC_PER_SEC);
        assert_int_equal(ended, WORLDS / 3 * JOBS);
        print_message("%" PRIu32 " stops\n", stops);
        assert_true(stops < 2 * ended);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_with_a_stated_run_time_ends_on_its_line),
        cmocka_unit_test(a_job_without_one_ends_on_its_line),
        cmocka_unit_test(restarts_do_not_make_jobs_stop_each_other_again_and_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
