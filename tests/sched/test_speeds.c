/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs that state how fast they run on each model: small worlds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/job/own_speed.h"
#include "lab.h"
#include "sched/ordering/job_order.h"
#include "sched/ordering/run_time.h"

static const usec_t hour = USEC_PER_HOUR;

struct asked {
    const char *gpus, *speeds;
    usec_t estimate, limit, restart_cost;
};

static uint64_t submit(struct lab *lab, const struct asked *asked)
{
    own_speed_list speeds = { 0 };
    struct error err = { "" };
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = lab->state->next_id,
                                       .name = "j",
                                       .user = "ana",
                                       .queue = "default",
                                       .estimate = asked->estimate,
                                       .restart_cost = asked->restart_cost,
                                       .preemptible = asked->restart_cost > 0 } };
    struct request *request = &event.submit.request;

    request_default(request);
    request->cpu_milli = 0;
    request->max_duration = asked->limit > 0 ? asked->limit : USEC_NEVER;
    assert_int_equal(request_parse_gpus(request, asked->gpus, &err), 0);
    assert_int_equal(own_speeds_parse(&speeds, asked->speeds, &err), 0);
    request->speeds = speeds.items;
    request->speeds_count = (uint32_t)speeds.count;
    lab_tell(lab, &event);
    list_release(&speeds);
    return event.submit.id;
}

static struct lab *lab_of(const char *const *models, uint32_t count)
{
    struct lab *lab = lab_create();

    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .backfill_depth = 1, .order = ORDER_DEFAULT } });
    for (uint32_t i = 0; i < count; i++) {
        lab_node(lab, models[i], 64000, 1 << 20);
        lab_gpus(lab, models[i], models[i], 16384, 1);
    }
    return lab;
}

static const char *const two[] = { "a100", "k80" };

static void without_an_estimate_they_state_no_run_time(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_of(two, 2);
    uint64_t id = submit(
        lab, &(struct asked){
                 .gpus = "1", .speeds = "a100=2,k80=1", .limit = 9 * hour, .restart_cost = hour });
    struct job *job = lab_job(lab, id);

    /* As after a preemption: what is left of no estimate, and a restart. */
    job_claim_run(job)->attained = hour / 2;
    lab_tell(lab, &(struct event){ .kind = EVENT_HOLD, .hold = { .job = id } });
    lab_tell(lab, &(struct event){ .kind = EVENT_RELEASE, .release = { .job = id } });
    assert_false(job->pending_bucket->has_speeds);
    lab_settle(lab);
    assert_int_equal(job->state, JOB_GRANTED);
    assert_true(run_time_on(lab->state, job, job->run->lease) == 0);
    assert_true(job->run->window == 9 * hour);
}

/* Whatever is published: for this job, an H100 has speed 1. */
static void a_model_without_a_statement_has_speed_1(void **state)
{
    static const char *const models[] = { "h100", "k80" };
    (void)state;
    AUTO(lab) struct lab *lab = lab_of(models, 2);
    const struct asked asked = { "1", "k80=2", hour, 0, 0 };
    uint64_t first = submit(lab, &asked), second = submit(lab, &asked);

    lab_settle(lab);
    assert_int_equal(lab_job(lab, first)->run->lease->members[0].node, 1);
    assert_true(lab_job(lab, first)->run->window == hour / 2);
    assert_true(lab_job(lab, second)->run->window == hour);
}

static uint32_t speed_of(struct lab *lab, const char *gpus)
{
    uint64_t id = submit(lab, &(struct asked){ gpus, "a100=6,k80=2", hour, 0, 0 });

    lab_settle(lab);
    assert_int_equal(lab_job(lab, id)->state, JOB_QUEUED);
    return (lab_job(lab, id)->pending_bucket->speed + 5) / 10 * 10;
}

static void the_order_assumes_no_choice_that_placement_does_not_make(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_of(two, 2);

    lab_submit(lab, "1", USEC_NEVER);
    lab_submit(lab, "1", USEC_NEVER);
    lab_settle(lab);
    assert_int_equal(speed_of(lab, "1"), 6000);
    lab_tell(lab, &(struct event){ .kind = EVENT_PRICE,
                                   .price = { .resource = "a100", .price_micro = 3000000 } });
    assert_int_equal(speed_of(lab, "1"), 0);
    lab_tell(lab, &(struct event){ .kind = EVENT_PRICE,
                                   .price = { .resource = "k80", .price_micro = 2000000 } });
    assert_int_equal(speed_of(lab, "1"), 6000);
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .backfill_depth = 1,
                                                 .order = ORDER_DEFAULT,
                                                 .choice = CHOICE_PLACE } });
    assert_int_equal(speed_of(lab, "1"), 0);
    assert_int_equal(speed_of(lab, "k80:1"), 2000);
}

