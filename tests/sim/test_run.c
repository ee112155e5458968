/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
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

/* Run jobs, lines of "submit,duration,gpus", on a machine of so many GPUs. */
static json_t *run_jobs(const char *lines, int gpus, const char *more)
{
    AUTO_FREE char *content = mem_printf("job_id,submission_time,num_gpu,duration\n%s", lines);
    const char *path = scene_file(content, strlen(content));
    AUTO_FREE char *yaml = mem_printf("cluster: {nodes: 1, gpus: %d}\n"
                                      "workload: {format: itp, file: %s}\n%s",
                                      gpus, path, more);
    json_t *result = scene_run(yaml, -1);

    scene_clean();
    return result;
}

static void near_to(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9 * (1 + fabs(expected))))
        fail_msg("%.12g, expected %.12g", value, expected);
}

static void metrics_are_what_is_computed_by_hand(void **state)
{
    (void)state;
    /* a runs 0 to 100 on both; b waits 90, runs 100 to 110; c waits 80, runs 100 to 150 */
    json_t *result = run_jobs("a,0,2,100\nb,10,1,10\nc,20,1,50\n", 2,
                              "policy: {order: fifo, backfill: easy}\n"
                              "measure: [wait, jct, makespan, utilization, blocked_idle, "
                              "bounded_slowdown: {tau: 10s}, per_processor_slowdown, energy, "
                              "finish_time_fairness: {ideal: exclusive, factor: 2}, jain]\n");

    near_to(scene_number(result, "wait.mean"), 170.0 / 3);
    near_to(scene_number(result, "wait.p50"), 80);
    near_to(scene_number(result, "wait.max"), 90);
    near_to(scene_number(result, "wait.by_gpus.1.mean"), 85);
    near_to(scene_number(result, "wait.by_gpus.2-4.mean"), 0);
    near_to(scene_number(result, "jct.mean"), (100 + 100 + 130) / 3.0);
    near_to(scene_number(result, "makespan"), 150);
    near_to(scene_number(result, "utilization"), 100.0 * (200 + 10 + 50) / 300);
    near_to(scene_number(result, "blocked_idle"), 0);
    near_to(scene_number(result, "bounded_slowdown.mean"), (1 + 10 + 2.6) / 3);
    near_to(scene_number(result, "bounded_slowdown.geometric_mean"), cbrt(26));
    near_to(scene_number(result, "per_processor_slowdown.mean"), (1 + 10 + 2.6) / 3);
    near_to(scene_number(result, "finish_time_fairness.worst"), 5);
    near_to(scene_number(result, "finish_time_fairness.unfair_percent"), 200.0 / 3);
    near_to(scene_number(result, "jain"), 1);
    near_to(scene_number(result, "jobs.finished"), 3);
    json_decref(result);
}

/* On 4 GPUs: a holds 3 until 100; b wants 4 and is promised 100; c (1 GPU, 90) fits before it,
 * d (1 GPU, 200) does not. */
static const char line_up[] = "a,0,3,100\nb,1,4,50\nc,2,1,90\nd,3,1,200\n";

static void easy_lets_those_pass_that_delay_nobody(void **state)
{
    (void)state;
    json_t *result =
        run_jobs(line_up, 4, "policy: {order: fifo, backfill: easy}\nmeasure: [wait, backfill]\n");

    /* b waits 99, c 0, d until b is over: 147 */
    near_to(scene_number(result, "wait.mean"), (99 + 0 + 147) / 4.0);
    near_to(scene_number(result, "backfill.percent"), 25);
    near_to(scene_number(result, "backfill.slip.max"), 0);
    json_decref(result);
}

static void without_backfill_nobody_passes(void **state)
{
    (void)state;
    json_t *result =
        run_jobs(line_up, 4, "policy: {order: fifo, backfill: none}\nmeasure: [wait]\n");

    near_to(scene_number(result, "wait.mean"), (99 + 148 + 147) / 4.0);
    json_decref(result);
}

static void idle_gpus_that_somebody_could_use_are_blocked(void **state)
{
    (void)state;
    /* One GPU idle for 99 s while d waits for one: until 150 b has all, then no job waits. */
    json_t *result = run_jobs("a,0,3,100\nb,1,4,50\nd,1,1,50\n", 4,
                              "policy: {order: fifo, backfill: none}\n"
                              "measure: [blocked_idle, makespan]\n");

    near_to(scene_number(result, "makespan"), 200);
    near_to(scene_number(result, "blocked_idle"), 100.0 * 99 / (4 * 200));
    json_decref(result);
}

static void what_does_not_fit_at_once_is_dropped_when_asked_for(void **state)
{
    (void)state;
    json_t *result = run_jobs("a,0,3,100\nb,1,2,50\nc,2,1,10\n", 4,
                              "policy: {on_misfit: drop}\nmeasure: [allocation_at: [100], jct]\n");

    near_to(scene_number(result, "jobs.dropped"), 1);
    near_to(scene_number(result, "jobs.finished"), 2);
    near_to(scene_number(result, "allocation_at.100"), 75); /* when b has come */
    near_to(scene_number(result, "arrived.100"), 5000);
    json_decref(result);
}

