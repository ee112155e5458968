/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/quota_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lab.h"

/* 8 h100 and 8 a100 on two machines; queues 2 and 3 below the root. */
static struct lab *two_teams(void)
{
    struct lab *lab = lab_create();

    lab_node(lab, "n1", 64000, 512 * 1024);
    lab_node(lab, "n2", 64000, 512 * 1024);
    lab_gpus(lab, "n1", "h100", 81920, 8);
    lab_gpus(lab, "n2", "a100", 40960, 8);
    return lab;
}

static void quota_queue(struct lab *lab, const char *name, const char *parent, struct quota gpus)
{
    lab_tell(lab, &(struct event){ .kind = EVENT_QUEUE,
                                   .queue = { .name = name, .parent = parent, .gpus = gpus } });
}

static struct queue *queue_at(struct lab *lab, uint32_t number)
{
    return &lab->state->queues.items[number];
}

static bool allows(const struct lab *lab, uint32_t queue, int64_t milli, struct why *why)
{
    struct quota_ask ask = { .queue = queue, .user = QUOTA_NOBODY };

    ask.amounts.of[RESOURCE_GPUS] = milli;
    return quota_allows(lab->state, &ask, why);
}

static void the_limits_of_all_queues_above_count(void **state)
{
    struct why why;
    (void)state;
    AUTO(lab) struct lab *lab = lab_create();

    lab_queue(lab, "team", "", 1, 3000);
    lab_queue(lab, "ann", "team", 1, 2000);
    assert_true(allows(lab, 3, 2000, &why));
    assert_false(allows(lab, 3, 2001, &why));
    assert_int_equal(why.kind, WHY_NEVER_QUOTA);
    assert_int_equal(why.queue, 3);
    assert_int_equal(why.most, 2000);
    queue_at(lab, 2)->used.of[RESOURCE_GPUS] = 1500;
    assert_false(allows(lab, 3, 1501, &why));
    assert_int_equal(why.kind, WHY_QUOTA);
    assert_int_equal(why.queue, 2);
    assert_int_equal(why.free, 1500);
    assert_true(allows(lab, 3, 1500, &why));
    queue_at(lab, 2)->used.of[RESOURCE_GPUS] = 4000; /* over a limit that was lowered */
    assert_true(allows(lab, 3, 0, &why));
}

static void what_may_be_borrowed_bounds_as_a_limit_does(void **state)
{
    struct why why;
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    quota_queue(lab, "a", "", (struct quota){ 4000, -1, 2000, QUOTA_NONE });
    assert_true(allows(lab, 2, 6000, &why));
    assert_false(allows(lab, 2, 6001, &why));
    assert_int_equal(why.kind, WHY_NEVER_QUOTA);
    assert_int_equal(why.most, 6000);
}

static void a_quota_of_one_model_leaves_the_others_alone(void **state)
{
    struct event_quota quota = { "h100", { 0, 2000, QUOTA_NONE, QUOTA_NONE } };
    struct why why;
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    lab_tell(lab, &(struct event){ .kind = EVENT_QUEUE,
                                   .queue = { .name = "default",
                                              .gpus = QUOTA_OPEN,
                                              .quotas = &quota,
                                              .quotas_count = 1 } });
    uint64_t a = lab_submit(lab, "h100:2", USEC_NEVER), b = lab_submit(lab, "h100:1", USEC_NEVER);
    uint64_t c = lab_submit(lab, "a100:4", USEC_NEVER), d = lab_submit(lab, "h100:3", USEC_NEVER);
    lab_plan(lab);
    assert_int_equal(lab_job(lab, a)->state, JOB_GRANTED);
    assert_int_equal(lab_job(lab, c)->state, JOB_GRANTED);
    assert_int_equal(lab_why(lab, b), WHY_QUOTA);
    assert_int_equal(lab_why(lab, d), WHY_NEVER_QUOTA);
    sched_why(lab->brain, lab->inquiry, lab_job(lab, b), &why, NULL);
    assert_string_equal(lab->state->resources.items[why.resource].name, "h100");
    assert_int_equal(why.free, 0);
    /* One more is let in when one of them ends; what the second one holds is the model's, too. */
    lab_started(lab, a);
    lab_ended(lab, a, 0);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, b)->state, JOB_GRANTED);
}

