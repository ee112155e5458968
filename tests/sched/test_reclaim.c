/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/reclaim.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lab.h"
#include "sched/brain.h"
#include "sched/ordering/quota_check.h"

static void queue(struct lab *lab, const char *name, int64_t guarantee, usec_t min_runtime)
{
    lab_tell(lab, &(struct event){
                      .kind = EVENT_QUEUE,
                      .queue = { .name = name,
                                 .weight = 1,
                                 .gpus = { guarantee * 1000, QUOTA_NONE, QUOTA_NONE, QUOTA_NONE },
                                 .min_runtime = min_runtime } });
}

/* What was granted runs. */
static void settle(struct lab *lab)
{
    lab_settle(lab);
    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        for (uint32_t rank = 0; job->state == JOB_GRANTED && rank < job->run->lease->members_count;
             rank++)
            lab_tell(lab, &(struct event){ .kind = EVENT_STARTED,
                                           .started = { .job = job->id,
                                                        .attempt = job->run->attempt,
                                                        .rank = rank } });
    }
}

static struct lab *cluster(int nodes)
{
    struct lab *lab = lab_create();

    lab->is_silent = true;
    for (int i = 0; i < nodes; i++) {
        AUTO_FREE char *name = mem_printf("n%d", i);
        lab_node(lab, name, 64000, 1 << 20);
        lab_gpus(lab, name, "h100", 81920, 4);
    }
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .half_life = QUEUE_HALF_LIFE_DEFAULT,
                                                 .placement = PLACEMENT_SFG,
                                                 .backfill_depth = 1 } });
    return lab;
}

static size_t count(const struct lab *lab, enum job_state state)
{
    return lab->state->job_counts[state];
}

static void a_queue_gets_its_guarantee_back_and_no_more(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(2);

    queue(lab, "a", 4, 0);
    queue(lab, "b", 4, 0);
    for (int i = 0; i < 8; i++)
        lab_submit_to(lab, "b", 1, 1, true);
    settle(lab);
    lab->now += USEC_PER_HOUR;
    for (int i = 0; i < 6; i++)
        lab_submit_to(lab, "a", 1, 1, true);
    settle(lab);
    settle(lab);
    assert_int_equal(count(lab, JOB_STOPPING), 4);
    /* Further plans stop no other job. */
    for (int i = 0; i < 5; i++) {
        lab->now += USEC_PER_SEC;
        lab_plan(lab);
    }
    assert_int_equal(count(lab, JOB_STOPPING), 4);
}

static void what_was_given_up_is_kept_for_whom_it_was(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(1);

    queue(lab, "a", 4, 0);
    queue(lab, "b", 0, 0);
    queue(lab, "c", 0, 0);
    uint64_t old[4];
    for (int i = 0; i < 4; i++)
        old[i] = lab_submit_to(lab, "b", 1, 1, true);
    settle(lab);
    lab->now += USEC_PER_HOUR;
    uint64_t gang = lab_submit_to(lab, "a", 4, 1, false);
    settle(lab);
    assert_int_equal(count(lab, JOB_STOPPING), 4);
    uint64_t small = lab_submit_to(lab, "c", 1, 1, false);
    for (int i = 0; i < 4; i++) {
        lab_tell(lab, &(struct event){ .kind = EVENT_ENDED,
                                       .ended = { .job = old[i],
                                                  .attempt = 1,
                                                  .kind = ENGINE_ENDED,
                                                  .signal = 15,
                                                  .exit_code = -1,
                                                  .was_stopped = 1 } });
        lab_reload(lab); /* also a brain that did not see it */
        settle(lab);
        assert_int_equal(lab_job(lab, small)->state, JOB_QUEUED);
        assert_int_equal(job_is_active(lab_job(lab, gang)), i == 3);
    }
}

