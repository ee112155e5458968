/* SPDX-License-Identifier: Apache-2.0 */

/* A question changes no decision: random worlds, each run twice with the same seed, once with every
 * question asked after every step and once with none. Both keep the same records, byte for byte.
 *
 *     test_questions [SEED]     the worlds of that seed alone; a failure prints the seed
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "core/job/gang_size.h"
#include "core/job/request.h"
#include "sched/explain/advice.h"
#include "sched/explain/wanted_nodes.h"

enum { NODES = 8, TENANTS = 3, HELD_SEEDS = 320, CHAOS_SEEDS = 60, STEPS = 120 };

static uint64_t only_seed;

/* ---- every question ---- */

static void ask_about_job(struct lab *lab, struct job *job)
{
    struct start_estimate estimate;
    struct give_back back;
    struct moves_ask moves;
    struct why why;
    uint32_t ahead;

    sched_why(lab->brain, lab->inquiry, job, &why, &ahead);
    sched_estimate_start(lab->brain, lab->inquiry, job, &estimate);
    sched_moves(lab->brain, lab->inquiry, job, &moves);
    if (job->state == JOB_QUEUED)
        sched_give_back(lab->brain, lab->inquiry, job, &back);
}

static void ask_about_queues(struct lab *lab)
{
    struct queue_standing *standing = mem_zero(lab->state->queues.count + 1, sizeof(*standing));
    struct scale_plan plan;

    sched_standing(lab->brain, lab->inquiry, standing);
    sched_scale(lab->brain, lab->inquiry, lab->state->now, &plan);
    scale_release(&plan);
    free(standing);
}

/* A job like one that is there, with another request; and what would help one that waits. */
static void ask_what_if(struct lab *lab, const struct job *job)
{
    struct request request = *state_request(lab->state, job);
    struct advice advices[ADVICES_MAX];
    struct start_estimate estimate;
    struct why why;
    struct job like = *job;

    sched_advise(lab->brain, lab->inquiry, job, advices);
    request.cpu_milli += 1500;
    sched_admit(lab->state, &request, job->queue, job->is_preemptible, &why);
    like.id = 0;
    sched_estimate_like(lab->brain, lab->inquiry, &like, &request, &estimate);
}

static void ask_everything(struct lab *lab, uint32_t step)
{
    uint32_t number = 0;

    for (struct job *job = lab->state->first_job; job; job = job->next) {
        ask_about_job(lab, job);
        if (number++ % 16 == step % 16)
            ask_what_if(lab, job);
    }
    ask_about_queues(lab);
}

/* ---- worlds in which most jobs are submitted held ---- */

struct world {
    struct lab *lab;
    struct random random;
    bool is_asked;
};

static uint32_t below(struct world *world, uint32_t bound)
{
    return random_below(&world->random, bound);
}

static bool chance(struct world *world, uint32_t percent)
{
    return random_chance(&world->random, percent);
}

static const char *const tenants[TENANTS] = { "red", "green", "blue" };

static void reserve_a_machine(struct world *world)
{
    struct event_span span = { .from = USEC_PER_HOUR, .until = 8 * USEC_PER_HOUR };

    lab_tell(world->lab,
             &(struct event){
                 .kind = EVENT_WINDOW,
                 .window = { .name = "w", .words = "words", .spans = &span, .spans_count = 1 } });
    lab_tell(world->lab, &(struct event){ .kind = EVENT_RESERVATION,
                                          .reservation = { .name = "r",
                                                           .window = "w",
                                                           .kind = RESERVATION_QUEUE,
                                                           .owner = tenants[0],
                                                           .gpus = 1 + below(world, 4) } });
}

