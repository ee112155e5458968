/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sbatch/sbatch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "wire/job/submission.h"

enum { WORDS_MAX = 64 };

/* What a command line (words between blanks) and a script come to, as compact JSON or the words
 * of the failure. New. */
static char *result_with(const char *line, const char *script, char **ret_notes, char **ret_slurm)
{
    AUTO_FREE char *copy = mem_string(line);
    char *words[WORDS_MAX];
    int count = 0, rest = 0;
    struct sbatch sbatch;
    struct error err;

    for (char *word = strtok(copy, " "); word && count < WORDS_MAX; word = strtok(NULL, " "))
        words[count++] = word;
    sbatch_init(&sbatch);
    int code = sbatch_parse_args(&sbatch, count, words, 0, &rest, &err);
    if (code == 0 && script)
        code = sbatch_parse_script(&sbatch, script, strlen(script), "a.sh", &err);
    if (code == 0)
        code = sbatch_finish(&sbatch, &err);
    if (ret_slurm)
        *ret_slurm =
            json_dumps(json_object_get(sbatch.job, "slurm"), JSON_COMPACT | JSON_SORT_KEYS);
    json_object_del(sbatch.job, "slurm"); /* see assert_variables() */
    char *result =
        code < 0 ? mem_string(err.text) : json_dumps(sbatch.job, JSON_COMPACT | JSON_SORT_KEYS);
    if (ret_notes)
        *ret_notes = json_dumps(sbatch.notes, JSON_COMPACT);
    sbatch_release(&sbatch);
    return result;
}

static char *result_of(const char *line, const char *script, char **ret_notes)
{
    return result_with(line, script, ret_notes, NULL);
}

/* NULL: no variables of Slurm. */
static void assert_variables(const char *line, const char *script, const char *expected)
{
    char *slurm = NULL;
    char *result = result_with(line, script, NULL, &slurm);

    if (expected && slurm)
        assert_string_equal(slurm, expected);
    else
        assert_true(!expected && !slurm);
    free(slurm);
    free(result);
}

static void assert_line(const char *line, const char *expected)
{
    AUTO_FREE char *result = result_of(line, NULL, NULL);

    assert_string_equal(result, expected);
}

static void assert_script(const char *script, const char *expected)
{
    AUTO_FREE char *result = result_of("", script, NULL);

    assert_string_equal(result, expected);
}