static void nobody_is_stopped_in_his_least_run_time(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(1);

    queue(lab, "a", 4, 0);
    queue(lab, "b", 0, USEC_PER_HOUR);
    lab_submit_to(lab, "b", 4, 1, true);
    settle(lab);
    lab->now += USEC_PER_HOUR - USEC_PER_SEC;
    lab_submit_to(lab, "a", 4, 1, false);
    settle(lab);
    assert_int_equal(count(lab, JOB_STOPPING), 0);
    usec_t wakeup = sched_next_wakeup(lab->brain);
    assert_true(wakeup > lab->now && wakeup <= lab->now + USEC_PER_SEC);
    lab->now = wakeup;
    settle(lab);
    assert_int_equal(count(lab, JOB_STOPPING), 1);
}

static void a_stop_says_the_rule_and_what_is_lost(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(1);
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = 1,
                                       .name = "j",
                                       .user = "ben",
                                       .queue = "b",
                                       .preemptible = 1,
                                       .restart_cost = USEC_PER_MIN,
                                       .checkpoint_every = 30 * USEC_PER_MIN,
                                       .estimate = 100 * USEC_PER_HOUR } };

    queue(lab, "a", 4, 0);
    queue(lab, "b", 0, 0);
    request_default(&event.submit.request);
    event.submit.request.gpu_alternatives = 1;
    event.submit.request.gpus[0] = (struct gpu_ask){ .count = 4, .milli = GPU_MILLI };
    lab_tell(lab, &event);
    settle(lab);
    usec_t from = lab->now;
    lab->now += 40 * USEC_PER_MIN;
    uint64_t a = lab_submit_to(lab, "a", 4, 1, false);
    settle(lab);
    const struct job *job = lab_job(lab, 1);
    assert_int_equal(job->state, JOB_STOPPING);
    assert_int_equal(job->run->stopped_for, a);
    assert_int_equal(job->run->stop_rule, STOP_FOR_GUARANTEE);
    assert_int_equal(job->run->lost, lab->now - from - 30 * USEC_PER_MIN + USEC_PER_MIN);
    /* It goes on from its last checkpoint. */
    lab_tell(lab, &(struct event){ .kind = EVENT_ENDED,
                                   .ended = { .job = 1,
                                              .attempt = 1,
                                              .kind = ENGINE_ENDED,
                                              .signal = 15,
                                              .exit_code = -1,
                                              .was_stopped = 1 } });
    assert_int_equal(lab_job(lab, 1)->run->attained, 30 * USEC_PER_MIN);
}

static void a_job_that_just_saved_its_work_loses_nothing(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(1);

    uint64_t id = lab_submit_to(lab, "default", 4, 1, true);
    settle(lab);
    lab->now += 50 * USEC_PER_MIN;
    struct job *job = lab_job(lab, id);
    job->checkpoint_every = 30 * USEC_PER_MIN;
    assert_int_equal(job_unsaved(job, lab->now) / USEC_PER_MIN, 20);
    lab_tell(lab, &(struct event){ .kind = EVENT_CHECKPOINT,
                                   .checkpoint = { .job = id, .attempt = 7 } });
    assert_int_equal(job_unsaved(job, lab->now) / USEC_PER_MIN, 20); /* of another attempt */
    lab_tell(lab, &(struct event){ .kind = EVENT_CHECKPOINT,
                                   .checkpoint = { .job = id, .attempt = 1 } });
    lab->now += 3 * USEC_PER_MIN;
    assert_int_equal(job_unsaved(job, lab->now), 3 * USEC_PER_MIN);
}

/* The cheap one alone is not enough; with the dear one, the cheap one is not needed. */
static void who_need_not_go_after_all_stays(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(1);

    queue(lab, "a", 3, 0);
    queue(lab, "b", 0, 0);
    uint64_t dear = lab_submit_to(lab, "b", 3, 1, true),
             cheap = lab_submit_to(lab, "b", 1, 1, true);
    lab_job(lab, dear)->restart_cost = 10 * USEC_PER_MIN;
    settle(lab);
    lab->now += USEC_PER_HOUR;
    lab_submit_to(lab, "a", 3, 1, false);
    settle(lab);
    assert_int_equal(lab_job(lab, dear)->state, JOB_STOPPING);
    assert_int_equal(lab_job(lab, cheap)->state, JOB_RUNNING);
}

