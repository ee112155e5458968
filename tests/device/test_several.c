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
#include "device/drm/intel.h"
#include "device/several.h"
#include "device/synthetic.h"
#include "tree.h"

/* A probe that reports an event of its second device, again and again. */
static int two_devices(struct probe *probe, struct probe_device **ret_devices, uint32_t *ret_count,
                       struct error *err)
{
    (void)probe;
    (void)err;
    *ret_devices = mem_zero(2, sizeof(**ret_devices));
    (*ret_devices)[0].island = (*ret_devices)[1].island = 1;
    *ret_count = 2;
    return 0;
}

static int event_of_the_second(struct probe *probe, uint32_t timeout_ms, struct probe_event *ret,
                               struct error *err)
{
    (void)probe;
    (void)timeout_ms;
    (void)err;
    *ret = (struct probe_event){ .device = 1, .xid = 79 };
    return 1;
}

static int destroyed;

static void count_destroy(struct probe *probe)
{
    (void)probe;
    destroyed++;
}

static const struct probe_ops eventful_ops = {
    .name = "eventful",
    .devices = two_devices,
    .wait = event_of_the_second,
    .destroy = count_destroy,
};

static int fail_devices(struct probe *probe, struct probe_device **ret_devices, uint32_t *ret_count,
                        struct error *err)
{
    (void)probe;
    (void)ret_devices;
    (void)ret_count;
    return error_set(err, -EIO, "it does not work");
}

static const struct probe_ops broken_ops = {
    .name = "broken",
    .devices = fail_devices,
    .destroy = count_destroy,
};

static struct probe *synthetic(const char *words)
{
    struct probe *probe = NULL;
    struct error err = { "" };

    if (probe_synthetic_create(words, &probe, &err) < 0)
        fail_msg("%s", err.text);
    return probe;
}

static struct probe_device *devices_of(struct probe *probe, uint32_t *ret_count)
{
    struct probe_device *devices = NULL;
    struct error err = { "" };

    if (probe->ops->devices(probe, &devices, ret_count, &err) < 0)
        fail_msg("%s", err.text);
    return devices;
}

static void devices_come_one_maker_after_the_other(void **state)
{
    tree_make(*state, "mi250");
    tree_make(*state, "pvc-xe");
    struct probe *parts[] = { synthetic("h100:2"), probe_amd_create(*state, NULL),
                              probe_intel_create(*state, NULL) };
    struct probe *probe = probe_several_create(parts, 3);
    static const char *const models[] = { "h100",  "h100",  "mi250",   "mi250",
                                          "mi250", "mi250", "max1550", "max1550" };
    static const uint32_t islands[] = { 0, 0, 1, 1, 2, 2, 0, 0 };
    static const uint32_t bridges[] = { 0, 0, 1, 1, 0, 0, 2, 2 };
    struct reading reading = { 0 };
    struct error err;
    uint32_t count;
    AUTO_FREE struct probe_device *devices = devices_of(probe, &count);

    assert_string_equal(probe->ops->name, "several");
    assert_int_equal(count, 8);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(devices[i].model, models[i]);
        assert_int_equal(devices[i].island, islands[i]);
        assert_int_equal(devices[i].bridge, bridges[i]);
    }
    assert_int_equal(probe->ops->link(probe, 2, 3).near, PROBE_NEAR_LINK);
    assert_int_equal(probe->ops->link(probe, 6, 7).near, PROBE_NEAR_SWITCH);
    assert_int_equal(probe->ops->link(probe, 3, 6).near, PROBE_NEAR_UNKNOWN);
    assert_int_equal(probe->ops->link(probe, 0, 1).near, PROBE_NEAR_UNKNOWN);
    assert_int_equal(probe->ops->link(probe, 0, 0).near, PROBE_NEAR_SELF);
    assert_int_equal(probe->ops->link(probe, 0, 8).near, PROBE_NEAR_UNKNOWN);

    assert_int_equal(probe->ops->sample(probe, 3, &reading, &err), 0);
    assert_int_equal(reading.values[READING_POWER], 92000);
    reading = (struct reading){ 0 };
    assert_int_equal(probe->ops->sample(probe, 0, &reading, &err), 0);
    assert_int_equal(reading.has, 0); /* made up ones say nothing */
    assert_int_equal(probe->ops->sample(probe, 8, &reading, &err), -ENODEV);
    probe->ops->destroy(probe);
}

static void what_one_can_not_do_is_said_of_its_devices(void **state)
{
    struct probe *parts[] = { synthetic("h100:2") };
    struct probe *probe = probe_several_create(parts, 1);
    struct probe_process *processes;
    struct error err;
    uint32_t count;

    (void)state;
    free(devices_of(probe, &count));
    assert_null(probe->ops->wait);
    assert_null(probe->ops->sample);
    assert_int_equal(probe->ops->processes(probe, 1, &processes, &count, &err), -ENOTSUP);
    assert_string_equal(err.text, "device 1: its driver cannot do this");
    assert_int_equal(probe->ops->mig_mode(probe, 0, true, &err), -ENOTSUP);
    assert_int_equal(probe->ops->compute_mode(probe, 2, PROBE_COMPUTE_EXCLUSIVE, &err), -ENODEV);
    assert_string_equal(err.text, "device 2: no such device");
    probe->ops->destroy(probe);
}

static void events_name_the_device_among_all(void **state)
{
    struct probe first = { .ops = &eventful_ops }, last = { .ops = &eventful_ops };
    struct probe *parts[] = { &first, synthetic("h100:3"), &last };
    struct probe *probe = probe_several_create(parts, 3);
    struct probe_event event;
    struct error err;
    uint32_t count, seen = 0;

    (void)state;
    AUTO_FREE struct probe_device *devices = devices_of(probe, &count);
    assert_int_equal(count, 7);
    assert_int_equal(devices[0].island, 1);
    assert_int_equal(devices[2].island, 0);
    assert_int_equal(devices[6].island, 2);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(probe->ops->wait(probe, 1, &event, &err), 1);
        assert_true(event.device == 1 || event.device == 6);
        seen |= UINT32_C(1) << event.device;
    }
    assert_int_equal(seen, 1 << 1 | 1 << 6);
    destroyed = 0;
    probe->ops->destroy(probe);
    assert_int_equal(destroyed, 2);
}

static void one_that_fails_is_not_hidden(void **state)
{
    struct probe broken = { .ops = &broken_ops };
    struct probe *parts[] = { synthetic("h100:1"), &broken };
    struct probe *probe = probe_several_create(parts, 2);
    struct probe_device *devices = NULL;
    struct error err;
    uint32_t count;

    (void)state;
    assert_int_equal(probe->ops->devices(probe, &devices, &count, &err), -EIO);
    assert_string_equal(err.text, "it does not work");
    assert_null(devices);
    probe->ops->destroy(probe);
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, tree_set_up, tree_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(devices_come_one_maker_after_the_other),
        cmocka_unit_test(what_one_can_not_do_is_said_of_its_devices),
        cmocka_unit_test(events_name_the_device_among_all),
        cmocka_unit_test(one_that_fails_is_not_hidden),
    };

    return cmocka_run_group_tests_name("several", tests, NULL, NULL);
}
