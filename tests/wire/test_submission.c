/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/submission.h"
#include "wire/reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/job/gang_size.h"
#include "wire/job/job_launch.h"
#include "wire/job/script_text.h"
#include "wire/json.h"

static int parse(const char *yaml, struct submission **ret, struct error *err)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;

    if (yaml_parse(yaml, strlen(yaml), "x.yaml", &document, &lines, err) < 0)
        fail_msg("%s", err->text);
    return submission_parse(document, lines, "x.yaml", ret, err);
}

static struct submission *parsed(const char *yaml)
{
    struct submission *submission = NULL;
    struct error err;

    if (parse(yaml, &submission, &err) < 0)
        fail_msg("%s", err.text);
    return submission;
}

/* The only job of a document without stages. */
static const struct job_draft *only_job(const struct submission *submission)
{
    assert_false(submission->is_pipeline);
    assert_int_equal(submission->stage_count, 1);
    assert_int_equal(submission->stages[0].job_count, 1);
    return &submission->stages[0].jobs[0];
}

static void assert_strings(char *const *strings, const char *expected)
{
    AUTO_RELEASE(text) struct text joined = { 0 };

    for (size_t i = 0; strings[i]; i++)
        text_printf(&joined, "%s{%s}", i > 0 ? " " : "", strings[i]);
    assert_string_equal(text_string(&joined), expected);
}

static void a_job_has_defaults(void **state)
{
    (void)state;
    AUTO(submission) struct submission *submission = parsed("run: hostname -f\n");
    const struct job_draft *job = only_job(submission);
    struct request request;

    request_default(&request);
    assert_memory_equal(&job->request, &request, sizeof(request));
    assert_strings(job->argv, "{/bin/sh} {-c} {hostname -f}");
    assert_strings(job->env, "");
    assert_string_equal(job->name, "hostname");
    assert_string_equal(submission->name, "hostname");
    assert_string_equal(submission->stages[0].name, "hostname");
    assert_null(job->queue);
    assert_null(job->cwd);
    assert_null(job->script);
    assert_null(job->combination);
    assert_int_equal(job->priority, 0);
    assert_int_equal(job->grace, -1);
    assert_int_equal(job->array_count, 0);
    assert_true(job->requeue);
    assert_false(job->hold);
    assert_int_equal(submission->job_count, 1);
    assert_null(submission->notes[0]);
}

static void every_key_reaches_its_field(void **state)
{
    (void)state;
    AUTO(submission)
    struct submission *submission =
        parsed("name: fit\nqueue: research\npool: big\npriority: high\nhold: true\nbegin: now+1h\n"
               "command: [python3, train.py, 7]\nargs: [--lr, 0.1]\n"
               "gpus: h100:2\ncpus: 2.5\nmemory: 8G\nranks: 4\nnodes: 2\n"
               "array: 0-9:3%2\nretry: 3\nrequeue: false\nmax_duration: 2h\ngrace: 30s\n"
               "estimate: 90m\ndeadline: +6h\npreemptible: true\nrestart_cost: 30s\n"
               "env: {A: b, N: 5, T: true}\ncwd: /tmp\noutput: \"%x-%j.out\"\nerror: e\ninput: i\n"
               "append: true\noutputs: [model]\ncomment: hello\n"
               "depends: [12, {on: 13, when: any}]\n");
    const struct job_draft *job = only_job(submission);

    assert_string_equal(job->name, "fit");
    assert_string_equal(job->queue, "research");
    assert_string_equal(job->request.pool, "big");
    assert_int_equal(job->priority, 100);
    assert_true(job->hold);
    assert_int_equal(job->begin_delay, USEC_PER_HOUR);
    assert_null(job->begin_at);
    assert_strings(job->argv, "{python3} {train.py} {7} {--lr} {0.1}");
    assert_string_equal(job->request.gpus[0].model, "h100");
    assert_int_equal(job->request.cpu_milli, 2500);
    assert_int_equal(job->request.memory_mib, 8192);
    assert_true(job->request.cpu_given && job->request.memory_given);
    assert_int_equal(job->request.members, 4);
    assert_int_equal(job->request.nodes_min, 2);
    assert_int_equal(job->array_count, 4);
    assert_int_equal(job->array_indices[3], 9);
    assert_int_equal(job->array_max_running, 2);
    assert_int_equal(job->retry, 3);
    assert_false(job->requeue);
    assert_int_equal(job->request.max_duration, 2 * USEC_PER_HOUR);
    assert_int_equal(job->grace, 30 * USEC_PER_SEC);
    assert_int_equal(job->estimate, 90 * USEC_PER_MIN);
    assert_int_equal(job->deadline_delay, 6 * USEC_PER_HOUR);
    assert_null(job->deadline_at);
    assert_true(job->preemptible);
    assert_int_equal(job->restart_cost, 30 * USEC_PER_SEC);
    assert_strings(job->env, "{A=b} {N=5} {T=true}");
    assert_string_equal(job->cwd, "/tmp");
    assert_string_equal(job->output, "%x-%j.out");
    assert_string_equal(job->error, "e");
    assert_string_equal(job->input, "i");
    assert_true(job->append);
    assert_strings(job->outputs, "{model}");
    assert_strings(job->inputs, "");
    assert_string_equal(job->comment, "hello");
    assert_int_equal(job->depend_count, 2);
    assert_int_equal(job->depends[0].on, 12);
    assert_int_equal(job->depends[0].when, NEED_OK);
    assert_int_equal(job->depends[1].when, NEED_ENDED);
    assert_int_equal(submission->job_count, 4);
}