/* What a share that is below another's allows it only once: then it must not be above what is left
 * to the other. */
static void the_rule_that_holds_once_holds_once(void **state)
{
    struct reclaim_shares_ahead shares = { 0 };
    struct amounts wanted = { .of = { 3000 } }, held = { .of = { 2000 } };
    (void)state;
    AUTO(lab) struct lab *lab = cluster(2);

    queue(lab, "a", 0, 0);
    queue(lab, "b", 0, 0);
    lab->state->queues.items[3].used.of[RESOURCE_GPUS] = 8000;
    lab->state->queues.items[3].usage[SHARE_OF_GPUS] = 1 << 20; /* a comes before b */
    reclaim_shares_start(&shares, lab->state);
    assert_int_equal(reclaim_rule_of(&shares, lab->state, 2, &wanted, 3, &held), STOP_FOR_LESS);
    reclaim_shares_take(&shares, lab->state, 2, 3, &held, STOP_FOR_LESS, -1);
    assert_int_equal(reclaim_rule_of(&shares, lab->state, 2, &wanted, 3, &held), STOP_FOR_LESS);
    reclaim_shares_take(&shares, lab->state, 2, 3, &held, STOP_FOR_LESS, -1);
    /* 4 are left: 3 is less than that, and more than 2. */
    assert_int_equal(reclaim_rule_of(&shares, lab->state, 2, &wanted, 3, &held), STOP_FOR_FAIR);
    reclaim_shares_take(&shares, lab->state, 2, 3, &(struct amounts){ 0 }, STOP_FOR_FAIR, -1);
    assert_int_equal(reclaim_rule_of(&shares, lab->state, 2, &wanted, 3, &held), STOP_IN_QUEUE);
    reclaim_shares_release(&shares);
    lab->state->queues.items[3].used.of[RESOURCE_GPUS] = 0;
}

/* Room that opens by itself in half a minute is waited for. */
static void nobody_is_stopped_for_a_minute(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(2);

    queue(lab, "a", 4, 0);
    queue(lab, "b", 0, 0);
    uint64_t keeps = lab_submit_to(lab, "b", 4, 1, true),
             ends = lab_submit_to(lab, "b", 4, 1, true);
    settle(lab);
    struct job *job = lab_job(lab, ends);
    job->estimate = USEC_PER_HOUR; /* the other one has a hundred */
    lab_reload(lab);
    lab->now += USEC_PER_HOUR - 30 * USEC_PER_SEC;
    lab_submit_to(lab, "a", 4, 1, false);
    settle(lab);
    assert_int_equal(count(lab, JOB_STOPPING), 0);
    assert_int_equal(lab_job(lab, keeps)->state, JOB_RUNNING);
}

static bool stops_for_others(const struct job *job)
{
    return job->state == JOB_STOPPING && job->run->stop_cause == STOP_PREEMPT &&
           job->run->stop_rule != STOP_IN_QUEUE;
}

/* What the queue of a job will hold when all that stop for other queues have ended, and all jobs
 * for which others stop have started. */
static uint64_t share_then(const struct lab *lab, uint32_t number)
{
    struct amounts with = lab->state->queues.items[number].used, wanted;

    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        if (job->queue == number && stops_for_others(job)) {
            amounts_of_lease(lab->state, job->run->lease, &wanted);
            amounts_add(&with, &wanted, -1);
        }
        if (job->queue != number || job->is_awaited != AWAITED_FROM_OTHERS)
            continue;
        quota_least(lab->state, state_request(lab->state, job), &wanted);
        amounts_add(&with, &wanted, 1);
    }
    return reclaim_share_measure(lab->state, number, &with, RESOURCE_GPUS);
}

