/* SPDX-License-Identifier: Apache-2.0 */

/* Protected starts (doc/policies/waiting.md): what they are, and that they are kept. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab.h"
#include "sched/brain.h"
#include "sched/claims.h"
#include "textbook.h"

enum { WORLDS = 300, LONGER = 30, NODES_MOST = 3, LATE_MOST = 3, DEPTH = 3 };

/* How a queue comes by its slack, by the seed. */
enum slack_of { SLACK_DEFAULT, SLACK_CHOSEN, SLACK_CHOSEN_AND_OFF, SLACK_OF_QUEUE, SLACKS };

struct world {
    struct workload workload, textbook; /* as the brain runs it; as EASY does */
    uint32_t nodes;                     /* with workload.gpus GPUs each */
    usec_t slack;
    struct lab *lab;
    usec_t served_by[JOBS]; /* 0: it was never served first */
    usec_t protected[JOBS]; /* 0: its plain start was not seen */
};

typedef void look_function(struct world *world, uint64_t seed, usec_t now);

/* Hours instead of minutes, so that the slack of an hour does not cover all. */
static void prolong(struct workload *workload)
{
    for (size_t i = 0; i < JOBS; i++) {
        workload->works[i].submitted *= LONGER;
        workload->works[i].limit *= LONGER;
        workload->works[i].runs *= LONGER;
    }
}

static void look(struct world *world, usec_t now, look_function *check, uint64_t seed)
{
    const struct brain *brain = world->lab->brain;

    if (brain->plain.queues.count > QUEUE_DEFAULT) {
        const struct plain_queue *queue = &brain->plain.queues.items[QUEUE_DEFAULT];
        for (struct plain_walk at = plain_running_first(&queue->running); at.job;
             plain_running_next(&at))
            world->protected[at.job->job.id - 1] = at.job->protected;
    }
    check(world, seed, now);
}

static void end_and_submit(struct world *world, usec_t now, uint64_t *submitted)
{
    char gpus[16];

    for (uint64_t id = 1; id <= *submitted; id++) {
        const struct work *work = &world->workload.works[id - 1];
        if (job_is_active(lab_job(world->lab, id)) && work->start + work->runs <= now)
            lab_ended(world->lab, id, 0);
    }
    for (; *submitted < JOBS && world->workload.works[*submitted].submitted <= now; ++*submitted) {
        snprintf(gpus, sizeof(gpus), "%" PRIu32, world->workload.works[*submitted].gpus);
        struct work *work = &world->textbook.works[*submitted];
        uint64_t id = lab_submit(world->lab, gpus, work->limit);
        work->behind = lab_job(world->lab, id)->plain_turn * USEC_PER_SEC - work->submitted;
        if (!world->lab->state->settings.predict) /* else it is a tenth of what was predicted */
            assert_in_range(work->behind - work->limit / 10, 0, USEC_PER_SEC - 1);
    }
}

/* Where one is chosen, it is not the one that holds in two of the cases. */
static void set_slack(struct world *world, enum slack_of slack)
{
    struct event queue = { .kind = EVENT_QUEUE,
                           .queue = { .name = "default",
                                      .weight = 1,
                                      .gpus = QUOTA_OPEN,
                                      .rules = { .slack_least = 2 * USEC_PER_HOUR } } };
    struct event chosen = { .kind = EVENT_SLACK, .slack = { .least = 6 * USEC_PER_HOUR } };

    world->slack = slack == SLACK_CHOSEN     ? chosen.slack.least
                   : slack == SLACK_OF_QUEUE ? queue.queue.rules.slack_least
                                             : USEC_PER_HOUR;
    if (slack == SLACK_OF_QUEUE)
        lab_tell(world->lab, &queue);
    if (slack != SLACK_DEFAULT)
        lab_tell(world->lab, &chosen);
}

