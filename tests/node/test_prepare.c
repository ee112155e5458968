/* SPDX-License-Identifier: Apache-2.0 */
#include "node/prepare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/state/state.h"
#include "io/workers.h"

/* A machine with two devices, of which MPS serves the second. */
struct bench {
    uv_loop_t loop;
    struct workers *workers;
    char dir[32];
    struct preparer *preparer;
    struct probe_device items[2];
    struct probe_devices devices;
    struct state *state;
    uint32_t told, device;
};

static void note(void *user, uint32_t device)
{
    struct bench *bench = user;

    bench->told++;
    bench->device = device;
}

static struct bench *bench_create(void)
{
    struct bench *bench = mem_zero(1, sizeof(*bench));
    struct error err;

    strcpy(bench->dir, "/tmp/tarn-test.XXXXXX");
    assert_non_null(mkdtemp(bench->dir));
    setenv("TARN_MPS_CONTROL", "/bin/true", 1);
    uv_loop_init(&bench->loop);
    assert_int_equal(workers_start(&bench->loop, &bench->workers, &err), 0);
    strcpy(bench->items[0].uuid, "GPU-0");
    strcpy(bench->items[1].uuid, "GPU-1");
    bench->devices = (struct probe_devices){ .items = bench->items, .count = 2 };
    bench->preparer = preparer_create(&(struct prepare_options){ .workers = bench->workers,
                                                                 .state_dir = bench->dir,
                                                                 .machine_name = "a",
                                                                 .devices = &bench->devices });
    bench->state = state_create();
    return bench;
}

static void bench_destroy(struct bench *bench)
{
    AUTO_FREE char *folder = mem_printf("rm -r %s", bench->dir);

    preparer_destroy(bench->preparer);
    workers_stop(bench->workers);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    uv_loop_close(&bench->loop);
    state_destroy(bench->state);
    assert_int_equal(system(folder), 0);
    free(bench);
}

static void a_job_waits_for_a_look_only_until_a_device_is_reset(void **state)
{
    (void)state;
    struct bench *bench = bench_create();

    preparer_tell(bench->preparer, bench, note);
    preparer_reset(bench->preparer, 1, 0);
    assert_int_equal(bench->told, 0); /* it is done in a thread */
    while (bench->told == 0)
        uv_run(&bench->loop, UV_RUN_ONCE);
    assert_int_equal(bench->told, 1);
    assert_int_equal(bench->device, 1);
    bench_destroy(bench);
}

static void the_end_of_a_server_that_no_job_needs_is_told(void **state)
{
    (void)state;
    struct bench *bench = bench_create();
    AUTO_FREE char *pipe = mem_printf("%s/mps/GPU-1/control", bench->dir);
    AUTO_FREE char *make = mem_printf("mkdir -p %s/mps/GPU-1 && touch %s", bench->dir, pipe);
    struct event node = { .kind = EVENT_NODE, .node = { .name = "a" } };
    struct error err;

    assert_int_equal(system(make), 0);
    assert_int_equal(state_apply(bench->state, &node, &err), 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct event device = { .kind = EVENT_DEVICE,
                                .device = { .node = "a",
                                            .uuid = bench->items[i].uuid,
                                            .model = "h100",
                                            .product = "h100",
                                            .address = "",
                                            .vendor = "nvidia",
                                            .index = i } };
        assert_int_equal(state_apply(bench->state, &device, &err), 0);
    }
    preparer_tell(bench->preparer, bench, note);
    preparer_release(bench->preparer, bench->state);
    while (bench->told == 0)
        uv_run(&bench->loop, UV_RUN_ONCE);
    assert_int_equal(bench->told, 1);
    assert_int_equal(bench->device, 1);
    bench_destroy(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_waits_for_a_look_only_until_a_device_is_reset),
        cmocka_unit_test(the_end_of_a_server_that_no_job_needs_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
