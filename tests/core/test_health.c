/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/compiler.h"
#include "core/health/health.h"

#define SECONDS(n) ((usec_t)(n)*USEC_PER_SEC)

static struct reading well(usec_t at)
{
    struct reading reading = { .at = at };

    reading_set(&reading, READING_TEMPERATURE, 60000);
    reading_set(&reading, READING_SLOWDOWN_TEMPERATURE, 90000);
    reading_set(&reading, READING_ECC_CORRECTED, 5);
    reading_set(&reading, READING_ECC_UNCORRECTED, 2);
    reading_set(&reading, READING_ENERGY, 1000 + at / 1000);
    reading_set(&reading, READING_NVLINKS_UP, 18);
    reading_set(&reading, READING_NVLINK_REPLAYS, 1);
    reading_set(&reading, READING_NVLINK_RECOVERIES, 1);
    reading_set(&reading, READING_PCIE_WIDTH, 16);
    reading_set(&reading, READING_PCIE_WIDTH_MAX, 16);
    return reading;
}

static uint32_t judge(struct health *health, const struct reading *reading, usec_t now)
{
    return health_judge(health,
                        &(struct health_ask){ .now = now, .reading = reading, .unowned_mib = -1 });
}

/* Drivers have said 250 %, and less than nothing. */
static void what_cannot_be_is_absent(void **state)
{
    static const struct {
        enum reading_id id;
        int64_t value, kept; /* kept -1: it is absent */
    } cases[] = {
        { READING_GPU_USE, 2500000, -1 },
        { READING_GPU_USE, -1, -1 },
        { READING_GPU_USE, 1000000, 1000000 },
        { READING_SM_ACTIVE, 1000001, 1000000 },
        { READING_SM_ACTIVE, 1010001, -1 },
        { READING_FAN_SPEED, 1200000, 1200000 },
        { READING_FAN_SPEED, 2000001, -1 },
        { READING_MEMORY_USED, -5, -1 },
        { READING_POWER, -1, -1 },
        { READING_POWER, 700000, 700000 },
        { READING_POWER, 3700000000, -1 },
        { READING_POWER_LIMIT, 20000001, -1 },
        { READING_TEMPERATURE, 255000, -1 },
        { READING_MEMORY_TEMPERATURE, -61000, -1 },
        { READING_TEMPERATURE, 110000, 110000 },
        { READING_CLOCK_REASONS, INT64_MIN, INT64_MIN },
        { READING_GPU_USE, 0, 0 },
    };
    struct reading cold = { 0 };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct reading reading = { 0 };
        reading_set(&reading, cases[i].id, cases[i].value);
        reading_drop_impossible(&reading);
        assert_int_equal(reading_has(&reading, cases[i].id), cases[i].kept != -1);
        if (cases[i].kept != -1)
            assert_int_equal(reading.values[cases[i].id], cases[i].kept);
    }
    reading_set(&cold, READING_TEMPERATURE, -10000);
    reading_drop_impossible(&cold);
    assert_true(reading_has(&cold, READING_TEMPERATURE));
}

static void a_device_that_is_well_has_no_fault(void **state)
{
    (void)state;
    struct health health = { 0 };

    for (int i = 1; i < 5000; i++) {
        struct reading reading = well(SECONDS(i));
        assert_int_equal(judge(&health, &reading, SECONDS(i)), 0);
    }
    assert_int_equal(health.faults, 0);
    assert_int_equal(health_worst(&health), FAULTS);
}

