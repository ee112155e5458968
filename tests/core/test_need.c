/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/need.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Who waits for `on`, as a set of bits by job. */
static uint64_t waiting(const struct need_table *table, uint64_t on)
{
    uint64_t jobs = 0;

    for (uint32_t at = need_first(table, on); at != 0; at = table->needs.items[at - 1].next) {
        assert_int_equal(table->needs.items[at - 1].on, on);
        jobs |= UINT64_C(1) << table->needs.items[at - 1].job;
    }
    return jobs;
}

static void all_that_wait_for_one_are_found(void **state)
{
    struct need_table table = { 0 };
    (void)state;

    assert_int_equal(need_first(&table, 9), 0);
    need_add(&table, 1, 9, NEED_OK);
    need_add(&table, 2, 9, NEED_ENDED);
    need_add(&table, 3, 8, NEED_OK);
    assert_int_equal(waiting(&table, 9), 1 << 1 | 1 << 2);
    assert_int_equal(waiting(&table, 8), 1 << 3);
    need_table_release(&table);
}

static void each_place_in_the_chain_can_be_dropped(void **state)
{
    (void)state;
    for (uint64_t victim = 1; victim <= 3; victim++) {
        struct need_table table = { 0 };
        for (uint64_t job = 1; job <= 3; job++)
            need_add(&table, job, 9, NEED_OK);
        for (uint32_t i = 0; i < 3; i++) {
            if (table.needs.items[i].job == victim)
                assert_true(need_remove(&table, i + 1));
        }
        assert_int_equal(waiting(&table, 9), (0xe) & ~(UINT64_C(1) << victim));
        need_add(&table, 4, 9, NEED_OK); /* the free place is used again */
        assert_int_equal(table.needs.count, 3);
        assert_int_equal(waiting(&table, 9), ((0xe) & ~(UINT64_C(1) << victim)) | 1 << 4);
        need_table_release(&table);
    }
}

static void what_was_dropped_is_not_dropped_twice(void **state)
{
    struct need_table table = { 0 };
    (void)state;

    need_add(&table, 1, 9, NEED_OK);
    assert_true(need_remove(&table, 1));
    assert_false(need_remove(&table, 1));
    assert_int_equal(need_first(&table, 9), 0);
    assert_int_equal(table.by_target.count, 0);
    need_table_release(&table);
}

static void all_needs_of_a_job_can_be_dropped(void **state)
{
    struct need_table table = { 0 };
    (void)state;

    need_add(&table, 1, 9, NEED_OK);
    need_add(&table, 2, 9, NEED_OK);
    need_add(&table, 1, 8, NEED_STARTED);
    need_remove_of(&table, 1);
    assert_int_equal(waiting(&table, 9), 1 << 2);
    assert_int_equal(waiting(&table, 8), 0);
    need_table_release(&table);
}

/* What a job waits for, as a set of bits by target. */
static uint64_t awaited(const struct need_table *table, uint64_t job)
{
    uint64_t targets = 0;

    for (uint32_t at = need_first_of(table, job); at != 0;
         at = table->needs.items[at - 1].next_of_job) {
        assert_int_equal(table->needs.items[at - 1].job, job);
        targets |= UINT64_C(1) << table->needs.items[at - 1].on;
    }
    return targets;
}

static void what_a_job_waits_for_is_found_without_the_others(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 3; victim++) {
        struct need_table table = { 0 };
        for (uint64_t on = 7; on <= 9; on++)
            need_add(&table, 1, on, NEED_OK);
        need_add(&table, 2, 9, NEED_OK);
        assert_int_equal(awaited(&table, 1), 7 << 7);
        assert_true(need_remove(&table, victim));
        assert_int_equal(awaited(&table, 1), (7 << 7) & ~(1 << (6 + victim)));
        assert_int_equal(awaited(&table, 2), 1 << 9);
        need_remove_of(&table, 1);
        assert_int_equal(need_first_of(&table, 1), 0);
        assert_int_equal(table.by_job.count, 1);
        need_table_release(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_wait_for_one_are_found),
        cmocka_unit_test(each_place_in_the_chain_can_be_dropped),
        cmocka_unit_test(what_was_dropped_is_not_dropped_twice),
        cmocka_unit_test(all_needs_of_a_job_can_be_dropped),
        cmocka_unit_test(what_a_job_waits_for_is_found_without_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
