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

#include "device/drm/amd.h"
#include "probed.h"
#include "tree.h"

static usec_t clock_now;

static usec_t fake_clock(void)
{
    return clock_now;
}

static struct machine machine_at(const char *root)
{
    clock_now = USEC_PER_SEC;
    return open_machine(probe_amd_create(root, fake_clock));
}

static struct machine machine_of(const char *root, const char *tree)
{
    tree_make(root, tree);
    return machine_at(root);
}

static struct probe_process *processes_of(struct machine *machine, uint32_t device,
                                          uint32_t *ret_count)
{
    struct probe_process *processes = NULL;
    struct error err = { "" };

    if (machine->probe->ops->processes(machine->probe, device, &processes, ret_count, &err) < 0)
        fail_msg("%s", err.text);
    return processes;
}

static void accelerators_are_listed_by_address(void **state)
{
    struct machine machine = machine_of(*state, "mi300x");

    assert_int_equal(machine.count, 3);
    assert_string_equal(machine.devices[0].model, "mi300x");
    assert_string_equal(machine.devices[0].product, "AMD Instinct MI300X OAM");
    assert_string_equal(machine.devices[0].uuid, "AMD-b9ef4b2cd2d5c4a1");
    assert_string_equal(machine.devices[1].uuid, "AMD-0a1b2c3d4e5f6071");
    assert_string_equal(machine.devices[0].address, "0000:05:00.0");
    assert_string_equal(machine.devices[0].vendor, "amd");
    assert_int_equal(machine.devices[0].memory_mib, 196592);
    assert_int_equal(machine.devices[0].minor, 128);
    assert_int_equal(machine.devices[2].minor, 144);
    assert_int_equal(machine.devices[0].numa_node, 0);
    assert_int_equal(machine.devices[2].numa_node, 1);
    assert_false(machine.devices[0].is_synthetic);
    close_machine(&machine);
}

static void readings_are_in_our_units(void **state)
{
    struct machine machine = machine_of(*state, "mi300x");
    struct reading reading = reading_of(&machine, 0);

    assert_reading(reading, GPU_USE, 1000000);
    assert_reading(reading, MEMORY_BUS_USE, 370000);
    assert_reading(reading, MEMORY_TOTAL, INT64_C(206141652992));
    assert_reading(reading, MEMORY_USED, INT64_C(171798691840));
    assert_reading(reading, MEMORY_FREE, INT64_C(34342961152));
    assert_reading(reading, SM_CLOCK, INT64_C(2100000000));
    assert_reading(reading, MEMORY_CLOCK, INT64_C(1300000000));
    assert_reading(reading, POWER, 612000);
    assert_reading(reading, POWER_LIMIT, 750000);
    assert_reading(reading, TEMPERATURE, 71000);
    assert_reading(reading, MEMORY_TEMPERATURE, 58000);
    assert_reading(reading, SLOWDOWN_TEMPERATURE, 100000);
    assert_reading(reading, SHUTDOWN_TEMPERATURE, 105000);
    assert_reading(reading, PCIE_GENERATION, 5);
    assert_reading(reading, PCIE_WIDTH, 16);
    assert_reading(reading, PCIE_REPLAYS, 3);
    assert_reading(reading, ECC_CORRECTED, 17);
    assert_reading(reading, ECC_UNCORRECTED, 1);
    assert_absent(reading, FAN_SPEED);
    assert_absent(reading, ENERGY);
    close_machine(&machine);
}

static void what_a_device_does_not_say_is_absent(void **state)
{
    struct machine machine = machine_of(*state, "mi300x");
    struct reading reading = reading_of(&machine, 1);

    assert_reading(reading, GPU_USE, 0);
    assert_absent(reading, MEMORY_BUS_USE);
    assert_absent(reading, POWER);
    assert_absent(reading, TEMPERATURE);
    assert_absent(reading, ECC_CORRECTED);
    assert_absent(reading, PCIE_GENERATION);
    close_machine(&machine);
}

