/* SPDX-License-Identifier: Apache-2.0 */
/* What monitoring is told: names, units and labels; unknown values are left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "export/dcgm.h"
#include "export/exposition.h"
#include "export/metrics.h"

enum { DEVICES = 4, NOW_S = 1000 };

/* How four devices do: one is well and another is shared, one is lost, and one hangs. */
static struct world {
    struct watch watch;
    struct state *state;
    struct health healths[DEVICES];
    struct watch_device devices[DEVICES];
    struct usage usage;
} world;

static void tell(struct event event)
{
    struct error err;

    event.at = USEC_PER_SEC;
    if (state_apply(world.state, &event, &err) < 0)
        fail_msg("%s", err.text);
}

static void add_device(uint32_t index, const char *uuid, const char *sick)
{
    tell((struct event){ .kind = EVENT_DEVICE,
                         .device = { .node = "a",
                                     .uuid = uuid,
                                     .model = "h100",
                                     .product = "NVIDIA H100 80GB HBM3",
                                     .vendor = "nvidia",
                                     .address = "00000000:17:00.0",
                                     .index = index,
                                     .memory_mib = 80000,
                                     .sick = sick } });
}

static void run(uint64_t id, const char *user, const struct lease *lease)
{
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = id, .name = "j", .user = user, .queue = "default" } };

    request_default(&event.submit.request);
    event.submit.request.members = lease->members_count;
    tell(event);
    tell((struct event){ .kind = EVENT_GRANT,
                         .grant = { .job = id, .attempt = 1, .lease = *lease } });
    for (uint32_t i = 0; i < lease->members_count; i++)
        tell((struct event){ .kind = EVENT_STARTED,
                             .started = { .job = id, .attempt = 1, .rank = i } });
}

static bool watch_device(const struct watch *watch, uint32_t device, struct watch_device *ret)
{
    (void)watch;
    *ret = world.devices[device];
    return true;
}

static const struct usage *watch_usage(const struct watch *watch, uint64_t job, uint32_t attempt)
{
    (void)watch;
    return job == 7 && attempt == 1 ? &world.usage : NULL;
}

static const struct watch_ops watch_ops = { .device = watch_device, .usage = watch_usage };

static int set_up(void **unused)
{
    static const char *const uuids[] = { "GPU-0", "GPU-1", "GPU-2", "GPU-3" };
    static const struct lease_member members[2] = { { 0 }, { 0 } };
    static const struct slice whole = { .device = 0, .milli = 1000, .kind = SHARE_WHOLE };
    static const struct slice halves[2] = {
        { .device = 1, .rank = 0, .milli = 500, .kind = SHARE_FRACTION },
        { .device = 1, .rank = 1, .milli = 500, .kind = SHARE_FRACTION }
    };
    (void)unused;

    world = (struct world){ .watch = { &watch_ops }, .state = state_create() };
    tell((struct event){ .kind = EVENT_NODE, .node = { .name = "a", .cpu_milli = 4000 } });
    for (uint32_t i = 0; i < DEVICES; i++) {
        struct watch_device *device = &world.devices[i];
        add_device(i, uuids[i], i == 2 ? "fell off the bus; reboot needed" : "");
        *device = (struct watch_device){ .reading = { .at = NOW_S * USEC_PER_SEC },
                                         .health = &world.healths[i],
                                         .has_processes = i == 0,
                                         .has_owners = i == 0 };
        reading_set(&device->reading, READING_GPU_USE, 500000);
        reading_set(&device->reading, READING_POWER, 612500);
        reading_set(&device->reading, READING_ENERGY, 12500);
    }
    reading_drop(&world.devices[1].reading, READING_POWER);
    world.devices[0].foreign_mib = 2;
    world.devices[2].trouble = "fell off the bus";
    world.devices[2].failures = 3;
    world.devices[3].silent = HEALTH_SILENT_S * USEC_PER_SEC;
    health_xid(&world.healths[0], 79, 1);
    world.healths[0].faults |= UINT32_C(1) << FAULT_HOT;
    world.healths[2].faults = UINT32_C(1) << FAULT_LOST;
    run(7, "ana",
        &(struct lease){ .members = members,
                         .members_count = 1,
                         .slices = &whole,
                         .slices_count = 1,
                         .milli = 1000 });
    run(8, "ben",
        &(struct lease){ .members = members,
                         .members_count = 2,
                         .slices = halves,
                         .slices_count = 2,
                         .milli = 1000 });
    world.usage.sums_count = USAGE_KINDS;
    usage_add(&world.usage.sums[USAGE_GPU], 250000, 1000);
    usage_add(&world.usage.sums[USAGE_MEMORY], 20000, 1000);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    state_destroy(world.state);
    return 0;
}

