/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/drm/intel.h"
#include "probed.h"
#include "tree.h"

#define ARC "/sys/bus/pci/devices/0000:03:00.0"
#define MAX "/sys/bus/pci/devices/0000:4d:00.0"

static usec_t clock_now;

static usec_t fake_clock(void)
{
    return clock_now;
}

static struct machine machine_at(const char *root)
{
    clock_now = USEC_PER_SEC;
    return open_machine(probe_intel_create(root, fake_clock));
}

static struct machine machine_of(const char *root, const char *tree)
{
    tree_make(root, tree);
    return machine_at(root);
}

static void only_what_has_memory_of_its_own_is_listed(void **state)
{
    struct machine machine = machine_of(*state, "arc-a770");

    assert_int_equal(machine.count, 1);
    assert_string_equal(machine.devices[0].model, "arca770");
    assert_string_equal(machine.devices[0].product, "Intel Arc A770");
    assert_string_equal(machine.devices[0].uuid, "INTEL-0000:03:00.0");
    assert_string_equal(machine.devices[0].vendor, "intel");
    assert_int_equal(machine.devices[0].memory_mib, 16384); /* its window shows all of it */
    assert_int_equal(machine.devices[0].minor, 129);
    assert_int_equal(machine.devices[0].numa_node, 0);
    close_machine(&machine);

    tree_put(*state, ARC "/drm/card1/lmem_total_bytes", "8589934592\n");
    tree_put(*state, ARC "/drm/card1/lmem_avail_bytes", "8589934591\n");
    machine = machine_at(*state);
    struct reading reading = reading_of(&machine, 0);
    assert_int_equal(machine.devices[0].memory_mib, 8192);
    assert_reading(reading, MEMORY_USED, 1);
    close_machine(&machine);
}

static void a_device_that_nobody_knows_needs_memory_to_be_listed(void **state)
{
    tree_make(*state, "arc-a770");
    tree_put(*state, ARC "/device", "0xffff\n");
    struct machine machine = machine_at(*state);
    assert_int_equal(machine.count, 1);
    assert_string_equal(machine.devices[0].product, "Intel ffff");
    close_machine(&machine);
    tree_put(*state, ARC "/resource", "");
    machine = machine_at(*state);
    assert_int_equal(machine.count, 0);
    close_machine(&machine);
}

static void use_and_power_are_differences(void **state)
{
    struct machine machine = machine_of(*state, "arc-a770");
    struct reading reading = reading_of(&machine, 0);

    assert_absent(reading, GPU_USE);
    assert_absent(reading, POWER);
    assert_reading(reading, ENERGY, 5000000);
    assert_reading(reading, POWER_LIMIT, 190000);
    assert_reading(reading, TEMPERATURE, 47000);
    assert_reading(reading, SM_CLOCK, INT64_C(2050000000));
    assert_reading(reading, SM_CLOCK_MAX, INT64_C(2400000000));
    assert_reading(reading, MEMORY_TOTAL, INT64_C(16) << 30);
    assert_reading(reading, PCIE_GENERATION, 1);
    assert_absent(reading, MEMORY_USED);
    assert_absent(reading, MEMORY_TEMPERATURE);

    clock_now += 2 * USEC_PER_SEC;
    tree_put(*state, ARC "/drm/card1/gt/gt0/rc6_residency_ms", "100500\n");
    tree_put(*state, ARC "/hwmon/hwmon3/energy1_input", "5300000000\n");
    reading = reading_of(&machine, 0);
    assert_reading(reading, GPU_USE, 750000);
    assert_reading(reading, POWER, 150000);

    /* A counter that went back, or is gone, says nothing. */
    clock_now += USEC_PER_SEC;
    tree_put(*state, ARC "/drm/card1/gt/gt0/rc6_residency_ms", "3\n");
    tree_put(*state, ARC "/hwmon/hwmon3/energy1_input", "oops\n");
    reading = reading_of(&machine, 0);
    assert_absent(reading, GPU_USE);
    assert_absent(reading, POWER);
    assert_absent(reading, ENERGY);
    close_machine(&machine);
}

static void a_counter_that_never_moved_is_switched_off(void **state)
{
    tree_make(*state, "arc-a770");
    tree_put(*state, ARC "/drm/card1/gt/gt0/rc6_residency_ms", "0\n");
    struct machine machine = machine_at(*state);
    struct reading reading = reading_of(&machine, 0);

    clock_now += USEC_PER_SEC;
    reading = reading_of(&machine, 0);
    assert_absent(reading, GPU_USE);
    close_machine(&machine);
}

static void tiles_count_together_and_video_does_not(void **state)
{
    struct machine machine = machine_of(*state, "pvc-xe");
    struct reading reading = reading_of(&machine, 0);

    assert_int_equal(machine.count, 2);
    assert_string_equal(machine.devices[0].model, "max1550");
    assert_int_equal(machine.devices[0].memory_mib, 131072);
    assert_int_equal(machine.devices[0].bridge, 1);
    assert_int_equal(machine.devices[1].bridge, 1);
    assert_int_equal(machine.devices[0].island, 0);
    assert_int_equal(machine.probe->ops->link(machine.probe, 0, 1).near, PROBE_NEAR_SWITCH);
    assert_int_equal(machine.probe->ops->link(machine.probe, 1, 1).near, PROBE_NEAR_SELF);
    assert_reading(reading, SM_CLOCK, INT64_C(1600000000));
    assert_reading(reading, TEMPERATURE, 52000);
    assert_reading(reading, MEMORY_TEMPERATURE, 49000);
    assert_reading(reading, SLOWDOWN_TEMPERATURE, 105000);
    assert_reading(reading, POWER_LIMIT, 600000);
    assert_reading(reading, ENERGY, 7000);

    clock_now += USEC_PER_SEC;
    tree_put(*state, MAX "/tile0/gt0/gtidle/idle_residency_ms", "20100\n");
    tree_put(*state, MAX "/tile1/gt1/gtidle/idle_residency_ms", "30900\n");
    tree_put(*state, MAX "/tile0/gt2/gtidle/idle_residency_ms", "91000\n");
    tree_put(*state, MAX "/hwmon/hwmon128/energy2_input", "407000000\n");
    reading = reading_of(&machine, 0);
    assert_reading(reading, GPU_USE, 500000);
    assert_reading(reading, POWER, 400000);
    close_machine(&machine);
}