/* What is seen, for how long it has to be, and whether it passes with the readings. */
static void each_reading_makes_its_fault_and_no_other(void **state)
{
    static const struct {
        enum reading_id id;
        int64_t value;
        enum health_fault fault;
        int after_s; /* -1: never */
        bool drains, passes;
    } cases[] = {
        { READING_ECC_UNCORRECTED, 3, FAULT_ECC_UNCORRECTED, 0, true, false },
        { READING_ECC_CORRECTED, 5000, FAULT_ECC_STORM, 0, false, true },
        { READING_ECC_CORRECTED, 100, FAULTS, -1, false, true },
        { READING_SRAM_THRESHOLD, 1, FAULT_SRAM, 0, true, false },
        { READING_ROW_REMAP_FAILURE, 1, FAULT_ROW_FAILURE, 0, true, false },
        { READING_ROW_REMAP_PENDING, 1, FAULT_ROW_PENDING, 0, false, true },
        { READING_PAGES_PENDING, 1, FAULT_ROW_PENDING, 0, false, true },
        { READING_RECOVERY_ACTION, 2, FAULT_RECOVERY, 0, true, true },
        { READING_TEMPERATURE, 85000, FAULT_HOT, HEALTH_HOT_S, false, true },
        { READING_TEMPERATURE, 84000, FAULTS, -1, false, true },
        { READING_CLOCK_REASONS, 0x8, FAULT_SLOWDOWN, HEALTH_SLOW_S, false, true },
        { READING_CLOCK_REASONS, 0x4, FAULTS, -1, false, true }, /* a power cap is normal */
        { READING_CLOCK_REASONS, 0x80, FAULT_POWER_BRAKE, HEALTH_SLOW_S, false, true },
        { READING_NVLINKS_UP, 17, FAULT_LINK_DOWN, HEALTH_HOT_S, true, true },
        { READING_NVLINK_REPLAYS, 1 + HEALTH_LINK_ERRORS, FAULTS, -1, false, true },
        { READING_NVLINK_REPLAYS, 2 + HEALTH_LINK_ERRORS, FAULT_LINK_ERRORS, 0, false, true },
        { READING_NVLINK_RECOVERIES, 2 + HEALTH_LINK_ERRORS, FAULT_LINK_ERRORS, 0, false, true },
        { READING_PCIE_WIDTH, 8, FAULT_PCIE, 600, false, true },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct health health = { 0 };
        int seen_after = -1;
        struct reading reading = well(SECONDS(1));
        judge(&health, &reading, SECONDS(1));
        for (int s = 2; s < 900; s++) {
            reading = well(SECONDS(s));
            reading_set(&reading, cases[i].id, cases[i].value);
            judge(&health, &reading, SECONDS(s));
            if (health.faults != 0 && seen_after < 0)
                seen_after = s - 2;
            if (cases[i].fault != FAULTS && seen_after >= 0 && s < 500)
                assert_int_equal(health.faults, UINT32_C(1) << cases[i].fault);
        }
        assert_int_equal(seen_after, cases[i].after_s);
        if (cases[i].fault == FAULTS)
            continue;
        assert_int_equal(health_worst(&health), cases[i].drains ? cases[i].fault : FAULTS);
        reading = well(SECONDS(900));
        reading_set(&reading, READING_ECC_CORRECTED,
                    cases[i].id == READING_ECC_CORRECTED ? 5000 : 5);
        judge(&health, &reading, SECONDS(900));
        if (cases[i].fault != FAULT_ECC_STORM)
            assert_int_equal(health.faults == 0, cases[i].passes);
        health_clear(&health);
        assert_int_equal(health_worst(&health), FAULTS);
    }
}

/* Many within minutes are a storm; as many over hours are not. */
static void errors_that_come_slowly_are_no_storm(void **state)
{
    (void)state;
    struct health health = { 0 };

    for (int s = 1; s < 5000; s++) {
        struct reading reading = well(SECONDS(s));
        reading_set(&reading, READING_ECC_CORRECTED, s);
        judge(&health, &reading, SECONDS(s));
        assert_int_equal(health.faults, 0);
    }
    for (int s = 5000; s < 5100; s++) {
        struct reading reading = well(SECONDS(s));
        reading_set(&reading, READING_ECC_CORRECTED, 5000 + (s - 4999) * 50);
        judge(&health, &reading, SECONDS(s));
    }
    assert_int_equal(health.faults, UINT32_C(1) << FAULT_ECC_STORM);
}

static void what_a_program_did_is_told_for_a_while(void **state)
{
    (void)state;
    struct health health = { 0 };
    struct reading reading = well(SECONDS(1));

    judge(&health, &reading, SECONDS(1));
    assert_int_equal(health_xid(&health, 31, SECONDS(2)), FAULT_APP);
    for (int s = 3; s < 600; s += 10) {
        reading = well(SECONDS(s));
        judge(&health, &reading, SECONDS(s));
        assert_int_equal(health.faults, UINT32_C(1) << FAULT_APP);
    }
    reading = well(SECONDS(603));
    judge(&health, &reading, SECONDS(603));
    assert_int_equal(health.faults, 0);
}

static void a_reset_heals_what_stays(void **state)
{
    (void)state;
    struct health health = { 0 };
    struct reading reading = well(SECONDS(1000));

    judge(&health, &reading, SECONDS(1000));
    assert_int_equal(health_xid(&health, 95, SECONDS(1001)), FAULT_RESET);
    reading = well(SECONDS(1002));
    judge(&health, &reading, SECONDS(1002));
    assert_int_equal(health_worst(&health), FAULT_RESET);
    assert_int_equal(health.xid, 95);
    reading = well(SECONDS(1)); /* its counters begin anew */
    judge(&health, &reading, SECONDS(1100));
    assert_int_equal(health_worst(&health), FAULTS);
    assert_int_equal(health.xid, 0);
}