static void a_pipeline_has_stages_in_an_order_that_runs(void **state)
{
    (void)state;
    AUTO(submission)
    struct submission *submission =
        parsed("name: digits\nqueue: research\nenv: {A: 1, B: 1}\n"
               "defaults: {retry: 2, gpus: 1, env: {B: 2, C: 2}}\n"
               "stages:\n"
               "  last: {when: always, run: c}\n"
               "  eval: {needs: train, inputs: [model, data], run: b, gpus: 0, env: {C: 3}}\n"
               "  train: {needs: [prep], run: a, outputs: [model]}\n"
               "  prep: {run: p, outputs: [data], queue: other}\n");

    assert_true(submission->is_pipeline);
    assert_string_equal(submission->name, "digits");
    assert_int_equal(submission->stage_count, 4);
    const struct stage_draft *stages = submission->stages;
    assert_string_equal(stages[0].name, "prep");
    assert_string_equal(stages[1].name, "train");
    assert_string_equal(stages[2].name, "eval");
    assert_string_equal(stages[3].name, "last");
    assert_string_equal(stages[0].jobs[0].name, "prep");
    assert_string_equal(stages[0].jobs[0].queue, "other");
    assert_string_equal(stages[1].jobs[0].queue, "research");
    assert_int_equal(stages[1].needs[0], 0);
    assert_int_equal(stages[2].needs[0], 1);
    assert_int_equal(stages[2].input_stages[0], 1);
    assert_int_equal(stages[2].input_stages[1], 0);
    assert_int_equal(stages[1].jobs[0].request.gpu_alternatives, 1);
    assert_int_equal(stages[2].jobs[0].request.gpu_alternatives, 0);
    assert_int_equal(stages[2].jobs[0].retry, 2);
    assert_strings(stages[2].jobs[0].env, "{A=1} {B=2} {C=3}");
    assert_true(stages[3].always);
    assert_int_equal(stages[3].need_count, 3);
    assert_int_equal(submission->job_count, 4);
}

static void a_pipeline_without_a_name_has_that_of_its_file(void **state)
{
    (void)state;
    AUTO(submission) struct submission *submission = parsed("stages: {a: {run: x}}\n");

    assert_string_equal(submission->name, "x");
}

static void a_matrix_gives_a_job_for_each_combination(void **state)
{
    (void)state;
    AUTO(submission)
    struct submission *submission =
        parsed("stages:\n  train:\n    matrix: {lr: [0.10, 1e-3], seed: 1..3, on: True}\n"
               "    name: t-${seed}\n"
               "    run: echo ${lr} ${seed} $seed ${HOME} $${seed} ${on:-x}\n"
               "    args: [\"${lr}\"]\n    env: {LR: \"${lr}\"}\n    output: \"${lr}.out\"\n");
    const struct stage_draft *stage = &submission->stages[0];

    assert_int_equal(stage->job_count, 6);
    assert_string_equal(stage->jobs[0].combination, "lr=0.10 seed=1 on=True");
    assert_string_equal(stage->jobs[0].directory, "lr=0.10,seed=1,on=True");
    assert_string_equal(stage->jobs[1].combination, "lr=0.10 seed=2 on=True");
    assert_string_equal(stage->jobs[3].combination, "lr=1e-3 seed=1 on=True");
    assert_strings(stage->jobs[5].argv, "{/bin/sh} {-c} {echo 1e-3 3 $seed ${HOME} $3 ${on:-x}} "
                                        "{sh} {1e-3}");
    assert_strings(stage->jobs[5].env, "{LR=1e-3}");
    assert_string_equal(stage->jobs[5].output, "1e-3.out");
    assert_string_equal(stage->jobs[5].name, "t-3");
    assert_int_equal(submission->job_count, 6);
}

/* A key that wants a number reads every spelling; one that wants text keeps it. */
static void plain_numbers_keep_their_text_where_text_is_wanted(void **state)
{
    (void)state;
    AUTO(submission)
    struct submission *submission = parsed(
        "command: [echo, 3.10, 7e10, 0x1F, 12345678901234567890123, +5, -0.50]\n"
        "args: [1E400, 0755]\n"
        "env: {V: 1.10, SHA: 7e10, HEX: 0x1F, T: True, F: FALSE, BIG: 12345678901234567890,\n"
        "      LONG: 0.1000000000000000055511151231257827, N: 1.5, D: 2024-01-01, U: 1_000}\n"
        "cpus: 1.50\nmemory: 1e3\nhold: True\nrequeue: FALSE\nranks: 0x2\n");
    const struct job_draft *job = only_job(submission);

    assert_strings(job->argv, "{echo} {3.10} {7e10} {0x1F} {12345678901234567890123} {+5} {-0.50} "
                              "{1E400} {0755}");
    assert_strings(job->env, "{V=1.10} {SHA=7e10} {HEX=0x1F} {T=True} {F=FALSE} "
                             "{BIG=12345678901234567890} "
                             "{LONG=0.1000000000000000055511151231257827} {N=1.5} {D=2024-01-01} "
                             "{U=1_000}");
    assert_int_equal(job->request.cpu_milli, 1500);
    assert_int_equal(job->request.memory_mib, 1000);
    assert_int_equal(job->request.members, 2);
    assert_true(job->hold);
}

static void variables_of_the_shell_are_left_alone(void **state)
{
    static const char *const runs[] = {
        "echo ${TARN_OUT}",   "for sed in 1; do echo ${sed}; done",
        "sed=1; echo ${sed}", "read sed; echo ${sed}",
        "echo ${SED}",        "echo $sed ${} ${1} ${seed#1} ${S} $s",
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        AUTO_FREE char *yaml =
            mem_printf("matrix: {seed: [1]}\nenv: {SED: x}\nrun: \"%s\"\n", runs[i]);
        AUTO(submission) struct submission *submission = parsed(yaml);
        assert_string_equal(submission->stages[0].jobs[0].argv[2], runs[i]);
    }
    AUTO(submission) struct submission *without = parsed("run: echo ${seed}\n");
    assert_string_equal(only_job(without)->argv[2], "echo ${seed}");
}

static void a_script_keeps_its_interpreter(void **state)
{
    (void)state;
    AUTO(submission)
    struct submission *submission =
        parsed("script: |\n  #! /usr/bin/env  -S python3 -u \n  print(1)\nargs: [a]\n");
    const struct job_draft *job = only_job(submission);

    assert_strings(job->argv, "{/usr/bin/env} {-S python3 -u} {script} {a}");
    assert_int_equal(job->script_at, 2);
    assert_string_equal(job->script, "#! /usr/bin/env  -S python3 -u \nprint(1)\n");
    assert_string_equal(job->name, "script");
}

