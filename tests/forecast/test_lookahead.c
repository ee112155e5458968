/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/lookahead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/snapshot/snapshot.h"
#include "sched/lab.h"
#include "sched/ordering/plain.h"

#define HOURS(n) ((usec_t)(n)*USEC_PER_HOUR)

/* One machine with so many GPUs, at a time that is not 0. */
static struct lab *small_lab(uint32_t gpus, usec_t slack)
{
    struct lab *lab = lab_create();
    struct event chosen = { .kind = EVENT_SLACK, .slack = { .least = slack } };

    lab->is_silent = true;
    lab->now = HOURS(1);
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .backfill_depth = 3,
                                                 .order = ORDER_DEFAULT,
                                                 .predict = 1,
                                                 .look_ahead = 1 } });
    if (slack > 0)
        lab_tell(lab, &chosen);
    lab_node(lab, "a", 64000, 64000);
    lab_gpus(lab, "a", "h100", 80000, gpus);
    return lab;
}

static uint64_t submit(struct lab *lab, uint16_t gpus, usec_t runs)
{
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = lab->state->next_id,
                                       .name = runs > HOURS(1) ? "long" : "short",
                                       .user = "ana",
                                       .queue = "default",
                                       .estimate = runs } };
    struct request *request = &event.submit.request;

    request_default(request);
    request->gpu_alternatives = 1;
    request->gpus[0].count = gpus;
    request->gpus[0].milli = GPU_MILLI;
    request->max_duration = runs;
    lab_tell(lab, &event);
    lab_settle(lab);
    if (lab_job(lab, event.submit.id)->state == JOB_GRANTED)
        lab_started(lab, event.submit.id);
    return event.submit.id;
}

static struct lookahead look(struct lab *lab)
{
    struct lookahead_ask ask = { .state = lab->state, .brain = lab->brain, .now = lab->now };
    AUTO_RELEASE(text) struct text before = { 0 }, after = { 0 };
    struct lookahead ret;
    struct error err;

    snapshot_save(lab->state, &before);
    if (lookahead_make(&ask, &ret, &err) < 0)
        fail_msg("%s", err.text);
    snapshot_save(lab->state, &after);
    assert_int_equal(before.length, after.length);
    assert_memory_equal(before.bytes, after.bytes, before.length);
    return ret;
}

/* ---- what is compared ---- */

static void the_jobs_that_start_in_both_count(void **state)
{
    struct lookahead_job some[] = { { HOURS(1), HOURS(1) },
                                    { HOURS(3), HOURS(1) },
                                    { -1, HOURS(1) },
                                    { HOURS(90), HOURS(1) },
                                    { 0, USEC_NEVER } };
    struct lookahead_job others[] = { { HOURS(1), HOURS(1) },
                                      { HOURS(5), HOURS(1) },
                                      { HOURS(99), HOURS(1) },
                                      { -1, HOURS(1) },
                                      { 0, USEC_NEVER } };
    lookahead_jobs now = { .items = some, .count = COUNT_OF(some) };
    lookahead_jobs other = { .items = others, .count = COUNT_OF(others) };
    struct lookahead_score left, right;
    (void)state;

    assert_true(lookahead_compare(&now, &other, &left, &right));
    assert_int_equal(left.mean, HOURS(2));
    assert_int_equal(left.longest, HOURS(3));
    assert_int_equal(right.mean, HOURS(3));
    assert_int_equal(right.longest, HOURS(5));
    assert_true(left.score < right.score);
    some[0].wait = some[1].wait = -1;
    assert_false(lookahead_compare(&now, &other, &left, &right));
    other.count--;
    assert_false(lookahead_compare(&now, &other, &left, &right));
}

/* A longest wait that is 20 % longer outweighs a mean that is a third shorter. */
static void the_tail_outweighs_the_mean(void **state)
{
    struct lookahead_job some[10], others[10];
    lookahead_jobs now = { .items = some, .count = COUNT_OF(some) };
    lookahead_jobs other = { .items = others, .count = COUNT_OF(others) };
    struct lookahead_score left, right;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(some); i++) {
        some[i] = (struct lookahead_job){ HOURS(i < 8 ? 3 : 6), HOURS(1) };
        others[i] = (struct lookahead_job){ HOURS(i < 8 ? 1 : 6), HOURS(1) };
    }
    assert_true(lookahead_compare(&now, &other, &left, &right));
    assert_true(right.mean * 3 < left.mean * 2);
    assert_true(right.score < left.score);
    some[9].wait = HOURS(10);
    others[9].wait = HOURS(12);
    assert_true(lookahead_compare(&now, &other, &left, &right));
    assert_true(left.score < right.score);
}

static void a_wide_slack_never_lengthens_the_longest_wait(void **state)
{
    struct lookahead_score narrow = { .score = 50, .longest = HOURS(10) };
    struct lookahead_score wide = { .score = 40, .longest = HOURS(10) };
    (void)state;

    assert_true(lookahead_is_better(&wide, &narrow, true));
    assert_false(lookahead_is_better(&narrow, &wide, false));
    wide.longest++;
    assert_false(lookahead_is_better(&wide, &narrow, true));
    assert_true(lookahead_is_better(&narrow, &wide, false));
    wide = (struct lookahead_score){ .score = narrow.score - LOOKAHEAD_MARGIN / 2,
                                     .longest = HOURS(10) };
    assert_false(lookahead_is_better(&wide, &narrow, true));
}

/* ---- what is chosen ---- */

