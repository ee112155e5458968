/* SPDX-License-Identifier: Apache-2.0 */

/* Who is stopped for others: what must hold in any world, and that a state that was saved and
 * loaded goes on as the other would have.
 *
 *     test_preempt [SEED]     one run with that seed
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "check.h"

enum { SEEDS = 40, STEPS = 200, NODES = 4, NODE_GPUS = 4 };

/* A world, perhaps with a double that is told the same and saved and loaded now and then. */
struct world {
    struct lab *lab, *twin;
    struct random random;
    struct map dues; /* job -> when its engine says something next */
    struct map runs; /* job -> how long it really runs */
    uint64_t seed;
    uint32_t queues;
    uint32_t stops, moves, plans;
};

static void tell(struct world *world, const struct event *event)
{
    lab_tell(world->lab, event);
    if (world->twin) {
        world->twin->now = world->lab->now;
        lab_tell(world->twin, event);
    }
}

static void make_world(struct world *world, uint64_t seed, bool has_twin, uint32_t queues)
{
    *world = (struct world){ .random.state = seed, .seed = seed, .queues = queues };
    world->lab = lab_create();
    world->twin = has_twin ? lab_create() : NULL;
    struct lab *labs[] = { world->lab, world->twin };
    for (size_t i = 0; i < COUNT_OF(labs) && labs[i]; i++) {
        labs[i]->is_silent = true;
        labs[i]->now = USEC_PER_HOUR;
        for (int k = 0; k < NODES; k++) {
            AUTO_FREE char *name = mem_printf("n%d", k);
            lab_node(labs[i], name, 64000, 0);
            lab_gpus(labs[i], name, "v100", 16384, NODE_GPUS);
        }
        lab_queue(labs[i], "other", "", 1, -1);
    }
    static const uint8_t orders[] = { ORDER_DEFAULT, ORDER_DEFAULT, ORDER_SHORTEST,
                                      ORDER_LEAST_ATTAINED };
    tell(world,
         &(struct event){ .kind = EVENT_SETTINGS,
                          .settings = { .half_life = USEC_PER_DAY,
                                        .backfill_depth = 1,
                                        .order = orders[random_below(&world->random, 4)] } });
}

static void release_world(struct world *world)
{
    lab_destroy(world->lab);
    lab_destroy(world->twin);
    map_release(&world->dues);
    map_release(&world->runs);
}

static void submit(struct world *world)
{
    struct random *random = &world->random;
    static const char *const sizes[] = { "1", "1", "2", "3", "4", "0.5" };
    usec_t run = (1 + random_below(random, 20)) * (1 + random_below(random, 20)) * USEC_PER_MIN;
    struct event event = { .kind = EVENT_SUBMIT };
    struct event_submit *job = &event.submit;
    struct error err;

    *job = (struct event_submit){
        .id = world->lab->state->next_id,
        .name = "j",
        .user = "ana",
        .queue = random_below(random, world->queues) == 0 ? "default" : "other",
        .priority = random_chance(random, 20) ? 1 : 0,
        .preemptible = random_chance(random, 80),
        .restart_cost = random_below(random, 3) * USEC_PER_MIN,
        .estimate = random_chance(random, 60) ? run : 0,
        .grace = USEC_PER_MIN,
    };
    if (random_chance(random, 20))
        job->deadline = world->lab->now + run + random_below(random, 300) * USEC_PER_MIN;
    request_default(&job->request);
    bool is_gang = random_chance(random, 15);
    int code =
        request_parse_gpus(&job->request, is_gang ? "4" : sizes[random_below(random, 6)], &err);
    assert_int_equal(code, 0);
    job->request.members = is_gang ? 2 + random_below(random, 2) : 1;
    job->request.nodes_max = job->request.members;
    map_set(&world->runs, job->id, (uint64_t)run);
    tell(world, &event);
}

/* ---- the engine ---- */

static void say_all(struct world *world, const struct job *job, bool is_start, bool was_stopped)
{
    uint64_t id = job->id;
    uint32_t attempt = job->run->attempt, members = job->run->lease->members_count;

    for (uint32_t rank = 0; rank < members; rank++) {
        struct event started = { .kind = EVENT_STARTED,
                                 .started = { .job = id, .attempt = attempt, .rank = rank } };
        struct event ended = { .kind = EVENT_ENDED,
                               .ended = { .job = id,
                                          .attempt = attempt,
                                          .rank = rank,
                                          .kind = ENGINE_ENDED,
                                          .signal = was_stopped ? 15 : 0,
                                          .exit_code = was_stopped ? -1 : 0,
                                          .was_stopped = was_stopped } };
        tell(world, is_start ? &started : &ended);
    }
}