static void slurm_options_become_keys(void **state)
{
    (void)state;
    assert_line("-J x -p gpu -A nlp", "{\"name\":\"x\",\"pool\":\"gpu\",\"queue\":\"nlp\"}");
    assert_line("--name x", "{\"name\":\"x\"}");
    assert_line("--gres=gpu:h100:2", "{\"gpus\":\"h100:2\"}");
    assert_line("--gpus 0.5 -c 4", "{\"cpus\":\"4\",\"gpus\":\"0.5\"}");
    assert_line("-C nvme&(a100|zone=b)&x", "{\"where\":[\"nvme\",\"a100|zone=b\",\"x\"]}");
    assert_line("--where !slow,zone=a", "{\"where\":\"!slow,zone=a\"}");
    assert_line("--gpus 0", "{\"gpus\":\"0\"}");
    assert_line("--array=[0-4,7]%2", "{\"array\":\"0-4,7%2\"}");
    assert_line("--array=[0-4]", "{\"array\":\"0-4\"}");
    assert_line("--array=[0-4]x", "{\"array\":\"[0-4]x\"}");
    assert_line("--array=0-99%8", "{\"array\":\"0-99%8\"}");
    assert_line("-d singleton", "{\"singleton\":true}");
    assert_line("-d aftercorr:12,afterany:7_3,afterok:8_*,singleton",
                "{\"depends\":[{\"on\":12,\"task\":\"own\",\"when\":\"ok\"},"
                "{\"on\":7,\"task\":3,\"when\":\"any\"},{\"on\":8,\"when\":\"ok\"}],"
                "\"singleton\":true}");
    assert_line("--dependency=afterok:12:13,after:5",
                "{\"depends\":[{\"on\":12,\"when\":\"ok\"},{\"on\":13,\"when\":\"ok\"},"
                "{\"on\":5,\"when\":\"started\"}]}");
    assert_line("-d afterany:1,afternotok:2",
                "{\"depends\":[{\"on\":1,\"when\":\"any\"},{\"on\":2,\"when\":\"failed\"}]}");
    assert_line("-t 90", "{\"max_duration\":\"5400000ms\"}");
    assert_line("-t 2h", "{\"max_duration\":\"7200000ms\"}");
    assert_line("-t 1-12", "{\"max_duration\":\"129600000ms\"}");
    assert_line("--estimate 90m --restart-cost 30s --preemptible",
                "{\"estimate\":\"90m\",\"preemptible\":true,\"restart_cost\":\"30s\"}");
    assert_line("--deadline=2030-01-31T18:00", "{\"deadline\":\"2030-01-31T18:00\"}");
    assert_line("--requeue", "{\"requeue\":true}"); /* does not mean preemptible */
    assert_line("--time=0", "{\"max_duration\":\"unlimited\"}");
    assert_line("--max-duration 90", "{\"max_duration\":\"90\"}");
    assert_line("-o %j.out -e err -i in -D /tmp --open-mode=append",
                "{\"append\":true,\"cwd\":\"/tmp\",\"error\":\"err\",\"input\":\"in\","
                "\"output\":\"%j.out\"}");
    assert_line("-Hb now+1hour --comment=hi --no-requeue --grace 5s --retry 0",
                "{\"begin\":\"now+1hour\",\"comment\":\"hi\",\"grace\":\"5s\",\"hold\":true,"
                "\"requeue\":false,\"retry\":0}");
    assert_line("-o none -e none -i none",
                "{\"error\":\"none\",\"input\":\"none\",\"output\":\"none\"}");
    assert_script(
        "#!/bin/sh\n#SBATCH -n 2 --gpus-per-node=h100:4 -G h100:4 --gpus-per-task=h100:2\n",
        "{\"cpus\":\"2\",\"gpus\":\"h100:4\",\"tasks\":{\"count\":2,\"gpus\":2}}");
    assert_script("#SBATCH --gres=gpu:2 --gpus-per-node=2 -G 2 -N 1\n",
                  "{\"gpus\":\"2\",\"tasks\":1}");
    assert_script("#!/bin/sh\n#SBATCH -o none -e NONE --input=none\n",
                  "{\"error\":\"/dev/null\",\"input\":\"/dev/null\",\"output\":\"/dev/null\"}");
    assert_line("--no-requeue --requeue", "{\"requeue\":true}");
    assert_line("--nice", "{\"priority\":-100}");
    assert_line("--nice=-5", "{\"priority\":5}");
    assert_line("--nice=10000", "{\"priority\":-1000}");
    assert_line("--nice=-10000", "{\"priority\":1000}");
    assert_line("--gres=none", "{}");
    assert_line("--priority=high", "{\"priority\":100}");
    assert_line("--export=ALL,A=1,B --env C=2", "{\"env\":{\"A\":\"1\",\"C\":\"2\"}}");
    assert_line("--export=NONE", "{\"env\":{},\"export\":\"none\"}");
    assert_line("--export=A=1", "{\"env\":{\"A\":\"1\"},\"export\":\"none\"}");
    assert_line("--export=ALL,A='1,2',B=\"x,y\",'C=3,4',D=it's,E='",
                "{\"env\":{\"A\":\"1,2\",\"B\":\"x,y\",\"C\":\"3,4\",\"D\":\"it's,E='\"}}");
    assert_int_equal(setenv("TARN_TEST_EXPORT", "here", 1), 0);
    assert_line("--export=TARN_TEST_EXPORT,TARN_TEST_NONE,A=1",
                "{\"env\":{\"A\":\"1\",\"TARN_TEST_EXPORT\":\"here\"},\"export\":\"none\"}");
    assert_line("--export=NIL", "{\"env\":{},\"export\":\"none\"}");
    assert_line("--wrap hostname", "{\"run\":\"hostname\"}");
}

static void nodes_tasks_and_amounts_become_members(void **state)
{
    (void)state;
    assert_line("-n 2 -c 4", "{\"cpus\":\"4\",\"ranks\":2}");
    assert_line("-n8 --gres=gpu:8", "{\"gpus\":\"1\",\"ranks\":8}");
    assert_line("-N 2 --gpus-per-node=h100:8", "{\"gpus\":\"h100:8\",\"nodes\":2}");
    assert_line("-N 2 --ntasks-per-node=4 --gres=gpu:8 --mem 64G",
                "{\"gpus\":\"2\",\"memory\":\"16384M\",\"nodes\":2,\"ranks\":8}");
    assert_line("--ranks 2..8 --sizes any --resize never",
                "{\"ranks\":\"2..8\",\"resize\":\"never\",\"sizes\":\"any\"}");
    assert_line("-N 1..4 --on-member-loss heal --heals 2",
                "{\"heals\":2,\"nodes\":\"1..4\",\"on_member_loss\":\"heal\"}");
    assert_line("-N 1-4", "{\"nodes\":\"1..4\",\"resize\":\"never\"}");
    assert_line("-n 4 --gpus-per-task=1", "{\"gpus\":\"1\",\"ranks\":4}");
    assert_line("--gpus=2 --cpus-per-gpu=8 --mem-per-gpu=10G",
                "{\"cpus\":\"16\",\"gpus\":\"2\",\"memory\":\"20480M\"}");
    assert_line("-c 4 --mem-per-cpu=2G", "{\"cpus\":\"4\",\"memory\":\"8192M\"}");
    assert_line("--cpus 0.5 --mem-per-cpu=1G", "{\"cpus\":\"0.5\",\"memory\":\"512M\"}");
    assert_line("--memory 1500", "{\"memory\":\"1500M\"}");
}

