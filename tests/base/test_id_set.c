/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { NUMBERS = 600000, STEPS = 20000 };

static bool model[NUMBERS];

static uint64_t dice(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

static uint64_t model_next(uint64_t after)
{
    for (uint64_t id = after + 1; id < NUMBERS; id++) {
        if (model[id])
            return id;
    }
    return 0;
}

static uint64_t model_previous(uint64_t before)
{
    for (uint64_t id = before < NUMBERS ? before : NUMBERS; id-- > 1;) {
        if (model[id])
            return id;
    }
    return 0;
}

/* Numbers come in any order, far and near, and the set becomes empty in between. */
static void neighbours_are_those_of_a_plain_array(void **unused)
{
    (void)unused;
    struct id_set set = { 0 };
    uint64_t seed = 1, wide = 0;

    for (int i = 0; i < STEPS; i++) {
        wide = i % 1000 == 0 ? 1 + dice(&seed, NUMBERS - 1) : wide;
        uint64_t id = 1 + dice(&seed, i % 7 == 0 ? NUMBERS - 1 : wide);
        if (model[id])
            id_set_remove(&set, id);
        else
            id_set_add(&set, id);
        model[id] = !model[id];
        uint64_t at = dice(&seed, NUMBERS + 1000);
        assert_int_equal(id_set_next(&set, at), model_next(at));
        assert_int_equal(id_set_previous(&set, at), model_previous(at));
        if (i % 5000 != 4999)
            continue;
        for (id = id_set_next(&set, 0); id > 0; id = id_set_next(&set, 0)) {
            id_set_remove(&set, id);
            model[id] = false;
        }
        assert_int_equal(set.count, 0);
    }
    id_set_release(&set);
}

static void a_large_number_takes_no_more_room(void **unused)
{
    (void)unused;
    struct id_set set = { 0 };
    const uint64_t large = UINT64_C(1) << 60;

    id_set_add(&set, large + 7);
    id_set_add(&set, large + 5);
    assert_true(set.levels[0].count <= 4096);
    assert_int_equal(id_set_next(&set, 0), large + 5);
    assert_int_equal(id_set_next(&set, large + 5), large + 7);
    assert_int_equal(id_set_next(&set, large + 7), 0);
    assert_int_equal(id_set_previous(&set, UINT64_MAX), large + 7);
    assert_int_equal(id_set_previous(&set, large + 5), 0);
    id_set_release(&set);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_are_those_of_a_plain_array),
        cmocka_unit_test(a_large_number_takes_no_more_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
