/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of the engine slurm: Slurm's resources, the mark of a job, the batch script. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/exporter/exporter_answer.h"
#include "engine/slurm/gres.h"
#include "engine/slurm/slurm_account.h"
#include "engine/slurm/slurm_dependency.h"
#include "engine/slurm/slurm_document.h"
#include "engine/slurm/slurm_order.h"
#include "engine/slurm/slurm_topology.h"

static const char *const env_a[] = { "PATH=/bin", "RANK=0", "SLURM_JOB_ID=3", NULL };
static const char *const env_b[] = { "PATH=/bin", "RANK=it's 1", NULL };
static const char *const argv_a[] = { "sh", "-c", "echo 'x'", NULL };
static const struct engine_slice slices[] = {
    { .model = "h100", .milli = 1000 },
    { .model = "h100", .milli = 1000 },
    { .model = "a100", .milli = 1000 },
    { .model = "h100", .milli = 500 },
};

static struct engine_launch launch_of(uint32_t rank, const char *node, uint32_t gpus)
{
    return (struct engine_launch){ .id = { 12, 2, rank },
                                   .node = node,
                                   .queue = "prod",
                                   .title = "train",
                                   .slices = slices,
                                   .slices_count = gpus,
                                   .argv = argv_a,
                                   .envp = rank == 0 ? env_a : env_b,
                                   .cwd = "/w",
                                   .output = "/o 100%",
                                   .duration_max = USEC_NEVER };
}

static struct slurm_node node_items[] = {
    { .name = (char *)"n1", .gres = (char *)"gpu:h100:4(S:0-1),shard:h100:16(S:0-1)" },
    { .name = (char *)"n2", .gres = (char *)"gpu:h100:2,gpu:a100:2,mps:h100:200,mps:a100:200" },
    { .name = (char *)"n3", .gres = (char *)"gpu:h100:4" },
};
static const struct slurm_nodes some_nodes = { .all = { .items = node_items, .count = 3 } };

static struct slurm_order *order_of(const struct engine_launch *launches, uint32_t count)
{
    static struct watch_rules rules = { .slurm_account = "lab" };
    struct slurm_order *order;
    struct error err;

    assert_int_equal(slurm_order_make("ab", &rules, &some_nodes, launches, count, &order, &err), 0);
    return order;
}

static void test_models(void **state)
{
    char(*models)[GRES_MODEL_SIZE];

    (void)state;
    assert_int_equal(gres_models("mps:400,gpu:H100:2(S:0,1),gpu:a100:1,shard:8", &models), 3);
    assert_string_equal(models[1], "h100");
    assert_string_equal(models[2], "a100");
    free(models);
    assert_int_equal(gres_models("gpu:2", &models), 2);
    assert_string_equal(models[0], "gpu");
    free(models);
    assert_int_equal(gres_models("gpu:l40s", &models), 1);
    assert_string_equal(models[0], "l40s");
    free(models);
    assert_int_equal(gres_models(NULL, &models), 0);
    free(models);
}

static void test_indices(void **state)
{
    uint32_t *indices;

    (void)state;
    assert_int_equal(gres_indices("gpu:h100:3(IDX:0,2-3),other:1(IDX:1)", &indices), 3);
    assert_int_equal(indices[1], 2);
    assert_int_equal(indices[2], 3);
    free(indices);
    assert_int_equal(gres_indices("gpu:h100:1,gpu:a100:1(IDX:5)", &indices), 1);
    assert_int_equal(indices[0], 5);
    free(indices);
    assert_int_equal(gres_indices("gpu:h100:2(CNT:2)", &indices), 0);
    free(indices);
}

