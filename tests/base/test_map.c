/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/mem.h"

enum { KEYS = 300, STEPS = 200000 };

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static void an_empty_map_has_nothing(void **state)
{
    struct map map = { 0 };
    uint64_t value = 7;

    (void)state;
    assert_false(map_get(&map, 0, &value));
    assert_false(map_remove(&map, 0));
    assert_int_equal(value, 7);
    map_release(&map);
}

static void every_key_is_a_key(void **state)
{
    static const uint64_t keys[] = { 0, 1, UINT64_MAX, UINT64_C(1) << 63, 0xffffffff };
    struct map map = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        map_set(&map, keys[i], i);
    assert_int_equal(map.count, COUNT_OF(keys));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        uint64_t value = 99;

        assert_true(map_get(&map, keys[i], &value));
        assert_int_equal(value, i);
    }
    map_release(&map);
    assert_int_equal(map.count + map.capacity, 0);
}

/* Against a plain array, with few keys so that they meet often. */
static void a_map_does_as_a_plain_array_does(void **state)
{
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    uint64_t random = seed * 2 + 1, values[KEYS] = { 0 };
    bool used[KEYS] = { false };
    struct map map = { 0 };
    size_t count = 0;

    (void)state;
    print_message("seed %" PRIu64 "\n", seed);
    for (int step = 0; step < STEPS; step++) {
        size_t i = (size_t)(next_random(&random) % KEYS);
        uint64_t key = i * UINT64_C(0x100000001), value = 0;

        switch (next_random(&random) % 3) {
        case 0:
            value = next_random(&random);
            map_set(&map, key, value);
            count += !used[i];
            used[i] = true;
            values[i] = value;
            break;
        case 1:
            assert_int_equal(map_remove(&map, key), used[i]);
            count -= used[i];
            used[i] = false;
            break;
        default:
            assert_int_equal(map_get(&map, key, &value), used[i]);
            if (used[i])
                assert_int_equal(value, values[i]);
        }
        assert_int_equal(map.count, count);
    }
    for (size_t i = 0; i < KEYS; i++) {
        uint64_t value;
        assert_int_equal(map_get(&map, i * UINT64_C(0x100000001), &value), used[i]);
    }
    struct map_slot slot;
    size_t seen = 0;
    for (size_t at = 0; map_next(&map, &at, &slot); seen++) {
        size_t i = (size_t)(slot.key / UINT64_C(0x100000001));
        assert_true(used[i]);
        assert_int_equal(slot.value, values[i]);
        used[i] = false; /* once */
    }
    assert_int_equal(seen, count);
    map_release(&map);
}

static void hashes_are_the_same_on_every_machine(void **state)
{
    (void)state;
    assert_int_equal(map_hash("", 0), map_hash("x", 0));
    assert_true(map_hash("", 0) == UINT64_C(0x2180a92350d49cce));
    assert_true(map_hash("tarn", 4) == UINT64_C(0x52391aaaa342680e));
    assert_true(map_hash("tarn", 4) != map_hash("tarm", 4));
    assert_true(map_hash("\0", 1) != map_hash("\0\0", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(every_key_is_a_key),
        cmocka_unit_test(a_map_does_as_a_plain_array_does),
        cmocka_unit_test(hashes_are_the_same_on_every_machine),
    };

    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
