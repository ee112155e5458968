/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "device/numa.h"
#include "device/nvml/nvml.h"

static const char healthy[] =
    "driver 550.54\n"
    "gpu 0 name \"NVIDIA H100 80GB HBM3\" uuid GPU-1 memory 81559 pci 00000000:17:00.0 mig 0\n"
    "gpu 1 name \"NVIDIA A100-SXM4-40GB\" uuid GPU-2 memory 40960 pci 00000000:ca:00.0 numa 1\n";

static int set_up(void **state)
{
    char *path = mem_string("/tmp/tarn-nvml-XXXXXX");
    int fd = mkstemp(path);

    if (fd < 0)
        return -1;
    close(fd);
    setenv("TARN_NVML_SCRIPT", path, 1);
    setenv("TARN_NVML_LIBRARY", getenv("TARN_TEST_NVML"), 1);
    *state = path;
    return 0;
}

static int tear_down(void **state)
{
    unlink(*state);
    free(*state);
    return 0;
}

static void write_script(const char *path, const char *script)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(script, file);
    fclose(file);
}

static struct probe *probe_of(const char *path, const char *script)
{
    struct probe *probe = NULL;
    struct error why = { "" };

    write_script(path, script);
    if (probe_nvml_create(NULL, &probe, &why) != NVML_READY)
        fail_msg("%s", why.text);
    return probe;
}

static struct probe_device *devices_of(struct probe *probe, uint32_t expected_count)
{
    struct probe_device *devices = NULL;
    struct error err = { "" };
    uint32_t count;