static void test_mark(void **state)
{
    struct engine_launch launches[] = { launch_of(0, "n1", 2), launch_of(1, "n2", 2) };
    struct slurm_order *order = order_of(launches, 2);
    struct slurm_mark mark;

    (void)state;
    assert_string_equal(order->comment, "tarn=ab/12.2 queue=prod ranks=0@n1:2,1@n2:2");
    assert_true(slurm_mark_read("ab", order->comment, &mark));
    assert_int_equal(mark.job, 12);
    assert_int_equal(mark.attempt, 2);
    assert_int_equal(mark.ranks.count, 2);
    assert_string_equal(mark.ranks.items[1].node, "n2");
    slurm_mark_release(&mark);
    assert_false(slurm_mark_read("a", order->comment, &mark));
    assert_false(slurm_mark_read("ab", "tarn=ab/12.2 queue=prod ranks=", &mark));
    assert_false(slurm_mark_read("ab", NULL, &mark));
    slurm_order_destroy(order);
}

static void test_one_member_is_the_batch_script(void **state)
{
    struct engine_launch launch = launch_of(0, "n1", 2);
    launch.duration_max = 90 * USEC_PER_SEC;
    struct slurm_order *order = order_of(&launch, 1);

    (void)state;
    assert_non_null(strstr(order->script, "\nexec 'sh' '-c' 'echo '\\''x'\\'''\n"));
    assert_int_equal(order->components.count, 1);
    assert_string_equal(order->components.items[0].gres, "gpu:h100:2");
    assert_string_equal(order->output, "/o 100%%");
    assert_string_equal(order->account, "lab");
    assert_null(order->partition);
    assert_int_equal(order->env_count, 2);
    assert_int_equal(order->limit_min, 3);
    slurm_order_destroy(order);
}

static void test_each_rank_of_a_gang_is_a_step(void **state)
{
    struct engine_launch launches[] = { launch_of(0, "n1", 1), launch_of(1, "n1", 1),
                                        launch_of(2, "n2", 2) };
    struct slurm_order *order = order_of(launches, 3);

    (void)state;
    assert_int_equal(order->components.count, 2);
    assert_string_equal(order->components.items[0].nodes, "n1");
    assert_int_equal(order->components.items[0].task_count, 2);
    assert_string_equal(order->components.items[0].gres, "gpu:h100:2");
    assert_int_equal(order->components.items[1].task_count, 1);
    assert_non_null(strstr(order->script, "export RANK='it'\\''s 1'\n"));
    assert_null(strstr(order->script, "export PATH"));
    assert_null(strstr(order->script, "SLURM_JOB_ID"));
    assert_non_null(strstr(order->script, "--nodelist=n2 --gres=gpu:h100:2 --het-group=1 "));
    slurm_order_destroy(order);
}

static void test_nodes_that_get_the_same_are_one_component(void **state)
{
    struct engine_launch launches[] = { launch_of(0, "n1", 2), launch_of(1, "n3", 1),
                                        launch_of(2, "n2", 2), launch_of(3, "n4", 0) };
    launches[0].cpu_milli = 2500;
    launches[2].memory_mib = 512;
    struct slurm_order *order = order_of(launches, 4);
    const struct slurm_component *components = order->components.items;

    (void)state;
    assert_int_equal(order->components.count, 3);
    assert_string_equal(components[0].nodes, "n1,n2");
    assert_int_equal(components[0].node_count, 2);
    assert_int_equal(components[0].cpus_per_task, 3);
    assert_int_equal(components[0].memory_mib, 512);
    assert_string_equal(components[1].gres, "gpu:h100:1");
    assert_null(components[2].gres);
    slurm_order_destroy(order);
    order = order_of(launches, 1);
    assert_int_equal(order->components.count, 1);
    assert_null(strstr(order->script, "het-group"));
    slurm_order_destroy(order);
}

