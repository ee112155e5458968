/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/explain/openings.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab.h"
#include "sched/explain/advice.h"
#include "sched/placement/admit.h"

enum { DAYS = 40, SPANS_MAX = 64, SEEDS = 200 };
static const usec_t day = USEC_PER_DAY, hour = USEC_PER_HOUR;

static struct lab *machine(void)
{
    struct lab *lab = lab_create();

    lab->now = day;
    lab_node(lab, "a", 64000, 1 << 20);
    lab_gpus(lab, "a", "h100", 80 << 10, 4);
    return lab;
}

static void tell_window(struct lab *lab, const char *name, struct event_span *spans, uint32_t count)
{
    lab_tell(lab, &(struct event){ .kind = EVENT_WINDOW,
                                   .window = { .name = name,
                                               .words = "words",
                                               .spans = spans,
                                               .spans_count = count,
                                               .until = lab->now + DAYS * day } });
}

/* From the second hour of each day on, for as long, as far as the calendar goes. */
static void tell_daily(struct lab *lab, const char *name, usec_t length)
{
    struct event_span spans[DAYS];

    for (uint32_t i = 0; i < DAYS; i++) {
        usec_t from = lab->now + i * day + 2 * hour;
        spans[i] = (struct event_span){ from, from + length };
    }
    tell_window(lab, name, spans, DAYS);
}

static void reserve(struct lab *lab, const char *window, const char *node)
{
    lab_tell(lab, &(struct event){ .kind = EVENT_RESERVATION,
                                   .reservation = { .name = "service",
                                                    .window = window,
                                                    .kind = RESERVATION_MAINTENANCE,
                                                    .owner = "",
                                                    .model = "",
                                                    .nodes = node } });
}

static usec_t first(struct lab *lab, uint64_t job, usec_t from, struct why *why)
{
    return sched_first_opening(lab->brain, lab->inquiry, lab_job(lab, job), from, why);
}

static void what_repeats_each_day_leaves_no_time_for_a_longer_job(void **unused)
{
    (void)unused;
    static const usec_t limits[] = { USEC_NEVER, 30 * USEC_PER_DAY, 23 * USEC_PER_HOUR };
    AUTO(lab) struct lab *lab = machine();
    struct why why;

    tell_daily(lab, "night", 2 * hour);
    reserve(lab, "night", "a");
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        uint64_t job = lab_submit(lab, "1", limits[i]);
        lab_settle(lab);
        assert_int_equal(first(lab, job, lab->now, &why), USEC_NEVER);
        assert_int_equal(why.kind, WHY_RESERVATION);
        sched_why(lab->brain, lab->inquiry, lab_job(lab, job), &why, NULL);
        assert_int_equal(why.kind, WHY_RESERVATION);
        assert_true(why.is_forever);
        assert_int_equal(why.at, USEC_NEVER);
    }
    uint64_t fits = lab_submit(lab, "1", 22 * hour);
    lab_settle(lab);
    assert_int_equal(first(lab, fits, lab->now, NULL), lab->now + 4 * hour);
    sched_why(lab->brain, lab->inquiry, lab_job(lab, fits), &why, NULL);
    assert_false(why.is_forever);
}

/* What it lacks now is not why it never starts. */
static void a_full_cluster_does_not_hide_what_repeats(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine();
    struct why why;

    lab_submit(lab, "4", hour);
    tell_daily(lab, "night", 2 * hour);
    lab_settle(lab);
    reserve(lab, "night", "a");
    uint64_t job = lab_submit(lab, "1", USEC_NEVER);
    lab_settle(lab);
    sched_why(lab->brain, lab->inquiry, lab_job(lab, job), &why, NULL);
    assert_int_equal(why.kind, WHY_RESERVATION);
    assert_true(why.is_forever);
}

static void a_maintenance_for_once_is_waited_for(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine();
    struct event_span once = { lab->now + 10 * day, lab->now + 10 * day + hour };

    tell_window(lab, "once", &once, 1);
    reserve(lab, "once", "a");
    uint64_t job = lab_submit(lab, "1", USEC_NEVER);
    lab_settle(lab);
    assert_int_equal(first(lab, job, lab->now, NULL), once.until);
}

