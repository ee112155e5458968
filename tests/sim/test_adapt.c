/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"
#include "sim/run/adapt.h"

/* Jobs a to z: the i-th comes at 10 i and asks for i % 4 + 1 GPUs for 100 s. */
static void make_jobs(struct workload *from)
{
    struct error err;

    for (int i = 0; i < 26; i++) {
        char name[2] = { (char)('a' + i), '\0' };
        struct sim_job job = sim_job_default();
        job.name = workload_string(from, name);
        job.submit = i * 10 * USEC_PER_SEC;
        job.run = 100 * USEC_PER_SEC;
        job.gpus = (uint32_t)i % 4 + 1;
        assert_int_equal(workload_add(from, &job, &err), 0);
    }
}

/* Adapted by these options of workload, on 4 nodes of 8 GPUs. */
static void adapted(const char *options, uint64_t seed, int64_t slice, struct workload *from,
                    struct workload *ret)
{
    AUTO_FREE char *yaml =
        mem_printf("cluster: {nodes: 4, gpus: 8}\nworkload: {format: itp, file: a, %s}\n", options);
    struct experiment_list list = { 0 };
    struct error err = { "" };

    if (experiment_parse(yaml, strlen(yaml), "t.yaml", "", NULL, &list, &err) < 0)
        fail_msg("%s", err.text);
    if (from->jobs.count == 0)
        make_jobs(from);
    if (adapt_workload(list.items.items[0], from, seed, slice, ret, &err) < 0)
        fail_msg("%s", err.text);
    experiment_list_release(&list);
}

static int64_t asked_milli(const struct workload *workload)
{
    int64_t sum = 0;

    for (size_t i = 0; i < workload->jobs.count; i++)
        sum += sim_job_milli(&workload->jobs.items[i]);
    return sum;
}

static bool is_same_order(const struct workload *a, const struct workload *b)
{
    if (a->jobs.count != b->jobs.count)
        return false;
    for (size_t i = 0; i < a->jobs.count; i++) {
        if (strcmp(a->jobs.items[i].name, b->jobs.items[i].name) != 0)
            return false;
    }
    return true;
}

static void the_published_procedure_depends_on_the_seed_alone(void **state)
{
    static const char options[] = "shuffle: true, inflate: 2.5, departures: false";
    struct workload from = { 0 }, one = { 0 }, again = { 0 }, other = { 0 };
    (void)state;

    adapted(options, 42, -1, &from, &one);
    adapted(options, 42, -1, &from, &again);
    adapted(options, 43, -1, &from, &other);
    assert_true(is_same_order(&one, &again));
    assert_false(is_same_order(&one, &other));
    assert_in_range(asked_milli(&one), 80000, 83000); /* 2.5 x 32, and less than one job more */
    for (size_t i = 0; i < one.jobs.count; i++) {
        assert_int_equal(one.jobs.items[i].submit, (usec_t)i * USEC_PER_SEC);
        assert_true(one.jobs.items[i].run == USEC_NEVER);
    }
    /* The first 26 are the file's own, each once; clones follow. */
    uint32_t seen = 0;
    for (size_t i = 0; i < 26; i++)
        seen |= UINT32_C(1) << (one.jobs.items[i].name[0] - 'a');
    assert_int_equal(seen, (1 << 26) - 1);
    workload_release(&one);
    workload_release(&again);
    workload_release(&other);
    workload_release(&from);
}

static void a_list_that_asks_for_more_is_pruned(void **state)
{
    struct workload from = { 0 }, pruned = { 0 };
    (void)state;

    adapted("shuffle: true, inflate: 1.0, departures: false", 42, -1, &from, &pruned);
    assert_in_range(asked_milli(&pruned), 28000, 32000);
    assert_true(pruned.jobs.count < 26);
    workload_release(&pruned);
    workload_release(&from);
}

