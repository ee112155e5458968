/* SPDX-License-Identifier: Apache-2.0 */
/* What is learned of interruptions, and how often it pays to save work: mtbf, daly, checkpoints. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/job/checkpoint_interval.h"
#include "core/job/deadline_start.h"
#include "core/snapshot/snapshot.h"
#include "core/state/state.h"

/* The formula as it stands in the paper; here floats are fine. */
static double daly(double d, double m)
{
    return d < 2 * m ? sqrt(2 * d * m) * (1 + sqrt(d / (2 * m)) / 3 + d / (2 * m) / 9) - d : m;
}

static void the_interval_is_that_of_the_formula(void **state)
{
    static const usec_t takes[] = { USEC_PER_SEC, 30 * USEC_PER_SEC, 10 * USEC_PER_MIN,
                                    USEC_PER_DAY };
    static const usec_t between[] = { 10 * USEC_PER_MIN, 12 * USEC_PER_HOUR, 30 * USEC_PER_DAY,
                                      3650 * USEC_PER_DAY };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(takes); i++) {
        for (size_t k = 0; k < COUNT_OF(between); k++) {
            double exact = daly((double)takes[i], (double)between[k]);
            double got = (double)daly_interval(takes[i], between[k]);
            assert_true(fabs(got - exact) < 0.0001 * exact + 10);
        }
    }
    assert_int_equal(daly_interval(0, 1), USEC_PER_SEC); /* never nothing */
}

static void the_best_interval_wastes_least(void **state)
{
    usec_t takes = 30 * USEC_PER_SEC, between = 12 * USEC_PER_HOUR;
    usec_t best = daly_interval(takes, between);
    uint32_t least = daly_waste(takes, best, between);
    (void)state;

    assert_in_range(best, 26 * USEC_PER_MIN, 27 * USEC_PER_MIN);
    assert_in_range(least, 36000, 38000); /* about sqrt(2 d / M) = 3.7 % */
    assert_true(daly_waste(takes, 2 * best, between) > least);
    assert_true(daly_waste(takes, best / 2, between) > least);
    assert_int_equal(daly_waste(USEC_PER_DAY, USEC_PER_SEC, USEC_PER_SEC), DALY_WASTE_ONE);
}

static void machines_that_last_are_believed_in_slowly(void **state)
{
    const uint32_t one[MTBF_KINDS] = { 1, 0 }, eight[MTBF_KINDS] = { 8, 0 },
                   mixed[MTBF_KINDS] = { 1, 1 };
    struct mtbf mtbf = { .up = { 2, 1 } };
    (void)state;

    assert_int_equal(mtbf_of(&mtbf, MTBF_OWN, 0), 30 * USEC_PER_DAY);
    assert_int_equal(mtbf_of(&mtbf, MTBF_SPOT, 0), 12 * USEC_PER_HOUR);
    mtbf_advance(&mtbf, 15 * USEC_PER_DAY);
    assert_int_equal(mtbf_of(&mtbf, MTBF_OWN, 15 * USEC_PER_DAY), 60 * USEC_PER_DAY);
    assert_int_equal(mtbf_of(&mtbf, MTBF_OWN, 30 * USEC_PER_DAY), 90 * USEC_PER_DAY);
    mtbf.interruptions[MTBF_OWN] = 2;
    assert_int_equal(mtbf_of(&mtbf, MTBF_OWN, 15 * USEC_PER_DAY), 20 * USEC_PER_DAY);
    assert_int_equal(mtbf_of_gang(&mtbf, one, 15 * USEC_PER_DAY), 20 * USEC_PER_DAY);
    assert_int_equal(mtbf_of_gang(&mtbf, eight, 15 * USEC_PER_DAY), 20 * USEC_PER_DAY / 8);
    mtbf.interruptions[MTBF_SPOT] = 30; /* twice a day */
    assert_int_equal(mtbf_of_gang(&mtbf, mixed, 15 * USEC_PER_DAY), 20 * USEC_PER_DAY / 41);
}

static void a_deadline_on_spot_is_a_straight_line(void **state)
{
    const usec_t hour = USEC_PER_HOUR;
    struct progress progress = { .submitted = 10 * hour,
                                 .deadline = 18 * hour,
                                 .estimate = 4 * hour,
                                 .restart_cost = hour / 2 };
    usec_t until;
    (void)state;

    assert_int_equal(progress_rule(&progress, 10 * hour, &until), SPOT_PREFER);
    assert_int_equal(until, 18 * hour - 4 * hour - hour / 2);
    assert_int_equal(progress_rule(&progress, until, &until), SPOT_NEVER);
    assert_true(until == USEC_NEVER);
    progress.attained = hour; /* a quarter: on the line after a quarter of eight hours */
    assert_int_equal(progress_rule(&progress, 11 * hour, &until), SPOT_ONLY);
    assert_int_equal(until, 12 * hour);
    assert_int_equal(progress_rule(&progress, 12 * hour, &until), SPOT_PREFER);
    assert_int_equal(until, 18 * hour - 3 * hour - hour / 2);
    progress.attained = 9 * hour; /* longer than anybody said */
    assert_int_equal(progress_rule(&progress, 17 * hour, &until), SPOT_ONLY);
    assert_int_equal(progress_rule(&progress, 20 * hour, &until), SPOT_NEVER);
}

static void tell(struct state *state, usec_t at, struct event event)
{
    struct error err;

    event.at = at;
    if (state_apply(state, &event, &err) < 0)
        fail_msg("%s", err.text);
}

static struct event machine(uint8_t spot, uint8_t state, usec_t going_at)
{
    return (struct event){ .kind = EVENT_NODE,
                           .node = { .name = spot ? "s" : "a",
                                     .cpu_milli = 4000,
                                     .state = state,
                                     .spot = spot,
                                     .going_at = going_at } };
}