static void build(struct world *world)
{
    struct lab *lab = world->lab;

    for (uint32_t i = 0; i < NODES; i++) {
        AUTO_FREE char *name = mem_printf("n%" PRIu32, i);
        lab_node(lab, name, 32000, 256 * 1024);
        lab_gpus(lab, name, i % 3 == 0 ? "a100" : "h100", 81559, 2 + 2 * below(world, 4));
    }
    for (uint32_t i = 0; i < TENANTS; i++)
        lab_tell(lab, &(struct event){ .kind = EVENT_QUEUE,
                                       .queue = { .name = tenants[i],
                                                  .weight = 1 + i,
                                                  .gpus = { below(world, 16) * INT64_C(1000),
                                                            chance(world, 30) ? 20000 : QUOTA_NONE,
                                                            QUOTA_NONE, QUOTA_NONE } } });
    lab_tell(lab, &(struct event){
                      .kind = EVENT_SETTINGS,
                      .settings = { .order = ORDER_DEFAULT,
                                    .placement = chance(world, 80) ? PLACEMENT_SFG : PLACEMENT_FGD,
                                    .predict = chance(world, 50),
                                    .backfill_depth = 1 + below(world, 4),
                                    .half_life = USEC_PER_HOUR,
                                    .defrag_most = chance(world, 70) ? 100 * USEC_PER_HOUR : 0 } });
    if (chance(world, 30))
        reserve_a_machine(world);
}

static void submit(struct world *world)
{
    static const char *const gpus[] = { "1", "2", "4", "0.5", "0.25", "8", "h100:2", "a100:1" };
    static const char *const names[] = { "train", "eval", "sweep" };
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = world->lab->state->next_id,
                    .name = names[below(world, COUNT_OF(names))],
                    .user = chance(world, 50) ? "ana" : "ben",
                    .queue = tenants[below(world, TENANTS)],
                    .held = chance(world, 60),
                    .preemptible = chance(world, 50),
                    .restart_cost = chance(world, 50) ? USEC_PER_SEC : 0,
                    .grace = USEC_PER_SEC },
    };
    struct request *request = &event.submit.request;
    struct error err;

    request_default(request);
    if (request_parse_gpus(request, gpus[below(world, COUNT_OF(gpus))], &err) < 0)
        fail_msg("%s", err.text);
    request->cpu_milli = below(world, 8) * 1000;
    request->memory_mib = below(world, 8) * INT64_C(8192);
    request->max_duration = (1 + below(world, 300)) * USEC_PER_MIN;
    if (chance(world, 15)) {
        request->members = 2;
        request->nodes_max = 2;
        request->members_max = chance(world, 60) ? 4 : 0;
        request->sizes = SIZES_ANY;
    }
    if (world->lab->state->jobs.count < 120)
        lab_tell(world->lab, &event);
}

/* Some of those that are in this state. */
static void tell_some(struct world *world, enum job_state in, uint32_t percent,
                      enum event_kind kind)
{
    struct lab *lab = world->lab;
    LIST(uint64_t) ids = { 0 };

    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        if (job->state == in && chance(world, percent))
            list_add(&ids, job->id);
    }
    for (size_t i = 0; i < ids.count; i++) {
        struct event event = { .kind = kind, .release.job = ids.items[i] };
        if (kind == EVENT_STARTED)
            lab_started(lab, ids.items[i]);
        else if (kind == EVENT_ENDED)
            lab_ended(lab, ids.items[i], 0);
        else
            lab_tell(lab, &event);
    }
    list_release(&ids);
}

static void step(struct world *world)
{
    for (uint32_t i = below(world, 4); i > 0; i--)
        submit(world);
    tell_some(world, JOB_GRANTED, 90, EVENT_STARTED);
    tell_some(world, JOB_STOPPING, 70, EVENT_ENDED);
    tell_some(world, JOB_RUNNING, 4, EVENT_ENDED);
    if (chance(world, 40))
        tell_some(world, JOB_HELD, 10, EVENT_RELEASE);
    world->lab->now += below(world, 300) * USEC_PER_SEC;
}

static void run_held(uint64_t seed, bool is_asked, struct lab *lab)
{
    struct world world = { .lab = lab, .random = { .state = seed * 977 }, .is_asked = is_asked };

    lab->now = USEC_PER_SEC;
    build(&world);
    for (uint32_t i = 0; i < STEPS; i++) {
        step(&world);
        if (is_asked)
            ask_everything(lab, i);
        lab_settle(lab);
        if (is_asked)
            ask_everything(lab, i + 1);
    }
}

/* ---- both runs ---- */