static void ask_metrics(bool has_no_jobs, struct text *ret)
{
    struct metrics_self self = { .version = "1.2",
                                 .now = NOW_S * USEC_PER_SEC,
                                 .started = 400 * USEC_PER_SEC,
                                 .has_no_jobs = has_no_jobs };

    metrics_export(world.state, &world.watch, &self, ret);
}

static unsigned count(const struct text *text, const char *words)
{
    unsigned found = 0;

    for (const char *at = strstr(text_string(text), words); at; at = strstr(at + 1, words))
        found++;
    return found;
}

/* Each once, or not at all. */
static void assert_lines(const struct text *text, const char *const *lines, unsigned expected)
{
    for (; *lines; lines++) {
        if (count(text, *lines) != expected)
            fail_msg("%u times, expected %u: '%s' in\n%s", count(text, *lines), expected, *lines,
                     text_string(text));
    }
}

#define LINES (const char *const[])
#define OF_0  "{uuid=\"GPU-0\",gpu=\"0\",node=\"a\""
#define OF_1  "{uuid=\"GPU-1\",gpu=\"1\",node=\"a\""
#define OF_2  "{uuid=\"GPU-2\",gpu=\"2\",node=\"a\""

static void readings_have_names_with_units_and_the_labels_of_their_device(void **unused)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    (void)unused;

    ask_metrics(false, &text);
    assert_lines(
        &text,
        LINES{ "# TYPE tarn_gpu_power_watts gauge\n", "tarn_gpu_power_watts" OF_0 "} 612.5\n",
               "# TYPE tarn_gpu_energy_joules_total counter\n",
               "tarn_gpu_energy_joules_total" OF_0 "} 12.5\n",
               "tarn_gpu_gpu_use_ratio" OF_0 "} 0.5\n", "tarn_gpu_gpu_use_ratio" OF_1 "} 0.5\n",
               "tarn_gpu_info" OF_0 ",model=\"h100\",product=\"NVIDIA H100 80GB HBM3\","
               "vendor=\"nvidia\",pci_bus_id=\"00000000:17:00.0\",pool=\"default\"} 1\n",
               "tarn_up_seconds 600\n", NULL },
        1);
    /* What was not read has no sample, and is not 0. */
    assert_lines(&text,
                 LINES{ "tarn_gpu_power_watts" OF_1, "tarn_gpu_temperature_celsius{",
                        "tarn_gpu_foreign_memory_bytes" OF_1, NULL },
                 0);
    assert_lines(&text, LINES{ "tarn_gpu_foreign_memory_bytes" OF_0 "} 2097152\n", NULL }, 1);
}

static void who_is_lost_or_hangs_has_no_readings(void **unused)
{
    AUTO_RELEASE(text) struct text text = { 0 }, dcgm = { 0 };
    const struct dcgm_options options = { 0 };
    (void)unused;

    ask_metrics(false, &text);
    dcgm_export(world.state, &world.watch, &options, &dcgm);
    for (enum reading_id id = 0; id < READINGS; id++) {
        AUTO_FREE char *lost = mem_printf("tarn_gpu_%s", reading_about[id].name);
        const char *at = text_string(&text);
        for (at = strstr(at, lost); at; at = strstr(at + 1, lost)) {
            size_t length = strcspn(at, "\n");
            bool is_fault = strncmp(at, "tarn_gpu_fault", 14) == 0;
            assert_true(is_fault || !memmem(at, length, "GPU-2", 5));
            assert_true(is_fault || !memmem(at, length, "GPU-3", 5));
        }
    }
    assert_lines(&dcgm, LINES{ "UUID=\"GPU-2\"", "UUID=\"GPU-3\"", NULL }, 0);
    assert_lines(&text,
                 LINES{ "tarn_gpu_fault" OF_2 ",fault=\"lost\",severity=\"critical\"} 1\n",
                        "tarn_gpu_usable" OF_2 "} 0\n", "tarn_gpu_usable" OF_1 "} 1\n",
                        "tarn_gpu_read_errors_total" OF_2 "} 3\n", NULL },
                 1);
}

static void a_fault_has_the_driver_s_number_where_it_comes_from_it(void **unused)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    (void)unused;

    ask_metrics(false, &text);
    assert_lines(&text,
                 LINES{ "tarn_gpu_fault" OF_0
                        ",fault=\"reboot\",severity=\"critical\",xid=\"79\"} 1\n",
                        "tarn_gpu_fault" OF_0 ",fault=\"hot\",severity=\"warning\"} 1\n", NULL },
                 1);
}