static void test_the_limit_of_slurm_is_read_back(void **state)
{
    struct engine_launch launch = launch_of(0, "n1", 1);
    struct slurm_mark mark;
    launch.duration_max = 60 * USEC_PER_MIN;
    launch.grace = 90 * USEC_PER_SEC;
    struct slurm_order *order = order_of(&launch, 1);

    (void)state;
    assert_string_equal(order->comment, "tarn=ab/12.2 queue=prod limit=63+90 ranks=0@n1:1");
    assert_true(slurm_mark_read("ab", order->comment, &mark));
    assert_int_equal(mark.limit_min, 63);
    assert_true(slurm_mark_duration(&mark, 123) == 119 * USEC_PER_MIN + 30 * USEC_PER_SEC);
    assert_true(slurm_mark_duration(&mark, 1) == USEC_PER_SEC);
    slurm_mark_release(&mark);
    struct slurm_order *adopted = slurm_order_adopt("ab", &launch, 1, "4711_3");
    assert_string_equal(adopted->comment, "tarn=ab/12.2 queue=prod limit=59-60 ranks=0@n1:1");
    assert_true(slurm_mark_read("ab", adopted->comment, &mark));
    assert_true(slurm_mark_duration(&mark, 59) == USEC_PER_HOUR);
    slurm_mark_release(&mark);
    slurm_order_destroy(adopted);
    slurm_order_destroy(order);
}

static bool read_line(const char *text, struct slurm_job *job)
{
    AUTO_FREE char *line = mem_string(text);

    return slurm_account_read(line, job);
}

static void test_ends_in_the_accounting(void **state)
{
    struct slurm_job job;

    (void)state;
    assert_true(read_line("12|COMPLETED|0:0|2030-01-01T10:00:00|tarn=ab/1.1 a|b\n", &job));
    assert_int_equal(job.id, 12);
    assert_true(job.has_run && job.end == SLURM_EXITED && job.status == 0);
    assert_string_equal(job.comment, "tarn=ab/1.1 a|b");
    free(job.comment);
    assert_true(read_line("13|FAILED|9:0|2030-01-01T10:00:00|", &job));
    assert_int_equal(WEXITSTATUS(job.status), 9);
    free(job.comment);
    assert_true(read_line("14|CANCELLED by 1000|0:15|None|", &job));
    assert_true(!job.has_run && job.end == SLURM_CANCELLED && WTERMSIG(job.status) == 15);
    free(job.comment);
    assert_true(read_line("15|NODE_FAIL|1:0|2030-01-01T10:00:00|", &job));
    assert_true(job.end == SLURM_TAKEN_AWAY);
    free(job.comment);
    assert_false(read_line("16|RUNNING|0:0|2030-01-01T10:00:00|", &job));
    assert_false(read_line("17|COMPLETED|300:0|2030-01-01T10:00:00|", &job));
    assert_false(read_line("18|COMPLETED|0:0", &job));
    assert_false(read_line("", &job));
}

static void expect_document(const struct slurm_wish *wish, const char *words)
{
    const struct slurm_largest largest = { .gpus = 4, .shards = 4, .mps = 100, .cpu_milli = 16000 };
    struct error err = { "" };
    AUTO_FREE char *document = slurm_document(wish, &largest, &err);

    assert_string_equal(document ? document : err.text, words);
}