/* The first device has this process and no other. */
static void expect_process(const struct machine *machine, uint32_t pid, int64_t bytes, int64_t use)
{
    struct probe_process *processes;
    struct error err;
    uint32_t count;

    assert_int_equal(machine->probe->ops->processes(machine->probe, 0, &processes, &count, &err),
                     0);
    assert_int_equal(count, 1);
    assert_int_equal(processes[0].pid, pid);
    assert_int_equal(processes[0].memory_bytes, bytes);
    assert_int_equal(processes[0].use, use);
    free(processes);
}

static void processes_are_counted_in_time(void **state)
{
    struct machine machine = machine_of(*state, "arc-a770");

    for (int i = 0; i < 2; i++) {
        expect_process(&machine, 77, INT64_C(2) << 30, i == 0 ? PROBE_UNKNOWN : 250000);
        clock_now += USEC_PER_SEC;
        tree_put(*state, "/proc/77/fdinfo/6",
                 "drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t21\n"
                 "drm-resident-local0:\t2048 MiB\ndrm-engine-compute:\t1500000000 ns\n"
                 "drm-engine-capacity-compute:\t2\n");
    }
    close_machine(&machine);
}

static void processes_are_counted_in_cycles(void **state)
{
    struct machine machine = machine_of(*state, "pvc-xe");

    for (int i = 0; i < 2; i++) {
        expect_process(&machine, 500, 128 << 20, i == 0 ? PROBE_UNKNOWN : 900000);
        tree_put(*state, "/proc/500/fdinfo/7",
                 "drm-driver:\txe\ndrm-pdev:\t0000:4d:00.0\ndrm-client-id:\t4\n"
                 "drm-resident-vram0:\t128 MiB\ndrm-cycles-ccs:\t10000\n"
                 "drm-total-cycles-ccs:\t15000\n");
    }
    close_machine(&machine);
}

static void garbage_is_absent(void **state)
{
    static const char *const files[] = {
        ARC "/numa_node",
        ARC "/current_link_speed",
        ARC "/drm/card1/gt_cur_freq_mhz",
        ARC "/drm/card1/gt/gt0/rps_cur_freq_mhz",
        ARC "/drm/card1/gt/gt0/rc6_residency_ms",
        ARC "/hwmon/hwmon3/energy1_input",
        ARC "/hwmon/hwmon3/power1_max",
        ARC "/hwmon/hwmon3/temp1_input",
        ARC "/drm/card1/lmem_total_bytes",
    };
    AUTO_FREE char *huge = mem_zero(1, 1 << 20);
    const char *contents[] = { "", "\n", "N/A\n", "99999999999999999999999\n", "12xyz", huge };

    memset(huge, '7', (1 << 20) - 1);
    tree_make(*state, "arc-a770");
    for (size_t c = 0; c < COUNT_OF(contents); c++) {
        for (size_t i = 0; i < COUNT_OF(files); i++)
            tree_put(*state, files[i], contents[c]);
        struct machine machine = machine_at(*state);
        struct reading reading = reading_of(&machine, 0);
        clock_now += USEC_PER_SEC;
        reading = reading_of(&machine, 0);
        assert_int_equal(machine.devices[0].memory_mib, 16384);
        assert_int_equal(machine.devices[0].numa_node, PROBE_UNKNOWN);
        assert_absent(reading, GPU_USE);
        assert_absent(reading, POWER);
        assert_absent(reading, ENERGY);
        assert_absent(reading, POWER_LIMIT);
        assert_absent(reading, SM_CLOCK);
        assert_absent(reading, TEMPERATURE);
        assert_absent(reading, PCIE_GENERATION);
        close_machine(&machine);
    }
}

static void a_device_that_is_gone_says_so(void **state)
{
    struct machine machine = machine_of(*state, "pvc-xe");
    struct reading reading = { 0 };
    struct error err;

    tree_remove(*state, "/sys/bus/pci/devices/0000:4f:00.0");
    assert_int_equal(machine.probe->ops->sample(machine.probe, 1, &reading, &err), -ENODEV);
    assert_string_equal(err.text, "0000:4f:00.0: lost from the bus");
    assert_int_equal(machine.probe->ops->sample(machine.probe, 2, &reading, &err), -ENODEV);
    close_machine(&machine);
    machine = machine_at("/nowhere");
    assert_int_equal(machine.count, 0);
    close_machine(&machine);
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, tree_set_up, tree_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(only_what_has_memory_of_its_own_is_listed),
        WITH_ROOT(a_device_that_nobody_knows_needs_memory_to_be_listed),
        WITH_ROOT(use_and_power_are_differences),
        WITH_ROOT(a_counter_that_never_moved_is_switched_off),
        WITH_ROOT(tiles_count_together_and_video_does_not),
        WITH_ROOT(processes_are_counted_in_time),
        WITH_ROOT(processes_are_counted_in_cycles),
        WITH_ROOT(garbage_is_absent),
        WITH_ROOT(a_device_that_is_gone_says_so),
    };

    return cmocka_run_group_tests_name("intel", tests, NULL, NULL);
}