/* check: after each plan, and at USEC_NEVER, when all is over */
static void run_world(uint64_t seed, uint32_t nodes, look_function *check)
{
    struct world world = { .workload = random_workload(seed), .nodes = nodes };
    AUTO(lab) struct lab *lab = lab_create();
    uint64_t submitted = 0;
    char name[16];

    prolong(&world.workload);
    world.textbook = world.workload;
    world.lab = lab;
    lab->is_silent = true;
    lab_tell(lab, &(struct event){
                      .kind = EVENT_SETTINGS,
                      .settings = { .backfill_depth = DEPTH,
                                    .order = ORDER_DEFAULT,
                                    .predict = seed % 2 == 0,
                                    .look_ahead = seed % SLACKS != SLACK_CHOSEN_AND_OFF } });
    set_slack(&world, (enum slack_of)(seed % SLACKS));
    for (uint32_t i = 0; i < nodes; i++) {
        snprintf(name, sizeof(name), "n%" PRIu32, i);
        lab_node(lab, name, 1000000, 0);
        lab_gpus(lab, name, "h100", 1024, world.workload.gpus);
    }
    for (size_t i = 0; i < JOBS; i++)
        world.workload.works[i].start = USEC_NEVER;
    for (usec_t now = next_time(&world.workload, 0); now != USEC_NEVER;
         now = next_time(&world.workload, now)) {
        lab->now = now;
        end_and_submit(&world, now, &submitted);
        lab_settle(lab);
        for (uint64_t id = 1; id <= submitted; id++) {
            if (lab_job(lab, id)->state == JOB_GRANTED)
                world.workload.works[id - 1].start = now;
        }
        look(&world, now, check, seed);
        for (uint64_t id = 1; id <= submitted; id++) {
            if (lab_job(lab, id)->state == JOB_GRANTED)
                lab_started(lab, id);
        }
    }
    for (size_t i = 0; i < JOBS; i++)
        assert_true(world.workload.works[i].start != USEC_NEVER);
    run_textbook(&world.textbook);
    check(&world, seed, USEC_NEVER);
}

/* ---- what a protected start is ---- */

static uint32_t compared;

/* The longest wait by the textbook of those that start before `at`, or at it. */
static usec_t longest_wait(const struct workload *textbook, usec_t at, bool with_those_at)
{
    usec_t longest = 0;

    for (size_t i = 0; i < JOBS; i++) {
        const struct work *work = &textbook->works[i];
        usec_t wait = work->start - work->submitted;
        if ((work->start < at || (with_those_at && work->start == at)) && wait > longest)
            longest = wait;
    }
    return longest;
}

static usec_t protected_by(const struct work *work, usec_t longest, usec_t slack)
{
    usec_t wait = work->start - work->submitted + slack;

    return work->submitted + (wait > longest / 2 ? wait : longest / 2);
}

static void compare_with_textbook(struct world *world, uint64_t seed, usec_t now)
{
    if (now != USEC_NEVER)
        return;
    for (size_t i = 0; i < JOBS; i++) {
        const struct work *work = &world->textbook.works[i];
        usec_t protected = world->protected[i];
        if (protected == 0)
            continue;
        /* Of several that start at once, each knows the waits of those before it. */
        usec_t least =
            protected_by(work, longest_wait(&world->textbook, work->start, false), world->slack);
        usec_t most =
            protected_by(work, longest_wait(&world->textbook, work->start, true), world->slack);
        compared++;
        if (protected < least || protected > most)
            fail_msg("seed %" PRIu64 ": job %zu is protected from %" PRId64
                     " s on, by the formula from %" PRId64 " to %" PRId64,
                     seed, i + 1, (int64_t)(protected / USEC_PER_SEC),
                     (int64_t)(least / USEC_PER_SEC), (int64_t)(most / USEC_PER_SEC));
    }
}

static void a_protected_start_is_the_plain_start_and_slack(void **state)
{
    (void)state;
    compared = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        run_world(seed, 1, compare_with_textbook);
    assert_true(compared > WORLDS * JOBS / 2);
}