/* Long and short ones by turns on one GPU: each has to wait for all before it in the plain
 * schedule, and after an hour of delay the long ones go first again. */
static void submit_by_turns(struct lab *lab)
{
    for (int i = 0; i < 20; i++) {
        submit(lab, 1, HOURS(3));
        submit(lab, 1, USEC_PER_HOUR / 6);
        lab->now += USEC_PER_MIN;
    }
}

static void the_better_slack_is_chosen(void **state)
{
    AUTO(lab) struct lab *lab = small_lab(1, 0);
    (void)state;

    submit_by_turns(lab);
    struct lookahead chosen = look(lab);
    assert_true(chosen.is_other);
    assert_int_equal(chosen.choice.least, LOOKAHEAD_WIDE);
    assert_int_equal(chosen.choice.waited, lab->state->job_counts[JOB_QUEUED]);
    assert_true(chosen.choice.mean < chosen.choice.mean_other);
    assert_true(chosen.events > 0);
}

/* Small ones that come one after another and fill the cluster, as those to come will. */
static void run_small_ones(struct lab *lab)
{
    uint64_t first = 0;

    for (int i = 0; i < LOOKAHEAD_AGAIN; i++) {
        uint64_t id = submit(lab, 1, HOURS(1));
        first = first > 0 ? first : id;
        lab->now += USEC_PER_HOUR / 4;
        if (id >= first + 3)
            lab_ended(lab, id - 3, 0);
    }
}

static void a_slack_that_lengthens_the_longest_wait_is_given_up(void **state)
{
    AUTO(lab) struct lab *lab = small_lab(4, LOOKAHEAD_WIDE);
    (void)state;

    run_small_ones(lab);
    submit(lab, 4, HOURS(2));
    for (int i = 0; i < LOOKAHEAD_WAITING; i++)
        submit(lab, 1, USEC_PER_HOUR / 6);
    struct lookahead chosen = look(lab);
    assert_true(chosen.is_other);
    assert_int_equal(chosen.choice.least, PLAIN_SLACK_LEAST);
    assert_true(chosen.choice.longest < chosen.choice.longest_other);
}

/* ---- when ---- */

static void it_is_due_when_enough_jobs_wait_and_have_come(void **state)
{
    AUTO(lab) struct lab *lab = small_lab(1, 0);
    (void)state;

    submit(lab, 1, HOURS(1));
    for (int i = 0; i < LOOKAHEAD_WAITING - 1; i++)
        submit(lab, 1, HOURS(1));
    assert_false(lookahead_is_due(lab->state, 0));
    submit(lab, 1, HOURS(1));
    assert_true(lookahead_is_due(lab->state, 0));
    assert_true(lookahead_is_due(lab->state, lab->state->next_id - LOOKAHEAD_EVERY));
    assert_false(lookahead_is_due(lab->state, lab->state->next_id - LOOKAHEAD_EVERY + 1));
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .order = ORDER_DEFAULT, .predict = 1 } });
    assert_false(lookahead_is_due(lab->state, 0));
}

static void it_is_never_due_where_all_queues_set_a_slack(void **state)
{
    AUTO(lab) struct lab *lab = small_lab(1, 0);
    struct event queue = { .kind = EVENT_QUEUE,
                           .queue = { .name = "default",
                                      .weight = 1,
                                      .gpus = QUOTA_OPEN,
                                      .rules = { .slack_percent = 25 } } };
    (void)state;

    for (int i = 0; i < 2 * LOOKAHEAD_WAITING; i++)
        submit(lab, 1, HOURS(1));
    assert_true(lookahead_is_due(lab->state, 0));
    lab_tell(lab, &queue);
    assert_false(lookahead_is_due(lab->state, 0));
}

/* ---- that it is kept ---- */

static void the_choice_is_in_the_snapshot(void **state)
{
    AUTO(lab) struct lab *lab = small_lab(1, 0);
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO(state) struct state *loaded = NULL;
    struct slack_choice is = { HOURS(5), lab->now, 12, HOURS(1), HOURS(2), HOURS(3), HOURS(4) };
    struct error err;
    (void)state;

    lab_tell(lab, &(struct event){ .kind = EVENT_SLACK,
                                   .slack = { .least = is.least,
                                              .waited = is.waited,
                                              .mean = is.mean,
                                              .mean_other = is.mean_other,
                                              .longest = is.longest,
                                              .longest_other = is.longest_other } });
    snapshot_save(lab->state, &bytes);
    if (snapshot_load(bytes.bytes, bytes.length, &loaded, &err) < 0)
        fail_msg("%s", err.text);
    assert_memory_equal(&loaded->slack, &lab->state->slack, sizeof(is));
    assert_int_equal(loaded->slack.least, is.least);
    assert_int_equal(loaded->slack.at, is.at);
    assert_int_equal(loaded->slack.longest_other, is.longest_other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jobs_that_start_in_both_count),
        cmocka_unit_test(the_tail_outweighs_the_mean),
        cmocka_unit_test(a_wide_slack_never_lengthens_the_longest_wait),
        cmocka_unit_test(the_better_slack_is_chosen),
        cmocka_unit_test(a_slack_that_lengthens_the_longest_wait_is_given_up),
        cmocka_unit_test(it_is_due_when_enough_jobs_wait_and_have_come),
        cmocka_unit_test(it_is_never_due_where_all_queues_set_a_slack),
        cmocka_unit_test(the_choice_is_in_the_snapshot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