static void test_what_a_held_job_asks_for(void **state)
{
#define START "{\"run\":\": runs in Slurm\",\"requeue\":false,"
    (void)state;
    expect_document(
        &(struct slurm_wish){ .node_count = 2,
                              .task_count = 4,
                              .cpu_count = 9,
                              .per_node = (char *)"gres:gpu:h100:3",
                              .memory_mib = 100,
                              .is_memory_per_cpu = true,
                              .limit_min = 10,
                              .features = (char *)"a&b",
                              .req_nodes = (char *)"n1",
                              .name = (char *)"a \"b\\",
                              .cwd = (char *)"/w",
                              .output = (char *)"/o%j" },
        START "\"nodes\":2,\"cpus\":5,\"gpus\":\"h100:3\",\"memory\":500,\"max_duration\":\"11m\","
              "\"where\":[\"a\",\"b\",\"node=n1\"],\"name\":\"a \\\"b\\\\\",\"cwd\":\"/w\"}");
    expect_document(&(struct slurm_wish){ .per_job = (char *)"gres/gpu:6", .cpu_count = 2 },
                    START "\"nodes\":2,\"cpus\":1,\"gpus\":\"3\"}");
    expect_document(&(struct slurm_wish){ .per_task = (char *)"gres:gpu:1", .task_count = 3 },
                    START "\"nodes\":1,\"cpus\":1,\"gpus\":\"3\"}");
    expect_document(&(struct slurm_wish){ .is_exclusive = true, .cpu_count = 1 },
                    START "\"nodes\":1,\"cpus\":16}");
    expect_document(&(struct slurm_wish){ .per_node = (char *)"gres:gpu:a:1,gres:gpu:b:1" },
                    "it asks for GPUs of several models");
    expect_document(&(struct slurm_wish){ .per_job = (char *)"gres:gpu:h100:2",
                                          .cpu_count = 1,
                                          .cpus_per_gpu = (char *)"gres:gpu:3",
                                          .mib_per_gpu = (char *)"gres:gpu:100" },
                    START "\"nodes\":1,\"cpus\":6,\"gpus\":\"h100:2\",\"memory\":200}");
    expect_document(&(struct slurm_wish){ .per_node = (char *)"gres:shard:3" },
                    START "\"nodes\":1,\"cpus\":1,\"gpus\":\"0.750\"}");
    expect_document(&(struct slurm_wish){ .per_node = (char *)"gres:shard:h100:4" },
                    START "\"nodes\":1,\"cpus\":1,\"gpus\":\"h100:1\"}");
    expect_document(&(struct slurm_wish){ .per_node = (char *)"gres:mps:h100:25" },
                    START "\"nodes\":1,\"cpus\":1,\"gpus\":\"h100,mps=25%\"}");
    expect_document(&(struct slurm_wish){ .per_node = (char *)"gres:shard:5" },
                    "it asks for a part of a GPU that no node offers (shard:5)");
    expect_document(&(struct slurm_wish){ .per_node = (char *)"gres:shard:1", .node_count = 2 },
                    "it asks for parts of GPUs on several nodes");
    expect_document(&(struct slurm_wish){ .features = (char *)"[a|b]" },
                    "its constraint '[a|b]' is not a list of features");
    expect_document(&(struct slurm_wish){ .req_nodes = (char *)"n[1-2]" },
                    "it asks for several nodes by name");
    expect_document(&(struct slurm_wish){ .is_component = true }, "it is a heterogeneous job");
}

