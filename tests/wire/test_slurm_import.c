/* SPDX-License-Identifier: Apache-2.0 */
/* tarn import slurm: the files of a site become a configuration and a report. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/slurm/slurm_files.h"
#include "wire/slurm/slurm_import.h"

struct made {
    struct text config, report;
};

static struct made import(const char *conf, const char *accounts, const char *qos)
{
    struct slurm_import from = { .conf = conf, .accounts = accounts, .qos = qos };
    struct made made = { { 0 }, { 0 } };
    struct error err;

    assert_int_equal(slurm_import(&from, &made.config, &made.report, &err), 0);
    return made;
}

static void release(struct made *made)
{
    text_release(&made->config);
    text_release(&made->report);
}

static void expect(const struct text *text, const char *words)
{
    if (!strstr(text_string(text), words))
        fail_msg("not found: %s\nin:\n%s", words, text_string(text));
}

static void expect_not(const struct text *text, const char *words)
{
    if (strstr(text_string(text), words))
        fail_msg("found: %s\nin:\n%s", words, text_string(text));
}

static void test_lines_of_conf(void **state)
{
    struct slurm_lines lines;

    (void)state;
    slurm_lines_of_conf("# none\nA=1 b=\"x y\" # c\nInclude \\\n file\n\nC==\n", &lines);
    assert_int_equal(lines.all.count, 3);
    assert_string_equal(slurm_line_get(&lines.all.items[0], "B"), "x y");
    assert_int_equal(lines.all.items[1].number, 3);
    assert_int_equal(lines.all.items[1].pairs.count, 2);
    assert_string_equal(slurm_line_get(&lines.all.items[2], "C"), "=");
    slurm_lines_release(&lines);
}

static void test_partitions_and_settings(void **state)
{
    struct made made = import("PriorityDecayHalfLife=14-0\nSchedulerType=sched/builtin\n"
                              "PriorityWeightAge=5\nPriorityWeightQOS=0\nPreemptType=preempt/none\n"
                              "NodeName=a Gres=gpu:4\nNodeName=b Gres=gpu:h100:4\n"
                              "PartitionName=DEFAULT MaxTime=2-0\nPartitionName=x Nodes=a\n"
                              "PartitionName=y Nodes=b Default=YES PriorityTier=2\n",
                              "Account - 'lab':Fairshare=3\n", NULL);

    (void)state;
    expect(&made.config, "slurm:\n  partition: y\n");
    expect(&made.config, "fair_share:\n  half_life: 20160m\n");
    expect(&made.config, "backfill: none\n");
    expect(&made.config, "queues:\n  lab:\n    weight: 3\n    longest_duration: 2880m\n");
    expect(&made.report, "slurm.conf:3: PriorityWeightAge=5: ");
    expect(&made.report, "slurm.conf:6: Gres=gpu:4: ");
    expect(&made.report, "slurm.conf:9: x: tarn serves one partition");
    expect(&made.report, "slurm.conf:10: PriorityTier=2: ");
    expect_not(&made.report, "slurm.conf:4");
    expect_not(&made.report, "slurm.conf:5");
    expect_not(&made.report, "slurm.conf:7");
    release(&made);
}

static void test_accounts_are_queues(void **state)
{
    struct made made = import(
        "PartitionName=p\n",
        "Cluster - 'c':Fairshare=1\nParent - 'root'\n"
        "Account - 'uni':Fairshare=7:GrpTRES=cpu=64,mem=512G,gres/gpu:h100=4,node=2\n"
        "Parent - 'uni'\nAccount - 'lab':Fairshare=parent:QOS='fast':GrpJobs=3\n"
        "User - 'boss':Fairshare=1\nParent - 'lab'\nUser - 'ana':Fairshare=2\n"
        "User - 'bob':GrpTRES=gres/gpu=1\n",
        "Name|MaxWall|GrpTRES|MaxTRESPU|Preempt|\nfast|12:00:00|gres/gpu=8|gres/gpu=2|slow|\n");

    (void)state;
    expect(&made.config, "  uni:\n    weight: 7\n    limit: {cpus: 64, memory: 512G, h100: 4}\n");
    expect(&made.config, "  lab:\n    parent: uni\n    limit: {gpus: 8}\n"
                         "    longest_duration: 720m\n    submit: [ana, bob]\n"
                         "    users: {each: {gpus: 2}, bob: {gpus: 1}}\n");
    expect(&made.report, "accounts:3: GrpTRES node=2: ");
    expect(&made.report, "accounts:3: uni: a queue with queues below it takes no jobs");
    expect(&made.report, "accounts:5: parent: a share that is no number");
    expect(&made.report, "accounts:5: GrpJobs=3: ");
    expect(&made.report, "accounts:8: ana: users of a queue have equal shares");
    expect(&made.report, "qos:2: Preempt=slow: ");
    release(&made);
}

static void test_a_table_of_associations(void **state)
{
    struct made made = import("",
                              "Account|User|Share|GrpTRES|MaxWall|Par Name|\nroot||1||||\n"
                              "lab||4|mem=1000|2:30:00|root|\nlab|ana|1||||\na||1|||b|\nb||1|||a|\n"
                              "-x||1||||\n",
                              NULL);

    (void)state;
    expect(&made.config, "  lab:\n    weight: 4\n    limit: {memory: 1000M}\n"
                         "    longest_duration: 150m\n    submit: [ana]\n");
    expect(&made.report, "accounts:7: -x: this is no name of a queue");
    expect_not(&made.config, "slurm:");
    bool is_ring = strstr(text_string(&made.config), "parent: a") &&
                   strstr(text_string(&made.config), "parent: b");
    assert_false(is_ring);
    release(&made);
}

static void test_a_partition_must_exist(void **state)
{
    struct slurm_import from = { .conf = "PartitionName=p\n", .partition = "q" };
    struct made made = { { 0 }, { 0 } };
    struct error err;

    (void)state;
    assert_int_equal(slurm_import(&from, &made.config, &made.report, &err), -ENOENT);
    assert_string_equal(err.text, "slurm.conf: there is no partition 'q'");
    release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_conf),
        cmocka_unit_test(test_partitions_and_settings),
        cmocka_unit_test(test_accounts_are_queues),
        cmocka_unit_test(test_a_table_of_associations),
        cmocka_unit_test(test_a_partition_must_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