static uint64_t share_now(const struct lab *lab, uint32_t number)
{
    return reclaim_share_measure(lab->state, number, &lab->state->queues.items[number].used,
                                 RESOURCE_GPUS);
}

static bool was_granted(const struct lab *lab, uint32_t number)
{
    for (size_t i = 0; i < lab->decisions.events.count; i++) {
        const struct event *event = &lab->decisions.events.items[i];
        if (event->kind == EVENT_GRANT && lab_job(lab, event->grant.job)->queue == number)
            return true;
    }
    return false;
}

static uint64_t largest_now(const struct lab *lab)
{
    uint64_t largest = 0;

    for (uint32_t i = 1; i < lab->state->queues.count; i++)
        largest = share_now(lab, i) > largest ? share_now(lab, i) : largest;
    return largest;
}

/* No queue that takes ends up with more than the queue that had most, free GPUs aside. */
static uint64_t check_stops(const struct lab *lab)
{
    uint64_t stops = 0;

    for (size_t i = 0; i < lab->decisions.events.count; i++) {
        const struct event *event = &lab->decisions.events.items[i];
        if (event->kind != EVENT_STOP || event->stop.rule == STOP_IN_QUEUE)
            continue;
        const struct job *taker = lab_job(lab, event->stop.other);
        stops++;
        if (event->stop.rule != STOP_FOR_GUARANTEE && !was_granted(lab, taker->queue))
            assert_true(share_then(lab, taker->queue) <= largest_now(lab));
    }
    return stops;
}

static void end_stopping(struct lab *lab)
{
    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        uint32_t members = job_is_active(job) ? job->run->lease->members_count : 0;
        for (uint32_t rank = 0; job->state == JOB_STOPPING && rank < members; rank++)
            lab_tell(lab, &(struct event){ .kind = EVENT_ENDED,
                                           .ended = { .job = job->id,
                                                      .attempt = job->run->attempt,
                                                      .rank = rank,
                                                      .kind = ENGINE_ENDED,
                                                      .signal = 15,
                                                      .exit_code = -1,
                                                      .was_stopped = 1 } });
    }
}

static void the_largest_share_never_grows_by_a_reclaim(void **state)
{
    uint64_t stops = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t dice = seed * UINT64_C(0x9e3779b97f4a7c15);
        AUTO(lab) struct lab *lab = cluster(3);
        for (int i = 0; i < 4; i++) {
            AUTO_FREE char *name = mem_printf("q%d", i);
            queue(lab, name, (int64_t)(dice >> (8 * i) & 3), 0);
        }
        for (int step = 0; step < 150; step++) {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            AUTO_FREE char *name = mem_printf("q%d", (int)(dice >> 20 & 3));
            lab_submit_to(lab, name, (uint16_t)(1 + (dice >> 30 & 3)),
                          (uint32_t)(1 + (dice >> 40) % 5 / 4), true);
            lab->now += 30 * USEC_PER_MIN;
            for (int i = 0; i < 9 && sched_next_wakeup(lab->brain) <= lab->now; i++) {
                lab_plan(lab);
                stops += check_stops(lab);
            }
            settle(lab);
            end_stopping(lab);
            settle(lab);
        }
    }
    assert_true(stops > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_gets_its_guarantee_back_and_no_more),
        cmocka_unit_test(what_was_given_up_is_kept_for_whom_it_was),
        cmocka_unit_test(nobody_is_stopped_in_his_least_run_time),
        cmocka_unit_test(a_stop_says_the_rule_and_what_is_lost),
        cmocka_unit_test(a_job_that_just_saved_its_work_loses_nothing),
        cmocka_unit_test(who_need_not_go_after_all_stays),
        cmocka_unit_test(the_rule_that_holds_once_holds_once),
        cmocka_unit_test(nobody_is_stopped_for_a_minute),
        cmocka_unit_test(the_largest_share_never_grows_by_a_reclaim),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