static void links_are_those_of_one_hop(void **state)
{
    struct machine machine = machine_of(*state, "mi250");
    const struct probe_ops *ops = machine.probe->ops;
    char word[16];
    static const char *const expected[4][4] = { { "X", "NV1", "PHB", "PHB" },
                                                { "NV1", "X", "PHB", "PHB" },
                                                { "PHB", "PHB", "X", "NV1" },
                                                { "PHB", "PHB", "NV1", "X" } };

    assert_int_equal(machine.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < 4; k++)
            assert_string_equal(probe_link_word(ops->link(machine.probe, i, k), word, sizeof(word)),
                                expected[i][k]);
    }
    assert_int_equal(ops->link(machine.probe, 0, 9).near, PROBE_NEAR_UNKNOWN);
    assert_int_equal(machine.devices[0].island, 1);
    assert_int_equal(machine.devices[1].island, 1);
    assert_int_equal(machine.devices[2].island, 2);
    assert_int_equal(machine.devices[3].island, 2);
    assert_int_equal(machine.devices[0].bridge, 1);
    assert_int_equal(machine.devices[1].bridge, 1);
    assert_int_equal(machine.devices[2].bridge, 0); /* several switches between them */
    close_machine(&machine);
}

static void boards_without_links_are_as_near_as_their_bridges(void **state)
{
    struct machine machine;
    struct probe_link link;

    tree_make(*state, "mi300x");
    tree_remove(*state, "/sys/class/kfd");
    machine = machine_at(*state);
    link = machine.probe->ops->link(machine.probe, 0, 1);
    assert_int_equal(link.near, PROBE_NEAR_NUMA);
    link = machine.probe->ops->link(machine.probe, 0, 2);
    assert_int_equal(link.near, PROBE_NEAR_MACHINE);
    assert_int_equal(machine.devices[0].island, 0);
    close_machine(&machine);
}

static void names_come_from_the_number_where_there_are_none(void **state)
{
    struct machine machine = machine_of(*state, "mi250");

    assert_string_equal(machine.devices[0].model, "mi250");
    assert_string_equal(machine.devices[0].product, "AMD Instinct MI250");
    assert_string_equal(machine.devices[0].uuid, "AMD-11aa11aa11aa11aa");
    assert_string_equal(machine.devices[3].uuid, "AMD-0000:44:00.0"); /* the same number twice */
    close_machine(&machine);

    tree_put(*state, "/sys/bus/pci/devices/0000:03:00.0/device", "0xbeef\n");
    tree_put(*state, "/sys/bus/pci/devices/0000:04:00.0/product_name", "\xff\xfe\n");
    machine = machine_at(*state);
    assert_string_equal(machine.devices[0].product, "AMD beef");
    assert_string_equal(machine.devices[0].model, "beef");
    assert_string_equal(machine.devices[1].product, "AMD Instinct MI250");
    close_machine(&machine);
}

static void a_display_of_a_processor_is_no_accelerator(void **state)
{
    struct machine machine = machine_of(*state, "rx7900");
    struct reading reading = reading_of(&machine, 0);

    assert_int_equal(machine.count, 1);
    assert_string_equal(machine.devices[0].product, "AMD Radeon RX 7900 XTX");
    assert_string_equal(machine.devices[0].model, "rx7900xtx");
    assert_string_equal(machine.devices[0].uuid, "AMD-0000:03:00.0");
    assert_int_equal(machine.devices[0].numa_node, PROBE_UNKNOWN);
    assert_reading(reading, TEMPERATURE, 44000);
    assert_reading(reading, SM_CLOCK, 29000000);
    assert_reading(reading, SM_CLOCK_MAX, INT64_C(2482000000));
    assert_reading(reading, MEMORY_CLOCK, 96000000);
    assert_reading(reading, FAN_SPEED, 250000);
    assert_reading(reading, POWER, 41000);
    assert_reading(reading, PCIE_WIDTH, 16);
    assert_absent(reading, PCIE_WIDTH_MAX); /* 255: the kernel does not know */
    close_machine(&machine);
}

static void a_client_with_two_files_is_counted_once(void **state)
{
    struct machine machine = machine_of(*state, "rx7900");
    uint32_t count;
    AUTO_FREE struct probe_process *processes = processes_of(&machine, 0, &count);

    assert_int_equal(count, 2);
    assert_int_equal(processes[0].pid, 900);
    assert_true(processes[0].is_graphics);
    assert_int_equal(processes[0].memory_bytes, 153600 << 10);
    assert_int_equal(processes[1].pid, 1001);
    assert_false(processes[1].is_graphics);
    assert_int_equal(processes[1].memory_bytes, 600 << 20); /* what is there, not what is wanted */
    assert_int_equal(processes[1].use, PROBE_UNKNOWN);      /* seen for the first time */
    close_machine(&machine);
}

