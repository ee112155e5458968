/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lab.h"

static void drain(struct lab *lab, const char *reason)
{
    lab_tell(lab, &(struct event){
                      .kind = EVENT_DRAIN,
                      .drain = { .uuid = lab->state->devices.items[0].uuid, .reason = reason } });
    lab_settle(lab);
}

static struct lab *two_gpus(void)
{
    struct lab *lab = lab_create();

    lab_node(lab, "a", 64000, 65536);
    lab_gpus(lab, "a", "h100", 81920, 2);
    return lab;
}

static void nothing_new_is_placed_on_a_drained_gpu(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = two_gpus();

    drain(lab, "loud fan");
    uint64_t one = lab_submit(lab, "1", USEC_PER_HOUR);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, one)->state, JOB_GRANTED);
    assert_int_equal(lab_job(lab, one)->run->lease->slices[0].device, 1);
    lab_started(lab, one);
    lab_ended(lab, one, 0);
    uint64_t both = lab_submit(lab, "2", USEC_PER_HOUR);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, both)->state, JOB_QUEUED); /* not refused: it may come back */
    assert_false(why_is_never(lab_why(lab, both)));
    drain(lab, NULL);
    assert_int_equal(lab_job(lab, both)->state, JOB_GRANTED);
}

static void a_running_job_stays_on_it_and_a_saved_state_knows(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = two_gpus();
    uint64_t both = lab_submit(lab, "2", USEC_PER_HOUR);

    lab_settle(lab);
    lab_started(lab, both);
    drain(lab, "loud fan");
    lab_reload(lab);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, both)->state, JOB_RUNNING);
    lab_ended(lab, both, 0);
    uint64_t next = lab_submit(lab, "2", USEC_PER_HOUR);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, next)->state, JOB_QUEUED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_new_is_placed_on_a_drained_gpu),
        cmocka_unit_test(a_running_job_stays_on_it_and_a_saved_state_knows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
