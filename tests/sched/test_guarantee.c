/* SPDX-License-Identifier: Apache-2.0 */
/* Random worlds in which each job has a limit: every guaranteed start is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lab.h"
#include "sched/brain.h"
#include "sched/explain/questions.h"

enum { WORLDS = 400, STEPS = 120, JOBS_MAX = 600 };
#define GRACE (30 * USEC_PER_SEC)
#define STEP  (10 * USEC_PER_SEC)

struct world {
    struct lab *lab;
    uint64_t seed;
    usec_t said[JOBS_MAX]; /* the earliest guarantee of each job; 0: none */
    usec_t stopping[JOBS_MAX];
    bool is_fifo;
    bool has_returns; /* jobs may start again after their end */
    uint32_t count, kept;
};

static uint32_t draw(struct world *world, uint32_t below)
{
    world->seed = world->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((world->seed >> 33) % below);
}

static void set(struct world *world, enum ordering order)
{
    if (order == ORDER_DEFAULT)
        lab_tell(world->lab,
                 &(struct event){ .kind = EVENT_QUEUE,
                                  .queue = { .name = "default",
                                             .weight = 1,
                                             .gpus = { 0, -1, QUOTA_NONE, QUOTA_NONE },
                                             .rules = { .preemptible = PREEMPTIBLE_NEVER } } });
    world->is_fifo = order == ORDER_FIFO;
    lab_tell(world->lab, &(struct event){ .kind = EVENT_SETTINGS,
                                          .settings = { .half_life = 7 * USEC_PER_DAY,
                                                        .backfill_depth = 1 + draw(world, 3),
                                                        .order = (uint8_t)order,
                                                        .predict = draw(world, 2) == 0 } });
}

static void submit(struct world *world)
{
    struct lab *lab = world->lab;
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = lab->state->next_id,
                                       .name = "j",
                                       .user = draw(world, 2) ? "ana" : "ben",
                                       .queue = "default",
                                       .grace = GRACE } };

    request_default(&event.submit.request);
    event.submit.request.cpu_milli = 0;
    event.submit.request.members = draw(world, 8) == 0 ? 2 : 1;
    event.submit.request.gpu_alternatives = 1;
    event.submit.request.gpus[0] =
        (struct gpu_ask){ .count = (uint16_t)(1 + draw(world, 4)), .milli = GPU_MILLI };
    event.submit.request.max_duration = (usec_t)(1 + draw(world, 120)) * USEC_PER_MIN;
    if (world->has_returns && draw(world, 6) == 0)
        event.submit.retry = 1;
    if (world->has_returns && world->is_fifo && draw(world, 6) == 0)
        event.submit.preemptible = true;
    if (world->has_returns && draw(world, 10) == 0)
        event.submit.held = true;
    lab_tell(lab, &event);
}

/* Some end before their limit; those at their limit end within their grace period. */
static void move_on(struct world *world)
{
    struct lab *lab = world->lab;

    for (uint64_t id = 1; id < lab->state->next_id; id++) {
        const struct job *job = lab_job(lab, id);

        if (job->state == JOB_GRANTED)
            lab_started(lab, id);
        else if (job->state == JOB_RUNNING && draw(world, 40) == 0)
            lab_ended(lab, id, (int)draw(world, 2));
        else if (job->state == JOB_STOPPING && world->stopping[id] == 0)
            world->stopping[id] = lab->now - STEP;
        if (job->state == JOB_STOPPING &&
            (draw(world, 2) || lab->now - world->stopping[id] >= GRACE)) {
            lab_ended(lab, id, 143);
            world->stopping[id] = 0;
        }
        if (job->state == JOB_HELD && draw(world, 30) == 0)
            lab_tell(lab, &(struct event){ .kind = EVENT_RELEASE, .release = { .job = id } });
    }
}

static void check(struct world *world)
{
    const struct state *state = world->lab->state;

    for (uint64_t id = 1; id < state->next_id; id++) {
        const struct job *job = lab_job(world->lab, id);

        if (job->state == JOB_QUEUED) {
            usec_t start = sched_guaranteed_start(world->lab->brain, job);
            if (start != USEC_NEVER && (world->said[id] == 0 || start < world->said[id])) {
                world->count += world->said[id] == 0;
                world->said[id] = start;
            }
            if (world->said[id] > 0 && state->now > world->said[id])
                fail_msg("job %u waits at %ld, and was guaranteed %ld", (unsigned)id,
                         (long)state->now, (long)world->said[id]);
        }
        if (job_is_active(job) || job->state == JOB_ENDED)
            world->said[id] = 0; /* it has started in time */
    }
}