static void test_dependencies_of_a_held_job(void **state)
{
    static struct slurm_job items[] = {
        { .id = 9, .phase = SLURM_IS_OVER, .end = SLURM_EXITED, .status = 256 },
        { .id = 8,
          .phase = SLURM_IS_OVER,
          .end = SLURM_EXITED,
          .has_run = true,
          .started_at = 940 },
        { .id = 7, .phase = SLURM_RUNS, .has_run = true, .started_at = 990, .name = (char *)"x" },
        { .id = 21, .array = 20, .task = 1, .phase = SLURM_IS_OVER, .end = SLURM_EXITED },
        { .id = 20, .array = 20, .task = SLURM_NO_TASK, .phase = SLURM_WAITS },
        { .id = 31, .array = 30, .task = 0, .phase = SLURM_IS_OVER, .end = SLURM_CANCELLED },
        { .id = 30, .array = 30, .task = 1, .phase = SLURM_IS_OVER, .end = SLURM_EXITED },
    };
    static const struct {
        const char *dependency;
        enum slurm_dependency answer;
    } cases[] = {
        { "", SLURM_DEPENDENCY_MET },
        { "afterok:8(unfulfilled)", SLURM_DEPENDENCY_MET },
        { "afterok:9(unfulfilled)", SLURM_DEPENDENCY_BROKEN },
        { "afterok:7(unfulfilled)", SLURM_DEPENDENCY_WAITS },
        { "afterok:8:7", SLURM_DEPENDENCY_WAITS },
        { "afternotok:9", SLURM_DEPENDENCY_MET },
        { "afternotok:8", SLURM_DEPENDENCY_BROKEN },
        { "afterany:8(unfulfilled),afterany:9(unfulfilled)", SLURM_DEPENDENCY_MET },
        { "afterany:8(unfulfilled),afterok:7(unfulfilled)", SLURM_DEPENDENCY_WAITS },
        { "afterok:9(failed)?afterany:8(unfulfilled)", SLURM_DEPENDENCY_MET },
        { "afterok:9?afterok:7", SLURM_DEPENDENCY_WAITS },
        { "afterok:9?afterok:9", SLURM_DEPENDENCY_BROKEN },
        { "after:7(unfulfilled)", SLURM_DEPENDENCY_MET },
        { "after:7+1(unfulfilled)", SLURM_DEPENDENCY_WAITS },
        { "after:8+1(unfulfilled)", SLURM_DEPENDENCY_MET },
        { "afterok:20_*(unfulfilled)", SLURM_DEPENDENCY_WAITS },
        { "afterok:20_1(unfulfilled)", SLURM_DEPENDENCY_WAITS }, /* not all are split off */
        { "afterany:30_*(unfulfilled)", SLURM_DEPENDENCY_MET },
        { "afterok:30_*(unfulfilled)", SLURM_DEPENDENCY_BROKEN },
        { "afterok:30_1(unfulfilled)", SLURM_DEPENDENCY_MET },
        { "afterany:99(unfulfilled)", SLURM_DEPENDENCY_MET }, /* forgotten */
        { "singleton(unfulfilled)", SLURM_DEPENDENCY_WAITS },
        { "afterburstbuffer:8(unfulfilled)", SLURM_DEPENDENCY_WAITS },
        { "what", SLURM_DEPENDENCY_WAITS },
    };
    const struct slurm_jobs jobs = { .all = { .items = items, .count = COUNT_OF(items) } };
    struct slurm_index index;

    (void)state;
    slurm_index_make(&jobs, &index);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slurm_wish wish = { .dependency = (char *)(uintptr_t)cases[i].dependency };
        struct slurm_job job = { .id = 40, .name = (char *)"x", .wish = &wish };
        if (slurm_dependency_of(&index, &job, 1000) != cases[i].answer)
            fail_msg("%s", cases[i].dependency);
    }
    slurm_index_release(&index);
}

static void expect_tasks(const char *text, uint32_t count, uint32_t last)
{
    AUTO_FREE uint32_t *tasks = NULL;

    assert_int_equal(slurm_tasks(text, &tasks), count);
    assert_true(count == 0 || tasks[count - 1] == last);
}

static void test_tasks_of_an_array(void **state)
{
    (void)state;
    expect_tasks("0-9", 10, 9);
    expect_tasks("1-7:2,12%4", 5, 12);
    expect_tasks("3", 1, 3);
    expect_tasks(NULL, 0, 0);
    expect_tasks("1-5,...", 0, 0);
    expect_tasks("0-4294967295", 0, 0);
    expect_tasks("0-9:0", 0, 0);
}

static void expect_refused(const struct engine_launch *launches, uint32_t count, const char *words)
{
    static struct watch_rules rules;
    struct slurm_order *order;
    struct error err;

    assert_int_equal(slurm_order_make("ab", &rules, &some_nodes, launches, count, &order, &err),
                     -ENOTSUP);
    assert_non_null(strstr(err.text, words));
}

static void test_what_slurm_cannot_allocate_is_refused(void **state)
{
    struct engine_launch mixed = launch_of(0, "n1", 3);
    struct engine_launch parts[] = { launch_of(0, "n3", 1), launch_of(1, "n3", 1) };

    (void)state;
    parts[0].slices = parts[1].slices = &slices[3];
    expect_refused(&mixed, 1, "GPUs of one model");
    expect_refused(parts, 1, "node n3 offers no parts of GPUs (gres/mps)");
    expect_refused(parts, 2, "to a job with one member only");
}