/* The script runs once, with what all its tasks need. */
static void in_a_script_slurms_options_mean_what_slurm_says(void **state)
{
    (void)state;
    assert_script("#SBATCH -n 4 -c 2 --gpus-per-task=1 --mem-per-cpu=1G\n",
                  "{\"cpus\":\"8\",\"gpus\":\"4\",\"memory\":\"8192M\",\"tasks\":{\"count\":4,"
                  "\"gpus\":1}}");
    assert_script("#SBATCH -N 1 --ntasks-per-node=4 --gres=gpu:h100:2 --mem 64G\n",
                  "{\"cpus\":\"4\",\"gpus\":\"h100:2\",\"memory\":\"65536M\",\"tasks\":4}");
    assert_script("#SBATCH -n 2 --gpus 2 --cpus-per-gpu 4 --mem-per-gpu=10G\n",
                  "{\"cpus\":\"8\",\"gpus\":\"2\",\"memory\":\"20480M\",\"tasks\":2}");
    assert_script("#SBATCH --gres=gpu:2 -C 'v100|a100'\n",
                  "{\"gpus\":\"2\",\"tasks\":1,\"where\":[\"v100|a100\"]}");
    assert_script("#SBATCH -n 4\n#SBATCH -N 1-2\n", "{\"cpus\":\"4\",\"tasks\":4}");
    assert_script("#SBATCH --ranks 2 --gpus 1\n", "{\"gpus\":\"1\",\"ranks\":2}");
    AUTO_FREE char *gang = result_of("-n 2", "#SBATCH -n 4 --gpus=1\n", NULL);
    assert_string_equal(gang, "{\"gpus\":\"1\",\"ranks\":2}"); /* tarn's command line wins */
}

static void slurms_variables_are_those_that_are_asked_for(void **state)
{
    (void)state;
    assert_variables("--gpus 2 -t 5", NULL, NULL);
    assert_variables("--ranks 2", "#!/bin/sh\necho\n", NULL);
    assert_variables("-n 2", NULL, NULL);
    assert_variables("-N 2 --ntasks-per-node=2", NULL, "{\"SLURM_NTASKS_PER_NODE\":\"2\"}");
    assert_variables("", "#SBATCH -t 5\n", "{}");
    assert_variables("", "#SBATCH --wckey=x\n", "{}");
    assert_variables("", "true\n#SBATCH -t 5\n", NULL);
    assert_variables("", "#SBATCH -n 4 -c 0.5 --mem=2G\n",
                     "{\"SLURM_CPUS_PER_TASK\":\"1\",\"SLURM_MEM_PER_NODE\":\"2048\","
                     "\"SLURM_NPROCS\":\"4\",\"SLURM_NTASKS\":\"4\"}");
    assert_variables("", "#SBATCH --gres=gpu:2\n", "{}");
    assert_variables("", "#SBATCH --gpus-per-node=4 --gpus-per-task=4\n",
                     "{\"SLURM_GPUS_PER_NODE\":\"4\",\"SLURM_GPUS_PER_TASK\":\"4\"}");
    assert_variables("-G 3", "#SBATCH -G 2\n", "{\"SLURM_GPUS\":\"3\"}");
    assert_variables("", "#SBATCH -d afterok:7 --export=NONE --gpus=2 --mem-per-gpu=1G\n",
                     "{\"SLURM_EXPORT_ENV\":\"NONE\",\"SLURM_GPUS\":\"2\","
                     "\"SLURM_JOB_DEPENDENCY\":\"afterok:7\",\"SLURM_MEM_PER_GPU\":\"1024\"}");
}