static void wide_jobs_are_gangs_of_whole_machines(void **state)
{
    (void)state;
    const char content[] = "job_id,submission_time,num_gpu,duration\na,0,16,10\nb,0,8,10\n";
    AUTO_FREE char *yaml =
        mem_printf("cluster: {nodes: 2, gpus: 8}\nworkload: {format: itp, file: %s}\n"
                   "policy: {order: fifo}\nmeasure: [wait, makespan]\n",
                   scene_file(content, sizeof(content) - 1));
    json_t *result = scene_run(yaml, -1);

    near_to(scene_number(result, "makespan"), 20);
    near_to(scene_number(result, "wait.max"), 10);
    json_decref(result);
    scene_clean();
}

static void slow_models_take_longer(void **state)
{
    (void)state;
    const char content[] = "job_id,submission_time,num_gpu,duration\na,0,1,10\n";
    AUTO_FREE char *yaml =
        mem_printf("cluster: {nodes: 1, gpus: 1, model: t4}\n"
                   "workload: {format: itp, file: %s, speeds: {v100: 1.0, t4: 0.4}}\n"
                   "measure: [jct]\n",
                   scene_file(content, sizeof(content) - 1));
    json_t *result = scene_run(yaml, -1);

    near_to(scene_number(result, "jct.mean"), 25);
    near_to(scene_number(result, "jobs.finished"), 1);
    json_decref(result);
    scene_clean();
}

/* A kind of job has a speed of its own on a model; the others have that of "*". */
static void a_kind_of_job_has_its_own_speed_on_a_model(void **state)
{
    (void)state;
    const char content[] = "job_id,submit_time,num_gpus,duration,model_name\n"
                           "a,0,1,100,resnet\nb,1000,1,100,lm\nc,2000,1,100,gan\n";
    AUTO_FREE char *yaml = mem_printf("cluster: {nodes: 1, gpus: 1, model: t4}\n"
                                      "workload: {format: philly, file: %s, speeds: {v100: 1, "
                                      "t4: {resnet: 0.5, lm: 0.25, '*': 0.8}}}\n"
                                      "measure: [jct]\n",
                                      scene_file(content, sizeof(content) - 1));
    json_t *result = scene_run(yaml, -1);

    near_to(scene_number(result, "jct.mean"), (200 + 400 + 125) / 3.0);
    near_to(scene_number(result, "jct.max"), 400);
    json_decref(result);
    scene_clean();
}

/* Their names have to fit. */
static void jobs_state_speeds_on_models_with_short_names(void **state)
{
    (void)state;
    const char content[] = "job_id,submission_time,num_gpu,duration\na,0,1,10\n";
    const char *path = scene_file(content, sizeof(content) - 1);
    static const char *const models[] = { "a23456789-123456789-123456789-1",
                                          "a23456789-123456789-123456789-12" };
    struct error err = { "" };
    json_t *result = NULL;

    for (int i = 0; i < 2; i++) {
        AUTO_FREE char *yaml = mem_printf("cluster: {nodes: 1, gpus: 2, model: %s}\n"
                                          "workload: {format: itp, file: %s, estimates: by_model, "
                                          "speeds: {%s: 0.5}}\nmeasure: [jct]\n",
                                          models[i], path, models[i]);
        assert_int_equal(scene_try(yaml, -1, &result, &err), i == 0 ? 0 : -EINVAL);
        if (i == 0)
            json_decref(result);
    }
    assert_non_null(
        strstr(err.text, "model 'a23456789-123456789-123456789-12': by_model takes up to 31"));
    scene_clean();
}

/* Steps last by the throughput of their kind; without one they are refused. */
static void steps_last_as_long_as_the_table_says(void **state)
{
    (void)state;
    const char content[] = "LM (batch size 10)\tx\tlm\t-s\t0\t1000\t1\t1\t-1\t0\n"
                           "LM (batch size 10)\tx\tlm\t-s\t0\t1000\t2\t1\t-1\t5000\n";
    const char *path = scene_file(content, sizeof(content) - 1);
    AUTO_FREE char *yaml = mem_printf("cluster: {nodes: 1, gpus: 2, model: k80}\n"
                                      "workload: {format: gavel, file: %s, speeds: {k80: "
                                      "{\"('LM (batch size 10)', 1)\": 5, "
                                      "\"('LM (batch size 10)', 2)\": 8}}}\n"
                                      "measure: [jct]\n",
                                      path);
    json_t *result = scene_run(yaml, -1);

    near_to(scene_number(result, "jct.mean"), (200 + 125) / 2.0);
    near_to(scene_number(result, "jct.max"), 200);
    json_decref(result);
    AUTO_FREE char *lacks = mem_printf("cluster: {nodes: 1, gpus: 2, model: k80}\n"
                                       "workload: {format: gavel, file: %s, speeds: {k80: "
                                       "{\"('LM (batch size 10)', 1)\": 5}}}\n",
                                       path);
    struct error err = { "" };
    assert_int_equal(scene_try(lacks, -1, &result, &err), -EINVAL);
    assert_non_null(strstr(err.text, "('LM (batch size 10)', 2): the trace states steps, and "
                                     "workload: speeds has none for model k80"));
    scene_clean();
}