static void another_node_is_an_opening(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine();

    lab_node(lab, "b", 64000, 1 << 20);
    lab_gpus(lab, "b", "h100", 80 << 10, 2);
    tell_daily(lab, "night", 2 * hour);
    reserve(lab, "night", "a");
    uint64_t narrow = lab_submit(lab, "2", USEC_NEVER), wide = lab_submit(lab, "4", USEC_NEVER);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, narrow)->state, JOB_GRANTED);
    assert_int_equal(first(lab, wide, lab->now, NULL), USEC_NEVER);
    uint64_t other = lab_submit(lab, "2", USEC_NEVER); /* waits for room alone */
    lab_settle(lab);
    assert_int_equal(first(lab, other, lab->now, NULL), lab->now);
}

static void a_limit_that_ends_before_it_is_advised(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine();
    struct advice advices[ADVICES_MAX];

    tell_daily(lab, "night", 2 * hour);
    reserve(lab, "night", "a");
    uint64_t job = lab_submit(lab, "1", USEC_NEVER);
    lab_settle(lab);
    assert_int_equal(sched_advise(lab->brain, lab->inquiry, lab_job(lab, job), advices), 1);
    assert_int_equal(advices[0].kind, ADVICE_LIMIT);
    assert_true(advices[0].is_now);
    assert_in_range(advices[0].max_duration, 115 * USEC_PER_MIN, 2 * hour);
    lab->now += 3 * hour; /* it is open: only later, and between two of them */
    lab_settle(lab);
    assert_int_equal(sched_advise(lab->brain, lab->inquiry, lab_job(lab, job), advices), 1);
    assert_false(advices[0].is_now);
    assert_in_range(advices[0].max_duration, 21 * hour, 22 * hour);
}

static void no_queue_is_advised_that_the_tariff_bars_too(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine();
    struct advice advices[ADVICES_MAX];

    lab_queue(lab, "other", "", 1, QUOTA_NONE);
    tell_daily(lab, "cheap", 2 * hour);
    lab_tell(lab, &(struct event){
                      .kind = EVENT_TARIFF,
                      .tariff = { .name = "cheap", .window = "cheap", .factor_milli = 500 } });
    struct event submit = { .kind = EVENT_SUBMIT,
                            .submit = { .id = lab->state->next_id,
                                        .name = "j",
                                        .user = "ana",
                                        .queue = "default",
                                        .external = "",
                                        .tariff_most = 1000,
                                        .request = { .gpu_alternatives = 1,
                                                     .gpus = { { .count = 4 } },
                                                     .members = 1,
                                                     .nodes_min = 1,
                                                     .nodes_max = 1,
                                                     .max_duration = hour } } };
    lab_tell(lab, &submit);
    lab_settle(lab);
    assert_int_equal(lab_why(lab, submit.submit.id), WHY_TARIFF);
    assert_int_equal(
        sched_advise(lab->brain, lab->inquiry, lab_job(lab, submit.submit.id), advices), 0);
    assert_int_equal(first(lab, submit.submit.id, lab->now, NULL), lab->now + 2 * hour);
}

static void fewer_gpus_are_not_advised_before_a_window_that_bars_them_too(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine();
    struct advice advices[ADVICES_MAX];
    struct event_during during = { .window = "day",
                                   .resource = "gpus",
                                   .quota = { ABSENT, 1000, ABSENT, ABSENT } };

    tell_daily(lab, "day", 2 * hour);
    lab_tell(lab, &(struct event){ .kind = EVENT_QUEUE,
                                   .queue = { .name = "research",
                                              .parent = "",
                                              .weight = 1,
                                              .gpus = { 0, QUOTA_NONE, QUOTA_NONE, QUOTA_NONE },
                                              .during = &during,
                                              .during_count = 1 } });
    uint64_t job = lab_submit_to(lab, "research", 4, 1, false);
    lab_settle(lab);
    struct why why;
    assert_int_equal(first(lab, job, lab->now, &why), USEC_NEVER);
    assert_int_equal(why.kind, WHY_WINDOW);
    assert_true(sched_advise(lab->brain, lab->inquiry, lab_job(lab, job), advices) > 0);
    assert_int_equal(advices[0].kind, ADVICE_GPUS);
    assert_int_equal(advices[0].request.gpus[0].count, 1);
}