static void jobs_have_what_they_hold_and_what_was_read_of_them(void **unused)
{
    AUTO_RELEASE(text) struct text text = { 0 }, bare = { 0 };
    (void)unused;

    ask_metrics(false, &text);
    assert_lines(
        &text,
        LINES{
            "tarn_job_gpu_given_ratio{hpc_job=\"7\",user=\"ana\",queue=\"default\",uuid=\"GPU-0\","
            "gpu=\"0\",node=\"a\"} 1\n",
            "tarn_job_gpu_given_ratio{hpc_job=\"8\",user=\"ben\",queue=\"default\",uuid=\"GPU-1\","
            "gpu=\"1\",node=\"a\"} 1\n",
            "tarn_job_gpu_use_ratio{hpc_job=\"7\",user=\"ana\",queue=\"default\"} 0.25\n",
            "tarn_job_gpu_memory_peak_bytes{hpc_job=\"7\",user=\"ana\",queue=\"default\"} "
            "20971520000\n",
            "tarn_jobs{state=\"running\"} 2\n", NULL },
        1);
    assert_lines(&text,
                 LINES{ "tarn_job_sm_active_ratio{", "tarn_job_tensor_active_ratio{",
                        "tarn_job_energy_joules_total{", "tarn_job_gpu_use_ratio{hpc_job=\"8\"",
                        NULL },
                 0);
    ask_metrics(true, &bare); /* who does not know of jobs does not say 0 */
    assert_lines(&bare,
                 LINES{ "tarn_job", "tarn_queue", "tarn_plan", "tarn_gpu_given_ratio{", NULL }, 0);
    assert_lines(&bare, LINES{ "tarn_gpu_power_watts" OF_0 "} 612.5\n", NULL }, 1);
}

#define DCGM(index)                                                                                \
    "{gpu=\"" index "\",UUID=\"GPU-" index                                                         \
    "\",pci_bus_id=\"00000000:17:00.0\",device=\"nvidia" index                                     \
    "\",modelName=\"NVIDIA H100 80GB HBM3\",hostname=\"a\",pool=\"default\""

/* A shared device has no owner: one device is one series. */
static void dcgm_names_the_one_who_has_all_of_a_device(void **unused)
{
    AUTO_RELEASE(text) struct text text = { 0 }, renamed = { 0 };
    const struct dcgm_options options = { 0 }, new_names = { .new_names = true };
    (void)unused;

    dcgm_export(world.state, &world.watch, &options, &text);
    assert_lines(&text,
                 LINES{ "DCGM_FI_DEV_GPU_UTIL" DCGM(
                            "0") ",hpc_job=\"7\",user=\"ana\",queue=\"default\"} 50\n",
                        "DCGM_FI_DEV_GPU_UTIL" DCGM("1") "} 50\n",
                        "DCGM_FI_DEV_POWER_USAGE" DCGM(
                            "0") ",hpc_job=\"7\",user=\"ana\",queue=\"default\"} 612.5\n",
                        NULL },
                 1);
    dcgm_export(world.state, &world.watch, &new_names, &renamed);
    assert_lines(&renamed, LINES{ "DCGM_FI_DEV_GPU_UTIL_RATIO" DCGM("1") "} 0.5\n", NULL }, 1);
    assert_lines(&renamed, LINES{ "DCGM_FI_DEV_GPU_UTIL{", NULL }, 0);
}

static void a_label_has_no_character_that_controls_a_terminal_or_the_direction(void **unused)
{
    struct exposition exposition = { .out = NULL };
    (void)unused;

    exposition_label(&exposition, "name",
                     "a\x1b[1m\xe2\x80\xae"
                     "b\n\"");
    assert_string_equal(text_string(&exposition.labels), "name=\"a?[1m?b?\\\"\"");
    text_release(&exposition.labels);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(readings_have_names_with_units_and_the_labels_of_their_device),
        IN_WORLD(who_is_lost_or_hangs_has_no_readings),
        IN_WORLD(a_fault_has_the_driver_s_number_where_it_comes_from_it),
        IN_WORLD(jobs_have_what_they_hold_and_what_was_read_of_them),
        cmocka_unit_test(a_label_has_no_character_that_controls_a_terminal_or_the_direction),
        IN_WORLD(dcgm_names_the_one_who_has_all_of_a_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