/* A named model, those of the cluster, and 1 on the one that is not named. */
static void their_run_time_is_over_the_models_that_they_may_have(void **state)
{
    static const char *const models[] = { "a100", "k80", "t4" };
    (void)state;
    AUTO(lab) struct lab *lab = lab_of(models, 3);

    for (int i = 0; i < 3; i++)
        lab_submit(lab, "1", USEC_NEVER);
    lab_settle(lab);
    for (int i = 0; i < 2; i++) {
        uint64_t open = submit(lab, &(struct asked){ "1", "a100=8,k80=6,h100=0.1", hour, 0, 0 });
        uint64_t named = submit(lab, &(struct asked){ "a100:1", "a100=2,k80=0.1", hour, 0, 0 });
        lab_settle(lab);
        assert_true(lab_job(lab, open)->pending_bucket->most == hour);
        assert_true(lab_job(lab, open)->pending_bucket->usual == hour / 5);
        assert_true(lab_job(lab, named)->pending_bucket->most == hour / 2);
        assert_true(lab_job(lab, named)->pending_bucket->usual == hour / 2);
        lab_reload(lab);
    }
}

/* A gang may have several models: the slowest decides. */
static void the_slowest_of_their_devices_decides(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_of(two, 2);
    uint64_t id = submit(lab, &(struct asked){ "1", "a100=2,k80=0.5", hour, 0, 0 });
    struct slice slices[] = { { .device = 0 }, { .device = 1 } };
    const struct lease lease = { .slices = slices, .slices_count = 2 };

    assert_true(run_time_on(lab->state, lab_job(lab, id), &lease) == 2 * hour);
}

/* On the K80, its limit would end it. On no model is it short enough: it takes what is free. */
static void they_wait_for_a_model_on_which_their_limit_is_long_enough(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_of(two, 2);
    uint64_t first = submit(lab, &(struct asked){ "1", "a100=1,k80=0.2", hour, hour, 0 });
    uint64_t second = submit(lab, &(struct asked){ "1", "a100=1,k80=0.2", hour, hour, 0 });
    uint64_t third = submit(lab, &(struct asked){ "1", "a100=0.25,k80=0.2", 3 * hour, hour, 0 });

    lab_settle(lab);
    assert_int_equal(lab_job(lab, first)->run->lease->members[0].node, 0);
    assert_int_equal(lab_job(lab, second)->state, JOB_QUEUED);
    assert_int_equal(lab_why(lab, second), WHY_GPUS);
    assert_int_equal(lab_job(lab, third)->run->lease->members[0].node, 1);
}

static uint32_t count_up(void *user, const struct pending_bucket *bucket)
{
    (void)bucket;
    return ++*(uint32_t *)user;
}

/* It takes long where many wait. */
static void their_speed_is_looked_up_after_grants_and_where_the_order_needs_it(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_of(two, 2);
    uint64_t id = submit(lab, &(struct asked){ "1", "a100=2,k80=1", hour, 0, 0 });
    struct pending_bucket *bucket = lab_job(lab, id)->pending_bucket;
    uint32_t count = 0;
    struct ranker ranker = {
        .state = lab->state, .turn = 1, .speed_now = count_up, .user = &count
    };

    for (int i = 0; i < 3; i++)
        rank_of_bucket(&ranker, bucket);
    assert_int_equal(count, 1);
    ranker.grants++;
    rank_of_bucket(&ranker, bucket);
    assert_int_equal(count, 2);
    ranker.turn++;
    rank_of_bucket(&ranker, bucket);
    assert_int_equal(count, 3);
    lab->state->settings.order = ORDER_FIFO;
    ranker.turn++;
    rank_of_bucket(&ranker, bucket);
    assert_int_equal(count, 3);
}

/* 1 hour at speed 1, on the mean of 3. */
static void their_work_arrives_at_the_mean_of_their_speeds(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_of(two, 2);

    submit(lab, &(struct asked){ "1", "a100=4,k80=2", hour, 0, 0 });
    assert_true(lab->state->pressure.arrived[0] == (uint64_t)hour / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_an_estimate_they_state_no_run_time),
        cmocka_unit_test(a_model_without_a_statement_has_speed_1),
        cmocka_unit_test(the_order_assumes_no_choice_that_placement_does_not_make),
        cmocka_unit_test(their_run_time_is_over_the_models_that_they_may_have),
        cmocka_unit_test(the_slowest_of_their_devices_decides),
        cmocka_unit_test(they_wait_for_a_model_on_which_their_limit_is_long_enough),
        cmocka_unit_test(their_speed_is_looked_up_after_grants_and_where_the_order_needs_it),
        cmocka_unit_test(their_work_arrives_at_the_mean_of_their_speeds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