static void use_is_what_engines_did_since_the_last_time(void **state)
{
    static const char after[] = "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t8\n"
                                "drm-engine-gfx:\t5100000000 ns\ndrm-engine-compute:\t3500000000 "
                                "ns\n";
    struct machine machine = machine_of(*state, "rx7900");
    uint32_t count;

    free(processes_of(&machine, 0, &count));
    tree_put(*state, "/proc/1001/fdinfo/3", after);
    tree_put(*state, "/proc/1001/fdinfo/4", after);
    clock_now += 2 * USEC_PER_SEC;
    AUTO_FREE struct probe_process *processes = processes_of(&machine, 0, &count);
    assert_int_equal(processes[0].use, 0);
    assert_int_equal(processes[1].use, 750000);
    assert_int_equal(processes[1].memory_bytes, PROBE_UNKNOWN);

    /* Counters that go back are of something else. */
    tree_put(*state, "/proc/1001/fdinfo/3",
             "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t8\n"
             "drm-engine-gfx:\t1 ns\n");
    tree_remove(*state, "/proc/1001/fdinfo/4");
    clock_now += USEC_PER_SEC;
    AUTO_FREE struct probe_process *again = processes_of(&machine, 0, &count);
    assert_int_equal(again[1].use, PROBE_UNKNOWN);
    close_machine(&machine);
}

static void programs_that_compute_are_known_by_kfd(void **state)
{
    struct machine machine = machine_of(*state, "mi300x");
    uint32_t count;
    AUTO_FREE struct probe_process *processes = processes_of(&machine, 0, &count);

    assert_int_equal(count, 1);
    assert_int_equal(processes[0].pid, 4242);
    assert_int_equal(processes[0].memory_bytes, INT64_C(171500000000));
    assert_int_equal(processes[0].use, 500000); /* 152 of 304 compute units */
    assert_false(processes[0].is_graphics);
    free(processes_of(&machine, 1, &count));
    assert_int_equal(count, 0);
    close_machine(&machine);
}

static void one_walk_serves_each_device_once(void **state)
{
    struct machine machine = machine_of(*state, "mi300x");
    uint32_t count;

    free(processes_of(&machine, 0, &count));
    tree_remove(*state, "/proc/4242");
    tree_remove(*state, "/sys/class/kfd/kfd/proc/4242");
    tree_put(*state, "/proc/7/fdinfo/1", "");
    free(processes_of(&machine, 1, &count));
    free(processes_of(&machine, 0, &count));
    assert_int_equal(count, 0);
    close_machine(&machine);
}

static void garbage_is_absent(void **state)
{
    static const char *const files[] = { "gpu_busy_percent",
                                         "mem_busy_percent",
                                         "pp_dpm_sclk",
                                         "pp_dpm_mclk",
                                         "numa_node",
                                         "unique_id",
                                         "current_link_speed",
                                         "max_link_width",
                                         "pcie_replay_count",
                                         "ras/umc_err_count",
                                         "ras/gfx_err_count",
                                         "mem_info_vram_used",
                                         "hwmon/hwmon4/power1_input",
                                         "hwmon/hwmon4/temp2_input",
                                         "hwmon/hwmon4/temp2_label" };
    AUTO_FREE char *huge = mem_zero(1, 1 << 20);
    const char *contents[] = {
        "", "\n", "N/A\n", "-5\n", "99999999999999999999999\n", "12xyz", huge
    };

    memset(huge, '7', (1 << 20) - 1);
    tree_make(*state, "mi300x");
    for (size_t c = 0; c < COUNT_OF(contents); c++) {
        for (size_t i = 0; i < COUNT_OF(files); i++) {
            AUTO_FREE char *path = mem_printf("/sys/bus/pci/devices/0000:05:00.0/%s", files[i]);
            tree_put(*state, path, contents[c]);
        }
        struct machine machine = machine_at(*state);
        struct reading reading = reading_of(&machine, 0);
        assert_int_equal(machine.count, 3);
        assert_string_equal(machine.devices[0].uuid, "AMD-0000:05:00.0");
        assert_int_equal(machine.devices[0].numa_node, PROBE_UNKNOWN);
        assert_absent(reading, GPU_USE);
        assert_absent(reading, MEMORY_USED);
        assert_absent(reading, SM_CLOCK);
        assert_absent(reading, POWER);
        assert_absent(reading, ECC_CORRECTED);
        assert_absent(reading, PCIE_REPLAYS);
        assert_reading(reading, MEMORY_TOTAL, INT64_C(206141652992));
        close_machine(&machine);
    }
}

