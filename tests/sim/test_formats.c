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
#include <zlib.h>

#include <cmocka.h>

#include "scene.h"
#include "sim/trace/dice.h"
#include "sim/trace/lines.h"

#define SEC USEC_PER_SEC

/* What a small file of each format gives: its job number `which`. */
struct example {
    const char *format, *content;
    size_t count, which;
    struct sim_job job;
};

static const char openb[] = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
                            "creation_time,deletion_time,scheduled_time\r\n"
                            "a,4000,1024,1,460,,LS,Running,10,110,20\r\n"
                            "b,88000,2048,8,1000,T4|P100,BE,Running,30,90,\r\n"
                            "c,1000,512,0,0,,LS,Pending,40,41,\r\n";
static const char muri[] = "\xef\xbb\xbfjob_id,num_gpu,submit_time,iterations,model_name,"
                           "batch_size,duration,interval,iteration_time\n"
                           "0,1,2000,50,vgg16,16,99,1,400\n";
static const char itp[] = "job_id,submission_time,duration,num_gpu\nab-c,5010,1265,4\n";
static const char philly[] = "vc,user,jobname,gpu_num,state,submit_time,duration\n"
                             "v1,u1,\"train, \"\"big\"\"\",16,Pass,2017-10-03 00:00:01,60\n";
static const char chronus[] =
    "job_id,user,num_gpu,submit_time,duration,expect_time_list,best_effort,job_type\n"
    "0,u,1,100,10,15,0,strict\n1,u,2,7,10,7,1,best\n";
static const char shockwave[] = "job_id,arrival_s,num_gpus,effective_service_s,"
                                "exclusive_runtime_for_ftf_s\n0,55,2,1182.61,1224.81\n";
static const char helios[] =
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "7,u0,vcX,8,64,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:01:00,2020-04-01 00:02:00,60,50\n";
static const char pai[] = "j1,worker,3,Terminated,100,160,600,29.3,50,T4\n"
                          "j2,ps,1,Running,100,,600,29.3,,\n"
                          "j3,worker,1,Terminated,5,6,100,1,200,MISC\n";
static const char azure[] = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                            "2023-11-16 18:17:03.9799600,1000,10\n";
static const char sacct[] =
    "JobID|User|Account|Partition|Submit|Start|End|Elapsed|Timelimit|AllocTRES|State|NNodes\n"
    "10|ana|nlp|gpu|2024-01-01T00:00:00|2024-01-01T00:10:00|2024-01-01T01:10:00|01:00:00|"
    "1-00:00:00|billing=8,cpu=16,gres/gpu=8,gres/gpu:a100=8,mem=64G,node=2|COMPLETED|2\n"
    "10.batch||nlp||2024-01-01T00:00:00|2024-01-01T00:10:00|2024-01-01T01:10:00|01:00:00|||X|1\n"
    "11|bo|nlp|gpu|2024-01-01T00:00:00|Unknown|Unknown|00:00:00|UNKNOWN||PENDING|1\n";
/* Only types are counted; seconds and minutes; of the rest, nothing is a job that ran to its end.
 */
static const char sacct_raw[] =
    "JobIDRaw|JobName|User|Account|QOS|Eligible|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES|\n"
    "20|train|ana|nlp|high|1000|1600|2200|600|90|cpu=3,gres/gpu:a100=1,gres/gpu:v100=2,mem=3G|\n"
    "21_1|train|ana|nlp|high|1000|Unknown|Unknown|0|90||\n"
    "21_2|train|ana|nlp|high|1000|1600|Unknown|100|90|gres/gpu=1|\n"
    "22|cpu|bo|nlp|high|1000|1000|1001|1|UNLIMITED|cpu=2|\n";
static const char swf[] = "; MaxProcs: 100\n"
                          "  1  10 5 60 4 -1 -1 8 120 -1 1 12 13 14 0 1 -1 -1\n"
                          "  2  11 5 -1 4 -1 -1 8 120 -1 1 12 13 -1 0 1 -1 -1\n"
                          "  3  12 5  0 0 -1 -1 0 120 -1 1 12 13 -1 0 1 -1 -1\n";