static void expect_same(const struct lab *silent, const struct lab *asked, const char *world,
                        uint64_t seed)
{
    size_t count =
        silent->records.count < asked->records.count ? silent->records.count : asked->records.count;

    for (size_t i = 0; i < count; i++) {
        const struct lab_record *a = &silent->records.items[i], *b = &asked->records.items[i];
        if (a->length != b->length || memcmp(a->bytes, b->bytes, a->length) != 0)
            fail_msg("%s, seed %" PRIu64 ": record %zu is another one when questions are asked",
                     world, seed, i);
    }
    if (silent->records.count != asked->records.count)
        fail_msg("%s, seed %" PRIu64 ": %zu records, but %zu when questions are asked", world, seed,
                 silent->records.count, asked->records.count);
}

static bool is_left_out(uint64_t seed)
{
    return only_seed != 0 && seed != only_seed;
}

static void questions_change_nothing_where_jobs_are_held(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= HELD_SEEDS; seed++) {
        if (is_left_out(seed))
            continue;
        AUTO(lab) struct lab *silent = lab_create();
        AUTO(lab) struct lab *asked = lab_create();
        run_held(seed, false, silent);
        run_held(seed, true, asked);
        expect_same(silent, asked, "held jobs", seed);
    }
}

static void run_chaos(struct chaos *chaos, bool is_asked)
{
    for (uint32_t i = 0; i < STEPS; i++) {
        chaos_act(chaos);
        if (is_asked)
            ask_everything(chaos->lab, i);
        lab_settle(chaos->lab);
        if (is_asked)
            ask_everything(chaos->lab, i + 1);
    }
}

static void expect_chaos_is_same(enum chaos_kind kind, const char *world)
{
    for (uint64_t seed = 1; seed <= CHAOS_SEEDS; seed++) {
        if (is_left_out(seed))
            continue;
        AUTO(chaos) struct chaos *silent = chaos_create(seed, kind);
        AUTO(chaos) struct chaos *asked = chaos_create(seed, kind);
        run_chaos(silent, false);
        run_chaos(asked, true);
        expect_same(silent->lab, asked->lab, world, seed);
    }
}

static void questions_change_nothing_whatever_happens(void **state)
{
    (void)state;
    expect_chaos_is_same(CHAOS_ANY_ORDER, "any order");
    expect_chaos_is_same(CHAOS_TIMES, "times");
}

/* ---- the memory of an inquiry ---- */

static void expect_same_answers(const struct lab *lab, uint64_t seed)
{
    AUTO(inquiry) struct inquiry *fresh = inquiry_create();

    for (struct job *job = lab->state->first_job; job; job = job->next) {
        struct start_estimate a = { 0 }, b = { 0 };
        struct moves_ask moves_a, moves_b;
        struct why why_a, why_b;
        sched_why(lab->brain, lab->inquiry, job, &why_a, NULL);
        sched_why(lab->brain, fresh, job, &why_b, NULL);
        sched_moves(lab->brain, lab->inquiry, job, &moves_a);
        sched_moves(lab->brain, fresh, job, &moves_b);
        bool is_a = sched_estimate_start(lab->brain, lab->inquiry, job, &a);
        bool is_b = sched_estimate_start(lab->brain, fresh, job, &b);
        if (why_a.kind != why_b.kind || why_a.wanted != why_b.wanted || why_a.free != why_b.free ||
            why_a.at != why_b.at || moves_a.answer != moves_b.answer || is_a != is_b ||
            a.low != b.low || a.median != b.median || a.high != b.high)
            fail_msg("seed %" PRIu64 ": job %" PRIu64 ": a used inquiry answers otherwise", seed,
                     job->id);
    }
}

/* Also with another brain on another state. */
static void a_used_inquiry_answers_as_a_new_one(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CHAOS_SEEDS; seed++) {
        if (is_left_out(seed))
            continue;
        AUTO(chaos) struct chaos *chaos = chaos_create(seed, CHAOS_TIMES);
        size_t told = 0; /* many questions about one instant are estimated in one go */
        for (uint32_t i = 0; i < STEPS; i++) {
            chaos_act(chaos);
            if (i % 3 > 0)
                lab_settle(chaos->lab);
            if (i % 2 == 0 && chaos->lab->records.count > told)
                expect_same_answers(chaos->lab, seed);
            told = chaos->lab->records.count;
            if (i % 40 == 39)
                lab_reload(chaos->lab);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_change_nothing_where_jobs_are_held),
        cmocka_unit_test(questions_change_nothing_whatever_happens),
        cmocka_unit_test(a_used_inquiry_answers_as_a_new_one),
    };

    if (argc > 1)
        only_seed = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