static void what_is_held_counts_for_a_model_that_gets_its_quota_later(void **state)
{
    struct event_quota quota = { "h100", { 0, 2000, QUOTA_NONE, QUOTA_NONE } };
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    uint64_t a = lab_submit(lab, "h100:2", USEC_NEVER);
    lab_plan(lab);
    lab_tell(lab, &(struct event){ .kind = EVENT_QUEUE,
                                   .queue = { .name = "default",
                                              .gpus = QUOTA_OPEN,
                                              .quotas = &quota,
                                              .quotas_count = 1 } });
    uint64_t b = lab_submit(lab, "h100:1", USEC_NEVER);
    lab_plan(lab);
    assert_int_equal(lab_why(lab, b), WHY_QUOTA);
    lab_reload(lab);
    assert_int_equal(queue_at(lab, QUEUE_DEFAULT)->used.of[RESOURCE_MODELS], 2000);
    lab_started(lab, a);
    lab_ended(lab, a, 0);
    assert_int_equal(queue_at(lab, QUEUE_DEFAULT)->used.of[RESOURCE_MODELS], 0);
}

static void what_a_queue_does_not_lend_stays_free_for_it(void **state)
{
    struct why why;
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    /* 16 GPUs; a lends 2 of its 6: 4 of them are never lent. */
    quota_queue(lab, "a", "", (struct quota){ 6000, -1, QUOTA_NONE, 2000 });
    lab_queue(lab, "b", "", 1, -1);
    assert_true(allows(lab, 3, 12000, &why));
    assert_false(allows(lab, 3, 12001, &why));
    assert_int_equal(why.kind, WHY_LENT);
    assert_int_equal(why.queue, 2);
    assert_int_equal(why.most, 4000);
    assert_int_equal(why.free, 12000);
    assert_true(allows(lab, 2, 16000, &why));
    /* What it uses itself is not kept beside it. */
    queue_at(lab, 2)->used.of[RESOURCE_GPUS] = 3000;
    queue_at(lab, QUEUE_ROOT)->used.of[RESOURCE_GPUS] = 3000;
    assert_true(allows(lab, 3, 12000, &why));
    assert_false(allows(lab, 3, 12001, &why));
}

static void what_lies_below_a_queue_that_lends_all_is_still_kept(void **state)
{
    struct why why;
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    lab_queue(lab, "a", "", 1, -1);
    quota_queue(lab, "a1", "a", (struct quota){ 5000, -1, QUOTA_NONE, 0 });
    lab_queue(lab, "a2", "a", 1, -1);
    lab_queue(lab, "b", "", 1, -1);
    assert_false(allows(lab, 5, 11001, &why));
    assert_int_equal(why.queue, 3);
    assert_false(allows(lab, 4, 11001, &why)); /* not for its sister either */
    assert_true(allows(lab, 4, 11000, &why));
    assert_true(allows(lab, 3, 16000, &why));
}

static void what_several_do_not_lend_adds_up(void **state)
{
    struct why why;
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    for (int i = 0; i < 2; i++)
        quota_queue(lab, i == 0 ? "a" : "b", "",
                    (struct quota){ 3000 + 1000 * i, -1, QUOTA_NONE, 0 });
    lab_queue(lab, "c", "", 1, -1);
    assert_true(allows(lab, 4, 9000, &why));
    assert_false(allows(lab, 4, 9001, &why));
    assert_int_equal(why.queue, 3);
    assert_int_equal(why.most, 4000);
    assert_int_equal(why.free, 9000);
}

static void the_smaller_of_a_limit_and_what_may_be_borrowed_counts(void **state)
{
    struct why why;
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    for (int i = 0; i < 2; i++) {
        quota_queue(lab, "a", "",
                    (struct quota){ 2000, i == 0 ? 9000 : 5000, i == 0 ? 3000 : 8000, QUOTA_NONE });
        assert_true(allows(lab, 2, 5000, &why));
        assert_false(allows(lab, 2, 5001, &why));
        assert_int_equal(why.most, 5000);
    }
}