/* ---- that it is kept ---- */

static uint32_t served;

/* It has just been promised a start: what runs ends by its limit, and it may slip by 1/8. */
static void check_promise(const struct world *world, uint64_t seed, usec_t now, uint64_t job,
                          usec_t by)
{
    const struct work *work = &world->workload.works[job - 1];
    bool fits = free_at(&world->workload, now) >= work->gpus;
    usec_t reserved = fits ? now : shadow_of(&world->workload, work, now);

    if (by > reserved + work->limit / 8)
        fail_msg("seed %" PRIu64 ": job %" PRIu64 " is to start by %" PRId64
                 " s, by the limits of what runs it could at %" PRId64,
                 seed, job, (int64_t)(by / USEC_PER_SEC), (int64_t)(reserved / USEC_PER_SEC));
}

/* Nothing else of the queue delays what is served first: it stays first until it starts, and that
 * is when it was promised at the latest. */
static void check_served(struct world *world, uint64_t seed, usec_t now)
{
    const struct pending_queue *queue = &world->lab->brain->pending.queues.items[QUEUE_DEFAULT];

    for (size_t i = 0; i < JOBS; i++) {
        const struct job *job = state_job(world->lab->state, i + 1);
        usec_t by = world->served_by[i];
        if (!job || by == 0)
            continue;
        if (now > by)
            fail_msg("seed %" PRIu64 ": job %zu waits at %" PRId64
                     " s, it was to start by %" PRId64,
                     seed, i + 1, (int64_t)(now / USEC_PER_SEC), (int64_t)(by / USEC_PER_SEC));
        if (job->state == JOB_QUEUED && (queue->served != job->id || queue->served_by != by))
            fail_msg("seed %" PRIu64 ": job %zu was served first and is no more", seed, i + 1);
        if (job->state == JOB_GRANTED) {
            served++;
            world->served_by[i] = 0;
        }
    }
    uint64_t first = queue->served;
    if (first == 0 || queue->served_by == 0 || world->served_by[first - 1] != 0 ||
        lab_job(world->lab, first)->state != JOB_QUEUED)
        return;
    world->served_by[first - 1] = queue->served_by;
    if (world->nodes == 1)
        check_promise(world, seed, now, first, queue->served_by);
}

static void what_is_served_first_starts_in_time(void **state)
{
    (void)state;
    served = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        run_world(seed, 1 + (uint32_t)(seed % NODES_MOST), check_served);
    assert_true(served > WORLDS);
}

/* ---- whole nodes ---- */

enum { NODES_KEPT = 8 }; /* plan.c */

static uint32_t beyond_depth; /* planned starts that only jobs which need a node have */

/* No node has room for two such jobs. Of jobs that are alike, the first counts. */
static void check_kept(struct world *world, uint64_t seed, usec_t now)
{
    const struct brain *brain = world->lab->brain;
    uint32_t kept = 0, missing = 0;

    for (size_t i = 0; i < JOBS; i++) {
        const struct job *job = state_job(world->lab->state, i + 1);
        uint32_t gpus = world->workload.works[i].gpus;
        if (!job || job->state != JOB_QUEUED || gpus < 2 || 2 * gpus <= world->workload.gpus ||
            job->pending_bucket->first != job)
            continue;
        const struct pending_bucket *bucket = job->pending_bucket;
        bool is_short = bucket->urgent_in == brain->plans && bucket->urgent <= CLAIMS_SHORT;
        bool is_kept = promise_of(&brain->reserve.promises, job->id);
        kept += is_kept;
        missing += !is_kept && !is_short;
    }
    if (missing > 0 && kept < NODES_KEPT)
        fail_msg("seed %" PRIu64 ": at %" PRId64 " s, %" PRIu32
                 " jobs that need a node have no planned start, %" PRIu32 " have",
                 seed, (int64_t)(now / USEC_PER_SEC), missing, kept);
    beyond_depth += kept > DEPTH + 1 ? kept - DEPTH - 1 : 0; /* one is served first */
}

