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

#include "device/recorded.h"
#include "tree.h"

/* Two H100 and one that was gone when they were listed; the second first, as a journal may have
 * them. */
static const char two[] =
    "{\"tarn_recording\": 1, \"gpus\": ["
    "{\"index\": 1, \"uuid\": \"GPU-b\", \"model\": \"h100\", \"memory\": null, \"numa\": null,"
    " \"reading\": null, \"sick\": \"XID 79\", \"later\": {}},"
    "{\"index\": 0, \"uuid\": \"GPU-a\", \"model\": \"h100\", \"product\": \"NVIDIA H100 80GB "
    "HBM3\", \"vendor\": \"nvidia\", \"memory\": 81559, \"numa\": 1, \"address\": "
    "\"00000000:17:00.0\", \"mig\": true, \"sick\": null, \"reading\": {\"gpu_use\": 0.85, "
    "\"power\": 612.345, \"memory_used\": 4194304, \"temperature\": 64, \"throughput_of_2030\": 1}}"
    "], \"topology\": ["
    "{\"uuid\": \"GPU-old\", \"links\": [\"X\", \"SYS\", \"SYS\"]},"
    "{\"uuid\": \"GPU-b\", \"island\": 1, \"bridge\": 0, \"links\": [\"SYS\", \"X\", \"NV18\"]},"
    "{\"uuid\": \"GPU-a\", \"island\": 1, \"bridge\": 3, \"links\": [\"SYS\", \"NV18\", \"X\"]}]}";

static int create(const char *root, const char *content, struct probe **ret, struct error *err)
{
    AUTO_FREE char *words = mem_printf("recorded:%s/gpus.json", root);

    tree_put(root, "/gpus.json", content);
    return probe_recorded_create(words, ret, err);
}