    if (probe->ops->devices(probe, &devices, &count, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(count, expected_count);
    return devices;
}

static void two_healthy_gpus_are_read_in_full(void **state)
{
    struct probe *probe = probe_of(*state, healthy);
    AUTO_FREE struct probe_device *devices = devices_of(probe, 2);

    assert_string_equal(probe->ops->name, "nvml");
    assert_string_equal(probe_nvml_driver(probe), "550.54");
    assert_string_equal(devices[0].uuid, "GPU-1");
    assert_string_equal(devices[0].model, "h100");
    assert_string_equal(devices[0].product, "NVIDIA H100 80GB HBM3");
    assert_string_equal(devices[0].address, "00000000:17:00.0");
    assert_string_equal(devices[0].vendor, "nvidia");
    assert_string_equal(devices[0].sick, "");
    assert_int_equal(devices[0].memory_mib, 81559);
    assert_int_equal(devices[0].numa_node, PROBE_UNKNOWN);
    assert_false(devices[0].mig_enabled);
    assert_false(devices[0].is_synthetic);
    assert_string_equal(devices[1].uuid, "GPU-2");
    assert_string_equal(devices[1].model, "a100");
    assert_int_equal(devices[1].memory_mib, 40960);
    assert_int_equal(devices[1].numa_node, 1);
    probe->ops->destroy(probe);
}

static void a_lost_gpu_is_sick_and_the_others_go_on(void **state)
{
    struct probe *probe = probe_of(*state, healthy);
    AUTO_FREE struct probe_device *before = devices_of(probe, 2);

    AUTO_FREE char *script = mem_printf("%sgpu 0 error GPU_IS_LOST\n", healthy);
    write_script(*state, script);
    AUTO_FREE struct probe_device *lost = devices_of(probe, 2);
    assert_string_equal(lost[0].sick, "fell off the bus; reboot needed");
    assert_string_equal(lost[0].uuid, "GPU-1");
    assert_string_equal(lost[0].model, "h100");
    assert_int_equal(lost[0].memory_mib, 81559);
    assert_string_equal(lost[1].sick, "");
    assert_string_equal(lost[1].uuid, "GPU-2");

    write_script(*state, healthy);
    AUTO_FREE struct probe_device *again = devices_of(probe, 2);
    assert_memory_equal(again, before, 2 * sizeof(again[0]));
    probe->ops->destroy(probe);
}

static void a_gpu_that_was_lost_from_the_start_has_no_readings(void **state)
{
    AUTO_FREE char *script = mem_printf("%sgpu 0 error RESET_REQUIRED\n", healthy);
    struct probe *probe = probe_of(*state, script);
    AUTO_FREE struct probe_device *devices = devices_of(probe, 2);

    assert_string_equal(devices[0].sick, "needs a reset");
    assert_string_equal(devices[0].uuid, "");
    assert_int_equal(devices[0].memory_mib, PROBE_UNKNOWN);
    assert_string_equal(devices[1].sick, "");
    probe->ops->destroy(probe);
}

static void a_single_call_can_tell_that_a_gpu_is_sick(void **state)
{
    static const struct {
        const char *line;
        const char *sick;
    } cases[] = {
        { "gpu 0 fail nvmlDeviceGetMemoryInfo_v2 GPU_IS_LOST\n"
          "gpu 0 fail nvmlDeviceGetMemoryInfo GPU_IS_LOST\n",
          "fell off the bus; reboot needed" },
        { "gpu 0 fail nvmlDeviceGetPciInfo_v3 RESET_REQUIRED\n", "needs a reset" },
        { "gpu 0 fail nvmlDeviceGetMigMode UNKNOWN\n", "unknown error of the driver" },
        { "gpu 0 fail nvmlDeviceGetUUID NO_PERMISSION\n", "no permission to use it" },
        { "gpu 0 fail nvmlDeviceGetName TIMEOUT\n", "the driver took too long" },
        { "gpu 0 fail nvmlDeviceGetNumaNodeId NOT_SUPPORTED\n", "" },
        { "gpu 0 fail nvmlDeviceGetPciInfo_v3 NO_PERMISSION\n", "" },
        { "missing nvmlDeviceGetMigMode\n", "" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *script = mem_printf("%s%s", healthy, cases[i].line);
        struct probe *probe = probe_of(*state, script);
        AUTO_FREE struct probe_device *devices = devices_of(probe, 2);

        assert_string_equal(devices[0].sick, cases[i].sick);
        assert_string_equal(devices[1].sick, "");
        probe->ops->destroy(probe);
    }
}

static void an_older_driver_gives_memory_by_the_older_call(void **state)
{
    AUTO_FREE char *script = mem_printf("%smissing nvmlDeviceGetMemoryInfo_v2\n", healthy);
    struct probe *probe = probe_of(*state, script);
    AUTO_FREE struct probe_device *devices = devices_of(probe, 2);

    assert_int_equal(devices[0].memory_mib, 81559);
    assert_string_equal(devices[0].sick, "");
    probe->ops->destroy(probe);
}

static void readings_that_cannot_be_had_are_absent(void **state)
{
    struct probe *probe = probe_of(*state, "gpu 0 name \"Tesla T4\" uuid GPU-9\n");
    AUTO_FREE struct probe_device *devices = devices_of(probe, 1);

    assert_string_equal(probe_nvml_driver(probe), "");
    assert_string_equal(devices[0].model, "t4");
    assert_string_equal(devices[0].address, "");
    assert_int_equal(devices[0].memory_mib, PROBE_UNKNOWN);
    assert_int_equal(devices[0].numa_node, PROBE_UNKNOWN);
    probe->ops->destroy(probe);
}

static void mig_is_seen(void **state)
{
    AUTO_FREE char *script = mem_printf("%sgpu 1 mig 1\n", healthy);
    struct probe *probe = probe_of(*state, script);
    AUTO_FREE struct probe_device *devices = devices_of(probe, 2);

    assert_false(devices[0].mig_enabled);
    assert_true(devices[1].mig_enabled);
    probe->ops->destroy(probe);
}

/* The driver wants a tenth of a second between two samples. */
static const struct timespec apart = { .tv_nsec = 150000000 };

static void sample_twice(struct probe *probe, uint32_t device, struct reading *ret)
{
    struct error err = { "" };

    for (int i = 0; i < 2; i++) {
        assert_int_equal(probe->ops->sample(probe, device, ret, &err), 0);
        nanosleep(&apart, NULL);
    }
    assert_int_equal(probe->ops->sample(probe, device, ret, &err), 0);
}

static void readings_are_in_our_units(void **state)
{
    static const struct {
        enum reading_id id;
        int64_t value;
    } expected[] = {
        { READING_MEMORY_TOTAL, INT64_C(81559) << 20 },
        { READING_MEMORY_USED, INT64_C(1000) << 20 },
        { READING_MEMORY_RESERVED, INT64_C(500) << 20 },
        { READING_MEMORY_FREE, INT64_C(80059) << 20 },
        { READING_GPU_USE, 850000 },
        { READING_MEMORY_BUS_USE, 410000 },
        { READING_ENCODER_USE, 30000 },
        { READING_DECODER_USE, 40000 },
        { READING_POWER, 612000 },
        { READING_POWER_LIMIT, 700000 },
        { READING_TEMPERATURE, 64000 },
        { READING_MEMORY_TEMPERATURE, 71000 },
        { READING_SLOWDOWN_TEMPERATURE, 90000 },
        { READING_SHUTDOWN_TEMPERATURE, 95000 },
        { READING_FAN_SPEED, 330000 },
        { READING_SM_CLOCK, INT64_C(1980000000) },
        { READING_SM_CLOCK_MAX, INT64_C(1990000000) },
        { READING_MEMORY_CLOCK, INT64_C(2619000000) },
        { READING_PSTATE, 2 },
        { READING_CLOCK_REASONS, 4 },
        { READING_ECC_CORRECTED, 1 },
        { READING_ECC_UNCORRECTED, 2 },
        { READING_ECC_CORRECTED_EVER, 3 },
        { READING_ECC_UNCORRECTED_EVER, 4 },
        { READING_SRAM_THRESHOLD, 1 },
        { READING_ROWS_REMAPPED, 5 },
        { READING_ROWS_REMAPPED_UNCORRECTED, 6 },
        { READING_ROW_REMAP_PENDING, 1 },
        { READING_ROW_REMAP_FAILURE, 0 },
        { READING_PAGES_RETIRED_SBE, 7 },
        { READING_PAGES_RETIRED_DBE, 8 },
        { READING_PAGES_PENDING, 1 },
        { READING_POWER_VIOLATION, 1001 },
        { READING_THERMAL_VIOLATION, 1002 },
        { READING_PCIE_TX, 100000 },
        { READING_PCIE_RX, 200000 },
        { READING_PCIE_REPLAYS, 9 },
        { READING_PCIE_GENERATION, 5 },
        { READING_PCIE_WIDTH, 16 },
        { READING_NVLINKS_UP, 17 },
        { READING_NVLINK_CRC, 10 },
        { READING_NVLINK_REPLAYS, 11 },
        { READING_NVLINK_RECOVERIES, 12 },
        { READING_NVLINK_TOTAL, (21 + 22) * 1024 },
        { READING_RECOVERY_ACTION, 0 },
    };
    AUTO_FREE char *script = mem_printf(
        "%sgpu 0 used 1000 reserved 500 use 85 memory_use 41 encoder 3 decoder 4 power 612000 "
        "power_limit 700000 temp 64 memory_temp 71 slowdown 90 shutdown 95 fan 33 sm_clock 1980\n"
        "gpu 0 sm_clock_max 1990 memory_clock 2619 pstate 2 reasons 4 ecc_corrected 1 "
        "ecc_uncorrected 2 ecc_corrected_ever 3 ecc_uncorrected_ever 4 sram 1 rows_corrected 5\n"
        "gpu 0 rows_uncorrected 6 row_pending 1 row_failed 0 retired_sbe 7 retired_dbe 8 "
        "retired_pending 1 power_violation 1001 thermal_violation 1002 pcie_tx 100 pcie_rx 200\n"
        "gpu 0 pcie_replays 9 pcie_generation 5 pcie_width 16 links_down 1 nvlink_crc 10 "
        "nvlink_replay 11 nvlink_recovery 12 nvlink_tx 21 nvlink_rx 22 recovery_action 0\n"
        "link 0 switch 18\n",
        healthy);
    struct probe *probe = probe_of(*state, script);
    struct reading reading = { 0 }, other = { 0 };
    struct error err = { "" };

    free(devices_of(probe, 2));
    for (int turn = 0; turn < 2; turn++) { /* also once it is known what is not supported */
        assert_int_equal(probe->ops->sample(probe, 0, &reading, &err), 0);
        assert_int_equal(probe->ops->sample(probe, 1, &other, &err), 0);
        for (size_t i = 0; i < COUNT_OF(expected); i++) {
            bool is_memory =
                expected[i].id == READING_MEMORY_TOTAL || expected[i].id == READING_MEMORY_USED ||
                expected[i].id == READING_MEMORY_FREE || expected[i].id == READING_MEMORY_RESERVED;
            if (!reading_has(&reading, expected[i].id) ||
                reading.values[expected[i].id] != expected[i].value)
                fail_msg("%s: %lld, expected %lld", reading_about[expected[i].id].name,
                         (long long)reading.values[expected[i].id], (long long)expected[i].value);
            if (!is_memory && reading_has(&other, expected[i].id))
                fail_msg("%s: there, and nobody said it", reading_about[expected[i].id].name);
        }
    }
    assert_false(reading_has(&reading, READING_XID));
    assert_false(reading_has(&reading, READING_SM_ACTIVE));
    probe->ops->destroy(probe);
}

static void processes_have_what_they_use(void **state)
{
    AUTO_FREE char *script = mem_printf("%sgpu 1 process 41 memory 100 use 70\n"
                                        "gpu 1 process 42 memory 200 use 20\n",
                                        healthy);
    struct probe *probe = probe_of(*state, script);
    struct probe_process *processes = NULL;
    struct error err = { "" };
    uint32_t count = 0;

    free(devices_of(probe, 2));
    assert_int_equal(probe->ops->processes(probe, 0, &processes, &count, &err), 0);
    assert_int_equal(count, 0);
    free(processes);
    assert_int_equal(probe->ops->processes(probe, 1, &processes, &count, &err), 0);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++) {
        bool is_first = processes[i].pid == 41;
        assert_int_equal(processes[i].memory_bytes, (is_first ? 100 : 200) << 20);
        assert_int_equal(processes[i].use, is_first ? 700000 : 200000);
        assert_int_equal(processes[i].instance, PROBE_UNKNOWN);
        assert_false(processes[i].is_graphics);
    }
    free(processes);
    probe->ops->destroy(probe);
}

static void an_event_is_of_its_device(void **state)
{
    AUTO_FREE char *script = mem_printf("%sgpu 1 xid 79\n", healthy);
    struct probe *probe = probe_of(*state, script);
    struct reading reading = { 0 };
    struct probe_event event;
    struct error err = { "" };

    free(devices_of(probe, 2));
    assert_int_equal(probe->ops->wait(probe, 1000, &event, &err), 1);
    assert_int_equal(event.device, 1);
    assert_int_equal(event.xid, 79);
    assert_int_equal(event.instance, PROBE_UNKNOWN);
    assert_int_equal(probe->ops->wait(probe, 0, &event, &err), 0);
    assert_int_equal(probe->ops->sample(probe, 1, &reading, &err), 0);
    assert_int_equal(reading.values[READING_XID], 79);
    assert_int_equal(probe->ops->sample(probe, 0, &reading, &err), 0);
    assert_false(reading_has(&reading, READING_XID));
    probe->ops->destroy(probe);
}

/* Two by two on links, three of them at a switch, and what is left on PCIe. */
static void links_are_as_the_driver_says(void **state)
{
    static const char *const words[6][6] = {
        { "X", "NV4", "PXB", "PHB", "NODE", "?" }, { "NV4", "X", "PIX", "?", "SYS", "?" },
        { "PXB", "PIX", "X", "NV12", "?", "?" },   { "PHB", "?", "NV12", "X", "?", "PIX" },
        { "NODE", "SYS", "?", "?", "X", "?" },     { "?", "?", "?", "PIX", "?", "X" },
    };
    static const uint32_t islands[6] = { 1, 1, 2, 2, 0, 0 }, bridges[6] = { 0, 1, 1, 2, 0, 2 };
    struct probe *probe =
        probe_of(*state, "gpu 0 name \"NVIDIA A100\" uuid GPU-0 pci 00000000:01:00.0\n"
                         "gpu 1 name \"NVIDIA A100\" uuid GPU-1 pci 00000000:02:00.0\n"
                         "gpu 2 name \"NVIDIA A100\" uuid GPU-2 pci 00000000:03:00.0\n"
                         "gpu 3 name \"NVIDIA A100\" uuid GPU-3 pci 00000000:04:00.0\n"
                         "gpu 4 name \"NVIDIA A100\" uuid GPU-4 pci 00000000:05:00.0\n"
                         "gpu 5 name \"NVIDIA A100\" uuid GPU-5 pci 00000000:06:00.0\n"
                         "link 0 1 4\nlink 2 switch 12\nlink 3 switch 18\n"
                         "near 0 2 20\nnear 0 3 30\nnear 0 4 40\nnear 1 4 50\nnear 1 2 10\n"
                         "near 3 5 10\n");
    AUTO_FREE struct probe_device *devices = devices_of(probe, 6);
    char word[16];

    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(devices[i].island, islands[i]);
        assert_int_equal(devices[i].bridge, bridges[i]);
        for (uint32_t k = 0; k < 6; k++)
            assert_string_equal(probe_link_word(probe->ops->link(probe, i, k), word, sizeof(word)),
                                words[i][k]);
    }
    assert_int_equal(probe->ops->link(probe, 0, 6).near, PROBE_NEAR_UNKNOWN);
    probe->ops->destroy(probe);
}

static void instances_are_made_listed_and_removed_one_at_a_time(void **state)
{
    AUTO_FREE char *script = mem_printf("%sgpu 1 mig 1\n", healthy);
    struct probe *probe = probe_of(*state, script);
    struct probe_instance wanted[] = { { .start = 4, .size = 4, .compute = 3 },
                                       { .start = 2, .size = 1, .compute = 1, .media = true },
                                       { .start = 0, .size = 1, .compute = 1 } };
    struct probe_instance *found = NULL;
    struct error err = { "" };
    uint32_t count = 0;

    free(devices_of(probe, 2));
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        struct probe_instance asked = wanted[i];
        if (probe->ops->mig_create(probe, 1, &wanted[i], &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(wanted[i].start, asked.start);
        assert_int_equal(wanted[i].size, asked.size);
        assert_int_equal(wanted[i].compute, asked.compute);
        assert_int_equal(wanted[i].media, asked.media);
        assert_true(wanted[i].uuid[0] != '\0');
    }
    assert_string_not_equal(wanted[0].uuid, wanted[1].uuid);
    assert_string_not_equal(wanted[1].uuid, wanted[2].uuid);
    struct probe_instance twice = { .start = 4, .size = 4, .compute = 3 };
    assert_int_equal(probe->ops->mig_create(probe, 1, &twice, &err), -EXFULL);
    assert_int_equal(probe->ops->mig_remove(probe, 1, wanted[1].gpu_instance, &err), 0);
    assert_int_equal(probe->ops->mig_remove(probe, 1, wanted[1].gpu_instance, &err), 0);
    assert_int_equal(probe->ops->mig_list(probe, 1, &found, &count, &err), 0);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++) {
        const struct probe_instance *was = found[i].size == 4 ? &wanted[0] : &wanted[2];
        assert_memory_equal(&found[i], was, sizeof(found[i]));
    }
    free(found);
    assert_int_equal(probe->ops->mig_list(probe, 0, &found, &count, &err), 0);
    assert_int_equal(count, 0);
    free(found);
    probe->ops->destroy(probe);
}

/* A device that is cut says nothing of its use: its instances do. */
static void what_mig_instances_do_is_what_their_device_does(void **state)
{
    AUTO_FREE char *script = mem_printf("%sgpu 1 mig 1 gpm 1 tensor 35\n", healthy);
    AUTO_FREE char *busy = mem_printf("%sgpu 1 process 41 memory 100 use 70 instance 1\n"
                                      "gpu 1 process 42 memory 100 use 28 instance 2\n"
                                      "gpu 1 process 43 memory 100 use 28 instance 2\n",
                                      script);
    struct probe *probe = probe_of(*state, script);
    struct probe_instance half = { .start = 0, .size = 4, .compute = 3 };
    struct probe_instance small = { .start = 4, .size = 1, .compute = 1 };
    AUTO_FREE struct probe_process *processes = NULL;
    struct reading reading = { 0 };
    uint32_t count = 0;
    struct error err = { "" };

    free(devices_of(probe, 2));
    sample_twice(probe, 1, &reading);
    assert_false(reading_has(&reading, READING_GPU_USE)); /* there is no instance */
    assert_int_equal(probe->ops->mig_create(probe, 1, &half, &err), 0);
    assert_int_equal(probe->ops->mig_create(probe, 1, &small, &err), 0);
    write_script(*state, busy);
    sample_twice(probe, 1, &reading);
    assert_true(reading_has(&reading, READING_GPU_USE));
    assert_int_equal(reading.values[READING_GPU_USE], 700000 * 3 / 7 + 560000 / 7);
    assert_int_equal(reading.values[READING_TENSOR_ACTIVE], 350000 * 4 / 7);
    assert_int_equal(probe->ops->processes(probe, 1, &processes, &count, &err), 0);
    assert_int_equal(count, 3);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(processes[i].use,
                         processes[i].pid == 41 ? 700000 * 3 / 7 : 560000 / 7 / 2);

    /* An instance that is new has said nothing yet: a sum without it would be too small. */
    struct probe_instance other = { .start = 5, .size = 1, .compute = 1 };
    assert_int_equal(probe->ops->mig_create(probe, 1, &other, &err), 0);
    nanosleep(&apart, NULL);
    assert_int_equal(probe->ops->sample(probe, 1, &reading, &err), 0);
    assert_false(reading_has(&reading, READING_GPU_USE));
    probe->ops->destroy(probe);
}

static void no_gpu_is_an_answer(void **state)
{
    struct probe *probe = probe_of(*state, "driver 1\n");

    free(devices_of(probe, 0));
    probe->ops->destroy(probe);
}

static void a_driver_that_stops_answering_is_told_in_words(void **state)
{
    struct probe *probe = probe_of(*state, "missing nvmlDeviceGetCount_v2\n");
    struct probe_device *devices = NULL;
    struct error err;
    uint32_t count;

    assert_true(probe->ops->devices(probe, &devices, &count, &err) < 0);
    assert_string_equal(err.text,
                        "nvidia driver: cannot count the GPUs: the driver has no such function");
    assert_null(devices);
    probe->ops->destroy(probe);
}

static void a_driver_that_does_not_work_is_an_answer_in_words(void **state)
{
    static const struct {
        const char *script;
        const char *text;
    } cases[] = {
        { "init error DRIVER_NOT_LOADED\n", "nvidia driver: the driver is not loaded" },
        { "init error LIB_RM_VERSION_MISMATCH\n",
          "nvidia driver: driver and library differ in version; reboot needed" },
        { "init error NO_PERMISSION\n", "nvidia driver: no permission to use it" },
        { "nonsense\n", "nvidia driver: unknown error of the driver" },
        { "gpu 0 colour red\n", "nvidia driver: unknown error of the driver" },
        { "gpu 0 name \"open\n", "nvidia driver: unknown error of the driver" },
        { "gpu 0 error GPU_IS_TIRED\n", "nvidia driver: unknown error of the driver" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct probe *probe = NULL;
        struct error why = { "" };

        write_script(*state, cases[i].script);
        assert_int_equal(probe_nvml_create(NULL, &probe, &why), NVML_NO_DRIVER);
        assert_string_equal(why.text, cases[i].text);
        assert_null(probe);
    }
}

static void no_library_is_an_answer_in_words(void **state)
{
    struct probe *probe = NULL;
    struct error why = { "" };

    (void)state;
    assert_int_equal(probe_nvml_create("/nonexistent/libnvidia-ml.so.1", &probe, &why),
                     NVML_NO_LIBRARY);
    assert_string_equal(why.text,
                        "nvidia driver: /nonexistent/libnvidia-ml.so.1: cannot open shared "
                        "object file: No such file or directory");
    assert_int_equal(probe_nvml_create("libm.so.6", &probe, &why), NVML_NO_USE);
    assert_string_equal(why.text, "nvidia driver: its library has no nvmlInit_v2");

    unsetenv("TARN_NVML_LIBRARY");
    enum nvml_answer answer = probe_nvml_create(NULL, &probe, &why);
    if (answer == NVML_NO_LIBRARY)
        assert_string_equal(why.text, "nvidia driver: not installed (no libnvidia-ml.so.1)");
    if (answer == NVML_READY)
        probe->ops->destroy(probe);
}

/* hwloc takes a recorded machine instead of the real one. */
static void a_pci_device_is_found_near_its_memory(void **state)
{
    static const char topology[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
        "<topology version=\"2.0\">\n"
        " <object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\""
        " allowed_cpuset=\"0x3\" nodeset=\"0x3\" complete_nodeset=\"0x3\" allowed_nodeset=\"0x3\""
        " gp_index=\"1\">\n"
        "  <object type=\"Package\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\""
        " nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"2\">\n"
        "   <object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\""
        " nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"3\" local_memory=\"1048576\"/>\n"
        "   <object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\""
        " nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"4\"/>\n"
        "  </object>\n"
        "  <object type=\"Package\" os_index=\"1\" cpuset=\"0x2\" complete_cpuset=\"0x2\""
        " nodeset=\"0x2\" complete_nodeset=\"0x2\" gp_index=\"5\">\n"
        "   <object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x2\" complete_cpuset=\"0x2\""
        " nodeset=\"0x2\" complete_nodeset=\"0x2\" gp_index=\"6\" local_memory=\"1048576\"/>\n"
        "   <object type=\"PU\" os_index=\"1\" cpuset=\"0x2\" complete_cpuset=\"0x2\""
        " nodeset=\"0x2\" complete_nodeset=\"0x2\" gp_index=\"7\"/>\n"
        "   <object type=\"Bridge\" gp_index=\"8\" bridge_type=\"0-1\" depth=\"0\""
        " bridge_pci=\"0000:[ca-ca]\">\n"
        "    <object type=\"PCIDev\" gp_index=\"9\" pci_busid=\"0000:ca:00.0\""
        " pci_type=\"0302 [10de:20b0] [10de:134f] a1\" pci_link_speed=\"0.000000\"/>\n"
        "   </object>\n"
        "  </object>\n"
        " </object>\n"
        "</topology>\n";

    write_script(*state, topology);
    setenv("HWLOC_XMLFILE", *state, 1);
    AUTO(numa) struct numa *numa = numa_create();
    unsetenv("HWLOC_XMLFILE");
    assert_non_null(numa);
    assert_int_equal(numa_node_of(numa, "00000000:ca:00.0"), 1);
    assert_int_equal(numa_node_of(numa, "00000000:17:00.0"), PROBE_UNKNOWN);
    assert_int_equal(numa_node_of(numa, "nonsense"), PROBE_UNKNOWN);
    assert_int_equal(numa_node_of(NULL, "00000000:ca:00.0"), PROBE_UNKNOWN);
}

#define WITH_SCRIPT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRIPT(two_healthy_gpus_are_read_in_full),
        WITH_SCRIPT(a_lost_gpu_is_sick_and_the_others_go_on),
        WITH_SCRIPT(a_gpu_that_was_lost_from_the_start_has_no_readings),
        WITH_SCRIPT(a_single_call_can_tell_that_a_gpu_is_sick),
        WITH_SCRIPT(an_older_driver_gives_memory_by_the_older_call),
        WITH_SCRIPT(readings_that_cannot_be_had_are_absent),
        WITH_SCRIPT(mig_is_seen),
        WITH_SCRIPT(readings_are_in_our_units),
        WITH_SCRIPT(processes_have_what_they_use),
        WITH_SCRIPT(an_event_is_of_its_device),
        WITH_SCRIPT(links_are_as_the_driver_says),
        WITH_SCRIPT(instances_are_made_listed_and_removed_one_at_a_time),
        WITH_SCRIPT(what_mig_instances_do_is_what_their_device_does),
        WITH_SCRIPT(no_gpu_is_an_answer),
        WITH_SCRIPT(a_driver_that_stops_answering_is_told_in_words),
        WITH_SCRIPT(a_driver_that_does_not_work_is_an_answer_in_words),
        WITH_SCRIPT(no_library_is_an_answer_in_words),
        WITH_SCRIPT(a_pci_device_is_found_near_its_memory),
    };

    /* It keeps the plugins of hwloc loaded: what they have allocated is theirs, and no leak. */
    static hwloc_topology_t kept;

    hwloc_topology_init(&kept);
    if (!getenv("TARN_TEST_NVML")) {
        fprintf(stderr, "TARN_TEST_NVML: the path of the stub library, please\n");
        return 1;
    }
    return cmocka_run_group_tests_name("nvml", tests, NULL, NULL);
}