static void a_job_is_named_after_what_it_runs(void **state)
{
    static const struct {
        const char *yaml;
        const char *name;
    } cases[] = {
        { "run: python3 -u src/train.py --lr 1\n", "train.py" },
        { "run: A=1 ./go.sh; rm x\n", "go.sh" },
        { "command: [/usr/bin/python3.11, /x/train.py]\n", "train.py" },
        { "command: [python3, -c, 'import os']\n", "python3" },
        { "command: [\"./a b\"]\n", "a_b" },
        { "name: nf-FASTQC_(WT/1) größe\nrun: x\n", "nf-FASTQC_(WT/1) größe" },
        { "command: [\"..\"]\n", "job" },
        { "run: \"  \"\n", "job" },
        { "run: bash\n", "bash" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(submission) struct submission *submission = parsed(cases[i].yaml);
        assert_string_equal(only_job(submission)->name, cases[i].name);
    }
}

static void the_sender_is_beneath_everything(void **state)
{
    static const char sender[] = "sender_env: {HOME: /root, A: \"1\"}\nsender_cwd: /work\n";
    (void)state;

    AUTO_FREE char *all = mem_printf("%srun: x\ncwd: sub\nenv: {A: 2}\n", sender);
    AUTO(submission) struct submission *with = parsed(all);
    assert_strings(only_job(with)->env, "{HOME=/root} {A=2}");
    assert_string_equal(only_job(with)->cwd, "/work/sub");

    AUTO_FREE char *none = mem_printf("%srun: x\nexport: none\nenv: {A: 2}\n", sender);
    AUTO(submission) struct submission *without = parsed(none);
    assert_strings(only_job(without)->env, "{A=2}");
    assert_string_equal(only_job(without)->cwd, "/work");
}

static void gpus_can_be_a_number_a_string_or_a_map(void **state)
{
    static const struct {
        const char *yaml;
        const char *gpus;
    } cases[] = {
        { "2", "2" },
        { "0.5", "0.5" },
        { "0", "" },
        { "\"h100:2|a100\"", "h100:2|a100:1" },
        { "{any_of: [\"h100:1\", a100, 2], sharing: exclusive}", "h100:1|a100:1|2" },
        { "{any_of: [0.5], sharing: mps}", "mps=50%" },
        { "{any_of: [0.5]}", "0.5" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *yaml = mem_printf("run: x\ngpus: %s\n", cases[i].yaml);
        AUTO(submission) struct submission *submission = parsed(yaml);
        AUTO_RELEASE(text) struct text gpus = { 0 };

        request_format_gpus(&only_job(submission)->request, &gpus);
        assert_string_equal(text_string(&gpus), cases[i].gpus);
    }
}

static void what_is_not_acted_on_is_named(void **state)
{
    (void)state;
    AUTO(submission)
    struct submission *submission =
        parsed("defaults: {cache: true, spot: prefer}\nstages:\n  a:\n    run: x\n"
               "    checkpoint: {every: auto}\n    gpus: 2,nvlink\n    ranks: 2\n    nodes: 1..2\n"
               "    matrix: {n: 1..3}\n");

    assert_strings(
        submission->notes,
        "{x.yaml:1: defaults: cache: not supported yet, ignored} "
        "{x.yaml:6: stage a: gpus: nvlink: not supported yet, ignored} "
        "{x.yaml:8: stage a: nodes: with ranks, only the smaller number counts: the fewest "
        "nodes}");
}

static void a_range_of_ranks_or_nodes_is_an_elastic_gang(void **state)
{
    static const struct {
        const char *keys;
        uint32_t members, members_max, nodes_min;
        bool per_node;
        enum request_sizes sizes;
        enum resize resize;
        uint32_t heals;
    } cases[] = {
        { "ranks: 4", 4, 0, 1, false, SIZES_POWERS, RESIZE_RESTART, 0 },
        { "ranks: 2..8", 2, 8, 1, false, SIZES_POWERS, RESIZE_RESTART, 0 },
        { "ranks: 2..8\nnodes: 2", 2, 8, 2, false, SIZES_POWERS, RESIZE_RESTART, 0 },
        { "ranks: 3..3", 3, 0, 1, false, SIZES_POWERS, RESIZE_RESTART, 0 },
        { "nodes: 1..4\nsizes: any", 1, 4, 1, true, SIZES_ANY, RESIZE_RESTART, 0 },
        { "nodes: 2", 2, 0, 2, false, SIZES_POWERS, RESIZE_RESTART, 0 },
        { "ranks: 2..8\nresize: never", 2, 8, 1, false, SIZES_POWERS, RESIZE_NEVER, 0 },
        { "ranks: 2\non_member_loss: heal", 2, 0, 1, false, SIZES_POWERS, RESIZE_RESTART, 3 },
        { "ranks: 2\non_member_loss: heal\nheals: 7", 2, 0, 1, false, SIZES_POWERS, RESIZE_RESTART,
          7 },
        { "ranks: 2\non_member_loss: end", 2, 0, 1, false, SIZES_POWERS, RESIZE_RESTART, 0 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *document = mem_printf("run: x\n%s\n", cases[i].keys);
        AUTO(submission) struct submission *submission = parsed(document);
        const struct job_draft *draft = only_job(submission);
        assert_int_equal(draft->request.members, cases[i].members);
        assert_int_equal(draft->request.members_max, cases[i].members_max);
        assert_int_equal(draft->request.nodes_min, cases[i].nodes_min);
        assert_int_equal(draft->request.per_node, cases[i].per_node);
        assert_int_equal(draft->request.sizes, cases[i].sizes);
        assert_int_equal(draft->resize, cases[i].resize);
        assert_int_equal(draft->heals, cases[i].heals);
    }
}

static void a_job_says_how_it_saves_its_work(void **state)
{
    (void)state;
    AUTO(submission)
    struct submission *submission = parsed(
        "run: x\ngrace: 1m\ncheckpoint: {every: 10m, takes: 30s, signal: SIGUSR2, grace: 60}\n");
    AUTO(submission) struct submission *other = parsed("run: x\ncheckpoint: {every: auto}\n");
    AUTO(submission) struct submission *never = parsed("run: x\ncheckpoint: {every: never}\n");
    const struct job_draft *job = only_job(submission);

    assert_int_equal(job->checkpoint_every, 10 * USEC_PER_MIN);
    assert_int_equal(job->checkpoint_takes, 30 * USEC_PER_SEC);
    assert_int_equal(job->stop_signal, 12);
    assert_int_equal(job->grace, USEC_PER_MIN);
    assert_false(job->checkpoint_auto);
    assert_true(only_job(other)->checkpoint_auto);
    assert_int_equal(only_job(other)->checkpoint_every, 0);
    assert_int_equal(only_job(never)->checkpoint_every, USEC_NEVER);
    assert_int_equal(only_job(other)->grace, -1);
}

static void a_bad_checkpoint_is_refused_in_words(void **state)
{
    static const struct {
        const char *yaml;
        const char *text;
    } cases[] = {
        { "checkpoint: 10m",
          "x.yaml:2: checkpoint: expected a map like {every: 10m, signal: USR1}, not a string" },
        { "checkpoint: {evry: 1m}",
          "x.yaml:2: checkpoint: unknown key 'evry'; did you mean 'every'?" },
        { "checkpoint: {every: 10ms}",
          "x.yaml:2: checkpoint: every: '10ms': expected 1s or more, auto or never" },
        { "checkpoint: {every: unlimited}", "x.yaml:2: checkpoint: every: longer than a year" },
        { "checkpoint: {takes: 2d}", "x.yaml:2: checkpoint: takes: longer than a day" },
        { "checkpoint: {signal: KILL}",
          "x.yaml:2: checkpoint: signal: 'KILL': not a signal that can ask a job to save its work; "
          "expected one like USR1, USR2 or TERM" },
        { "checkpoint: {grace: 2d}", "x.yaml:2: checkpoint: grace: longer than a day" },
        { "checkpoint: {grace: 2m}\ngrace: 1m", "x.yaml:2: checkpoint: grace: not the same as the "
                                                "job's own grace; expected one of them" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *yaml = mem_printf("run: x\n%s\n", cases[i].yaml);
        struct submission *submission = NULL;
        struct error err = { "" };

        assert_int_not_equal(parse(yaml, &submission, &err), 0);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void begin_may_be_a_delay_or_a_time(void **state)
{
    static const struct {
        const char *begin;
        usec_t delay;
        const char *at;
    } cases[] = {
        { "now", 0, NULL },
        { "now+60", 60 * USEC_PER_SEC, NULL },
        { "now+2hours", 2 * USEC_PER_HOUR, NULL },
        { "now+1h30m", 90 * USEC_PER_MIN, NULL },
        { "5m", 5 * USEC_PER_MIN, NULL },
        { "\"14:30\"", 0, "14:30" },
        { "2030-01-31", 0, "2030-01-31" },
        { "2028-02-29T08:00:59", 0, "2028-02-29T08:00:59" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *yaml = mem_printf("run: x\nbegin: %s\n", cases[i].begin);
        AUTO(submission) struct submission *submission = parsed(yaml);
        const struct job_draft *job = only_job(submission);

        assert_int_equal(job->begin_delay, cases[i].delay);
        assert_true(string_equal(job->begin_at, cases[i].at));
    }
}

#define TIME_EXPECTED "not a time; expected one like now+1h, 14:30 or 2030-01-31T08:00"
#define VISIBLE       "expected one line of visible characters"
#define NAME_EXPECTED "expected 1 to 63 letters, digits and '._-+@'"

static const struct {
    const char *yaml;
    const char *text;
} failures[] = {
    { "script_bytes: \"#!/bin/sh\\n\\u20ac\"",
      "x.yaml:1: script_bytes: expected characters up to U+00FF, each for a byte" },
    { "{script_bytes: '#!/bin/sh', run: x}",
      "x.yaml: more than one thing to run; expected one of run, command and script" },
    { "5\n", "x.yaml: expected a job or a pipeline (a map of keys), not a number" },
    { "{}\n", "x.yaml: nothing to run; expected one of run, command and script" },
    { "run: a\ncommand: [b]\n", "x.yaml: more than one thing to run; expected one of run, command "
                                "and script" },
    { "run: a\nqeue: b\n", "x.yaml:2: unknown key 'qeue'; did you mean 'queue'?" },
    { "run: a\nbananas: b\n", "x.yaml:2: unknown key 'bananas'" },
    { "run: a\nneeds: [b]\n", "x.yaml:2: key 'needs' has no meaning in a job; it belongs in a "
                              "stage" },
    { "run: a\nstages: {a: {run: x}}\n", "x.yaml:1: key 'run' has no meaning in a pipeline; it "
                                         "belongs in a job, a stage" },
    { "defaults: {run: a}\nstages: {a: {run: x}}\n", "x.yaml:1: defaults: key 'run' has no meaning "
                                                     "in defaults; it belongs in a job, a stage" },
    { "stages:\n  train:\n    run: x\n    need: [a]\n",
      "x.yaml:4: stage train: unknown key 'need'; "
      "did you mean 'needs'?" },
    { "stages: [a]\n", "x.yaml:1: stages: expected a map from name to stage, not a list" },
    { "stages: {}\n", "x.yaml:1: stages: 0 stages, expected 1 to 256" },
    { "stages: {a: 5}\n", "x.yaml: stage a: expected a map of keys, not a number" },
    { "stages: {a: }\n", "x.yaml: stage a: expected a map of keys, not nothing" },
    { "stages: {\"a/b\": {run: x}}\n",
      "x.yaml: stage a/b: not a valid name of a stage; " NAME_EXPECTED },
    { "name: ' '\nrun: x\n", "x.yaml:1: name: ' ' is not a valid name; expected 1 to 255 bytes, "
                             "not only blanks, . or .." },
    { "name: \"a\\tb\"\nrun: x\n", "x.yaml:1: name: the character U+0009 at position 2; " VISIBLE },
    { "run: x\nqueue: ..\n", "x.yaml:2: queue: '..' is not a valid name; " NAME_EXPECTED },
    { "run: x\nqueue: 5\n", "x.yaml:2: queue: expected a string, not a number" },
    { "run: [x]\n", "x.yaml:1: run: expected a string, not a list" },
    { "run: \"\"\n", "x.yaml:1: run: nothing to run" },
    { "command: x\n", "x.yaml:1: command: expected a list of strings, not a string" },
    { "command: []\n", "x.yaml:1: command: expected a program and its arguments" },
    { "command: [[x]]\n", "x.yaml:1: command: expected strings, not a list" },
    { "script: echo\n", "x.yaml:1: script: expected '#!' and an interpreter on its first line, as "
                        "in #!/bin/sh" },
    { "script: \"#!python\"\n", "x.yaml:1: script: interpreter 'python' on its first line: "
                                "expected an absolute path" },
    { "run: x\npriority: urgent\n", "x.yaml:2: priority: 'urgent', expected low, normal, high or "
                                    "-1000 to 1000" },
    { "run: x\npriority: 1001\n", "x.yaml:2: priority: '1001', expected low, normal, high or -1000 "
                                  "to 1000" },
    { "run: x\npriority: [1]\n", "x.yaml:2: priority: expected low, normal, high or a number, not "
                                 "a list" },
    { "run: x\nhold: yes\n", "x.yaml:2: hold: expected true or false, not a string" },
    { "run: x\nbegin: soon\n", "x.yaml:2: begin: 'soon': " TIME_EXPECTED },
    { "run: x\nbegin: \"25:00\"\n", "x.yaml:2: begin: '25:00': " TIME_EXPECTED },
    { "run: x\nbegin: 2030-02-30\n", "x.yaml:2: begin: '2030-02-30': " TIME_EXPECTED },
    { "run: x\nbegin: now+4000d\n", "x.yaml:2: begin: '4000d': longer than 10 years" },
    { "run: x\ngpus: 1.5\n", "x.yaml:2: gpus: '1.5': expected a whole number of gpus, or a "
                             "part of one (less than 1)" },
    { "run: x\ngpus: true\n", "x.yaml:2: gpus: expected a string or number like h100:2, not true "
                              "or false" },
    { "run: x\ngpus: {anyof: [1]}\n",
      "x.yaml:2: gpus: unknown key 'anyof'; did you mean 'any_of'?" },
    { "run: x\ngpus: {any_of: 1}\n",
      "x.yaml:2: gpus: any_of: expected a list like [\"h100:1\", 2]" },
    { "run: x\ngpus: {any_of: [{}]}\n", "x.yaml:2: gpus: any_of: expected a string or number like "
                                        "h100:2, not a map" },
    { "run: x\ngpus: {any_of: [0.5], sharing: exclusive}\n",
      "x.yaml:2: gpus: sharing: exclusive, but a part of a gpu is requested" },
    { "run: x\ngpus: {any_of: [1], sharing: mps}\n",
      "x.yaml:2: gpus: sharing: mps, but no part like 0.5 is requested" },
    { "run: x\ngpus: {any_of: [1], sharing: some}\n",
      "x.yaml:2: gpus: sharing: 'some', expected any, exclusive or mps" },
    { "run: x\ncpus: many\n", "x.yaml:2: cpus: 'many': not a number with at most three decimals" },
    { "run: x\nmemory: 8X\n", "x.yaml:2: memory: '8X': not a size; expected one like 512M, 20G or "
                              "1.5T" },
    { "run: x\nranks: 0\n", "x.yaml:2: ranks: 0, expected 1 to 4096" },
    { "run: x\nranks: 1.5\n", "x.yaml:2: ranks: expected a whole number, not one with decimals" },
    { "run: x\nnodes: 2..1\n",
      "x.yaml:2: nodes: '2..1': expected 1 to 4096, or a range like 1..2" },
    { "run: x\nranks: 2..x\n", "x.yaml:2: ranks: '2..x': expected 1 to 4096, or a range like "
                               "2..8" },
    { "run: x\nranks: 0..2\n", "x.yaml:2: ranks: '0..2': expected 1 to 4096, or a range like "
                               "2..8" },
    { "run: x\nranks: 2..4\nsizes: all\n", "x.yaml:3: sizes: 'all', expected powers or any" },
    { "run: x\nranks: 2..4\nresize: live\n",
      "x.yaml:3: resize: live: not supported yet; expected restart or never" },
    { "run: x\nranks: 2\non_member_loss: go_on\n",
      "x.yaml:3: on_member_loss: go_on: only for a gang with a minimum size, like ranks: 2..8; "
      "heal restarts other gangs" },
    { "run: x\nranks: 2\nheals: 3\n", "x.yaml:3: heals: no effect without on_member_loss: heal" },
    { "run: x\nranks: 2\non_member_loss: heal\nheals: 0\n",
      "x.yaml:4: heals: 0, expected 1 to 1000" },
    { "run: x\nroles: chief\n", "x.yaml:2: roles: expected a map from name to role, not a string" },
    { "run: x\nroles: {}\n", "x.yaml:2: roles: 0 roles, expected 1 to 8" },
    { "run: x\nroles: {a: {}, b: {}, c: {}, d: {}, e: {}, f: {}, g: {}, h: {}, i: {}}\n",
      "x.yaml:2: roles: 9 roles, expected 1 to 8" },
    { "run: x\nroles:\n  learner: {ranks: 1}\n  actor: {rank: 2}\n",
      "x.yaml:4: role actor: unknown key 'rank'; did you mean 'ranks'?" },
    { "run: x\nroles:\n  .a: {ranks: 1}\n", "x.yaml:3: role .a: not a valid name of a role; "
                                            "expected 1 to 63 letters, digits and '._-+@'" },
    { "run: x\nroles:\n  actor: {ranks: 2..8}\n",
      "x.yaml:3: role actor: ranks: '2..8': a gang with roles cannot be elastic yet; expected a "
      "number" },
    { "run: x\nroles:\n  actor: {gpus: h100:x}\n",
      "x.yaml:3: role actor: gpus 'h100:x': 'x': not a number of gpus" },
    { "roles:\n  learner: {run: y}\n  actor: {cpus: 2}\n",
      "x.yaml:3: role actor: nothing to run; expected run or command, here or of the job" },
    { "run: x\nranks: 2\nroles:\n  actor: {cpus: 2}\n",
      "x.yaml:2: ranks: with roles each has its own ranks" },
    { "run: x\nnodes: 2\nroles:\n  actor: {cpus: 2}\n",
      "x.yaml:2: nodes: not together with roles" },
    { "run: x\nroles:\n  actor: {env: {1A: b}}\n",
      "x.yaml:3: role actor: env: 1A: not a valid name of a variable; expected 1 to 255 letters, "
      "digits and "
      "'_'" },
    { "run: x\nrole: {a: {}}\n", "x.yaml:2: unknown key 'role'; did you mean 'roles'?" },
    { "run: x\nranks: 1\nnodes: 2\n", "x.yaml: nodes: 2 for 1 member; each node has at least one" },
    { "run: x\narray: a\n", "x.yaml:2: array: 'a': not a set of numbers; expected one like 0-9 or "
                            "1,3,5-20:5" },
    { "run: x\narray: 0-9%0\n",
      "x.yaml:2: array: '0' after '%': expected the number of tasks that may run at once, "
      "1 to 10000" },
    { "run: x\narray: 0-99999\n", "x.yaml:2: array: '0-99999': at most 10000 numbers, the largest "
                                  "4000000" },
    { "run: x\narray: {max_running: 1}\n", "x.yaml: array: expected indices" },
    { "run: x\narray: {indices: 0-3, max_running: 0}\n",
      "x.yaml:2: array: max_running: 0, expected "
      "1 to 10000" },
    { "run: x\nmatrix: [a]\n", "x.yaml:2: matrix: expected a map from name to values, not a list" },
    { "run: x\nmatrix: {}\n", "x.yaml:2: matrix: 0 parameters, expected 1 to 16" },
    { "run: x\nmatrix: {a: []}\n", "x.yaml:2: matrix: a: no values" },
    { "run: x\nmatrix: {a: [[1]]}\n", "x.yaml:2: matrix: a: expected strings and numbers, not a "
                                      "list" },
    { "run: x\nmatrix: {a-b: 1}\n",
      "x.yaml:2: matrix: a-b: not a valid parameter name; expected 1 to 32 "
      "letters, digits and '_'" },
    { "run: x\nmatrix: {a: 3..1}\n", "x.yaml:2: matrix: a: the smaller number comes first" },
    { "run: x\nmatrix: {a: 1..99999}\n", "x.yaml:2: matrix: a: more than 10000 values" },
    { "run: x\nmatrix: {a: 1..101, b: 1..100}\n", "x.yaml:2: matrix: b: more than 10000 "
                                                  "combinations" },
    { "run: x\nmatrix: {a: [1, \"1\"]}\n", "x.yaml:2: matrix: a: '1' is given twice" },
    { "run: x\nmatrix: {a: [\"x/y\", \"x y\"]}\n", "x.yaml:2: matrix: a: 'x/y' and 'x y' are the "
                                                   "same as a file name" },
    { "run: x\nmatrix: {a: [\"x\\ty\"]}\n",
      "x.yaml:2: matrix: a: the character U+0009 at position 2; " VISIBLE },
    { "run: x\nmatrix: {a: [\"\\u007f\"]}\n",
      "x.yaml:2: matrix: a: the character U+007F at position 1; " VISIBLE },
    { "run: x\nmatrix: {a: [\"\\u0080\"]}\n",
      "x.yaml:2: matrix: a: the character U+0080 at position 1; " VISIBLE },
    { "run: x\nmatrix: {a: [\"x\\u009fy\"]}\n",
      "x.yaml:2: matrix: a: the character U+009F at position 2; " VISIBLE },
    { "run: x\ncomment: \"a\\u009b2J\"\n",
      "x.yaml:2: comment: the character U+009B at position 2; " VISIBLE },
    { "run: x\ncomment: \"a\\eb\"\n",
      "x.yaml:2: comment: the character U+001B at position 2; " VISIBLE },
    { "run: x\ncomment: \"nine\\u200b\"\n",
      "x.yaml:2: comment: the character U+200B at position 5; " VISIBLE },
    { "run: x\nname: \"\\u3042\\ufeff\"\n",
      "x.yaml:2: name: the character U+FEFF at position 2; " VISIBLE },
    { "run: x\nname: \"soft\\u00adly\"\n",
      "x.yaml:2: name: the character U+00AD at position 5; " VISIBLE },
    { "run: x\nname: \"tag\\U000e0041\"\n",
      "x.yaml:2: name: the character U+E0041 at position 4; " VISIBLE },
    { "run: x\nname: \"\\u3164\"\n",
      "x.yaml:2: name: the character U+3164 at position 1; " VISIBLE },
    { "run: x\nname: \"b\\u200db\"\n",
      "x.yaml:2: name: the character U+200D at position 2; " VISIBLE },
    { "run: x\nname: \"\\u2800\\u3000 \"\n",
      "x.yaml:2: name: '\u2800\u3000 ' is not a valid name; expected 1 to 255 bytes, "
      "not only blanks, . or .." },
    { "run: x\nname: ${a}\nmatrix: {a: [\"x\\u2060\"]}\n",
      "x.yaml:3: matrix: a: the character U+2060 at position 2; " VISIBLE },
    { "run: x\nqueue: \"fast\\u200b\"\n", "x.yaml:2: queue: 'fast\u200b' is not a valid name: the "
                                          "character U+200B at position 5; " NAME_EXPECTED },
    { "run: x ${lrs}\nmatrix: {lrs2: [1], lr: [1]}\n",
      "x.yaml:1: run: ${lrs} is not in the matrix; did you mean ${lrs2}? (a variable of the shell "
      "is $lrs)" },
    { "run: x --sed=${sed}\nmatrix: {seed: [1]}\n",
      "x.yaml:1: run: ${sed} is not in the matrix; did you mean ${seed}? (a variable of the shell "
      "is $sed)" },
    { "run: x\nenv: {A: \"${sede}\"}\nmatrix: {seed: [1]}\n",
      "x.yaml:2: env: A: ${sede} is not in the matrix; did you mean ${seed}? (a variable of the "
      "shell is $sede)" },
    { "run: x ${epochs}\nmatrix: {lr: [1]}\n", "x.yaml:1: run: ${epochs} is neither in the matrix "
                                               "nor in env; a variable of the shell is $epochs" },
    { "run: x ${LR}\nmatrix: {lr: [1]}\n",
      "x.yaml:1: run: ${LR} is not in the matrix; did you mean "
      "${lr}? (a variable of the shell is $LR)" },
    { "run: x\nretry: 101\n", "x.yaml:2: retry: 101, expected 0 to 100" },
    { "run: x\nmax_duration: 2x\n", "x.yaml:2: max_duration: '2x': not a duration; expected one "
                                    "like 90s, 1h30m or 2-12:00:00" },
    { "run: x\nmax_duration: 0s\n", "x.yaml:2: max_duration: expected more than 0s" },
    { "run: x\nestimate: 0\n", "x.yaml:2: estimate: expected a run time of more than 0s" },
    { "run: x\nestimate: unlimited\n", "x.yaml:2: estimate: expected a run time of more than 0s" },
    { "run: x\nmax_duration: 2h\nestimate: 3h\n",
      "x.yaml:3: estimate: 3h00m, but max_duration ends it after 2h00m" },
    { "run: x\ndeadline: soon\n", "x.yaml:2: deadline: 'soon': not a time; expected one like "
                                  "+6h, 18:00 or 2030-01-31T18:00" },
    { "run: x\ndeadline: +18:00\n", "x.yaml:2: deadline: '+18:00': not a time; expected one like "
                                    "+6h, 18:00 or 2030-01-31T18:00" },
    { "run: x\ndeadline: now\n", "x.yaml:2: deadline: 'now': expected a time in the future" },
    { "run: x\npreemptible: 1\n", "x.yaml:2: preemptible: expected true or false, not a number" },
    { "run: x\nrestart_cost: 2d\n", "x.yaml:2: restart_cost: longer than a day" },
    { "run: x\ngrace: 2d\n", "x.yaml:2: grace: longer than a day" },
    { "run: x\nenv: [a]\n", "x.yaml:2: env: expected a map from name to value, not a list" },
    { "run: x\nenv: {1a: b}\n",
      "x.yaml:2: env: 1a: not a valid name of a variable; expected 1 to 255 "
      "letters, digits and '_'" },
    { "run: x\nenv: {A: [b]}\n", "x.yaml:2: env: A: expected a string, not a list" },
    { "run: x\nenv: {A: }\n", "x.yaml:2: env: A: expected a string, not nothing" },
    { "run: x\nexport: some\n", "x.yaml:2: export: 'some', expected all or none" },
    { "run: x\ncwd: sub\n", "x.yaml:2: cwd: 'sub': expected an absolute path" },
    { "run: x\noutput: \"%q\"\n", "x.yaml:2: output: '%q': unknown '%q'; expected %j %J %A %a "
                                  "%x %u %t %N or %%" },
    { "run: x\nerror: \"\"\n", "x.yaml:2: error: expected a file name" },
    { "run: x\ndepends: 12\n", "x.yaml:2: depends: expected a list like [{on: 12, when: ok}], not "
                               "a number" },
    { "run: x\ndepends: [0]\n", "x.yaml: depends: expected the number of a job" },
    { "run: x\ndepends: [{when: ok}]\n", "x.yaml: depends: expected the number of a job" },
    { "run: x\ndepends: [{on: 1, task: -1}]\n",
      "x.yaml:2: depends: task: -1, expected 0 to 4000000" },
    { "run: x\ndepends: [{on: 1, task: each}]\n", "x.yaml:2: depends: task: 'each', expected own" },
    { "run: x\ndepends: [{on: 1, when: ended}]\n",
      "x.yaml:2: depends: when: 'ended', expected ok, any, failed or started" },
    { "run: x\noutputs: 5\n", "x.yaml:2: outputs: expected a list of names, not a number" },
    { "run: x\noutputs: [5]\n", "x.yaml:2: outputs: expected names, not a number" },
    { "run: x\noutputs: [\"..\"]\n",
      "x.yaml:2: outputs: '..' is not a valid name; " NAME_EXPECTED },
    { "run: x\noutputs: [a, a]\n", "x.yaml:2: outputs: 'a' is given twice" },
    { "run: x\nsender_env: [a]\n", "x.yaml:2: sender_env: expected a map from name to value, not a "
                                   "list" },
    { "run: x\nsender_env: {\"a=b\": c}\n", "x.yaml:2: sender_env: 'a=b': expected names without "
                                            "'=' and strings" },
    { "run: x\nsender_cwd: tmp\n", "x.yaml:2: sender_cwd: 'tmp': expected an absolute path" },
    { "stages:\n  a: {run: x, when: never}\n", "x.yaml:2: stage a: when: 'never', expected "
                                               "on_success or always" },
    { "stages:\n  train: {run: x}\n  b: {run: x, needs: [trian]}\n",
      "x.yaml:3: stage b: needs: no stage 'trian'; did you mean 'train'?" },
    { "stages:\n  a: {run: x, needs: [a]}\n", "x.yaml:2: stage a: needs: a cycle: a -> a" },
    { "stages:\n  z: {run: x, needs: c}\n  a: {run: x, needs: b}\n  b: {run: x, needs: c}\n"
      "  c: {run: x, needs: a}\n",
      "x.yaml:5: stage c: needs: a cycle: c -> a -> b -> c" },
    { "stages:\n  a: {run: x, outputs: [data]}\n  b: {run: x, inputs: [data]}\n",
      "x.yaml:3: stage b: inputs: 'data' is an output of stage a, which is not in needs" },
    { "stages:\n  a: {run: x, outputs: [data]}\n  b: {run: x, needs: a, inputs: [dat]}\n",
      "x.yaml:3: stage b: inputs: no needed stage has an output 'dat'; did you mean 'data'?" },
    { "stages:\n  a: {run: x, outputs: [m]}\n  b: {run: x, outputs: [m]}\n"
      "  c: {run: x, needs: [a, b], inputs: [m]}\n",
      "x.yaml:4: stage c: inputs: 'm' is an output of both a and b; expected different names" },
    { "stages:\n  a: {run: x, array: 0-9998}\n  b: {run: x, array: 0-1}\n",
      "x.yaml: stage b: more than 10000 jobs in one document" },
};

/* Of roles the order counts, also in JSON: the first has rank 0. */
static void roles_take_from_the_job_what_they_do_not_say(void **state)
{
    static const char yaml[] =
        "run: python worker.py\n"
        "memory: 1G\n"
        "env: {A: job, B: \"${n}\"}\n"
        "matrix: {n: [7]}\n"
        "roles:\n"
        "  learner: {gpus: h100:2, cpus: 8, run: \"learn ${n}\", env: {A: own}}\n"
        "  actor: {ranks: 4, memory: 4G}\n"
        "  eval: {command: [eval, 1], gpus: 0.5}\n";
    struct submission *submission = NULL;
    struct error err = { 0 };
    (void)state;

    if (parse(yaml, &submission, &err) < 0)
        fail_msg("%s", err.text);
    const struct job_draft *draft = &submission->stages[0].jobs[0];
    const struct request *request = &draft->request;
    assert_int_equal(request->roles_count, 3);
    assert_int_equal(request->members, 6);
    assert_int_equal(request->gpus[0].count, 2); /* of the most demanding */
    assert_string_equal(request->roles[1].name, "actor");
    assert_int_equal(request->roles[1].request.members, 4);
    assert_int_equal(request->roles[1].request.gpu_alternatives, 0);
    assert_int_equal(request->roles[1].request.cpu_milli, 1000);
    assert_int_equal(request->roles[1].request.memory_mib, 4096);
    assert_int_equal(request->roles[0].request.memory_mib, 1024);
    assert_true(request->roles[0].request.memory_given && request->roles[0].request.cpu_given);
    assert_false(request->roles[1].request.cpu_given);
    assert_string_equal(draft->argv[2], "python worker.py");
    assert_string_equal(draft->role_starts[0].argv[2], "learn 7");
    assert_null(draft->role_starts[1].argv);
    assert_string_equal(draft->role_starts[2].argv[0], "eval");
    assert_string_equal(draft->role_starts[0].env[0], "A=own");
    assert_null(draft->role_starts[1].env);

    struct launch *launch = NULL;
    json_t *object = launch_to_json(draft, NULL, 1, "/");
    char *bytes = json_dumps(object, JSON_COMPACT);
    assert_int_equal(launch_from_json(bytes, strlen(bytes), &launch, &err), 0);
    assert_int_equal(launch->role_count, 3);
    assert_string_equal(launch->roles[2].argv[1], "1");
    assert_null(launch->roles[1].argv);
    char **env = environment_unpack("A=job\0B=7\0", 10);
    env = environment_over(env, launch->roles[0].env);
    assert_string_equal(env[0], "B=7");
    assert_string_equal(env[1], "A=own");
    assert_null(env[2]);
    string_list_destroy(env);
    launch_destroy(launch);
    free(bytes);
    json_decref(object);
    submission_destroy(submission);
}

static void a_script_is_kept_byte_for_byte(void **state)
{
    static const char *const scripts[] = {
        "#!/bin/sh\necho caf\xc3\xa9 \xe2\x82\xac\n",
        "#!/bin/sh\necho caf\xe9 \x80\xff\xc3\xa9\n",
    };
    static const char *const keys[] = { "script", "script_bytes" };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        AUTO(json) json_t *document = json_object();
        AUTO(submission) struct submission *submission = NULL;
        struct launch *launch = NULL;
        struct error err = { 0 };

        script_text_put(document, scripts[i], strlen(scripts[i]));
        assert_non_null(json_object_get(document, keys[i]));
        assert_int_equal(submission_parse(document, NULL, NULL, &submission, &err), 0);
        AUTO(json) json_t *object = launch_to_json(&submission->stages[0].jobs[0], NULL, 1, "/");
        AUTO_FREE char *bytes = json_dumps(object, JSON_COMPACT);
        assert_int_equal(launch_from_json(bytes, strlen(bytes), &launch, &err), 0);
        assert_string_equal(launch->script, scripts[i]);
        launch_destroy(launch);
    }
}

static void a_bad_document_is_refused_with_line_and_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        struct submission *submission = NULL;
        struct error err = { 0 };

        assert_true(parse(failures[i].yaml, &submission, &err) < 0);
        assert_string_equal(err.text, failures[i].text);
        assert_null(submission);
    }
}

/* A document whose key is a string of that length. */
static int parse_long(const char *key, size_t length, struct error *err)
{
    AUTO(json) json_t *document = json_object();
    AUTO(submission) struct submission *submission = NULL;
    AUTO_FREE char *value = mem_zero(length + 1, 1);

    memset(value, 'a', length);
    json_object_set_new(document, "run", json_string("true"));
    json_object_set_new(document, key, json_string(value));
    return submission_parse(document, NULL, NULL, &submission, err);
}

static void texts_have_limits(void **state)
{
    struct error err;
    (void)state;

    assert_int_equal(parse_long("run", SUBMISSION_STRING_MAX, &err), 0);
    assert_int_equal(parse_long("run", SUBMISSION_STRING_MAX + 1, &err), -E2BIG);
    assert_string_equal(err.text, "run: 131072 bytes, at most 131071 are accepted");
    assert_int_equal(parse_long("output", 5000, &err), -E2BIG);
    assert_string_equal(err.text, "output: 5000 bytes, at most 4095 are accepted");
    assert_int_equal(parse_long("comment", 1025, &err), -E2BIG);
    assert_string_equal(err.text, "comment: 1025 bytes, at most 1024 are accepted");
}

static void arguments_and_environment_have_a_limit_together(void **state)
{
    AUTO(json) json_t *document = json_object();
    AUTO(submission) struct submission *submission = NULL;
    AUTO_FREE char *value = mem_zero(130001, 1);
    struct error err;
    (void)state;

    memset(value, 'a', 130000);
    json_t *command = json_array();
    for (int i = 0; i < 9; i++)
        json_array_append_new(command, json_string(value));
    json_object_set_new(document, "command", command);
    assert_int_equal(submission_parse(document, NULL, NULL, &submission, &err), -E2BIG);
    assert_string_equal(err.text, "1170097 bytes of arguments and environment, at most 1048576 are "
                                  "accepted");
    json_array_clear(command);
    json_array_append_new(command, json_string("x"));
    json_array_append_new(command, json_string(value));
    json_array_append_new(command, json_string(value));
    json_object_set_new(document, "matrix", json_pack("{s:s}", "n", "1..1000"));
    assert_int_equal(submission_parse(document, NULL, "b", &submission, &err), -E2BIG);
    assert_string_equal(err.text, "b: more than 128 MiB of arguments and environments in all jobs "
                                  "together");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_has_defaults),
        cmocka_unit_test(every_key_reaches_its_field),
        cmocka_unit_test(a_pipeline_has_stages_in_an_order_that_runs),
        cmocka_unit_test(a_pipeline_without_a_name_has_that_of_its_file),
        cmocka_unit_test(a_matrix_gives_a_job_for_each_combination),
        cmocka_unit_test(plain_numbers_keep_their_text_where_text_is_wanted),
        cmocka_unit_test(variables_of_the_shell_are_left_alone),
        cmocka_unit_test(a_script_keeps_its_interpreter),
        cmocka_unit_test(a_job_is_named_after_what_it_runs),
        cmocka_unit_test(the_sender_is_beneath_everything),
        cmocka_unit_test(gpus_can_be_a_number_a_string_or_a_map),
        cmocka_unit_test(what_is_not_acted_on_is_named),
        cmocka_unit_test(a_range_of_ranks_or_nodes_is_an_elastic_gang),
        cmocka_unit_test(a_job_says_how_it_saves_its_work),
        cmocka_unit_test(a_bad_checkpoint_is_refused_in_words),
        cmocka_unit_test(begin_may_be_a_delay_or_a_time),
        cmocka_unit_test(roles_take_from_the_job_what_they_do_not_say),
        cmocka_unit_test(a_script_is_kept_byte_for_byte),
        cmocka_unit_test(a_bad_document_is_refused_with_line_and_words),
        cmocka_unit_test(texts_have_limits),
        cmocka_unit_test(arguments_and_environment_have_a_limit_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