static void test_a_part_is_as_many_of_slurms_as_hold_it(void **state)
{
    static const struct {
        const char *node;
        struct engine_slice slice;
        const char *gres;
    } cases[] = {
        { "n1", { .model = "h100", .milli = 500 }, "shard:2" },
        { "n1", { .model = "h100", .milli = 501 }, "shard:3" },
        { "n1", { .model = "h100", .milli = 1 }, "shard:1" },
        { "n1", { .model = "h100", .milli = 1000 }, "gpu:h100:1" },
        { "n2", { .model = "a100", .milli = 255 }, "mps:a100:26" },
        { "n2", { .model = "h100", .milli = 500, .is_mps = true }, "mps:h100:50" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct engine_launch launch = launch_of(0, cases[i].node, 1);
        launch.slices = &cases[i].slice;
        struct slurm_order *order = order_of(&launch, 1);
        assert_string_equal(order->components.items[0].gres, cases[i].gres);
        slurm_order_destroy(order);
    }
}

static void test_parts_of_gpus(void **state)
{
    static const struct {
        const char *gres, *name;
        uint32_t parts;
    } cases[] = {
        { "gpu:h100:4,shard:h100:16", "shard", 4 },
        { "gpu:h100:4,shard:h100:16", "mps", 0 },
        { "gpu:2,mps:200", "mps", 100 },
        { "gpu:2(S:0,1),mps:2K(S:0,1)", "mps", 1024 },
        { "gpu:8,shard:4", "shard", 0 }, /* not each of them */
        { "shard:4", "shard", 0 },
        { NULL, "shard", 0 },
    };
    uint32_t *indices;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(gres_parts(cases[i].gres, cases[i].name), cases[i].parts);
    assert_int_equal(gres_indices("shard:h100:2(IDX:3)", &indices), 1);
    assert_int_equal(indices[0], 3);
    free(indices);
}

/* ---- the network ---- */

static void test_racks_and_blocks(void **state)
{
    static const struct {
        enum slurm_group_kind kind;
        const char *name, *nodes;
    } expected[] = { { SLURM_GROUP_RACK, "leaf1", "n[1-2,7]" },
                     { SLURM_GROUP_RACK, "leaf2", "n[3-4]" },
                     { SLURM_GROUP_BLOCK, "spine", "n[1-4,7]" },
                     { SLURM_GROUP_RACK, "nvl1", "g[01-18]" } };
    struct slurm_topology topology;

    (void)state;
    slurm_topology_read("SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2,7]\n"
                        "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
                        "SwitchName=empty Level=0 LinkSpeed=1\n"
                        "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-4,7] Switches=leaf[1-2]\n"
                        "SwitchName=top Level=2 LinkSpeed=1 Nodes=n[1-4,7] Switches=spine\n"
                        "\nXBlockName=none Nodes=x\n"
                        "BlockName=nvl1 BlockIndex=0 Nodes=g[01-18] BlockSize=18\n"
                        "AggregatedBlock=nvl1,nvl2 BlockIndex=2 Nodes=g[01-36] BlockSize=36",
                        &topology);
    assert_int_equal(topology.groups.count, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_int_equal(topology.groups.items[i].kind, expected[i].kind);
        assert_string_equal(topology.groups.items[i].name, expected[i].name);
        assert_string_equal(topology.groups.items[i].nodes, expected[i].nodes);
    }
    slurm_topology_release(&topology);
    slurm_topology_read("", &topology);
    assert_int_equal(topology.groups.count, 0);
}

/* ---- exporters ---- */

static int read_answer(const char *text, struct exporter_answer *ret, struct error *err)
{
    return exporter_answer_read(text, strlen(text), ret, err);
}

static void test_an_exporter_s_answer(void **state)
{
    struct exporter_answer answer;
    struct error err;

    (void)state;
    assert_int_equal(
        read_answer("{\"gpus\": [{\"index\": 2, \"age\": 0.25, \"trouble\": null, \"faults\": [],"
                    " \"reading\": {\"gpu_use\": 0.85, \"power\": 612.5, \"temperature\": -3,"
                    " \"memory_used\": 4194304, \"gpm_of_the_future\": 7, \"fan_speed\": \"fast\"},"
                    " \"xids\": [{\"xid\": 79, \"count\": 2}, {\"xid\": -1, \"count\": 2}, 7]},"
                    " {\"index\": 0, \"reading\": null, \"trouble\": \"gone\\u0007\","
                    " \"faults\": [{\"name\": \"hot\"}, {\"name\": \"lost\"}]}]}",
                    &answer, &err),
        0);
    assert_int_equal(answer.devices.count, 2);
    const struct exporter_device *first = &answer.devices.items[0],
                                 *second = &answer.devices.items[1];
    assert_int_equal(first->index, 2);
    assert_true(first->is_read);
    assert_int_equal(first->reading.at, USEC_PER_SEC / 4);
    assert_int_equal(first->reading.values[READING_GPU_USE], 850000);
    assert_int_equal(first->reading.values[READING_POWER], 612500);
    assert_int_equal(first->reading.values[READING_TEMPERATURE], -3000);
    assert_int_equal(first->reading.values[READING_MEMORY_USED], 4 << 20);
    assert_false(reading_has(&first->reading, READING_FAN_SPEED));
    assert_int_equal(first->code, 0);
    assert_int_equal(first->xid_count, 1);
    assert_int_equal(first->xids[0].xid, 79);
    assert_int_equal(first->xids[0].count, 2);
    assert_false(second->is_read);
    assert_int_equal(second->code, -ENODEV);
    assert_string_equal(second->trouble, "gone?");
    exporter_answer_release(&answer);
}

/* What cannot be is left out, and nothing is read beyond its limits. */
static void test_an_exporter_that_lies(void **state)
{
    static const struct {
        const char *text;
        int code;
        size_t count;
    } cases[] = {
        { "", -EINVAL, 0 },
        { "<html>", -EINVAL, 0 },
        { "[]", -EINVAL, 0 },
        { "{\"gpus\": {}}", -EINVAL, 0 },
        { "{\"gpus\": []}", 0, 0 },
        { "{\"gpus\": [7, null, {}, {\"index\": -1}, {\"index\": 1e3}, {\"index\": 4000000000}]}",
          0, 0 },
        { "{\"gpus\": [{\"index\": 1, \"age\": -5, \"reading\": {\"gpu_use\": 0.5}}]}", 0, 1 },
        { "{\"gpus\": [{\"index\": 1, \"age\": 1e300, \"reading\": {\"gpu_use\": 0.5}}]}", 0, 1 },
        { "{\"gpus\": [{\"index\": 1, \"age\": 0, \"reading\": {\"gpu_use\": 50, \"power\": 1e300,"
          " \"memory_used\": -1e300}, \"xids\": 3, \"faults\": 4, \"trouble\": 5}]}",
          0, 1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct exporter_answer answer;
        struct error err;
        assert_int_equal(read_answer(cases[i].text, &answer, &err), cases[i].code);
        assert_int_equal(answer.devices.count, cases[i].count);
        if (cases[i].count > 0) {
            const struct reading *reading = &answer.devices.items[0].reading;
            assert_false(reading_has(reading, READING_GPU_USE));
            assert_false(reading_has(reading, READING_MEMORY_USED));
        }
        exporter_answer_release(&answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_mark),
        cmocka_unit_test(test_one_member_is_the_batch_script),
        cmocka_unit_test(test_each_rank_of_a_gang_is_a_step),
        cmocka_unit_test(test_nodes_that_get_the_same_are_one_component),
        cmocka_unit_test(test_the_limit_of_slurm_is_read_back),
        cmocka_unit_test(test_ends_in_the_accounting),
        cmocka_unit_test(test_what_a_held_job_asks_for),
        cmocka_unit_test(test_tasks_of_an_array),
        cmocka_unit_test(test_what_slurm_cannot_allocate_is_refused),
        cmocka_unit_test(test_a_part_is_as_many_of_slurms_as_hold_it),
        cmocka_unit_test(test_parts_of_gpus),
        cmocka_unit_test(test_dependencies_of_a_held_job),
        cmocka_unit_test(test_racks_and_blocks),
        cmocka_unit_test(test_an_exporter_s_answer),
        cmocka_unit_test(test_an_exporter_that_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