static usec_t end_of(struct world *world, const struct job *job)
{
    uint64_t run = 0;
    usec_t owed = job->run->preemptions > 0 ? job->restart_cost : 0;

    map_get(&world->runs, job->id, &run);
    usec_t left = (usec_t)run - job->run->attained;
    return job->run->started + owed + (left > 0 ? left : 1);
}

/* The job whose engine reports now; NULL: none. Sets the time of the next report. */
static struct job *due(struct world *world, usec_t *ret_next)
{
    *ret_next = USEC_NEVER;
    for (struct job *job = world->lab->state->first_job; job; job = job->next) {
        uint64_t at = 0;
        if (!job_is_active(job))
            continue;
        if (job->state == JOB_RUNNING)
            at = (uint64_t)end_of(world, job);
        else if (!map_get(&world->dues, job->id * 4 + (job->state == JOB_STOPPING), &at))
            map_set(&world->dues, job->id * 4 + (job->state == JOB_STOPPING),
                    at = (uint64_t)world->lab->now +
                         random_below(&world->random, 60) * (uint64_t)USEC_PER_SEC);
        if ((usec_t)at <= world->lab->now)
            return job;
        *ret_next = (usec_t)at < *ret_next ? (usec_t)at : *ret_next;
    }
    return NULL;
}

static void act(struct world *world, struct job *job)
{
    map_remove(&world->dues, job->id * 4);
    if (job->state != JOB_STOPPING) {
        say_all(world, job, job->state == JOB_GRANTED, false);
        return;
    }
    map_remove(&world->dues, job->id * 4 + 1);
    say_all(world, job, false, true);
}

/* ---- what must hold ---- */

static void check_stop(struct world *world, const struct event *event)
{
    const struct job *job = lab_job(world->lab, event->stop.job);
    const struct job *other = state_job(world->lab->state, event->stop.other);
    usec_t since = job->run->started > job->run->granted ? job->run->started : job->run->granted;
    const char *problem = NULL;

    if (!job->is_preemptible)
        problem = "is not preemptible";
    else if (!other || other->id == job->id ||
             (other->state != JOB_QUEUED && other->run->granted != world->lab->now))
        problem = "stopped for no waiting job";
    else if ((other->queue != job->queue) != (event->stop.rule != STOP_IN_QUEUE))
        problem = "stopped by a rule that is not for it";
    else if (other->queue == job->queue && other->priority < job->priority)
        problem = "stopped for a lower priority";
    else if (job->run->preemptions > 0 && world->lab->now - since < job->restart_cost)
        problem = "stopped before it had run for its restart cost";
    if (problem)
        fail_msg("seed %" PRIu64 ": job %" PRIu64 ": %s", world->seed, job->id, problem);
}

/* Who gets what and who is stopped; estimates of starts are another matter. */
static void encode(const struct decisions *decisions, struct text *out)
{
    for (size_t i = 0; i < decisions->events.count; i++) {
        const struct event *event = &decisions->events.items[i];
        if (event->kind == EVENT_GRANT || event->kind == EVENT_STOP)
            event_encode(event, out);
    }
}

static void check_same(struct world *world)
{
    AUTO_RELEASE(text) struct text left = { 0 }, right = { 0 };

    encode(&world->lab->decisions, &left);
    encode(&world->twin->decisions, &right);
    if (left.length != right.length ||
        (left.length > 0 && memcmp(left.bytes, right.bytes, left.length) != 0))
        fail_msg("seed %" PRIu64 ": another decision after a reload", world->seed);
}

static void plan(struct world *world)
{
    struct error err;

    for (int i = 0; sched_next_wakeup(world->lab->brain) <= world->lab->now; i++) {
        if (i == 50)
            fail_msg("seed %" PRIu64 ": never content", world->seed);
        tell(world, &(struct event){ .kind = EVENT_PLAN });
        world->plans++;
        if (world->twin) /* before anything else makes the leases go */
            check_same(world);
        for (size_t k = 0; k < world->lab->decisions.events.count; k++) {
            const struct event *event = &world->lab->decisions.events.items[k];
            if (event->kind != EVENT_STOP || event->stop.cause != STOP_PREEMPT)
                continue;
            world->stops++;
            check_stop(world, event);
        }
        if (!check_counts(world->lab, &err) || !check_leases(world->lab, &err) ||
            !check_grants(world->lab, &err))
            fail_msg("seed %" PRIu64 ": %s", world->seed, err.text);
    }
}