static uint64_t submit_as(struct lab *lab, const char *user, uint32_t gid, const char *gpus)
{
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = lab->state->next_id,
                    .name = "j",
                    .user = user,
                    .gid = gid,
                    .queue = "default" },
    };

    request_default(&event.submit.request);
    assert_int_equal(request_parse_gpus(&event.submit.request, gpus, NULL), 0);
    lab_tell(lab, &event);
    return event.submit.id;
}

static void users_and_groups_have_limits_of_their_own(void **state)
{
    const struct event_subject subjects[] = {
        { .kind = SUBJECT_EACH_USER, .resource = "gpus", .limit = 2000 },
        { .kind = SUBJECT_USER, .name = "ben", .resource = "gpus", .limit = 4000 },
        { .kind = SUBJECT_GROUP, .gid = 100, .resource = "gpus", .limit = 3000 },
    };
    struct why why;
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    lab_tell(lab, &(struct event){ .kind = EVENT_QUEUE,
                                   .queue = { .name = "default",
                                              .gpus = QUOTA_OPEN,
                                              .subjects = subjects,
                                              .subjects_count = COUNT_OF(subjects) } });
    uint64_t ana = submit_as(lab, "ana", 1, "2"), more = submit_as(lab, "ana", 1, "1");
    uint64_t ben = submit_as(lab, "ben", 1, "4"), cy = submit_as(lab, "cy", 100, "2");
    uint64_t di = submit_as(lab, "di", 100, "2"), never = submit_as(lab, "di", 1, "3");
    lab_settle(lab);
    assert_int_equal(lab_job(lab, ana)->state, JOB_GRANTED);
    assert_int_equal(lab_job(lab, ben)->state, JOB_GRANTED);
    assert_int_equal(lab_job(lab, cy)->state, JOB_GRANTED);
    sched_why(lab->brain, lab->inquiry, lab_job(lab, more), &why, NULL);
    assert_int_equal(why.kind, WHY_USER_LIMIT);
    assert_false(why.is_group);
    assert_int_equal(why.most, 2000);
    sched_why(lab->brain, lab->inquiry, lab_job(lab, di), &why, NULL);
    assert_int_equal(why.kind, WHY_USER_LIMIT);
    assert_true(why.is_group);
    assert_int_equal(why.free, 1000);
    assert_int_equal(lab_why(lab, never), WHY_NEVER_QUOTA);
    lab_reload(lab);
    lab_settle(lab);
    assert_int_equal(lab_why(lab, more), WHY_USER_LIMIT);
    lab_started(lab, ana);
    lab_ended(lab, ana, 0);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, more)->state, JOB_GRANTED);
}

static void cpus_and_memory_have_limits_as_gpus_do(void **state)
{
    const struct event_quota quotas[] = { { "cpus", { 0, 4000, QUOTA_NONE, QUOTA_NONE } },
                                          { "memory", { 0, 1024, QUOTA_NONE, QUOTA_NONE } } };
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = 1, .name = "j", .user = "ana", .queue = "default" },
    };
    struct why why;
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    lab_tell(lab, &(struct event){ .kind = EVENT_QUEUE,
                                   .queue = { .name = "default",
                                              .gpus = QUOTA_OPEN,
                                              .quotas = quotas,
                                              .quotas_count = COUNT_OF(quotas) } });
    request_default(&event.submit.request);
    event.submit.request.cpu_milli = 3000;
    event.submit.request.memory_mib = 600;
    lab_tell(lab, &event);
    event.submit.id = 2;
    event.submit.request.cpu_milli = 1000;
    lab_tell(lab, &event);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, 1)->state, JOB_GRANTED);
    sched_why(lab->brain, lab->inquiry, lab_job(lab, 2), &why, NULL);
    assert_int_equal(why.kind, WHY_QUOTA);
    assert_int_equal(why.resource, RESOURCE_MEMORY);
    assert_int_equal(why.wanted, 600);
}

