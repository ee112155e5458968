/* SPDX-License-Identifier: Apache-2.0 */
/* Known figures on real workloads, where these are there (TARN_TRACES). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scene.h"

/* NULL, having said so, when the trace is not there. */
static char *trace(const char *name)
{
    const char *folder = getenv("TARN_TRACES");
    AUTO_FREE char *path = mem_printf("%s/%s", folder ? folder : "../shared/traces", name);

    if (access(path, R_OK) == 0)
        return TAKE(path);
    print_message("skipped: no workload %s\n", path);
    return NULL;
}

static void within(double value, double expected, double part)
{
    if (!(fabs(value - expected) <= part * expected))
        fail_msg("%g, expected %g", value, expected);
}

static void easy_on_kth_is_what_textbooks_give(void **state)
{
    AUTO_FREE char *path = trace("swf/KTH-SP2-1996-2.1-cln.swf.gz");
    (void)state;

    if (!path)
        skip();
    AUTO_FREE char *yaml = mem_printf("cluster: {nodes: 1, gpus: 100}\n"
                                      "workload: {format: swf, file: %s, estimates: request}\n"
                                      "policy: {order: fifo, backfill: easy}\n"
                                      "measure: [wait, bounded_slowdown: {tau: 10s}]\n",
                                      path);
    json_t *result = scene_run(yaml, -1);
    within(scene_number(result, "wait.mean"), 6858.5, 0.005);
    within(scene_number(result, "bounded_slowdown.mean"), 91.04, 0.005);
    json_decref(result);
}

static void easy_on_batsim_is_a_little_better_than_its_own(void **state)
{
    AUTO_FREE char *path = trace("batsim/medium_late.json.gz");
    (void)state;

    if (!path)
        skip();
    AUTO_FREE char *yaml = mem_printf("cluster: {nodes: 1, gpus: 32}\n"
                                      "workload: {format: batsim, file: %s}\n"
                                      "policy: {order: fifo, backfill: easy}\n"
                                      "measure: [wait, makespan]\n",
                                      path);
    json_t *result = scene_run(yaml, -1);
    assert_true(scene_number(result, "wait.mean") < 9.516);
    within(scene_number(result, "makespan"), 16088.51, 0.0001);
    json_decref(result);
}

static json_t *run_on(const char *name, const char *cluster, const char *workload,
                      const char *measure)
{
    AUTO_FREE char *path = trace(name);

    if (!path)
        return NULL;
    AUTO_FREE char *yaml = mem_printf("cluster: %s\nworkload: {%s, file: %s}\nmeasure: %s\n",
                                      cluster, workload, path, measure);
    return scene_run(yaml, -1);
}

/* What the default promises on a log with the limits that users gave. */
static void the_default_serves_kth_far_better_and_nobody_much_later(void **state)
{
    (void)state;
    json_t *result =
        run_on("swf/KTH-SP2-1996-2.1-cln.swf.gz", "{nodes: 1, gpus: 100}",
               "format: swf, estimates: request", "[wait, bounded_slowdown: {tau: 10s}]");
    if (!result)
        skip();
    assert_true(scene_number(result, "bounded_slowdown.mean") < 60);
    assert_true(scene_number(result, "wait.p99") <= 1.1 * 77191);
    json_decref(result);
}

static void the_default_beats_srsf_and_tiresias_where_jobs_may_be_stopped(void **state)
{
    (void)state;
    json_t *result = run_on("muri/trace3.csv", "{nodes: 8, gpus: 8}",
                            "format: muri, estimates: oracle, preemption: true, restart_cost: 30s",
                            "[jct, makespan]");
    if (!result)
        skip();
    assert_true(scene_number(result, "jct.mean") < 185022);
    assert_true(scene_number(result, "makespan") < 8174226);
    json_decref(result);
}

static void the_default_packs_openb(void **state)
{
    AUTO_FREE char *nodes = trace("openb/openb_node_list_gpu_node.csv");
    (void)state;

    if (!nodes)
        skip();
    AUTO_FREE char *cluster = mem_printf("{format: openb, file: %s}", nodes);
    json_t *result = run_on("openb/openb_pod_list_default.csv.gz", cluster,
                            "format: openb, shuffle: true, inflate: 1.3, departures: false",
                            "[allocation_at: [130]]\npolicy: {on_misfit: drop}");
    assert_non_null(result);
    assert_true(scene_number(result, "allocation_at.130") > 95.6);
    json_decref(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(easy_on_batsim_is_a_little_better_than_its_own),
        cmocka_unit_test(the_default_serves_kth_far_better_and_nobody_much_later),
        cmocka_unit_test(the_default_beats_srsf_and_tiresias_where_jobs_may_be_stopped),
        cmocka_unit_test(the_default_packs_openb),
        cmocka_unit_test(easy_on_kth_is_what_textbooks_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