static void run_world(struct world *world)
{
    for (uint32_t step = 0; step < STEPS; step++) {
        usec_t next, until = world->lab->now + random_below(&world->random, 30) * USEC_PER_MIN;

        while (world->lab->now < until) {
            struct job *job = due(world, &next);
            if (job) {
                act(world, job);
                continue;
            }
            plan(world);
            if (due(world, &next))
                continue;
            usec_t wakeup = sched_next_wakeup(world->lab->brain);
            next = wakeup < next ? wakeup : next;
            world->lab->now = next < until ? next : until;
        }
        submit(world);
        plan(world);
        if (world->twin && step % 7 == 3) { /* the plain schedule begins anew in both */
            lab_reload(world->twin);
            lab_tell(world->lab,
                     &(struct event){ .kind = EVENT_BOOT, .boot = { .brain = SCHED_VERSION } });
        }
    }
}

static void run_seed(uint64_t seed, uint32_t *stops)
{
    struct world world;

    make_world(&world, seed, false, 1 + (uint32_t)(seed % 2));
    run_world(&world);
    *stops += world.stops;
    release_world(&world);
    make_world(&world, seed, true, 1);
    run_world(&world);
    release_world(&world);
}

static void nobody_is_stopped_who_must_not_be(void **state)
{
    uint32_t stops = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world;
        make_world(&world, seed, false, 1 + (uint32_t)(seed % 2));
        run_world(&world);
        stops += world.stops;
        release_world(&world);
    }
    print_message("%" PRIu32 " were stopped for others\n", stops);
    assert_true(stops > 500);
}

static void a_state_that_was_saved_and_loaded_goes_on_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS / 2; seed++) {
        struct world world;
        make_world(&world, seed, true, 1);
        run_world(&world);
        release_world(&world);
    }
}

/* A place that was cleared for a job goes to no other job. */
static void the_room_is_kept_until_it_is_free(void **state)
{
    AUTO(lab) struct lab *lab = lab_create();
    struct event event = { .kind = EVENT_SETTINGS };
    (void)state;

    event.settings = (struct event_settings){ .half_life = USEC_PER_DAY, .backfill_depth = 1 };
    lab_node(lab, "a", 64000, 0);
    lab_gpus(lab, "a", "v100", 16384, 4);
    lab_tell(lab, &event);
    usec_t estimates[] = { 9 * USEC_PER_HOUR, 8 * USEC_PER_HOUR, USEC_PER_HOUR, USEC_PER_MIN };
    for (uint64_t i = 0; i < 4; i++) {
        struct event job = { .kind = EVENT_SUBMIT,
                             .submit = { .id = i + 1,
                                         .name = "j",
                                         .user = "ana",
                                         .queue = "default",
                                         .preemptible = 1,
                                         .estimate = estimates[i],
                                         .restart_cost = USEC_PER_MIN } };
        struct error err;
        request_default(&job.submit.request);
        assert_int_equal(request_parse_gpus(&job.submit.request, i == 2 ? "4" : "2", &err), 0);
        if (i == 3) {
            lab_ended(lab, 1, 15); /* one of the two is gone, the other needs longer */
            lab_job(lab, 1);
        }
        lab_tell(lab, &job);
        lab_settle(lab);
        if (i < 2)
            lab_started(lab, i + 1);
        lab->now += 10 * USEC_PER_MIN;
    }
    assert_true(lab_job(lab, 3)->is_awaited);
    assert_int_equal(lab_job(lab, 2)->state, JOB_STOPPING);
    assert_int_equal(lab_job(lab, 4)->state, JOB_QUEUED);
    assert_int_equal(lab_why(lab, 4), WHY_RESERVED);
    lab_ended(lab, 2, 15);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, 3)->state, JOB_GRANTED);
    assert_false(lab_job(lab, 3)->is_awaited);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_stopped_who_must_not_be),
        cmocka_unit_test(a_state_that_was_saved_and_loaded_goes_on_the_same),
        cmocka_unit_test(the_room_is_kept_until_it_is_free),
    };

    if (argc > 1) {
        uint32_t stops = 0;
        run_seed(strtoull(argv[1], NULL, 10), &stops);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