/* ---- against a look at each minute ---- */

static uint64_t next(uint64_t *at)
{
    *at = *at * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *at >> 33;
}

static bool is_clear(const struct event_span *spans, uint32_t count, usec_t from, usec_t until)
{
    for (uint32_t i = 0; i < count; i++) {
        if (spans[i].from < until && from < spans[i].until)
            return false;
    }
    return true;
}

/* A pool whose size is another one while the window `night` is open: that of tell_daily(). */
static void tell_pool(struct lab *lab, int64_t min, int64_t max, struct event_pool_during *night)
{
    night->window = "night";
    lab_tell(lab, &(struct event){ .kind = EVENT_POOL,
                                   .pool = { .name = "batch",
                                             .queue = "",
                                             .model = "",
                                             .milli_min = min,
                                             .milli_max = max,
                                             .during = night,
                                             .during_count = 1 } });
}

static uint64_t submit_to_pool(struct lab *lab, const char *pool, const char *gpus)
{
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = lab->state->next_id, .name = "j", .user = "ana", .queue = "default" }
    };
    struct error err;

    request_default(&event.submit.request);
    assert_int_equal(request_parse_gpus(&event.submit.request, gpus, &err), 0);
    snprintf(event.submit.request.pool, sizeof(event.submit.request.pool), "%s", pool);
    event.submit.request.max_duration = USEC_NEVER;
    lab_tell(lab, &event);
    lab_settle(lab);
    return event.submit.id;
}

/* Its jobs may outlast the window: one without a limit starts in it, and not before. */
static void a_pool_that_is_larger_at_night_is_waited_for(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine();
    struct event_pool_during night = { .milli_min = ABSENT, .milli_max = 4 * GPU_MILLI };
    usec_t opens = lab->now + 2 * hour;
    struct why why;

    tell_daily(lab, "night", 2 * hour);
    tell_pool(lab, 0, GPU_MILLI, &night);
    uint64_t job = submit_to_pool(lab, "batch", "3");
    assert_int_equal(lab_job(lab, job)->state, JOB_QUEUED);
    sched_admit(lab->state, state_request(lab->state, lab_job(lab, job)), QUEUE_DEFAULT, false,
                &why);
    assert_int_equal(why.kind, WHY_POOL_MAX);
    assert_int_equal(first(lab, job, lab->now, &why), opens);
    assert_int_equal(why.kind, WHY_POOL_MAX);
    assert_int_equal(first(lab, job, opens + 3 * hour, NULL), opens + day);
    assert_int_equal(
        sched_last_opening(lab->brain, lab->inquiry, lab_job(lab, job), opens, opens + 5 * hour),
        opens + 2 * hour - 1);
    sched_why(lab->brain, lab->inquiry, lab_job(lab, job), &why, NULL);
    assert_int_equal(why.kind, WHY_POOL_MAX);
    assert_int_equal(why.at, opens);
    assert_false(why.is_forever);
    lab->now = opens;
    lab_plan(lab);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, job)->state, JOB_GRANTED);
}