static void a_slice_keeps_its_own_times(void **state)
{
    struct workload from = { 0 }, slice = { 0 };
    (void)state;

    adapted("slices: {starts: [0, 20], count: 4}, time_scale: 0.5", 1, 1, &from, &slice);
    assert_int_equal(slice.jobs.count, 4);
    assert_string_equal(slice.jobs.items[0].name, "u");
    assert_int_equal(slice.jobs.items[0].submit, 0);
    assert_int_equal(slice.jobs.items[3].submit, 15 * USEC_PER_SEC);
    workload_release(&slice);
    workload_release(&from);
}

static void a_load_is_offered_by_the_rate_of_arrivals(void **state)
{
    struct workload from = { 0 }, loaded = { 0 };
    double work = 0;
    (void)state;

    adapted("load: 0.8, count: 20000", 5, -1, &from, &loaded);
    assert_int_equal(loaded.jobs.count, 20000);
    for (size_t i = 0; i < loaded.jobs.count; i++)
        work +=
            (double)sim_job_milli(&loaded.jobs.items[i]) / 1000 * (double)loaded.jobs.items[i].run;
    double offered = work / 32 / (double)loaded.jobs.items[19999].submit;
    assert_true(fabs(offered - 0.8) < 0.03);
    workload_release(&loaded);
    workload_release(&from);
}

/* As they are in the shared cluster: the same jobs at the same times. */
static void a_team_alone_has_the_jobs_it_has_among_others(void **state)
{
    struct workload from = { 0 }, all = { 0 };
    size_t alone_count = 0;
    (void)state;

    adapted("teams: 3, gpus_max: 3", 1, -1, &from, &all);
    assert_int_equal(all.jobs.count, 20); /* those that ask for four are out */
    for (int team = 1; team <= 3; team++) {
        AUTO_FREE char *options = mem_printf("teams: 3, team: %d, gpus_max: 3", team);
        AUTO_FREE char *queue = mem_printf("team%d", team);
        struct workload alone = { 0 };
        size_t at = 0;

        adapted(options, 1, -1, &from, &alone);
        alone_count += alone.jobs.count;
        for (size_t i = 0; i < all.jobs.count; i++) {
            const struct sim_job *job = &all.jobs.items[i];
            if (strcmp(job->queue, queue) != 0)
                continue;
            assert_true(at < alone.jobs.count);
            assert_string_equal(alone.jobs.items[at].name, job->name);
            assert_int_equal(alone.jobs.items[at++].submit, job->submit);
        }
        assert_int_equal(at, alone.jobs.count);
        assert_true(at > 0);
        workload_release(&alone);
    }
    assert_int_equal(alone_count, all.jobs.count);
    workload_release(&all);
    workload_release(&from);
}

static void teams_that_make_no_sense_are_named(void **state)
{
    static const struct {
        const char *options, *text;
    } cases[] = {
        { "teams: 2, team: 3", "t.yaml:2: workload: team: team 3 of 2; expected one of teams" },
        { "teams: 2, queues: {column: user}",
          "t.yaml:2: workload: teams: its jobs have queues of a column; expected one of teams and "
          "queues" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *yaml =
            mem_printf("cluster: {nodes: 4, gpus: 8}\nworkload: {format: itp, file: a, %s}\n",
                       cases[i].options);
        struct experiment_list list = { 0 };
        struct error err = { "" };

        assert_true(experiment_parse(yaml, strlen(yaml), "t.yaml", "", NULL, &list, &err) < 0);
        assert_string_equal(err.text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_procedure_depends_on_the_seed_alone),
        cmocka_unit_test(a_list_that_asks_for_more_is_pruned),
        cmocka_unit_test(a_slice_keeps_its_own_times),
        cmocka_unit_test(a_load_is_offered_by_the_rate_of_arrivals),
        cmocka_unit_test(a_team_alone_has_the_jobs_it_has_among_others),
        cmocka_unit_test(teams_that_make_no_sense_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