static const char batsim[] =
    "{\"jobs\": [{\"id\": 3, \"subtime\": 1.5, \"res\": 2, \"walltime\": 9, \"profile\": \"p\"}],"
    "\"profiles\": {\"p\": {\"type\": \"delay\", \"delay\": 4.25}}}";

static const struct example examples[] = {
    { "openb",
      openb,
      3,
      0,
      { .name = "a",
        .submit = 10 * SEC,
        .run = 90 * SEC,
        .cpu_milli = 4000,
        .memory_mib = 1024,
        .gpus = 1,
        .milli = 460,
        .members = 1,
        .models = "" } },
    { "openb",
      openb,
      3,
      1,
      { .name = "b",
        .submit = 30 * SEC,
        .run = 60 * SEC,
        .cpu_milli = 88000,
        .memory_mib = 2048,
        .gpus = 8,
        .milli = 1000,
        .members = 1,
        .models = "t4|p100" } },
    { "muri",
      muri,
      1,
      0,
      { .name = "0",
        .submit = 2 * SEC,
        .run = 20 * SEC,
        .gpus = 1,
        .milli = 1000,
        .members = 1,
        .models = "" } },
    { "itp",
      itp,
      1,
      0,
      { .name = "ab-c",
        .submit = 5010 * SEC,
        .run = 1265 * SEC,
        .gpus = 4,
        .milli = 1000,
        .members = 1,
        .models = "" } },
    { "philly",
      philly,
      1,
      0,
      { .name = "train, \"big\"",
        .submit = 1506988801 * SEC,
        .run = 60 * SEC,
        .gpus = 16,
        .milli = 1000,
        .members = 1,
        .models = "" } },
    { "chronus",
      chronus,
      2,
      0,
      { .name = "0",
        .submit = 6000 * SEC,
        .run = 600 * SEC,
        .deadline = 6900 * SEC,
        .gpus = 1,
        .milli = 1000,
        .members = 1,
        .models = "" } },
    { "chronus",
      chronus,
      2,
      1,
      { .name = "1",
        .submit = 420 * SEC,
        .run = 600 * SEC,
        .gpus = 2,
        .milli = 1000,
        .members = 1,
        .models = "" } },
    { "shockwave",
      shockwave,
      1,
      0,
      { .name = "0",
        .submit = 55 * SEC,
        .run = 1182610000,
        .ideal = 1224810000,
        .gpus = 2,
        .milli = 1000,
        .members = 1,
        .models = "" } },
    { "helios",
      helios,
      1,
      0,
      { .name = "7",
        .submit = 1585699210 * SEC,
        .run = 60 * SEC,
        .waited = 50 * SEC,
        .cpu_milli = 64000,
        .gpus = 8,
        .milli = 1000,
        .members = 1,
        .models = "" } },
    { "pai",
      pai,
      2,
      0,
      { .name = "j1",
        .submit = 100 * SEC,
        .run = 60 * SEC,
        .cpu_milli = 6000,
        .memory_mib = 30003,
        .gpus = 1,
        .milli = 500,
        .members = 3,
        .models = "t4" } },
    { "pai",
      pai,
      2,
      1,
      { .name = "j3",
        .submit = 5 * SEC,
        .run = 1 * SEC,
        .cpu_milli = 1000,
        .memory_mib = 1024,
        .gpus = 2,
        .milli = 1000,
        .members = 1,
        .models = "" } },
    { "azure_llm",
      azure,
      1,
      0,
      { .name = "",
        .submit = 1700158623979960,
        .run = 300000,
        .gpus = 1,
        .milli = 125,
        .members = 1,
        .models = "" } },
    { "sacct",
      sacct,
      1,
      0,
      { .name = "10",
        .submit = 1704067200 * SEC,
        .run = 3600 * SEC,
        .limit = 86400 * SEC,
        .waited = 600 * SEC,
        .cpu_milli = 8000,
        .memory_mib = 32768,
        .gpus = 4,
        .milli = 1000,
        .members = 2,
        .models = "a100" } },
    { "sacct",
      sacct_raw,
      2,
      0,
      { .name = "train",
        .submit = 1000 * SEC,
        .run = 600 * SEC,
        .limit = 5400 * SEC,
        .waited = 600 * SEC,
        .cpu_milli = 3000,
        .memory_mib = 3072,
        .gpus = 3,
        .milli = 1000,
        .members = 1,
        .models = "a100|v100" } },
    { "sacct",
      sacct_raw,
      2,
      1,
      { .name = "cpu",
        .submit = 1000 * SEC,
        .run = 1 * SEC,
        .cpu_milli = 2000,
        .milli = 1000,
        .members = 1,
        .models = "" } },
    { "swf",
      swf,
      1,
      0,
      { .name = "p14",
        .submit = 10 * SEC,
        .run = 60 * SEC,
        .limit = 120 * SEC,
        .waited = 5 * SEC,
        .gpus = 8,
        .milli = 1000,
        .members = 1,
        .models = "" } },
    { "batsim",
      batsim,
      1,
      0,
      { .name = "3",
        .submit = 1500000,
        .run = 4250000,
        .limit = 9 * SEC,
        .gpus = 2,
        .milli = 1000,
        .members = 1,
        .models = "" } },
};