static void what_a_pool_is_kept_at_night_is_free_by_day(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine();
    struct event_pool_during night = { .milli_min = 4 * GPU_MILLI, .milli_max = ABSENT };
    usec_t opens = lab->now + 2 * hour;
    struct why why;

    tell_daily(lab, "night", 2 * hour);
    tell_pool(lab, 0, 4 * GPU_MILLI, &night);
    lab->now = opens + hour;
    uint64_t job = submit_to_pool(lab, "", "1");
    assert_int_equal(lab_job(lab, job)->state, JOB_QUEUED);
    assert_int_equal(first(lab, job, lab->now, &why), opens + 2 * hour);
    assert_int_equal(why.kind, WHY_POOL_MIN);
    sched_why(lab->brain, lab->inquiry, lab_job(lab, job), &why, NULL);
    assert_int_equal(why.kind, WHY_POOL_MIN);
    assert_int_equal(why.at, opens + 2 * hour);
}

static void more_than_a_pool_ever_has_is_never(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine();
    struct event_pool_during night = { .milli_min = ABSENT, .milli_max = 2 * GPU_MILLI };
    struct why why;

    tell_daily(lab, "night", 2 * hour);
    tell_pool(lab, 0, GPU_MILLI, &night);
    uint64_t job = submit_to_pool(lab, "batch", "3");
    sched_admit(lab->state, state_request(lab->state, lab_job(lab, job)), QUEUE_DEFAULT, false,
                &why);
    assert_int_equal(why.kind, WHY_NEVER_POOL);
}

static void openings_are_what_a_look_at_each_minute_finds(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(lab) struct lab *lab = machine();
        struct event_span spans[SPANS_MAX];
        uint64_t at = seed;
        uint32_t count = 2 + (uint32_t)(next(&at) % (SPANS_MAX - 2));
        usec_t time = lab->now, longest = 0;
        for (uint32_t i = 0; i < count; i++) {
            usec_t gap = (1 + (usec_t)(next(&at) % 60)) * USEC_PER_MIN;
            longest = i > 0 && gap > longest ? gap : longest;
            spans[i].from = time + gap;
            time = spans[i].until = spans[i].from + (1 + (usec_t)(next(&at) % 60)) * USEC_PER_MIN;
        }
        usec_t limit = (1 + (usec_t)(next(&at) % 70)) * USEC_PER_MIN;
        tell_window(lab, "w", spans, count);
        reserve(lab, "w", "a");
        lab_submit(lab, "4", hour);
        uint64_t job = lab_submit(lab, "1", limit);
        lab_settle(lab);
        if (lab_job(lab, job)->state != JOB_QUEUED)
            continue;
        usec_t begin = lab->now + (usec_t)(next(&at) % 600) * USEC_PER_MIN, found = begin;
        while (!is_clear(spans, count, found, found + limit))
            found += USEC_PER_MIN;
        bool is_beyond = limit > longest && found > spans[count - 1].from;
        if (first(lab, job, begin, NULL) != (is_beyond ? USEC_NEVER : found))
            fail_msg("seed %" PRIu64 ": another first opening", seed);
        usec_t until = begin + 300 * USEC_PER_MIN, last = until;
        while (last >= begin && !is_clear(spans, count, last, last + limit))
            last -= USEC_PER_MIN;
        usec_t said = sched_last_opening(lab->brain, lab->inquiry, lab_job(lab, job), begin, until);
        if (until < spans[count - 1].from && said != (last < begin ? USEC_NEVER : last))
            fail_msg("seed %" PRIu64 ": another last opening", seed);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_repeats_each_day_leaves_no_time_for_a_longer_job),
        cmocka_unit_test(a_full_cluster_does_not_hide_what_repeats),
        cmocka_unit_test(a_maintenance_for_once_is_waited_for),
        cmocka_unit_test(another_node_is_an_opening),
        cmocka_unit_test(a_limit_that_ends_before_it_is_advised),
        cmocka_unit_test(no_queue_is_advised_that_the_tariff_bars_too),
        cmocka_unit_test(fewer_gpus_are_not_advised_before_a_window_that_bars_them_too),
        cmocka_unit_test(a_pool_that_is_larger_at_night_is_waited_for),
        cmocka_unit_test(what_a_pool_is_kept_at_night_is_free_by_day),
        cmocka_unit_test(more_than_a_pool_ever_has_is_never),
        cmocka_unit_test(openings_are_what_a_look_at_each_minute_finds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