static void a_notice_and_its_end_are_one_interruption(void **unused)
{
    AUTO(state) struct state *state = state_create();
    const usec_t hour = USEC_PER_HOUR;
    (void)unused;

    tell(state, 0, machine(1, NODE_UP, 0));
    tell(state, 0, machine(0, NODE_UP, 0));
    tell(state, 6 * hour, machine(1, NODE_UP, 6 * hour + USEC_PER_MIN));
    tell(state, 6 * hour, machine(1, NODE_DOWN, 6 * hour + USEC_PER_MIN));
    assert_int_equal(state->mtbf.interruptions[MTBF_SPOT], 1);
    assert_int_equal(mtbf_of(&state->mtbf, MTBF_SPOT, state->now), 9 * hour);
    tell(state, 8 * hour, machine(0, NODE_DRAINED, 0)); /* wanted, so nothing is interrupted */
    tell(state, 10 * hour, machine(0, NODE_UP, 0));
    tell(state, 10 * hour, machine(0, NODE_DOWN, 0));
    assert_int_equal(state->mtbf.interruptions[MTBF_OWN], 1);
    assert_int_equal(state->mtbf.time[MTBF_OWN], 8 * hour);
    assert_int_equal(state->mtbf.time[MTBF_SPOT], 6 * hour);
}

static uint64_t start_auto(struct state *state, usec_t at)
{
    struct event submit = { .kind = EVENT_SUBMIT,
                            .submit = { .id = state->next_id,
                                        .name = "j",
                                        .user = "ana",
                                        .queue = "default",
                                        .checkpoint_auto = 1,
                                        .checkpoint_takes = 30 * USEC_PER_SEC } };
    struct lease_member member = { .node = 0 };
    struct lease lease = { .members = &member, .members_count = 1, .cpu_milli = 1000 };
    struct event grant = { .kind = EVENT_GRANT,
                           .grant = { .job = submit.submit.id, .attempt = 1, .lease = lease } };
    struct event started = { .kind = EVENT_STARTED,
                             .started = { .job = submit.submit.id, .attempt = 1 } };

    request_default(&submit.submit.request);
    tell(state, at, submit);
    tell(state, at, grant);
    tell(state, at, started);
    return submit.submit.id;
}

static void auto_is_worked_out_when_it_starts_and_survives_a_snapshot(void **unused)
{
    AUTO(state) struct state *state = state_create();
    AUTO(state) struct state *loaded = NULL;
    AUTO_RELEASE(text) struct text first = { 0 }, second = { 0 };
    struct error err;
    (void)unused;

    tell(state, 0, machine(1, NODE_UP, 0));
    uint64_t id = start_auto(state, USEC_PER_HOUR);
    usec_t every = daly_interval(30 * USEC_PER_SEC, 13 * USEC_PER_HOUR);
    assert_int_equal(state_job(state, id)->checkpoint_every, every);
    tell(state, 2 * USEC_PER_HOUR, (struct event){ .kind = EVENT_PLAN });
    snapshot_save(state, &first);
    if (snapshot_load(first.bytes, first.length, &loaded, &err) < 0)
        fail_msg("%s", err.text);
    snapshot_save(loaded, &second);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.bytes, second.bytes, first.length);
    assert_int_equal(state_job(loaded, id)->checkpoint_every, every);
    assert_int_equal(job_checkpoint_takes(state_job(loaded, id)), 30 * USEC_PER_SEC);
    assert_int_equal(mtbf_of(&loaded->mtbf, MTBF_SPOT, 4 * USEC_PER_HOUR), 16 * USEC_PER_HOUR);
}

static void work_that_is_saved_while_it_stops_is_not_lost(void **unused)
{
    AUTO(state) struct state *state = state_create();
    const usec_t hour = USEC_PER_HOUR;
    (void)unused;

    tell(state, 0, machine(1, NODE_UP, 0));
    uint64_t id = start_auto(state, 0);
    const struct job *job = state_job(state, id);
    usec_t stop = job->checkpoint_every - USEC_PER_MIN;
    usec_t lost = job_unsaved(job, stop) + USEC_PER_SEC;
    tell(state, stop,
         (struct event){ .kind = EVENT_STOP,
                         .stop = { .job = id, .cause = STOP_PREEMPT, .lost = lost } });
    assert_int_equal(job->run->lost, lost);
    tell(state, stop + 1,
         (struct event){ .kind = EVENT_CHECKPOINT, .checkpoint = { .job = id, .attempt = 1 } });
    assert_int_equal(job->run->lost, USEC_PER_SEC); /* what the restart costs stays */
    tell(state, stop + 2,
         (struct event){ .kind = EVENT_CHECKPOINT, .checkpoint = { .job = id, .attempt = 1 } });
    assert_int_equal(job->run->lost, USEC_PER_SEC);
    tell(state, hour,
         (struct event){ .kind = EVENT_ENDED,
                         .ended = { .job = id,
                                    .attempt = 1,
                                    .kind = ENGINE_ENDED,
                                    .exit_code = 3,
                                    .was_stopped = 1 } });
    assert_int_equal(job->state, JOB_QUEUED);
    assert_int_equal(job->run->attained, stop + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_is_that_of_the_formula),
        cmocka_unit_test(the_best_interval_wastes_least),
        cmocka_unit_test(machines_that_last_are_believed_in_slowly),
        cmocka_unit_test(a_deadline_on_spot_is_a_straight_line),
        cmocka_unit_test(a_notice_and_its_end_are_one_interruption),
        cmocka_unit_test(auto_is_worked_out_when_it_starts_and_survives_a_snapshot),
        cmocka_unit_test(work_that_is_saved_while_it_stops_is_not_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