static void a_file_of_each_format_gives_its_jobs(void **state)
{
    (void)state;

    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        const struct example *example = &examples[i];
        struct workload workload = { 0 };
        struct error err = { "" };

        if (scene_read(example->format, example->content, false, &workload, &err) < 0)
            fail_msg("%s: %s", example->format, err.text);
        if (workload.jobs.count != example->count)
            fail_msg("%s: %zu jobs", example->format, workload.jobs.count);
        const struct sim_job *job = &workload.jobs.items[example->which];
        const struct sim_job *expected = &example->job;
        assert_string_equal(job->name, expected->name);
        assert_string_equal(job->models, expected->models);
        assert_int_equal(job->submit, expected->submit);
        assert_int_equal(job->run, expected->run);
        assert_int_equal(job->limit, expected->limit);
        assert_int_equal(job->deadline, expected->deadline);
        assert_int_equal(job->ideal, expected->ideal);
        if (expected->waited > 0)
            assert_int_equal(job->waited, expected->waited);
        assert_int_equal(job->cpu_milli, expected->cpu_milli);
        assert_int_equal(job->memory_mib, expected->memory_mib);
        assert_int_equal(job->gpus, expected->gpus);
        assert_int_equal(job->milli, expected->milli);
        assert_int_equal(job->members, expected->members);
        workload_release(&workload);
    }
}

static void the_queue_of_helios_is_the_virtual_cluster(void **state)
{
    struct workload workload = { 0 };
    struct error err;
    (void)state;

    assert_int_equal(scene_read("helios", helios, false, &workload, &err), 0);
    assert_string_equal(workload.jobs.items[0].queue, "vcX");
    assert_string_equal(workload.jobs.items[0].user, "u0");
    workload_release(&workload);
}

