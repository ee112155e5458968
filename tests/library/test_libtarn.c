/* SPDX-License-Identifier: Apache-2.0 */
/* What a program sees of the library: its header alone. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tarn/sched.h>

#define SECOND INT64_C(1000000)

static void add_node(struct tarn_sched *sched, const char *name, uint32_t gpus, bool is_down)
{
    struct tarn_node node = { .size = sizeof(node),
                              .name = name,
                              .gpu_model = "h100",
                              .cpu_milli = 8000,
                              .memory_mib = 65536,
                              .gpu_memory_mib = 81920,
                              .gpu_count = gpus,
                              .is_down = is_down };

    assert_int_equal(tarn_sched_set_node(sched, &node), 0);
}

static struct tarn_sched *with_node(uint32_t gpus)
{
    struct tarn_sched *sched = tarn_sched_create(SECOND);

    add_node(sched, "a", gpus, false);
    return sched;
}

static uint64_t submit(struct tarn_sched *sched, const char *document)
{
    uint64_t job = 0;

    int code = tarn_sched_submit(sched, "ana", document, &job);
    if (code < 0)
        fail_msg("%s", tarn_sched_error(sched));
    return job;
}

/* The one decision at this time. */
static struct tarn_decision decide(struct tarn_sched *sched, int64_t now)
{
    struct tarn_decision decision = { .size = sizeof(decision) }, other = decision;

    assert_int_equal(tarn_sched_advance(sched, now), 0);
    assert_true(tarn_sched_next(sched, &decision));
    assert_false(tarn_sched_next(sched, &other));
    return decision;
}

static void nothing_is_decided(struct tarn_sched *sched, int64_t now)
{
    struct tarn_decision decision = { .size = sizeof(decision) };

    assert_int_equal(tarn_sched_advance(sched, now), 0);
    assert_false(tarn_sched_next(sched, &decision));
}

static void a_job_starts_where_there_is_room(void **state)
{
    (void)state;
    struct tarn_sched *sched = with_node(2);
    uint64_t job = submit(sched, "{run: train, gpus: 2}");

    struct tarn_decision decision = decide(sched, SECOND);
    assert_int_equal(decision.kind, TARN_START);
    assert_int_equal(decision.job, job);
    assert_int_equal(decision.attempt, 1);
    assert_int_equal(decision.member_count, 1);
    assert_string_equal(decision.members[0].node, "a");
    assert_int_equal(decision.members[0].gpu_count, 2);
    assert_int_equal(decision.members[0].gpus[1], 1);
    assert_int_equal(decision.members[0].gpu_milli, 1000);
    assert_int_equal(tarn_sched_started(sched, job, 1, 0), 0);
    assert_string_equal(tarn_sched_job_state(sched, job), "running");
    assert_int_equal(tarn_sched_ended(sched, job, 1, 0, 0), 0);
    assert_string_equal(tarn_sched_job_state(sched, job), "ended");
    assert_int_equal(tarn_sched_forget(sched, job), 0);
    assert_null(tarn_sched_job_state(sched, job));
    tarn_sched_destroy(sched);
}

static void a_gang_starts_on_several_nodes_at_once(void **state)
{
    (void)state;
    struct tarn_sched *sched = with_node(4);
    add_node(sched, "b", 4, false);
    submit(sched, "{run: train, nodes: 2, gpus: 4}");

    struct tarn_decision decision = decide(sched, SECOND);
    assert_int_equal(decision.member_count, 2);
    assert_string_not_equal(decision.members[0].node, decision.members[1].node);
    assert_int_equal(decision.members[1].rank, 1);
    tarn_sched_destroy(sched);
}

static void no_job_starts_on_a_node_that_is_down(void **state)
{
    (void)state;
    struct tarn_sched *sched = with_node(2);
    add_node(sched, "a", 2, true);
    uint64_t job = submit(sched, "{run: train, gpus: 1}");

    nothing_is_decided(sched, SECOND);
    add_node(sched, "a", 2, false);
    assert_int_equal(decide(sched, 2 * SECOND).job, job);
    tarn_sched_destroy(sched);
}

static void the_limit_of_a_job_is_a_time_to_wake_up_and_a_stop(void **state)
{
    (void)state;
    struct tarn_sched *sched = with_node(1);
    uint64_t first = submit(sched, "{run: train, gpus: 1, max_duration: 1h}");

    decide(sched, SECOND);
    tarn_sched_started(sched, first, 1, 0);
    uint64_t second = submit(sched, "{run: train, gpus: 1}");
    nothing_is_decided(sched, 2 * SECOND);

    char why[100];
    int64_t low, high;
    assert_int_equal(tarn_sched_why(sched, second, why, sizeof(why)), 0);
    assert_string_equal(why, "not enough free GPUs of the requested kind");
    assert_int_equal(tarn_sched_estimate(sched, second, &low, &high), 0);
    assert_true(low >= 2 * SECOND && low <= high && high < TARN_SCHED_NEVER);

    int64_t at;
    while ((at = tarn_sched_wakeup(sched)) < 3601 * SECOND)
        nothing_is_decided(sched, at);
    assert_int_equal(at, 3601 * SECOND);
    struct tarn_decision decision = decide(sched, at);
    assert_int_equal(decision.kind, TARN_STOP);
    assert_int_equal(decision.job, first);
    assert_string_equal(decision.cause, "time limit");
    assert_int_equal(tarn_sched_ended(sched, first, 1, 0, -1), 0);
    assert_int_equal(decide(sched, at).job, second);
    tarn_sched_destroy(sched);
}

