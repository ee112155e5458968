/* SPDX-License-Identifier: Apache-2.0 */
/* What who watches devices adds up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "core/device_watch.h"

static void what_no_process_has_is_known_when_all_say_what_they_have(void **state)
{
    static const struct {
        int64_t used_mib; /* -1: it is not said */
        int64_t processes_mib[3];
        uint32_t count;
        int64_t unowned_mib;
    } cases[] = {
        { 500, { 0 }, 0, 500 },      { 500, { 100, 150 }, 2, 250 },    { 500, { 400, 200 }, 2, 0 },
        { 500, { 100, -1 }, 2, -1 }, { 9000, { -1, 100, 50 }, 3, -1 }, { -1, { 100 }, 1, -1 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct reading reading = { .at = 1 };
        struct probe_process processes[3] = { { 0 } };

        for (uint32_t k = 0; k < 3; k++)
            processes[k].memory_bytes =
                cases[i].processes_mib[k] < 0 ? -1 : cases[i].processes_mib[k] << 20;
        if (cases[i].used_mib >= 0)
            reading_set(&reading, READING_MEMORY_USED, cases[i].used_mib << 20);
        assert_int_equal(watch_unowned(&reading, processes, cases[i].count), cases[i].unowned_mib);
    }
}

static void each_number_is_counted_as_long_as_there_is_room(void **state)
{
    struct watch_xid xids[WATCH_XIDS_MAX];
    uint32_t count = 0;
    (void)state;

    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t xid = 1; xid <= WATCH_XIDS_MAX + 1; xid++)
            watch_count_xid(xids, &count, xid);
    }
    assert_int_equal(count, WATCH_XIDS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(xids[i].xid, i + 1);
        assert_int_equal(xids[i].count, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_process_has_is_known_when_all_say_what_they_have),
        cmocka_unit_test(each_number_is_counted_as_long_as_there_is_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