/* Returns how many guarantees there were. */
static uint32_t play(uint64_t seed, enum ordering order, bool has_returns)
{
    AUTO(lab) struct lab *lab = lab_create();
    struct world *world = &(struct world){ .lab = lab, .seed = seed, .has_returns = has_returns };

    lab->now = USEC_PER_DAY;
    lab->is_silent = true;
    for (uint32_t i = 0, nodes = 1 + draw(world, 3); i < nodes; i++) {
        char name[] = { (char)('a' + i), '\0' };
        lab_node(lab, name, 64000, 1 << 20);
        lab_gpus(lab, name, "h100", 80 << 10, 4 + 4 * draw(world, 2));
    }
    set(world, order);
    for (int step = 0; step < STEPS; step++) {
        for (uint32_t i = draw(world, 4); i > 0 && lab->state->next_id < JOBS_MAX; i--)
            submit(world);
        lab_settle(lab);
        check(world);
        for (uint32_t i = 1 + draw(world, 40); i > 0; i--) {
            lab->now += STEP;
            move_on(world);
            lab_settle(lab);
            check(world);
        }
    }
    return world->count;
}

static void each_guarantee_is_kept(void **unused)
{
    uint32_t count[2] = { 0 };

    (void)unused;
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        count[seed % 2] += play(seed, seed % 2 ? ORDER_FIFO : ORDER_DEFAULT, seed % 4 < 2);
    assert_true(count[0] > WORLDS && count[1] > WORLDS);
}

/* One node with four GPUs; job 1 has all of them for an hour. Returns a job that waits for it. */
static uint64_t wait_behind(struct lab *lab, enum ordering order)
{
    lab->now = USEC_PER_DAY;
    lab_node(lab, "a", 64000, 1 << 20);
    lab_gpus(lab, "a", "h100", 80 << 10, 4);
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .half_life = 7 * USEC_PER_DAY,
                                                 .backfill_depth = 1,
                                                 .order = (uint8_t)order,
                                                 .predict = 1 } });
    lab_submit(lab, "4", USEC_PER_HOUR);
    lab_settle(lab);
    lab_started(lab, 1);
    uint64_t job = lab_submit(lab, "4", USEC_PER_HOUR);
    lab_settle(lab);
    return job;
}

static void it_is_the_limit_of_what_runs_and_the_time_to_stop_it(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = lab_create();
    uint64_t job = wait_behind(lab, ORDER_FIFO), second = lab_submit(lab, "4", USEC_PER_HOUR);

    lab_settle(lab);
    assert_int_equal(sched_guaranteed_start(lab->brain, lab_job(lab, job)),
                     USEC_PER_DAY + USEC_PER_HOUR + lab_job(lab, 1)->grace + 10 * USEC_PER_SEC);
    assert_int_equal(sched_guaranteed_start(lab->brain, lab_job(lab, second)), USEC_NEVER);
}

static void assert_none(const struct lab *lab, uint64_t job)
{
    assert_int_equal(sched_guaranteed_start(lab->brain, lab_job(lab, job)), USEC_NEVER);
}

static void there_is_none_where_another_job_may_go_first(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *shortest = lab_create();
    AUTO(lab) struct lab *queues = lab_create();
    AUTO(lab) struct lab *limits = lab_create();
    uint64_t job = wait_behind(shortest, ORDER_DEFAULT);

    assert_none(shortest, job); /* a short job may be submitted */

    job = wait_behind(queues, ORDER_FIFO);
    lab_queue(queues, "other", "root", 1, -1);
    lab_settle(queues);
    assert_none(queues, job);

    job = wait_behind(limits, ORDER_FIFO);
    lab_ended(limits, 1, 0);
    lab_settle(limits);
    lab_started(limits, job);
    lab_submit(limits, "4", USEC_PER_HOUR);
    lab_settle(limits);
    lab_ended(limits, job, 0);
    lab_settle(limits);
    assert_int_equal(lab_job(limits, 3)->state, JOB_GRANTED);
    uint64_t open = lab_submit(limits, "4", USEC_NEVER), behind = lab_submit(limits, "4", 60);
    lab_settle(limits);
    assert_none(limits, open); /* job 3 has not started, so its end is not known */
    lab_started(limits, 3);
    lab_settle(limits);
    assert_true(sched_guaranteed_start(limits->brain, lab_job(limits, open)) != USEC_NEVER);
    lab_ended(limits, 3, 0);
    lab_settle(limits);
    lab_started(limits, open);
    lab_settle(limits);
    assert_none(limits, behind); /* what runs has no limit */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_limit_of_what_runs_and_the_time_to_stop_it),
        cmocka_unit_test(there_is_none_where_another_job_may_go_first),
        cmocka_unit_test(each_guarantee_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
