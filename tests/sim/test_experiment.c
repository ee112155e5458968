/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

static int parse(const char *yaml, char *const *changes, struct experiment_list *list,
                 struct error *err)
{
    return experiment_parse(yaml, strlen(yaml), "t.yaml", "there", changes, list, err);
}

#define START "cluster: {nodes: 2, gpus: 8, model: V100}\nworkload: {format: itp, file: a.csv}\n"

static void an_experiment_is_read(void **state)
{
    struct experiment_list list = { 0 };
    struct error err = { "" };
    (void)state;

    assert_int_equal(parse(START "policy: {placement: sfg, order: fifo, backfill: conservative, "
                                 "on_misfit: drop}\nqueues: {a: {weight: 2}}\nseeds: 42..51\n"
                                 "measure: [allocation_at: [100, 130], wait]\n",
                           NULL, &list, &err),
                     0);
    const struct experiment *experiment = list.items.items[0];
    assert_string_equal(experiment->name, "t");
    assert_string_equal(experiment->path, "there/a.csv");
    assert_int_equal(experiment->cluster.gpu_count, 16);
    assert_string_equal(experiment->cluster.nodes.items[0].model, "v100");
    assert_int_equal(experiment->config->settings.placement, PLACEMENT_SFG);
    assert_int_equal(experiment->config->settings.order, ORDER_FIFO);
    assert_int_equal(experiment->config->settings.backfill_depth, 10000);
    assert_int_equal(experiment->config->queue_count, 1);
    assert_true(experiment->is_dropping);
    assert_int_equal(experiment->seed_count, 10);
    assert_int_equal(experiment->seeds[9], 51);
    assert_int_equal(experiment->wanted.allocation_at.items[1], 130);
    assert_true(experiment->wanted.is_on[METRIC_WAIT]);
    assert_false(experiment->wanted.is_on[METRIC_JCT]);
    experiment_list_release(&list);
}

static void variants_and_changes_stand_above_the_file(void **state)
{
    char *changes[] = { "policy.order=shortest", "seeds=[3, 5]", NULL };
    struct experiment_list list = { 0 };
    struct error err = { "" };
    (void)state;

    assert_int_equal(parse(START "variants: [{name: a, policy: {placement: fgd}}, {name: b, "
                                 "workload: {preemption: true}}]\n",
                           changes, &list, &err),
                     0);
    assert_int_equal(list.items.count, 2);
    assert_string_equal(list.items.items[1]->variant, "b");
    assert_int_equal(list.items.items[0]->config->settings.placement, PLACEMENT_FGD);
    assert_int_equal(list.items.items[1]->config->settings.placement, PLACEMENT_SFG);
    assert_int_equal(list.items.items[1]->config->settings.order, ORDER_SHORTEST);
    assert_true(list.items.items[1]->adapt.preemption);
    assert_int_equal(list.items.items[0]->seeds[1], 5);
    experiment_list_release(&list);
}

static void a_bad_experiment_is_refused_with_line_and_words(void **state)
{
    static const struct {
        const char *yaml, *text;
    } cases[] = {
        { "[]", "t.yaml: expected a map with cluster and workload" },
        { "clutser: {}\n", "t.yaml:1: unknown key 'clutser'; did you mean 'cluster'?" },
        { "seeds: 1\n", "t.yaml: no cluster; expected cluster: {...}" },
        { "cluster: {nodes: 0}\n", "t.yaml:1: cluster: nodes: 0, expected 1 to 100000" },
        { "cluster:\n  gups: 2\n", "t.yaml:2: cluster: unknown key 'gups'; did you mean 'gpus'?" },
        { "cluster: {nodes: 1}\nworkload: {format: swff, file: a}\n",
          "t.yaml:2: workload: format: unknown format 'swff'; did you mean 'swf'?" },
        { "cluster: {nodes: 1}\nworkload: {format: swf}\n",
          "t.yaml: workload: no file; expected file: PATH" },
        { START "schedule: past\n", "t.yaml:3: schedule: 'past', expected tarn or recorded" },
        { "cluster: {nodes: 1}\nworkload: {format: swf, file: a, load: 0.5}\nschedule: recorded\n",
          "t.yaml:3: schedule: recorded: expected the jobs as they were, without shuffle, inflate, "
          "departures, load, time_scale, run_max, speeds and on_misfit" },
        { START "policy: {placment: fgd}\n",
          "t.yaml:3: policy: unknown key 'placment'; did you mean 'placement'?" },
        { START "policy: {placement: best}\n",
          "t.yaml:3: policy: placement: 'best', expected best-fit, first-fit, sfg, fgd, "
          "dot-product, spread or random" },
        { START "seeds: 5..1\n",
          "t.yaml:3: seeds: expected 1 to 1000 seeds: 42, 42..51 or a list" },
        { START "measure: [wiat]\n",
          "t.yaml:3: measure: unknown metric 'wiat'; did you mean 'wait'?" },
        { START "measure: [allocation_at]\n",
          "t.yaml:3: measure: allocation_at: expected allocation_at: [100]" },
        { START "variants: [{policy: {}}]\n", "t.yaml:3: variants: expected each with a name" },
        { START "config: /nonexistent/teams.yaml\n",
          "/nonexistent/teams.yaml: No such file or directory" },
        { START "variants: [{name: a, seeds: x}]\n",
          "t.yaml: variant a: seeds: expected 1 to 1000 seeds: 42, 42..51 or a list" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct experiment_list list = { 0 };
        struct error err = { "" };

        assert_true(parse(cases[i].yaml, NULL, &list, &err) < 0);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(list.items.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_experiment_is_read),
        cmocka_unit_test(variants_and_changes_stand_above_the_file),
        cmocka_unit_test(a_bad_experiment_is_refused_with_line_and_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