static void a_bad_line_is_told_with_its_place_and_what_was_expected(void **state)
{
    static const struct {
        const char *format, *content, *text;
    } cases[] = {
        { "itp", "", ": empty, expected a header line" },
        { "itp", "a,b\n", ":1: no column 'job_id'; expected a header line with it" },
        { "itp", "job_id,submission_time,duration,num_gpu\n", ": no job in it" },
        { "itp", "job_id,submission_time,duration,num_gpu\na,x,1,1\n",
          ":2:3: 'x', expected a time: a number, or like 2023-11-16 18:17:03" },
        { "itp", "job_id,submission_time,duration,num_gpu\n\na, 1 ,-5,1\n",
          ":3:7: '-5', expected a duration: a number from 0, or like 1-02:03:04" },
        { "itp", "job_id,submission_time,duration,num_gpu\na,1,5,1.5\n",
          ":2:7: '1.5', expected a whole number of GPUs, or less than one" },
        { "itp", "job_id,submission_time,duration,num_gpu\na,1,5\n",
          ":2: 3 fields, expected 4 as in the header" },
        { "itp", "job_id,submission_time,duration,num_gpu\n\"a,1,5,1\n",
          ":2:1: '\"a,1,5,1', expected a quote at the end of the field" },
        { "openb", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,2000\n",
          ":2:9: '2000', expected a number, 0 to 1000" },
        { "sacct", "JobID|Eligible|Start|End|ElapsedRaw\n",
          ":1: no column 'AllocTRES|ReqTRES'; expected a header line with it" },
        { "sacct", "JobID|Eligible|AllocTRES|End\n",
          ":1: no column 'Start'; expected a header line with it" },
        { "sacct", "JobID|Submit|Start|End|AllocTRES\n7|1|2|3|cpu=1\n7|4|5|6|cpu=1\n",
          ":3:1: '7', expected each job once, and line 2 has it" },
        { "sacct", "JobID|Submit|Start|End|AllocTRES\n7|3|2|4|cpu=1\n",
          ":2:5: '2', expected a start that is not before the submission, as sacct with "
          "SLURM_TIME_FORMAT=%s prints it" },
        { "sacct", "JobID|Submit|Start|End|AllocTRES|Timelimit\n7|1|2|4|cpu=1|3 days\n",
          ":2:15: '3 days', expected a duration: a number from 0, or like 1-02:03:04" },
        { "itp", "job_id,submission_time,duration,num_gpu\na,1,5,1,9\n",
          ":2: 5 fields, expected 4 as in the header" },
        { "sacct", "JobID|JobName|Submit|Start|End|AllocTRES\n7|a|b|1|2|4|cpu=1\n",
          ":2: 7 fields, expected 6 as in the header" },
        { "sacct", "JobID|JobName|Submit|Start|End|AllocTRES\n7|a|1|2|4\n",
          ":2: 5 fields, expected 6 as in the header" },
        { "sacct", "JobID|JobName|Submit|Start|End|AllocTRES\ny|z|1|2|4|cpu=1\n",
          ":2:1: 'y', expected the number of a job" },
        { "sacct", "JobID|Submit|Start|End|AllocTRES\n7|1|Today 10:00|Unknown|cpu=1\n",
          ": no job in it" },
        { "sacct", "JobID|Submit|Start|End|AllocTRES\n7|1|2|Ystday 14:01|cpu=1\n",
          ":2:7: 'Ystday 14:01', expected a time: a number, or like 2023-11-16 18:17:03" },
        { "sacct", "JobID|Submit|Start|End|AllocTRES\n7|1|2|4|cpu=1,gres/gpu=two\n",
          ":2:9: 'cpu=1,gres/gpu=two', expected an amount after gres/gpu=, like 4 or 64G of mem" },
        { "sacct", "JobID|Submit|Start|End|AllocTRES\n7|1|2|4|cpu=2K\n",
          ":2:9: 'cpu=2K', expected an amount after cpu=, like 4 or 64G of mem" },
        { "sacct", "JobID|Submit|Start|End|AllocTRES\n7|1|2|4|gres/gpu=2000000\n",
          ":2:9: 'gres/gpu=2000000', expected at most 1000000 GPUs, whole ones" },
        { "sacct", "JobID|Submit|Start|End|AllocTRES\n7|1|2|4|cpu=1,gres/shard=2\n",
          ":2:9: 'cpu=1,gres/shard=2', expected whole GPUs, not shares of an unknown size" },
        { "sacct", "JobID|Submit|Start|End|AllocTRES|Timelimit\n7|1|2|4|cpu=1|soon\n",
          ":2:15: 'soon', expected a duration: a number from 0, or like 1-02:03:04" },
        { "swf", "1 2 3\n", ":1: 3 fields, expected 18 fields of numbers" },
        { "swf", "; c\n1 2 3 x 5 6 7 8 9 10 11\n",
          ":2:7: 'x', expected a number, -6307200000 to 6307200000" },
        { "batsim", "[]", ": expected a map with jobs and profiles" },
        { "batsim", "{\"jobs\": [{\"subtime\": 1, \"res\": 0}], \"profiles\": {}}",
          ": jobs[0]: res: expected a number of machines, 1 to 1000000" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct workload workload = { 0 };
        struct error err = { "" };

        assert_true(scene_read(cases[i].format, cases[i].content, false, &workload, &err) < 0);
        assert_string_equal(err.text, cases[i].text);
        workload_release(&workload);
    }
}

static void bad_lines_are_counted_when_asked_for(void **state)
{
    struct workload workload = { 0 };
    struct error err = { "" };
    (void)state;

    assert_int_equal(scene_read("itp",
                                "job_id,submission_time,duration,num_gpu\na,x,1,1\nb,1,1,1\n"
                                "\"c,1,1,1\nd,2,2,2\n",
                                true, &workload, &err),
                     0);
    assert_int_equal(workload.jobs.count, 2);
    assert_int_equal(workload.skipped, 2);
    workload_release(&workload);
}

static void count(const char *format, const char *content, size_t jobs, size_t bad, size_t left_out)
{
    struct workload workload = { 0 };
    struct error err = { "" };

    assert_int_equal(scene_read(format, content, bad > 0, &workload, &err), 0);
    assert_int_equal(workload.jobs.count, jobs);
    assert_int_equal(workload.skipped, bad);
    assert_int_equal(workload.left_out, left_out);
    workload_release(&workload);
}

/* sacct never quotes, and a name may have a line break and a bar: neither part is a job. */
static void names_of_jobs_shift_no_column(void **state)
{
    (void)state;
#define HEADER "JobID|JobName|Submit|Start|End|AllocTRES\n"
    count("sacct", HEADER "7|\"a|1|2|4|cpu=1\n8|b\"c\"|1|2|4|cpu=1\n", 2, 0, 0);
    count("sacct", HEADER "7|a\nb|1|2|4|cpu=1\n8|c|1|2|4|cpu=1\n", 1, 2, 0);
    count("sacct", HEADER "7|a\nb|c|1|2|4|cpu=1\n8|d|1|2|4|cpu=1\n", 1, 2, 0);
#undef HEADER
}

static void parts_of_swf_jobs_are_no_jobs(void **state)
{
    (void)state;
    count("swf",
          "1  0 9 300 4 -1 -1 4 600 -1 0 1 1 1 1 1 -1 -1\n"
          "1  0 9 100 4 -1 -1 4 600 -1 2 1 1 1 1 1 -1 -1\n"
          "1 -1 9 200 4 -1 -1 4 600 -1 4 1 1 1 1 1 -1 -1\n"
          "2 -1 9 200 4 -1 -1 4 600 -1 3 1 1 1 1 1 -1 -1\n"
          "3  5 9 100 4 -1 -1 4 600 -1 5 1 1 1 1 1 -1 -1\n",
          2, 0, 3);
}

static void rlscheduler_counts_other_jobs_than_swf(void **state)
{
    static const char log[] = "1 0 9  0 4 -1 -1 4 600 -1 1 1 1 1 1 1 -1 -1\n"
                              "2 1 9 -1 4 -1 -1 4 600 -1 0 1 1 1 1 1 -1 -1\n"
                              "3 2 9 50 4 -1 -1 8 600 -1 2 1 1 1 1 1 -1 -1\n"
                              "4 3 9 60 4 -1 -1 4  -1 -1 1 1 1 1 1 1 -1 -1\n";
    struct workload workload = { 0 };
    struct error err = { "" };

    (void)state;
    count("swf", log, 2, 0, 2);
    assert_int_equal(scene_read("rlscheduler", log, false, &workload, &err), 0);
    assert_int_equal(workload.jobs.count, 3);
    assert_int_equal(workload.left_out, 1);
    assert_int_equal(workload.jobs.items[0].run, 10 * SEC);
    assert_int_equal(workload.jobs.items[1].run, 50 * SEC);
    assert_int_equal(workload.jobs.items[1].gpus, 8);
    assert_int_equal(workload.jobs.items[2].limit, 0);
    workload_release(&workload);
}

static void traces_of_shockwave_have_tabs_and_no_header(void **state)
{
    static const char trace[] =
        "ResNet-18 (batch size 32)\tpython3 main.py --batch \"32\"\timages\t--steps\t1\t143450\t2\t"
        "accordion\t1\t-1.000000\t3338\t55.5\n"
        "LM (batch size 10)\tpython3 lm.py\tlm\t--steps\t0\t134583\t1\tgns\t1\t\t1418\t60\n";
    static const char gavel[] =
        "LM (batch size 10)\tpython3 lm.py\tlm\t--steps\t0\t9\t1\t1\t-1\t60\n";
    struct workload workload = { 0 };
    struct error err = { "" };

    (void)state;
    assert_int_equal(scene_read("shockwave_trace", trace, false, &workload, &err), 0);
    assert_int_equal(workload.jobs.count, 2);
    assert_string_equal(workload.jobs.items[0].group, "ResNet-18 (batch size 32)");
    assert_int_equal(workload.jobs.items[0].gpus, 2);
    assert_int_equal(workload.jobs.items[0].run, 3338 * SEC);
    assert_int_equal(workload.jobs.items[0].submit, 55500000);
    assert_int_equal(workload.jobs.items[1].run, 1418 * SEC);
    workload_release(&workload);
    workload = (struct workload){ 0 };
    assert_int_equal(scene_read("shockwave_trace", gavel, false, &workload, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "10 fields, expected 12"));
    workload_release(&workload);
}

static void traces_of_gavel_state_steps(void **state)
{
    static const char trace[] =
        "ResNet-18 (batch size 32)\tpython3 "
        "main.py\timages\t--steps\t1\t143450\t2\t1\t-1.000000\t55.5\n"
        "LM (batch size 10)\tpython3 lm.py\tlm\t--steps\t0\t9\t1\t1\t\t60\n";
    static const char longer[] =
        "LM (batch size 10)\tpython3 lm.py\tlm\t--steps\t0\t134583\t1\tgns\t1\t\t1418\t60\n";
    struct workload workload = { 0 };
    struct error err = { "" };

    (void)state;
    assert_int_equal(scene_read("gavel", trace, false, &workload, &err), 0);
    assert_int_equal(workload.jobs.count, 2);
    assert_true(workload.is_in_steps);
    assert_string_equal(workload.jobs.items[0].group, "('ResNet-18 (batch size 32)', 2)");
    assert_int_equal(workload.jobs.items[0].gpus, 2);
    assert_int_equal(workload.jobs.items[0].run, 143450 * SEC);
    assert_string_equal(workload.jobs.items[1].group, "('LM (batch size 10)', 1)");
    assert_int_equal(workload.jobs.items[1].submit, 60 * SEC);
    workload_release(&workload);
    workload = (struct workload){ 0 };
    assert_int_equal(scene_read("gavel", longer, false, &workload, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "12 fields, expected 10"));
    workload_release(&workload);
}

static void cases_of_hydra_have_a_run_time_on_each_model(void **state)
{
    static const char cases[] = ",job_name,norm_job_submit_time,ddl,A100,V100,GTX2080Ti\n"
                                "0,aa,0,inf,1000.0,1540.0,2500.0\n"
                                "1,bb,30,5921.0,2000,4000,8000\n";
    static const char none[] = ",job_name,norm_job_submit_time,ddl\n0,aa,0,inf\n";
    static const char bad[] = ",job_name,norm_job_submit_time,ddl,T4\n0,aa,0,inf,0\n";
    struct workload workload = { 0 };
    struct error err = { "" };

    (void)state;
    assert_int_equal(scene_read("hydra", cases, false, &workload, &err), 0);
    assert_int_equal(workload.jobs.count, 2);
    const struct sim_job *first = &workload.jobs.items[0], *second = &workload.jobs.items[1];
    assert_string_equal(first->name, "aa");
    assert_string_equal(first->models, "a100|v100|gtx2080ti");
    assert_int_equal(first->run, 1000 * SEC);
    assert_int_equal(first->gpus, 1);
    assert_int_equal(first->deadline, 0);
    assert_int_equal(first->speed_count, 3);
    assert_string_equal(first->speeds[2].model, "gtx2080ti");
    assert_true(fabs(first->speeds[2].factor - 0.4) < 1e-9);
    assert_int_equal(second->submit, 30 * SEC);
    assert_int_equal(second->deadline, 5921 * SEC);
    assert_true(fabs(second->speeds[1].factor - 0.5) < 1e-9);
    workload_release(&workload);
    workload = (struct workload){ 0 };
    assert_int_equal(scene_read("hydra", none, false, &workload, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "a column with run times for each model"));
    workload_release(&workload);
    workload = (struct workload){ 0 };
    assert_int_equal(scene_read("hydra", bad, false, &workload, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "a run time above 0"));
    workload_release(&workload);
}

static void gzipped_files_are_read_too(void **state)
{
    struct workload workload = { 0 };
    struct error err = { "" };
    char path[] = "/tmp/tarn-sim-gz-XXXXXX";
    (void)state;

    gzFile file = gzdopen(mkstemp(path), "wb");
    assert_int_equal(gzwrite(file, itp, sizeof(itp) - 1), sizeof(itp) - 1);
    gzclose(file);
    struct format_ask ask = { .path = path };
    assert_int_equal(format_read(format_find("itp"), &ask, &workload, &err), 0);
    assert_int_equal(workload.jobs.count, 1);
    workload_release(&workload);
    assert_int_equal(truncate(path, 40), 0);
    assert_true(format_read(format_find("itp"), &ask, &workload, &err) < 0);
    assert_non_null(strstr(err.text, path));
    workload_release(&workload);
    unlink(path);
}

/* Whatever bytes a file has: an answer, and no crash. Run it with sanitizers. */
static void no_file_makes_a_reader_fall(void **state)
{
    static const char signs[] = ",;|\"\n\r\t -+.:eE0123456789{}[]\\ax\xff";
    struct dice dice = dice_of(7);
    (void)state;

    for (int round = 0; round < 3000; round++) {
        const struct example *example = &examples[dice_below(&dice, COUNT_OF(examples))];
        struct workload workload = { 0 };
        struct error err;
        AUTO_FREE char *content = mem_string(example->content);
        size_t length = strlen(content);
        for (uint64_t i = dice_below(&dice, 6); i > 0; i--)
            content[dice_below(&dice, length)] = signs[dice_below(&dice, sizeof(signs) - 1)];
        if (dice_below(&dice, 4) == 0)
            content[dice_below(&dice, length)] = '\0';
        scene_read(example->format, content, dice_below(&dice, 2) == 0, &workload, &err);
        for (size_t i = 0; i < workload.jobs.count; i++) {
            assert_true(workload.jobs.items[i].run >= 0);
            assert_true(workload.jobs.items[i].milli >= 1);
            assert_true(workload.jobs.items[i].members >= 1);
        }
        workload_release(&workload);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_each_format_gives_its_jobs),
        cmocka_unit_test(the_queue_of_helios_is_the_virtual_cluster),
        cmocka_unit_test(a_bad_line_is_told_with_its_place_and_what_was_expected),
        cmocka_unit_test(bad_lines_are_counted_when_asked_for),
        cmocka_unit_test(names_of_jobs_shift_no_column),
        cmocka_unit_test(parts_of_swf_jobs_are_no_jobs),
        cmocka_unit_test(rlscheduler_counts_other_jobs_than_swf),
        cmocka_unit_test(traces_of_shockwave_have_tabs_and_no_header),
        cmocka_unit_test(traces_of_gavel_state_steps),
        cmocka_unit_test(cases_of_hydra_have_a_run_time_on_each_model),
        cmocka_unit_test(gzipped_files_are_read_too),
        cmocka_unit_test(no_file_makes_a_reader_fall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