static void who_is_lost_or_silent_is_kept_out_and_comes_back(void **state)
{
    (void)state;
    struct health health = { 0 };

    health_judge(&health, &(struct health_ask){ .now = SECONDS(5), .code = -ENODEV });
    assert_int_equal(health_worst(&health), FAULT_LOST);
    struct reading reading = well(SECONDS(6));
    judge(&health, &reading, SECONDS(6));
    assert_int_equal(health_worst(&health), FAULTS);
    health_judge(&health, &(struct health_ask){ .now = SECONDS(20), .silent = SECONDS(9) });
    assert_int_equal(health_worst(&health), FAULTS);
    health_judge(&health, &(struct health_ask){ .now = SECONDS(21), .silent = SECONDS(10) });
    assert_int_equal(health_worst(&health), FAULT_SILENT);
    reading = well(SECONDS(22));
    judge(&health, &reading, SECONDS(22));
    assert_int_equal(health_worst(&health), FAULTS);
    /* One that says that it has to be reset is not well because it says something again. */
    health_judge(&health, &(struct health_ask){ .now = SECONDS(23), .code = -EIO });
    assert_int_equal(health_worst(&health), FAULT_RESET);
    reading = well(SECONDS(24));
    judge(&health, &reading, SECONDS(24));
    assert_int_equal(health_worst(&health), FAULT_RESET);
}

static void xids_are_told_apart_by_what_has_to_be_done(void **state)
{
    static const struct {
        uint32_t xid;
        enum xid_action action;
        enum health_fault fault;
    } cases[] = {
        { 13, XID_APP, FAULT_APP },         { 31, XID_APP, FAULT_APP },
        { 43, XID_NONE, FAULTS },           { 45, XID_NONE, FAULTS },
        { 48, XID_RESET, FAULT_RESET },     { 63, XID_NONE, FAULTS },
        { 64, XID_RESET, FAULT_RESET },     { 79, XID_REBOOT, FAULT_REBOOT },
        { 92, XID_NONE, FAULTS },           { 94, XID_APP, FAULT_APP },
        { 95, XID_RESET, FAULT_RESET },     { 119, XID_RESET, FAULT_RESET },
        { 154, XID_ASK, FAULTS },           { 54, XID_SUPPORT, FAULT_SUPPORT },
        { 12, XID_SUPPORT, FAULT_SUPPORT }, { 4000, XID_SUPPORT, FAULT_SUPPORT },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct health health = { 0 };
        assert_int_equal(xid_action(cases[i].xid), cases[i].action);
        assert_int_equal(health_xid(&health, cases[i].xid, SECONDS(1)), cases[i].fault);
        bool is_out = health_worst(&health) != FAULTS;
        assert_int_equal(is_out, cases[i].fault != FAULTS && cases[i].fault != FAULT_APP);
    }
}

static void leaks_and_foreign_memory_are_seen_on_idle_devices(void **state)
{
    (void)state;
    struct health health = { 0 };
    struct reading reading = well(SECONDS(1));

    for (int s = 1; s < 30; s++) {
        struct health_ask ask = { .now = SECONDS(s),
                                  .reading = &reading,
                                  .is_leased = true,
                                  .unowned_mib = 40000,
                                  .foreign_mib = 10 };
        health_judge(&health, &ask);
        assert_int_equal(health.faults, 0); /* a job may have what its processes no longer show */
    }
    for (int s = 30; s < 45; s++) {
        struct health_ask ask = {
            .now = SECONDS(s), .reading = &reading, .unowned_mib = 40000, .foreign_mib = 500
        };
        health_judge(&health, &ask);
    }
    assert_int_equal(health_worst(&health), FAULT_LEAK);
    assert_true(health.faults >> FAULT_FOREIGN & 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_is_well_has_no_fault),
        cmocka_unit_test(what_cannot_be_is_absent),
        cmocka_unit_test(each_reading_makes_its_fault_and_no_other),
        cmocka_unit_test(errors_that_come_slowly_are_no_storm),
        cmocka_unit_test(what_a_program_did_is_told_for_a_while),
        cmocka_unit_test(a_reset_heals_what_stays),
        cmocka_unit_test(who_is_lost_or_silent_is_kept_out_and_comes_back),
        cmocka_unit_test(xids_are_told_apart_by_what_has_to_be_done),
        cmocka_unit_test(leaks_and_foreign_memory_are_seen_on_idle_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