static void a_running_job_that_is_cancelled_is_stopped(void **state)
{
    (void)state;
    struct tarn_sched *sched = with_node(1);
    uint64_t job = submit(sched, "{run: train, gpus: 1}");

    decide(sched, SECOND);
    tarn_sched_started(sched, job, 1, 0);
    assert_int_equal(tarn_sched_cancel(sched, job), 0);
    struct tarn_decision decision = decide(sched, 2 * SECOND);
    assert_int_equal(decision.kind, TARN_STOP);
    assert_string_equal(decision.cause, "cancelled");
    tarn_sched_destroy(sched);
}

static void the_limit_of_a_queue_is_that_of_the_configuration(void **state)
{
    (void)state;
    struct tarn_sched *sched = with_node(4);
    char why[100];

    assert_int_equal(tarn_sched_configure(sched, "queues: {small: {limit: {gpus: 1}}}"), 0);
    submit(sched, "{run: train, gpus: 1, queue: small}");
    uint64_t second = submit(sched, "{run: train, gpus: 1, queue: small}");
    decide(sched, SECOND);
    tarn_sched_why(sched, second, why, sizeof(why));
    assert_string_equal(why, "its queue, or a queue above it, is at its limit");
    tarn_sched_destroy(sched);
}

static void what_was_saved_decides_the_same(void **state)
{
    (void)state;
    struct tarn_sched *sched = with_node(1), *other = tarn_sched_create(SECOND);
    uint64_t first = submit(sched, "{run: train, gpus: 1}");
    void *bytes;
    size_t length;

    decide(sched, SECOND);
    tarn_sched_started(sched, first, 1, 0);
    uint64_t second = submit(sched, "{run: train, gpus: 1}");
    assert_int_equal(tarn_sched_save(sched, &bytes, &length), 0);
    assert_int_equal(tarn_sched_load(other, bytes, length), 0);
    assert_int_equal(tarn_sched_ended(other, first, 1, 0, 0), 0);
    assert_int_equal(decide(other, 2 * SECOND).job, second);
    assert_true(tarn_sched_load(other, "damaged", 7) < 0);
    assert_string_equal(tarn_sched_job_state(other, first), "ended"); /* nothing has changed */
    free(bytes);
    tarn_sched_destroy(sched);
    tarn_sched_destroy(other);
}

static void a_failure_says_what_is_wrong(void **state)
{
    (void)state;
    struct tarn_sched *sched = with_node(1);
    struct tarn_node node = { .size = sizeof(node), .name = "b", .gpu_count = 1 };
    uint64_t job = submit(sched, "{run: train, gpus: 1}"), none = 0;

    assert_int_equal(tarn_sched_submit(sched, "ana", "{run: train, gpus: 2}", &none), -EDOM);
    assert_non_null(strstr(tarn_sched_error(sched), "gpus"));
    assert_int_equal(tarn_sched_submit(sched, "ana", "{run: t, colour: red}", &none), -EINVAL);
    assert_non_null(strstr(tarn_sched_error(sched), "colour"));
    assert_int_equal(tarn_sched_submit(sched, "ana", "{run: t, schedule: '* * * * *'}", &none),
                     -ENOTSUP);
    assert_int_equal(tarn_sched_submit(sched, "", "{run: t}", &none), -EINVAL);
    assert_string_equal(tarn_sched_error(sched), "user: expected a name of 1 to 63 characters");
    assert_int_equal(none, 0);
    assert_true(tarn_sched_configure(sched, "queues: 7") < 0);
    assert_non_null(strstr(tarn_sched_error(sched), "queues"));
    assert_int_equal(tarn_sched_set_node(sched, &node), -EINVAL);
    assert_string_equal(tarn_sched_error(sched), "node b: its GPUs have no model");
    node.size = 8;
    assert_int_equal(tarn_sched_set_node(sched, &node), -EINVAL);
    assert_int_equal(tarn_sched_started(sched, job, 1, 0), -EALREADY);
    assert_string_equal(tarn_sched_error(sched), "job 1: attempt 1 does not run");
    assert_int_equal(tarn_sched_ended(sched, 99, 1, 0, 0), -ENOENT);
    assert_string_equal(tarn_sched_error(sched), "job 99: no such job");
    assert_int_equal(tarn_sched_forget(sched, job), -EBUSY);
    assert_int_equal(tarn_sched_cancel(sched, 99), -ENOENT);
    assert_int_equal(tarn_sched_advance(sched, 0), -EINVAL);
    assert_string_equal(tarn_sched_error(sched), "time 0: it was 1000000 before");
    assert_int_equal(tarn_sched_advance(sched, SECOND), 0);
    void *bytes;
    size_t length;
    assert_int_equal(tarn_sched_save(sched, &bytes, &length), -EBUSY);
    tarn_sched_destroy(sched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_starts_where_there_is_room),
        cmocka_unit_test(a_gang_starts_on_several_nodes_at_once),
        cmocka_unit_test(no_job_starts_on_a_node_that_is_down),
        cmocka_unit_test(the_limit_of_a_job_is_a_time_to_wake_up_and_a_stop),
        cmocka_unit_test(a_running_job_that_is_cancelled_is_stopped),
        cmocka_unit_test(the_limit_of_a_queue_is_that_of_the_configuration),
        cmocka_unit_test(what_was_saved_decides_the_same),
        cmocka_unit_test(a_failure_says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