static void a_dear_gpu_weighs_more_in_the_fair_share(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    lab_tell(lab, &(struct event){ .kind = EVENT_PRICE,
                                   .price = { .resource = "h100", .price_micro = 3000000 } });
    uint64_t a = lab_submit(lab, "h100:4", USEC_NEVER), b = lab_submit(lab, "a100:4", USEC_NEVER);
    lab_settle(lab);
    const struct lease *dear = lab_job(lab, a)->run->lease, *cheap = lab_job(lab, b)->run->lease;
    assert_int_equal(dear->shares[SHARE_OF_GPUS], QUEUE_SHARE_ONE * 12 / 32);
    assert_int_equal(cheap->shares[SHARE_OF_GPUS], QUEUE_SHARE_ONE * 4 / 32);
}

/* Two known mistakes of shares that are summed up a tree. */
static void what_one_child_has_of_the_cpus_is_not_held_against_its_sister(void **state)
{
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = 1, .name = "c", .user = "ana", .queue = "cpu" } };
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    lab_queue(lab, "a", "", 1, -1);
    lab_queue(lab, "b", "", 1, -1);
    lab_queue(lab, "cpu", "a", 1, -1);
    lab_queue(lab, "gpu", "a", 1, -1);
    /* No other queue wants CPUs: a holds most of them. */
    request_default(&event.submit.request);
    event.submit.request.cpu_milli = 50000;
    for (; event.submit.id <= 4; event.submit.id++) /* the last two are blocked */
        lab_tell(lab, &event);
    lab_settle(lab);
    assert_int_equal(queue_at(lab, 2)->used.of[RESOURCE_CPUS], 100000);
    /* Both a's and b's people now ask for GPUs, 4 at a time, more than there are: half each. */
    for (int i = 0; i < 8; i++) {
        struct event gpus = { .kind = EVENT_SUBMIT,
                              .submit = { .id = lab->state->next_id,
                                          .name = "g",
                                          .user = "ana",
                                          .queue = i < 4 ? "b" : "gpu" } };
        request_default(&gpus.submit.request);
        assert_int_equal(request_parse_gpus(&gpus.submit.request, "4", NULL), 0);
        lab_tell(lab, &gpus);
    }
    lab_settle(lab);
    assert_int_equal(queue_at(lab, 3)->used.of[RESOURCE_GPUS], 8000);
    assert_int_equal(queue_at(lab, 5)->used.of[RESOURCE_GPUS], 8000);
}

static void what_a_static_pool_has_is_its_queues_own(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = two_teams();

    lab_queue(lab, "a", "", 1, -1);
    lab_tell(
        lab,
        &(struct event){
            .kind = EVENT_POOL,
            .pool = { .name = "own", .is_static = 1, .queue = "a", .model = "h100", .gpus = 3 } });
    assert_int_equal(queue_at(lab, 2)->owned.of[RESOURCE_GPUS], 3000);
    assert_true(quota_is_owed(lab->state, 2, SHARE_OF_GPUS));
    queue_at(lab, 2)->used.of[RESOURCE_GPUS] = 3000;
    assert_false(quota_is_owed(lab->state, 2, SHARE_OF_GPUS));
    queue_at(lab, 2)->used.of[RESOURCE_GPUS] = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limits_of_all_queues_above_count),
        cmocka_unit_test(what_may_be_borrowed_bounds_as_a_limit_does),
        cmocka_unit_test(a_quota_of_one_model_leaves_the_others_alone),
        cmocka_unit_test(what_is_held_counts_for_a_model_that_gets_its_quota_later),
        cmocka_unit_test(what_a_queue_does_not_lend_stays_free_for_it),
        cmocka_unit_test(what_lies_below_a_queue_that_lends_all_is_still_kept),
        cmocka_unit_test(what_several_do_not_lend_adds_up),
        cmocka_unit_test(the_smaller_of_a_limit_and_what_may_be_borrowed_counts),
        cmocka_unit_test(users_and_groups_have_limits_of_their_own),
        cmocka_unit_test(cpus_and_memory_have_limits_as_gpus_do),
        cmocka_unit_test(a_dear_gpu_weighs_more_in_the_fair_share),
        cmocka_unit_test(what_one_child_has_of_the_cpus_is_not_held_against_its_sister),
        cmocka_unit_test(what_a_static_pool_has_is_its_queues_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