static void devices_are_as_they_were_and_say_what_they_are(void **state)
{
    struct probe_device *devices = NULL;
    struct probe *probe = NULL;
    struct error err = { "" };
    uint32_t count;

    if (create(*state, two, &probe, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(probe->ops->name, "recorded");
    assert_int_equal(probe->ops->devices(probe, &devices, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_string_equal(devices[0].uuid, "GPU-a");
    assert_string_equal(devices[0].product, "Recorded NVIDIA H100 80GB HBM3");
    assert_string_equal(devices[0].model, "h100");
    assert_string_equal(devices[0].vendor, "nvidia");
    assert_string_equal(devices[0].address, "00000000:17:00.0");
    assert_int_equal(devices[0].memory_mib, 81559);
    assert_int_equal(devices[0].numa_node, 1);
    assert_int_equal(devices[0].minor, PROBE_UNKNOWN);
    assert_int_equal(devices[0].island, 1);
    assert_int_equal(devices[0].bridge, 3);
    assert_true(devices[0].mig_enabled);
    assert_true(devices[0].is_synthetic);
    assert_string_equal(devices[1].uuid, "GPU-b");
    assert_string_equal(devices[1].sick, "XID 79");
    assert_int_equal(devices[1].memory_mib, PROBE_UNKNOWN);
    assert_int_equal(devices[1].numa_node, PROBE_UNKNOWN);
    assert_true(devices[1].is_synthetic);
    free(devices);
    probe->ops->destroy(probe);
}

static void readings_and_links_are_as_they_were(void **state)
{
    struct reading reading = { 0 };
    struct probe *probe = NULL;
    struct error err = { "" };

    if (create(*state, two, &probe, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(probe->ops->sample(probe, 0, &reading, &err), 0);
    assert_int_equal(reading.values[READING_GPU_USE], 850000);
    assert_int_equal(reading.values[READING_POWER], 612345);
    assert_int_equal(reading.values[READING_MEMORY_USED], 4194304);
    assert_int_equal(reading.values[READING_TEMPERATURE], 64000);
    assert_false(reading_has(&reading, READING_ENERGY));
    assert_int_equal(probe->ops->sample(probe, 1, &reading, &err), 0);
    assert_int_equal(reading.has, 0);
    assert_int_equal(probe->ops->sample(probe, 2, &reading, &err), -ENODEV);
    assert_int_equal(probe->ops->link(probe, 0, 1).near, PROBE_NEAR_LINK);
    assert_int_equal(probe->ops->link(probe, 0, 1).links, 18);
    assert_int_equal(probe->ops->link(probe, 1, 0).near, PROBE_NEAR_LINK);
    assert_int_equal(probe->ops->link(probe, 1, 0).links, 18);
    assert_int_equal(probe->ops->link(probe, 0, 0).near, PROBE_NEAR_SELF);
    assert_int_equal(probe->ops->link(probe, 1, 1).near, PROBE_NEAR_SELF);
    assert_int_equal(probe->ops->link(probe, 1, 2).near, PROBE_NEAR_UNKNOWN);
    assert_null(probe->ops->processes);
    probe->ops->destroy(probe);
}

static void a_recording_needs_no_topology_and_no_devices(void **state)
{
    struct probe *probe = NULL;
    struct error err = { "" };

    assert_int_equal(create(*state, "{\"tarn_recording\": 1, \"gpus\": []}", &probe, &err), 0);
    probe->ops->destroy(probe);
    assert_int_equal(create(*state,
                            "{\"tarn_recording\": 1, \"gpus\": [{\"uuid\": \"a\", \"model\": "
                            "\"x\", \"product\": \"Recorded X\"}]}",
                            &probe, &err),
                     0);
    struct probe_device *devices;
    uint32_t count;
    assert_int_equal(probe->ops->devices(probe, &devices, &count, &err), 0);
    assert_string_equal(devices[0].product, "Recorded X");
    assert_int_equal(probe->ops->link(probe, 0, 0).near, PROBE_NEAR_SELF);
    free(devices);
    probe->ops->destroy(probe);
}

#define GPU(rest) "{\"tarn_recording\": 1, \"gpus\": [" rest "]}"
#define A         "\"uuid\": \"a\", \"model\": \"x\""

static void what_is_no_recording_is_refused(void **state)
{
    static const struct {
        const char *content, *text;
    } cases[] = {
        { "", "line 1, column 0: '[' or '{' expected near end of file" },
        { "{\"tarn_recording\": 1,\n}", "line 2, column 1: string or '}' expected near '}'" },
        { "{}", "no recording; expected what `tarn gpus --record FILE` saves" },
        { "[1]", "no recording; expected what `tarn gpus --record FILE` saves" },
        { "{\"tarn_recording\": 2}", "a recording of version 2; this tarn reads version 1" },
        { "{\"tarn_recording\": 1}", "gpus: expected a list of at most 1024" },
        { GPU("7"), "gpus: 0: expected an object" },
        { GPU("{}"), "gpus: 0: model: expected a name" },
        { GPU("{\"model\": \"x\"}"), "gpus: 0: uuid: expected one" },
        { GPU("{\"uuid\": 5, \"model\": \"x\"}"),
          "gpus: 0: uuid: expected a text of less than 96 bytes" },
        { GPU("{" A "}, {" A "}"), "gpus: 1: uuid: a appears twice" },
        { GPU("{" A ", \"memory\": -1}"),
          "gpus: 0: memory: expected a whole number from 0 to 1099511627776" },
        { GPU("{" A ", \"numa\": 1.5}"), "gpus: 0: numa: expected a whole number from 0 to 32767" },
        { GPU("{" A ", \"reading\": 5}"), "gpus: 0: reading: expected an object" },
        { GPU("{" A ", \"reading\": {\"power\": \"much\"}}"),
          "gpus: 0: reading: power: expected a number" },
        { GPU("{" A ", \"reading\": {\"power\": 1e300}}"),
          "gpus: 0: reading: power: expected a number" },
        { "{\"tarn_recording\": 1, \"gpus\": [{" A "}], \"topology\": 5}",
          "topology: expected a list of at most 1024" },
        { "{\"tarn_recording\": 1, \"gpus\": [{" A "}], \"topology\": [{\"uuid\": \"a\"}]}",
          "topology: 0: links: expected a list" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *expected =
            mem_printf("recorded devices: %s/gpus.json: %s", (const char *)*state, cases[i].text);
        struct probe *probe = NULL;
        struct error err = { "" };

        assert_int_equal(create(*state, cases[i].content, &probe, &err), -EINVAL);
        assert_string_equal(err.text, expected);
        assert_null(probe);
    }
}

static void a_file_that_can_not_be_read_says_so(void **state)
{
    struct probe *probe = NULL;
    struct error err;

    (void)state;
    assert_int_equal(probe_recorded_create("recorded:/nowhere/x.json", &probe, &err), -ENOENT);
    assert_string_equal(err.text, "recorded devices: /nowhere/x.json: No such file or directory");
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, tree_set_up, tree_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(devices_are_as_they_were_and_say_what_they_are),
        WITH_ROOT(readings_and_links_are_as_they_were),
        WITH_ROOT(a_recording_needs_no_topology_and_no_devices),
        WITH_ROOT(what_is_no_recording_is_refused),
        cmocka_unit_test(a_file_that_can_not_be_read_says_so),
    };

    return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