static void a_job_has_a_run_time_on_each_model(void **state)
{
    (void)state;
    const char content[] = ",job_name,norm_job_submit_time,ddl,A100,T4\n"
                           "0,aa,0,inf,100,400\n1,bb,1000,inf,100,50\n";
    AUTO_FREE char *yaml = mem_printf("cluster: {nodes: 1, gpus: 1, model: t4}\n"
                                      "workload: {format: hydra, file: %s}\nmeasure: [jct]\n",
                                      scene_file(content, sizeof(content) - 1));
    json_t *result = scene_run(yaml, -1);

    near_to(scene_number(result, "jct.max"), 400);
    near_to(scene_number(result, "jct.mean"), 225);
    json_decref(result);
    scene_clean();
}

static const char made_up[] = "cluster: {nodes: 4, gpus: 8}\n"
                              "workload: {format: generate, jobs: 400, arrivals: bursty, "
                              "diurnal: 0.5, queues: user}\n"
                              "seeds: 7\n"
                              "measure: [wait, jct, bounded_slowdown, utilization, jain, "
                              "share_error, fragmentation, blocked_idle, backfill]\n";

static char *text_of(json_t *result)
{
    json_object_del(result, "seconds");
    json_object_del(result, "events_per_second");
    char *text = json_dumps(result, JSON_COMPACT);
    json_decref(result);
    return text;
}

static void the_same_seed_gives_the_same_run(void **state)
{
    (void)state;
    AUTO_FREE char *first = text_of(scene_run(made_up, -1));
    AUTO_FREE char *second = text_of(scene_run(made_up, -1));

    assert_string_equal(first, second);
    assert_non_null(strstr(first, "\"finished\":400"));
}

static void the_mean_is_taken_element_by_element(void **state)
{
    json_t *runs = json_pack("[{s:i,s:{s:f}},{s:i,s:{s:f},s:s}]", "seed", 1, "wait", "mean", 2.0,
                             "seed", 2, "wait", "mean", 4.0, "word", "x");
    (void)state;

    json_t *mean = result_mean(runs);
    near_to(scene_number(mean, "wait.mean"), 3);
    assert_int_equal(json_object_size(mean), 1);
    json_decref(mean);
    json_decref(runs);
}

static void recorded_starts_are_measured_like_decisions(void **state)
{
    static const char history[] = "JobID|Account|Eligible|Start|End|AllocTRES\n"
                                  "1|a|0|0|100|gres/gpu=2\n2|b|10|100|110|gres/gpu=1\n"
                                  "3|b|20|110|160|gres/gpu=1\n4|b|20|20|30|cpu=1\n";
    (void)state;

    const char *path = scene_file(history, strlen(history));
    AUTO_FREE char *yaml =
        mem_printf("cluster: {nodes: 1, gpus: 2}\nschedule: recorded\n"
                   "workload: {format: sacct, file: %s, queues: {column: group}}\n"
                   "measure: [wait, jct, makespan, utilization, blocked_idle, preemptions, jain, "
                   "fragmentation, backfill]\n",
                   path);
    json_t *result = scene_run(yaml, -1);

    near_to(scene_number(result, "wait.mean"), (0 + 90 + 90 + 0) / 4.0);
    near_to(scene_number(result, "wait.by_queue.b.mean"), 60);
    near_to(scene_number(result, "jct.mean"), (100 + 100 + 140 + 10) / 4.0);
    near_to(scene_number(result, "makespan"), 160);
    near_to(scene_number(result, "utilization"), 100.0 * (200 + 10 + 50) / 320);
    near_to(scene_number(result, "blocked_idle"), 100.0 * 10 / 320); /* while 3 waits beside 2 */
    near_to(scene_number(result, "jobs.finished"), 4);
    assert_null(json_object_get(result, "preemptions"));
    assert_null(json_object_get(result, "fragmentation"));
    assert_null(json_object_get(result, "backfill"));
    json_decref(result);
    scene_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_what_is_computed_by_hand),
        cmocka_unit_test(easy_lets_those_pass_that_delay_nobody),
        cmocka_unit_test(without_backfill_nobody_passes),
        cmocka_unit_test(idle_gpus_that_somebody_could_use_are_blocked),
        cmocka_unit_test(what_does_not_fit_at_once_is_dropped_when_asked_for),
        cmocka_unit_test(wide_jobs_are_gangs_of_whole_machines),
        cmocka_unit_test(slow_models_take_longer),
        cmocka_unit_test(steps_last_as_long_as_the_table_says),
        cmocka_unit_test(a_job_has_a_run_time_on_each_model),
        cmocka_unit_test(a_kind_of_job_has_its_own_speed_on_a_model),
        cmocka_unit_test(jobs_state_speeds_on_models_with_short_names),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
        cmocka_unit_test(the_mean_is_taken_element_by_element),
        cmocka_unit_test(recorded_starts_are_measured_like_decisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
