/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/pending.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "sched/ends.h"

/* What the brain has under the jobs, counted over the jobs themselves. */
static void assert_whole(const struct state *state)
{
    for (const struct job *job = state->first_job; job; job = job->next) {
        const struct pending_bucket *bucket = job->pending_bucket;
        assert_int_equal(bucket != NULL, job->state == JOB_QUEUED);
        if (!bucket)
            continue;
        assert_int_equal(bucket->queue, job->queue);
        assert_int_equal(bucket->class, job->class);
        assert_int_equal(bucket->priority, job->priority);
        uint32_t count = 0;
        bool is_in = false;
        for (const struct job *at = bucket->first; at; at = at->pending_next, count++) {
            is_in |= at == job;
            assert_ptr_equal(at->pending_bucket, bucket);
            if (at->pending_next)
                assert_true(at->id < at->pending_next->id);
            else
                assert_ptr_equal(bucket->last, at);
        }
        assert_true(is_in);
        assert_int_equal(count, bucket->count);
    }
}

static void every_queued_job_is_in_the_bucket_of_its_kind(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        AUTO(chaos) struct chaos *chaos = chaos_create(seed, CHAOS_ANY);
        chaos->lab->is_silent = true;
        for (int i = 0; i < 300; i++) {
            chaos_step(chaos);
            assert_whole(chaos->lab->state);
        }
    }
}

static void jobs_of_a_kind_share_a_bucket_oldest_first(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_create();

    uint64_t first = lab_submit(lab, "1", USEC_NEVER), second = lab_submit(lab, "1", USEC_NEVER);
    uint64_t other = lab_submit(lab, "2", USEC_NEVER);
    struct pending_bucket *bucket = lab_job(lab, first)->pending_bucket;
    assert_ptr_equal(lab_job(lab, second)->pending_bucket, bucket);
    assert_ptr_not_equal(lab_job(lab, other)->pending_bucket, bucket);
    /* One that comes back is first again. */
    lab_tell(lab, &(struct event){ .kind = EVENT_HOLD, .hold = { .job = first } });
    assert_null(lab_job(lab, first)->pending_bucket);
    assert_int_equal(bucket->first->id, second);
    lab_tell(lab, &(struct event){ .kind = EVENT_RELEASE, .release = { .job = first } });
    assert_int_equal(bucket->first->id, first);
    assert_int_equal(bucket->count, 2);
}

static void deadlines_come_earliest_first(void **state)
{
    time_limit_heap time_limits = { 0 };
    struct random random = { 7 };
    uint64_t job, last = 0;
    (void)state;

    assert_true(time_limit_first(&time_limits) == USEC_NEVER);
    assert_false(time_limit_take(&time_limits, USEC_NEVER, &job));
    for (int i = 0; i < 2000; i++) {
        uint32_t at = random_below(&random, 500);
        /* The job tells its time. */
        time_limit_add(&time_limits, at, (uint64_t)at * 10000 + random_below(&random, 10000));
    }
    for (usec_t now = 0; now < 500; now += 50) {
        while (time_limit_take(&time_limits, now, &job)) {
            assert_true(job / 10000 <= (uint64_t)now);
            assert_true(job >= last); /* of equal times the lower number */
            last = job;
        }
        assert_true(time_limit_first(&time_limits) > now);
    }
    list_release(&time_limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_queued_job_is_in_the_bucket_of_its_kind),
        cmocka_unit_test(jobs_of_a_kind_share_a_bucket_oldest_first),
        cmocka_unit_test(deadlines_come_earliest_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