static void the_command_begins_after_the_options(void **state)
{
    static const struct {
        char *words[6];
        int count;
        int rest;
    } cases[] = {
        { { "-n", "2", "train.sh", "-x" }, 4, 2 },
        { { "-H", "--", "-x" }, 3, 2 },
        { { "python" }, 1, 0 },
        { { "-H" }, 1, 1 },
        { { "-W", "-", "x" }, 3, 1 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct sbatch sbatch;
        struct error err;
        int rest = -1;

        sbatch_init(&sbatch);
        assert_int_equal(sbatch_parse_args(&sbatch, cases[i].count, cases[i].words, 0, &rest, &err),
                         0);
        assert_int_equal(rest, cases[i].rest);
        sbatch_release(&sbatch);
    }
}

static void what_is_for_the_command_stays_out_of_the_job(void **state)
{
    char *words[] = { "submit", "--parsable", "--json",      "-QW",    "--test-only",
                      "-f",     "a.yaml",     "--socket=/s", "--help", "--wrap=ls" };
    struct sbatch sbatch;
    struct error err;
    int rest;
    (void)state;

    sbatch_init(&sbatch);
    assert_int_equal(sbatch_parse_args(&sbatch, COUNT_OF(words), words, 1, &rest, &err), 0);
    assert_true(sbatch.is_parsable && sbatch.is_json && sbatch.is_quiet && sbatch.is_waiting);
    assert_true(sbatch.is_test && sbatch.is_help);
    assert_string_equal(sbatch.file, "a.yaml");
    assert_string_equal(sbatch.socket, "/s");
    assert_string_equal(sbatch.wrap, "ls");
    assert_int_equal(json_object_size(sbatch.job), 0);
    sbatch_release(&sbatch);
}

static void a_script_is_read_up_to_its_first_command(void **state)
{
    static const char script[] = "#!/bin/bash\n"
                                 "#SBATCH -J train --wckey x\n"
                                 "\n"
                                 "# SBATCH -J no\n"
                                 "##SBATCH -J no\n"
                                 "#SBATCHX -J no\n"
                                 "#SBATCH\t--comment=\"a 'b' c\" -o 'x y' --nice\n"
                                 "#SBATCH --gpus=4 --ntasks=2\n"
                                 "srun python train.py\n"
                                 "#SBATCH -n 3\n";
    (void)state;
    AUTO_FREE char *notes = NULL;
    AUTO_FREE char *result = result_of("", script, &notes);

    assert_string_equal(result,
                        "{\"comment\":\"a 'b' c\",\"cpus\":\"2\",\"gpus\":\"4\",\"name\":\"train\","
                        "\"output\":\"x y\",\"priority\":-100,\"tasks\":2}");
    assert_string_equal(notes, "[\"a.sh:2: --wckey: not supported, ignored\","
                               "\"a.sh:10: #SBATCH after the first command: ignored\"]");
}

/* As Slurm: only the first line that is neither blank nor a comment ends them. */
static void lines_of_options_need_no_blank_and_end_at_no_comment(void **state)
{
    (void)state;
    assert_script("#!/bin/sh\n#SBATCH -J a\n  # indented\n\t#too\n\n#SBATCH --hold\n",
                  "{\"hold\":true,\"name\":\"a\"}");
    assert_script("#!/bin/sh\n#SBATCH-Ja\n#SBATCH--hold\n#SBATCHED -J b\n##SBATCH -J c\n",
                  "{\"hold\":true,\"name\":\"a\"}");
    assert_script("#!/bin/sh\n  true\n#SBATCH -J a\n", "{}");
}

static void the_command_line_wins_over_the_script(void **state)
{
    static const char script[] = "#!/bin/sh\n#SBATCH --gres=gpu:4 --mem-per-cpu 1G --env A=script "
                                 "-J script --env B=script\n";
    (void)state;
    AUTO_FREE char *result = result_of("--gpus 1 --mem 2G --env A=line", script, NULL);

    assert_string_equal(result, "{\"env\":{\"A\":\"line\",\"B\":\"script\"},\"gpus\":\"1\","
                                "\"memory\":\"2048M\",\"name\":\"script\"}");
}

static void a_signal_and_how_often_it_saves_are_its_checkpoint(void **state)
{
    AUTO_FREE char *slurm = result_of("--signal=B:SIGUSR1@60", NULL, NULL);
    AUTO_FREE char *number = result_of("--signal 12 --checkpoint-every auto", NULL, NULL);
    (void)state;

    assert_string_equal(slurm, "{\"checkpoint\":{\"grace\":\"60\",\"signal\":\"USR1\"}}");
    assert_string_equal(number, "{\"checkpoint\":{\"every\":\"auto\",\"signal\":\"USR2\"}}");
}

static void what_is_not_supported_is_named(void **state)
{
    AUTO_FREE char *notes = NULL;
    AUTO_FREE char *result = result_of("--wckey=x --mail-type none -v", NULL, &notes);
    AUTO_FREE char *one_node =
        result_of("--switches 1 -m block --time-min=5 --propagate", NULL, NULL);
    AUTO_FREE char *limits = NULL;
    AUTO_FREE char *list = result_of("--propagate=STACK", NULL, &limits);
    (void)state;

    assert_string_equal(result, "{}");
    assert_string_equal(notes, "[\"--wckey: not supported, ignored\","
                               "\"--verbose: not supported, ignored\"]");
    assert_string_equal(one_node, "{}");
    assert_string_equal(list, "{}");
    assert_string_equal(limits, "[\"--propagate: all soft limits are passed on\"]");
}

static void places_classes_and_whole_nodes_are_keys(void **state)
{
    static const char *const cases[][2] = {
        { "-p a,b", "{\"pool\":\"a,b\"}" },
        { "-q high", "{\"qos\":\"high\"}" },
        { "--signal USR1@60", "{\"checkpoint\":{\"grace\":\"60\",\"signal\":\"USR1\"}}" },
        { "--exclusive --mem=0", "{\"exclusive\":true,\"memory\":\"all\"}" },
        { "-w n1 -x n2,n3", "{\"where\":[\"node in (n1)\",\"node notin (n2,n3)\"]}" },
        { "-C fast -w n1", "{\"where\":[\"fast\",\"node in (n1)\"]}" },
        { "--where fast -x n1", "{\"where\":[\"fast\",\"node notin (n1)\"]}" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *result = result_of(cases[i][0], NULL, NULL);
        assert_string_equal(result, cases[i][1]);
    }
}

static void mail_is_as_slurm_has_it(void **state)
{
    AUTO_FREE char *all = result_of("--mail-type=ALL --mail-user ana@a.org", NULL, NULL);
    AUTO_FREE char *some = result_of("--mail-type=End,FAIL", NULL, NULL);
    AUTO_FREE char *none = result_of("--mail-user ana@a.org --mail-type NONE", NULL, NULL);
    AUTO_FREE char *own = result_of("--mail ana@a.org --notify fail", NULL, NULL);
    AUTO_FREE char *notes = NULL;
    AUTO_FREE char *limit =
        result_of("--mail-type=END,TIME_LIMIT_80 --mail-user ana@a.org", NULL, &notes);
    AUTO_FREE char *never = result_of("--mail-type=time_limit --mail-user ana@a.org", NULL, NULL);
    (void)state;

    assert_string_equal(all, "{\"mail\":\"ana@a.org\",\"notify\":\"begin,end,fail,requeue\"}");
    assert_string_equal(some, "{\"notify\":\"end,fail\"}");
    assert_string_equal(none, "{}");
    assert_string_equal(limit, "{\"mail\":\"ana@a.org\",\"notify\":\"end\"}");
    assert_string_equal(notes, "[\"--mail-type=TIME_LIMIT_80: not supported, ignored\"]");
    assert_string_equal(never, "{}");
    assert_string_equal(own, "{\"mail\":\"ana@a.org\",\"notify\":\"fail\"}");
    assert_script("#SBATCH --mail-type=END\n#SBATCH --mail-type=FAIL\n",
                  "{\"notify\":\"end,fail\"}");
    assert_script("#SBATCH --mail-type=END\n#SBATCH --mail-type=none\n", "{}");
    AUTO_FREE char *both = result_of("--mail-type=BEGIN", "#SBATCH --mail-type=END\n", NULL);
    assert_string_equal(both, "{\"notify\":\"begin,end\"}");
}

static void a_bad_command_line_is_refused_in_words(void **state)
{
    static const struct {
        const char *line;
        const char *text;
    } cases[] = {
        { "--gpuss 1", "unknown option '--gpuss'; did you mean '--gpus'?" },
        { "--bananas", "unknown option '--bananas'" },
        { "-Z", "unknown option '-Z'" },
        { "--hold=1", "--hold: takes no value, got '1'" },
        { "--mem", "--mem: expected SIZE after it" },
        { "-c", "-c: expected N after it" },
        { "--gpus 1 --gres gpu:1", "--gres: --gpus is given already, expected one of them" },
        { "--mem-per-cpu=0",
          "--mem-per-cpu: 0: expected a size, as in 4G; --mem=0 is all memory of a node" },
        { "--exclusive=user", "--exclusive: 'user': expected no value; whole nodes are for one "
                              "job alone" },
        { "-w a,b", "--nodelist: 'a,b': several nodes, which all would be used; expected one, or "
                    "--where 'node in (n1,n2)' for one of them" },
        { "-x n[1-3]", "--exclude: 'n[1-3]': expected names of nodes, as in n1,n2; brackets and "
                       "files are not supported" },
        { "--propagate=NONE", "--propagate: NONE: not supported; expected ulimit in the script" },
        { "--cluster-constraint a", "--cluster-constraint: not supported; use --socket" },
        { "-C a&b|c", "--constraint: 'a&b|c': & and | together; expected parentheses around |, "
                      "like 'nvme&(v100|a100)'" },
        { "-C [a|b]", "--constraint: '[a|b]': expected features like a100, 'v100|a100' or "
                      "'nvme&a100'; numbers of nodes and brackets are not supported" },
        { "-C a*2", "--constraint: 'a*2': expected features like a100, 'v100|a100' or "
                    "'nvme&a100'; numbers of nodes and brackets are not supported" },
        { "-C a&", "--constraint: 'a&': expected features like a100, 'v100|a100' or "
                   "'nvme&a100'; numbers of nodes and brackets are not supported" },
        { "-C a --where b", "--where: --constraint is given already, expected one of them" },
        { "--gpus 1 --gpu-bind=closest", "--gpu-bind: 'closest': expected none, or per_task:N "
                                         "with --gpus-per-task=N, which binds GPUs to tasks" },
        { "--mail-type END,TIME_LIMITS",
          "--mail-type: 'TIME_LIMITS': expected NONE, BEGIN, END, FAIL, REQUEUE or ALL" },
        { "--mail-type END --notify fail",
          "--notify: --mail-type is given already, expected one of them" },
        { "--ntasks-per-gpu 1", "--ntasks-per-gpu: not supported; use --ntasks and "
                                "--gpus-per-task" },
        { "--gpus 1.5", "gpus: '1.5': expected a whole number of gpus, or a part of "
                        "one (less than 1)" },
        { "--gres shard:1", "gres 'shard:1': 'shard:1': expected gpu, gpu:COUNT, gpu:MODEL:COUNT "
                            "or mps:PERCENT" },
        { "--gres gpu:2 -n 3", "--gres: 'gpu:2' of a node cannot be divided among 3 members; use "
                               "--gpus for each" },
        { "--gres mps:50 -n 2", "--gres: 'mps:50' of a node cannot be divided among 2 members; use "
                                "--gpus for each" },
        { "-n x", "--ntasks: 'x': expected a whole number" },
        { "-n 0", "--ntasks: 0, expected 1 to 4096" },
        { "-n 5 --ntasks-per-node 2", "--ntasks: 5 on 1 node with 2 each" },
        { "--ranks 8..2", "--ranks: '8..2': expected 1 to 4096, or a range like 2..8" },
        { "-N 3-2", "--nodes: '3-2': expected a whole number" },
        { "-c x", "--cpus-per-task: 'x': not a number with at most three decimals" },
        { "--cpus-per-gpu 2", "--cpus-per-gpu: no gpus are requested" },
        { "--mem 5X", "--mem: '5X': not a size; expected one like 512M, 20G or 1.5T" },
        { "--mem 2P", "--mem: '2P': not a size; expected one like 512M, 20G or 1.5T" },
        { "--mem 2000T", "--mem: '2000T': more than a pebibyte" },
        { "-t x", "--time: 'x': not a duration; expected one like 90s, 1h30m or 2-12:00:00" },
        { "-d expand:3", "--dependency: 'expand': expected afterok, afterany, afternotok, after, "
                         "aftercorr or singleton" },
        { "-d singleton:3", "--dependency: 'singleton': expected afterok, afterany, afternotok, "
                            "after, aftercorr or singleton" },
        { "-d afterok:1_x", "--dependency: '1_x': expected the number of a job" },
        { "-d afterok:1_", "--dependency: '1_': expected the number of a job" },
        { "-d afterok", "--dependency: 'afterok': expected numbers of jobs after it, as in "
                        "afterok:12" },
        { "-d afterok:x", "--dependency: 'x': expected the number of a job" },
        { "-d after:5+10", "--dependency: '5+10': expected the number of a job" },
        { "-d afterok:1?afterok:2",
          "--dependency: '?' (one of several) is not supported; ',' needs "
          "all of them" },
        { "--export ALL,=x", "--export: '=x': expected ALL, NONE, NAME or NAME=VALUE" },
        { "--export A='1,B=2", "--export: 'A='1,B=2': a quote is not closed" },
        { "--env FOO", "--env 'FOO': expected NAME=VALUE" },
        { "--priority urgent",
          "--priority: 'urgent', expected low, normal, high or -1000 to 1000" },
        { "--nice=lots", "--nice: 'lots', expected -2147483645 to 2147483645" },
        { "--open-mode rw", "--open-mode: 'rw': expected append or truncate" },
        { "--signal KILL@60", "--signal: 'KILL': not a signal that can ask a job to save its work; "
                              "expected one like USR1, USR2 or TERM" },
        { "--signal USR1@soon",
          "--signal: 'soon': not a duration; expected one like 90s, 1h30m or 2-12:00:00" },
        { "--signal USR1@60 --grace 30s",
          "--signal: 'USR1@60': sets a grace period, like --grace; expected one of them" },
        { "--retry 101", "--retry: 101, expected 1 to 100" },
        { "-J \xff", "--job-name: not UTF-8, or longer than 131071 bytes" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_line(cases[i].line, cases[i].text);
}

static void a_bad_script_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *script;
        const char *text;
    } cases[] = {
        { "#!/bin/sh\n#SBATCH --gpsu 1\n",
          "a.sh:2: unknown option '--gpsu'; did you mean '--gpus'?" },
        { "#SBATCH -N 2\n",
          "a.sh:1: --nodes: '2': a batch script runs on one node; expected 1; for a "
          "gang on several nodes: tarn submit --nodes and --ranks" },
        { "#SBATCH -n 3 --ntasks-per-node 2\n", "a.sh:1: --ntasks: 3 on 1 node with 2 each" },
        { "#SBATCH --signal=B:USR1@60\n",
          "{\"warn\":{\"before\":60,\"signal\":\"USR1\",\"to\":\"shell\"}}" },
        { "#SBATCH --signal=10\n",
          "{\"warn\":{\"before\":60,\"signal\":\"USR1\",\"to\":\"steps\"}}" },
        { "#SBATCH --signal=B:TERM@2m\n",
          "a.sh:1: --signal: 'B:TERM@2m': expected seconds behind @, 0 to 65535" },
        { "#SBATCH -n 2 --gpus-per-task=0.5\n",
          "a.sh:1: --gpus-per-task: '0.5' for each of 2 tasks: expected whole GPUs" },
        { "#SBATCH -J 'x\n", "a.sh:1: #SBATCH: a quote is not closed" },
        { "#SBATCH -J x y\n", "a.sh:1: #SBATCH: 'y' is not an option" },
        { "#SBATCH --file=x\n", "a.sh:1: --file: only on a command line, not in a script" },
        { "\n#SBATCH --gpus=h100:\n", "a.sh:2: gpus 'h100:': nothing after ':'; expected a number, "
                                      "as in h100:2" },
        { "\n#SBATCH -t soon\n", "a.sh:2: --time: 'soon': not a duration; expected one like 90s, "
                                 "1h30m or 2-12:00:00" },
        { "#SBATCH -n 2\n#SBATCH --ranks=2\n", "a.sh:2: --ranks: --ntasks is given already, "
                                               "expected one of them" },
        { "#SBATCH -n 2\n#SBATCH -G 4\n#SBATCH --gpus-per-task=1\n",
          "a.sh:2: --gpus: '4', and --gpus-per-task: '1' makes '2'; expected one of them" },
        { "#SBATCH --ranks=2 -G 4 --gres=gpu:4\n",
          "a.sh:1: --gres: 'gpu:4', and --gpus: '4' makes '4'; expected one of them" },
        { "#!/bin/sh\n#SBATCH -J \xff\n",
          "a.sh:2: --job-name: not UTF-8, or longer than 131071 bytes" },
        { "#!/bin/sh\n#SBATCH -n 2\r\ntrue\n",
          "a.sh: batch script contains DOS line breaks (\\r\\n); expected UNIX line breaks (\\n)" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_script(cases[i].script, cases[i].text);
}

/* As sbatch has it: a comment may begin within a word. */
static void a_comment_ends_a_line(void **state)
{
    (void)state;

    assert_script("#SBATCH -J a#b --hold\n", "{\"name\":\"a\"}");
    assert_script("#SBATCH -J 'a#b' --hold # why\n", "{\"hold\":true,\"name\":\"a#b\"}");
    assert_script("#SBATCH -J a\\#b\n", "{\"name\":\"a#b\"}");
}

static void lines_of_other_schedulers_are_refused(void **state)
{
    static const char pbs[] = "#!/bin/sh\n#SBATCH -n 1\necho\n#PBS -l nodes=1:ppn=4\n";
    (void)state;

    assert_script(pbs, "a.sh:4: '#PBS -l nodes=1:ppn=4': #PBS and #BSUB lines are not read; "
                       "expected #SBATCH lines, or --ignore-pbs");
    assert_script("#BSUB -J x\n", "a.sh:1: '#BSUB -J x': #PBS and #BSUB lines are not read; "
                                  "expected #SBATCH lines, or --ignore-pbs");
    assert_script("#PBS -N x\n#SBATCH --ignore-pbs\n", "{}");
    assert_script("#PBSPRO\n# PBS -N x\n", "{}");
    AUTO_FREE char *ignored = result_of("--ignore-pbs", pbs, NULL);
    assert_non_null(strstr(ignored, "\"tasks\":1"));
}

static void a_script_has_a_limit(void **state)
{
    AUTO_FREE char *script = mem_zero(SBATCH_SCRIPT_MAX + 2, 1);
    AUTO_RELEASE(text) struct text line = { 0 };
    (void)state;

    memset(script, '#', SBATCH_SCRIPT_MAX + 1);
    assert_script(script, "a.sh: larger than 1 MiB");
    text_add(&line, "#SBATCH ");
    for (int i = 0; i < 300; i++)
        text_add(&line, "-H ");
    assert_script(line.bytes, "a.sh:1: #SBATCH: more than 256 words");
}

static void options_are_listed_for_help_and_completion(void **state)
{
    AUTO_RELEASE(text) struct text help = { 0 };
    const char *const *names = sbatch_option_names();
    size_t lines = 0, count = 0;
    (void)state;

    sbatch_help(&help);
    for (const char *s = help.bytes; *s; s++)
        lines += *s == '\n';
    while (names[count])
        count++;
    assert_int_equal(lines, count);
    assert_non_null(strstr(help.bytes, "  -c, --cpus-per-task=N            the same as --cpus\n"));
    assert_non_null(strstr(help.bytes, "      --nice[=N]                   reduce the priority"));
}

/* What the options come to is what a submission takes. */
static void the_job_is_a_document(void **state)
{
    char *words[] = { "-J",        "x",          "-n2",           "--gres=gpu:a100:2",
                      "-t",        "2h",         "--array=1-3%2", "--nice",
                      "-b",        "14:30",      "--mem=4G",      "-d",
                      "afterok:3", "--wrap=true" };
    AUTO(submission) struct submission *submission = NULL;
    struct sbatch sbatch;
    struct error err;
    int rest;
    (void)state;

    sbatch_init(&sbatch);
    assert_int_equal(sbatch_parse_args(&sbatch, COUNT_OF(words), words, 0, &rest, &err), 0);
    assert_int_equal(sbatch_finish(&sbatch, &err), 0);
    if (submission_parse(sbatch.job, NULL, NULL, &submission, &err) < 0)
        fail_msg("%s", err.text);
    const struct job_draft *job = &submission->stages[0].jobs[0];
    assert_int_equal(job->request.members, 2);
    assert_int_equal(job->request.gpus[0].count, 1);
    assert_int_equal(job->request.memory_mib, 2048);
    assert_int_equal(job->request.max_duration, 2 * USEC_PER_HOUR);
    assert_int_equal(job->array_count, 3);
    assert_string_equal(job->begin_at, "14:30");
    sbatch_release(&sbatch);
}

static void what_follows_a_failed_dependency_is_noted(void **state)
{
    AUTO_FREE char *yes = NULL, *no = NULL;
    AUTO_FREE char *same = result_of("", "#SBATCH --kill-on-invalid-dep=yes\n", &yes);
    AUTO_FREE char *other = result_of("--kill-on-invalid-dep=no", NULL, &no);
    (void)state;

    assert_string_equal(same, "{}");
    assert_string_equal(yes, "[]");
    assert_string_equal(other, "{}");
    assert_string_equal(no, "[\"--kill-on-invalid-dep=no: the job is cancelled all the same when a "
                            "dependency has failed\"]");
    assert_line("--kill-on-invalid-dep=soon", "--kill-on-invalid-dep: 'soon': expected yes or no");
}

static void a_nice_value_beyond_the_priorities_is_noted(void **state)
{
    AUTO_FREE char *notes = NULL;
    AUTO_FREE char *none = NULL;
    (void)state;

    AUTO_FREE char *result = result_of("", "#!/bin/sh\n#SBATCH --nice=10000\n", &notes);
    assert_string_equal(result, "{\"priority\":-1000}");
    assert_string_equal(notes, "[\"a.sh:2: --nice=10000 counts as 1000\"]");
    AUTO_FREE char *within = result_of("--nice=1000", NULL, &none);
    assert_string_equal(within, "{\"priority\":-1000}");
    assert_string_equal(none, "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_follows_a_failed_dependency_is_noted),
        cmocka_unit_test(a_nice_value_beyond_the_priorities_is_noted),
        cmocka_unit_test(slurm_options_become_keys),
        cmocka_unit_test(nodes_tasks_and_amounts_become_members),
        cmocka_unit_test(in_a_script_slurms_options_mean_what_slurm_says),
        cmocka_unit_test(slurms_variables_are_those_that_are_asked_for),
        cmocka_unit_test(the_command_begins_after_the_options),
        cmocka_unit_test(what_is_for_the_command_stays_out_of_the_job),
        cmocka_unit_test(a_script_is_read_up_to_its_first_command),
        cmocka_unit_test(lines_of_options_need_no_blank_and_end_at_no_comment),
        cmocka_unit_test(the_command_line_wins_over_the_script),
        cmocka_unit_test(a_signal_and_how_often_it_saves_are_its_checkpoint),
        cmocka_unit_test(what_is_not_supported_is_named),
        cmocka_unit_test(places_classes_and_whole_nodes_are_keys),
        cmocka_unit_test(mail_is_as_slurm_has_it),
        cmocka_unit_test(a_bad_command_line_is_refused_in_words),
        cmocka_unit_test(a_bad_script_is_refused_with_its_line),
        cmocka_unit_test(a_comment_ends_a_line),
        cmocka_unit_test(lines_of_other_schedulers_are_refused),
        cmocka_unit_test(a_script_has_a_limit),
        cmocka_unit_test(options_are_listed_for_help_and_completion),
        cmocka_unit_test(the_job_is_a_document),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