static void each_job_that_needs_a_node_has_a_planned_start(void **state)
{
    (void)state;
    beyond_depth = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        run_world(seed, 2 + (uint32_t)(seed % 2), check_kept);
    assert_true(beyond_depth > WORLDS);
}

/* ---- how late the others start ---- */

static uint32_t passed, late;
static double latest; /* in the longest time limits of its world */

static usec_t longest_limit(const struct workload *workload)
{
    usec_t longest = 0;

    for (size_t i = 0; i < JOBS; i++)
        longest = workload->works[i].limit > longest ? workload->works[i].limit : longest;
    return longest;
}

static void count_late(struct world *world, uint64_t seed, usec_t now)
{
    for (size_t i = 0; i < JOBS; i++) {
        const struct job *job = state_job(world->lab->state, i + 1);
        if (!job || job->state != JOB_GRANTED || world->protected[i] == 0)
            continue;
        passed++;
        late += now > world->protected[i];
        usec_t by = now - world->protected[i], longest = longest_limit(&world->workload);
        latest =
            by > 0 && (double)by / (double)longest > latest ? (double)by / (double)longest : latest;
        if (by > LATE_MOST * longest)
            fail_msg("seed %" PRIu64 ": job %zu starts %" PRId64 " s after its protected start",
                     seed, i + 1, (int64_t)(by / USEC_PER_SEC));
    }
}

/* A protected start is aimed at, and not kept in each case: doc/policies/waiting.md says why. */
static void few_start_late_and_not_by_much(void **state)
{
    (void)state;
    passed = late = 0;
    latest = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        run_world(seed, 1, count_late);
    print_message("%" PRIu32 " of %" PRIu32
                  " jobs that others passed start late, by at most %.1f of "
                  "the longest time limit\n",
                  late, passed, latest);
    assert_true(passed > WORLDS * JOBS / 4);
    assert_in_range(late, 1, passed / 3);
}

/* ---- what a limit keeps back ---- */

/* Each user may hold two of four GPUs. A job has one of them for a hundred hours, and one of the
 * same user wants two: it would be urgent soon, but no room helps it. */
static void a_job_above_its_limit_has_no_claim(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_create();
    const struct event_subject each = { .kind = SUBJECT_EACH_USER,
                                        .resource = "gpus",
                                        .limit = 2 * GPU_MILLI };
    struct event queue = { .kind = EVENT_QUEUE,
                           .queue = { .name = "default",
                                      .weight = 1,
                                      .gpus = QUOTA_OPEN,
                                      .subjects = &each,
                                      .subjects_count = 1 } };

    lab->is_silent = true;
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .backfill_depth = 3, .order = ORDER_DEFAULT } });
    lab_node(lab, "a", 1000000, 0);
    lab_gpus(lab, "a", "h100", 1024, 4);
    lab->now = USEC_PER_HOUR;
    uint64_t runs = lab_submit(lab, "1", 100 * USEC_PER_HOUR);
    lab_tell(lab, &queue);
    lab_settle(lab);
    lab_started(lab, runs);
    uint64_t above = lab_submit(lab, "2", USEC_PER_HOUR);
    for (int hour = 0; hour < 60; hour++) {
        lab->now += USEC_PER_HOUR;
        lab_settle(lab);
        assert_int_equal(lab_job(lab, above)->state, JOB_QUEUED);
        assert_int_equal(lab->brain->pending.queues.items[QUEUE_DEFAULT].claim, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_protected_start_is_the_plain_start_and_slack),
        cmocka_unit_test(what_is_served_first_starts_in_time),
        cmocka_unit_test(each_job_that_needs_a_node_has_a_planned_start),
        cmocka_unit_test(few_start_late_and_not_by_much),
        cmocka_unit_test(a_job_above_its_limit_has_no_claim),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