static void garbage_in_proc_is_nobody(void **state)
{
    static const char *const infos[] = {
        "",
        "\n\n:\n",
        "drm-driver:\tamdgpu\n",
        "drm-pdev:\t0000:03:00.0\ndrm-client-id:\t8\n",
        "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t-8\n",
        "drm-driver:\tamdgpu\ndrm-client-id:\t8\n",
        "drm-driver:\tx\ndrm-client-id:\t8\ndrm-pdev:\t0000:03:00.00000000000000000000000000\n",
    };
    struct machine machine = machine_of(*state, "rx7900");
    uint32_t count;

    tree_remove(*state, "/proc/1001/fdinfo/4");
    for (size_t i = 0; i < COUNT_OF(infos); i++) {
        tree_put(*state, "/proc/1001/fdinfo/3", infos[i]);
        AUTO_FREE struct probe_process *processes = processes_of(&machine, 0, &count);
        assert_int_equal(count, 1);
        assert_int_equal(processes[0].pid, 900);
    }
    tree_put(*state, "/proc/1001/fdinfo/3",
             "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t8\n"
             "drm-memory-vram:\t99999999999999999 KiB\ndrm-engine-gfx:\tmuch\n");
    AUTO_FREE struct probe_process *processes = processes_of(&machine, 0, &count);
    assert_int_equal(count, 2);
    assert_int_equal(processes[1].memory_bytes, PROBE_UNKNOWN);
    close_machine(&machine);
}

static void a_device_that_is_gone_says_so(void **state)
{
    struct machine machine = machine_of(*state, "rx7900");
    struct reading reading = { 0 };
    struct error err;

    tree_remove(*state, "/sys/devices");
    assert_int_equal(machine.probe->ops->sample(machine.probe, 0, &reading, &err), -ENODEV);
    assert_string_equal(err.text, "0000:03:00.0: lost from the bus");
    assert_int_equal(machine.probe->ops->sample(machine.probe, 5, &reading, &err), -ENODEV);
    assert_string_equal(err.text, "device 5: no such device");
    close_machine(&machine);
}

static void a_machine_without_any_has_none(void **state)
{
    struct machine machine = machine_at(*state);

    assert_int_equal(machine.count, 0);
    close_machine(&machine);
    machine = machine_of(*state, "arc-a770");
    assert_int_equal(machine.count, 0);
    close_machine(&machine);
}

static void without_proc_nobody_is_known(void **state)
{
    struct machine machine = machine_of(*state, "mi250");
    struct probe_process *processes;
    struct error err;
    uint32_t count;

    AUTO_FREE char *expected = mem_printf("processes: %s/proc cannot be read", (char *)*state);
    assert_int_equal(machine.probe->ops->processes(machine.probe, 0, &processes, &count, &err),
                     -ENOTSUP);
    assert_string_equal(err.text, expected);
    close_machine(&machine);
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, tree_set_up, tree_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(accelerators_are_listed_by_address),
        WITH_ROOT(readings_are_in_our_units),
        WITH_ROOT(what_a_device_does_not_say_is_absent),
        WITH_ROOT(links_are_those_of_one_hop),
        WITH_ROOT(boards_without_links_are_as_near_as_their_bridges),
        WITH_ROOT(names_come_from_the_number_where_there_are_none),
        WITH_ROOT(a_display_of_a_processor_is_no_accelerator),
        WITH_ROOT(a_client_with_two_files_is_counted_once),
        WITH_ROOT(use_is_what_engines_did_since_the_last_time),
        WITH_ROOT(programs_that_compute_are_known_by_kfd),
        WITH_ROOT(one_walk_serves_each_device_once),
        WITH_ROOT(garbage_is_absent),
        WITH_ROOT(garbage_in_proc_is_nobody),
        WITH_ROOT(a_device_that_is_gone_says_so),
        WITH_ROOT(a_machine_without_any_has_none),
        WITH_ROOT(without_proc_nobody_is_known),
    };

    return cmocka_run_group_tests_name("amd", tests, NULL, NULL);
}
