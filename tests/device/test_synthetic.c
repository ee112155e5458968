/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "device/synthetic.h"

static struct probe_device *devices_of(const char *words, uint32_t *ret_count)
{
    struct probe_device *devices = NULL;
    struct probe *probe = NULL;
    struct error err = { "" };

    if (probe_synthetic_create(words, &probe, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(probe->ops->name, "synthetic");
    assert_int_equal(probe->ops->devices(probe, &devices, ret_count, &err), 0);
    probe->ops->destroy(probe);
    return devices;
}

static void synthetic_devices_look_real_and_say_what_they_are(void **state)
{
    uint32_t count;
    AUTO_FREE struct probe_device *devices = devices_of("h100:4", &count);

    (void)state;
    assert_int_equal(count, 4);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(devices[i].model, "h100");
        assert_string_equal(devices[i].product, "Synthetic H100 80GB");
        assert_string_equal(devices[i].address, "");
        assert_string_equal(devices[i].sick, "");
        assert_int_equal(devices[i].memory_mib, 81559);
        assert_int_equal(devices[i].numa_node, PROBE_UNKNOWN);
        assert_true(devices[i].is_synthetic);
        assert_int_equal(strlen(devices[i].uuid),
                         strlen("GPU-5e7b0000-0000-4000-8000-000000000000"));
        assert_memory_equal(devices[i].uuid, "GPU-5e7b", 8);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(devices[i].uuid, devices[k].uuid);
    }
}

static void the_same_words_give_the_same_devices(void **state)
{
    uint32_t count, again_count;
    AUTO_FREE struct probe_device *devices = devices_of("h100:2,a100-40", &count);
    AUTO_FREE struct probe_device *again = devices_of("synthetic:h100:2,a100-40:1", &again_count);

    (void)state;
    assert_int_equal(count, 3);
    assert_int_equal(again_count, 3);
    assert_memory_equal(devices, again, 3 * sizeof(devices[0]));
    assert_string_equal(devices[2].model, "a100");
    assert_string_equal(devices[2].product, "Synthetic A100 40GB");
    assert_int_equal(devices[2].memory_mib, 40960);
}

static void words_that_make_no_devices_are_refused(void **state)
{
    static const struct {
        const char *words;
        const char *text;
    } cases[] = {
        { "h10o:2", "synthetic device 'h10o': no such model; did you mean h100?" },
        { "RTX4090", "synthetic device 'RTX4090': no such model; did you mean rtx4090?" },
        { "",
          "synthetic device '': no such model; expected one of p100, v100, v100-32, t4, a10, a30, "
          "a40, a100, a100-40, l4, l40, l40s, rtx3090, rtx4090, rtx5090, rtxa6000, h100, h200, "
          "gh200, b200, gb200" },
        { "h100:0", "synthetic device 'h100:0': not a count; expected MODEL:COUNT, like h100:4" },
        { "h100:", "synthetic device 'h100:': not a count; expected MODEL:COUNT, like h100:4" },
        { "h100:-1", "synthetic device 'h100:-1': not a count; expected MODEL:COUNT, like h100:4" },
        { "h100:2x", "synthetic device 'h100:2x': not a count; expected MODEL:COUNT, like h100:4" },
        { "h100:2:3",
          "synthetic device 'h100:2:3': not a count; expected MODEL:COUNT, like h100:4" },
        { "h100:65", "synthetic devices: more than 64" },
        { "h100:60,a100:5", "synthetic devices: more than 64" },
        { "h100:99999999999999999999999", "synthetic devices: more than 64" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct probe *probe = NULL;
        struct error err = { "" };

        assert_int_equal(probe_synthetic_create(cases[i].words, &probe, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].text);
        assert_null(probe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synthetic_devices_look_real_and_say_what_they_are),
        cmocka_unit_test(the_same_words_give_the_same_devices),
        cmocka_unit_test(words_that_make_no_devices_are_refused),
    };

    return cmocka_run_group_tests_name("synthetic", tests, NULL, NULL);
}
