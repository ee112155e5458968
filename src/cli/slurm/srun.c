/* SPDX-License-Identifier: Apache-2.0 */
/* srun: tasks of the job that it is called in, or a job of its own */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "cli/cmd/cmd_submit.h"
#include "cli/fields.h"
#include "cli/send.h"
#include "cli/slurm/slurm.h"
#include "cli/slurm/srun_mpi.h"
#include "cli/slurm/srun_share.h"
#include "cli/slurm/srun_step.h"
#include "core/job/request.h"
#include "io/free_port.h"
#include "wire/job/sbatch/sbatch.h"
#include "wire/reader.h"

enum { TASKS_MAX = 4096, WORDS_MORE = 8 };

/* What srun has and sbatch has not. */
struct srun {
    bool has_labels, overlaps, is_exact, is_exclusive, kills, has_pty;
    bool has_no_gpus; /* --gres=none */
    bool has_cpus;    /* --cpus-per-task */
    int wait_s;
    const char *mpi;     /* how its tasks would find each other; NULL: they do not */
    LIST(char *) words;  /* the other options, for sbatch's parser; [0] is the program */
    LIST(char *) values; /* those of them that variables set */
    char **command;      /* NULL-terminated */
};

static int flag(bool *member)
{
    *member = true;
    return 0;
}

static bool is_inside(void)
{
    return getenv("TARN_JOB_ID") && getenv("TARN_SOCKET");
}

static int refuse(const char *name, const char *words, struct error *err)
{
    return error_set(err, -EINVAL, "--%s: %s", name, words);
}

/* The options that srun has beside those of sbatch, and those that mean something else in a step.
 */
enum own_kind {
    OWN_LABEL,
    OWN_OVERLAP,
    OWN_EXACT,
    OWN_EXCLUSIVE,
    OWN_KILL,
    OWN_WAIT,
    OWN_MPI,
    OWN_CPU_BIND,
    OWN_PTY,
    OWN_JOB,
    OWN_NODES,
    OWN_RELATIVE,
    OWN_NOTHING, /* changes nothing here */
    OWN_REFUSED,
};

static const struct own {
    const char *name;
    char letter;
    char argument; /* 'n' none, 'y' one, 'o' optional, only with '=' or behind the letter */
    enum own_kind kind;
    const char *words; /* of one that is refused */
} owns[] = {
    { "label", 'l', 'n', OWN_LABEL, NULL },
    { "overlap", 0, 'n', OWN_OVERLAP, NULL },
    { "exact", 0, 'n', OWN_EXACT, NULL },
    { "exclusive", 0, 'o', OWN_EXCLUSIVE, NULL },
    { "unbuffered", 'u', 'n', OWN_NOTHING, NULL }, /* what the tasks write is never held back */
    { "kill-on-bad-exit", 'K', 'o', OWN_KILL, NULL },
    { "wait", 'W', 'y', OWN_WAIT, NULL },
    { "mpi", 0, 'y', OWN_MPI, NULL },
    { "cpu-bind", 0, 'y', OWN_CPU_BIND, NULL },
    { "cpu_bind", 0, 'y', OWN_CPU_BIND, NULL },
    { "pty", 0, 'o', OWN_PTY, NULL },
    { "jobid", 0, 'y', OWN_JOB, NULL },
    { "nodelist", 'w', 'y', OWN_NODES, NULL },
    { "relative", 'r', 'y', OWN_RELATIVE, NULL },
    { "bcast", 0, 'o', OWN_NOTHING, NULL }, /* the node has the program */
    { "bcast-exclude", 0, 'y', OWN_NOTHING, NULL },
    { "compress", 0, 'o', OWN_NOTHING, NULL },
    { "send-libs", 0, 'o', OWN_NOTHING, NULL },
    { "disable-status", 'X', 'n', OWN_NOTHING, NULL },
    { "quit-on-interrupt", 0, 'n', OWN_NOTHING, NULL },
    { "msg-timeout", 0, 'y', OWN_NOTHING, NULL },
    { "slurmd-debug", 0, 'y', OWN_NOTHING, NULL },
    { "threads", 'T', 'y', OWN_NOTHING, NULL },
    { "multi-prog", 0, 'n', OWN_REFUSED, "a script that looks at SLURM_PROCID does it" },
    { "accel-bind", 0, 'y', OWN_REFUSED, "--gpus-per-task binds GPUs to tasks" },
    { "immediate", 'I', 'o', OWN_REFUSED, "a step waits for its share of the job" },
    { "prolog", 0, 'y', OWN_REFUSED, "run it before srun" },
    { "epilog", 0, 'y', OWN_REFUSED, "run it after srun" },
    { "task-prolog", 0, 'y', OWN_REFUSED, "run it in the command" },
    { "task-epilog", 0, 'y', OWN_REFUSED, "run it in the command" },
    { "het-group", 0, 'y', OWN_REFUSED, "tarn submit --ranks, or roles of a job file" },
    { "no-allocate", 'Z', 'n', OWN_REFUSED, "run the command without srun" },
    { "preserve-env", 'E', 'n', OWN_REFUSED, "set the variables in the command" },
    { "resv-ports", 0, 'o', OWN_REFUSED, "programs find free ports themselves" },
    { "x11", 0, 'o', OWN_REFUSED, "ssh -X to the machine" },
};

static int take_mpi(struct srun *srun, const char *value, struct error *err)
{
    if (value && strcmp(value, "list") == 0) {
        srun_mpi_list();
        exit(0);
    }
    srun->mpi = value;
    return value ? 0 : refuse("mpi", "expected none or pmix", err);
}

static int take_wait(struct srun *srun, const char *value, struct error *err)
{
    char *end;

    long seconds = value ? strtol(value, &end, 10) : -1;
    if (!value || seconds < 0 || seconds > 86400 || *end)
        return refuse("wait", "expected seconds, 0 to 86400", err);
    srun->wait_s = (int)seconds;
    return 0;
}

/* Tasks run on all CPUs of the step. That is slower at most, and said. */
static int take_bind(const char *value, struct error *err)
{
    static const char *const nothing[] = { "none", "no", "n", "q", "v", "verbose", "quiet", NULL };
    static const char *const units[] = { "cores", "threads",    "sockets", "ldoms",
                                         "rank",  "rank_ldoms", NULL };
    AUTO_FREE char *copy = mem_string(value ? value : "");
    char *rest = copy;

    while (rest) {
        const char *word = strsep(&rest, ",");
        if (string_is_in(word, units))
            fprintf(stderr, "srun: --cpu-bind=%s: tasks are not bound to CPUs here\n", word);
        else if (!string_is_in(word, nothing))
            return refuse("cpu-bind", "not supported with CPUs; taskset in the command binds", err);
    }
    return 0;
}

/* In a job, its own node; else it is for the job. */
static int take_nodes(struct srun *srun, const char *value, struct error *err)
{
    const char *own = getenv("TARN_HOSTS");

    if (!value)
        return refuse("nodelist", "expected the name of a node", err);
    if (!is_inside()) {
        list_add(&srun->words, (char *)(uintptr_t) "--nodelist");
        list_add(&srun->words, (char *)(uintptr_t)value);
        return 0;
    }
    return own && strcmp(own, value) == 0
               ? 0
               : error_set(err, -EINVAL,
                           "--nodelist: '%.60s': expected %.200s, the node of the job", value,
                           own ? own : "localhost");
}

static int take_own(struct srun *srun, const struct own *own, const char *value, struct error *err)
{
    switch (own->kind) {
    case OWN_LABEL:
        return flag(&srun->has_labels);
    case OWN_OVERLAP:
        return flag(&srun->overlaps);
    case OWN_EXCLUSIVE:
        srun->is_exclusive = true;
        return flag(&srun->is_exact);
    case OWN_EXACT:
        return flag(&srun->is_exact);
    case OWN_KILL:
        if (value && strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
            return refuse(own->name, "expected 0 or 1", err);
        srun->kills = !value || value[0] == '1';
        return 0;
    case OWN_WAIT:
        return take_wait(srun, value, err);
    case OWN_MPI:
        return take_mpi(srun, value, err);
    case OWN_CPU_BIND:
        return take_bind(value, err);
    case OWN_PTY:
        return value && value[0] ? refuse(own->name, "expected no value", err)
                                 : flag(&srun->has_pty);
    case OWN_JOB:
        if (value && is_inside() && strcmp(value, getenv("TARN_JOB_ID")) == 0)
            return 0;
        return refuse(own->name, "expected the job that it is called in", err);
    case OWN_NODES:
        return take_nodes(srun, value, err);
    case OWN_RELATIVE:
        return value && strcmp(value, "0") == 0
                   ? 0
                   : refuse(own->name, "expected 0: a job has one node", err);
    case OWN_NOTHING:
        return 0;
    case OWN_REFUSED:
        break;
    }
    return error_set(err, -ENOTSUP, "--%s: not supported; %s", own->name, own->words);
}

/* The value of a word that is this option, "" if it has none inline; NULL: it is another. */
static const char *match(const struct own *own, const char *word)
{
    size_t length = strlen(own->name);

    if (own->letter && word[0] == '-' && word[1] == own->letter &&
        (own->argument != 'n' || word[2] == '\0'))
        return word + 2;
    if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, own->name, length) != 0)
        return NULL;
    if (word[2 + length] == '\0')
        return word + 2 + length;
    return word[2 + length] == '=' && own->argument != 'n' ? word + 3 + length : NULL;
}

static const struct own *find_own(const char *word, const char **ret_value)
{
    for (size_t i = 0; i < COUNT_OF(owns); i++) {
        *ret_value = match(&owns[i], word);
        if (*ret_value)
            return &owns[i];
    }
    return NULL;
}

/* The variables that srun reads as options, by srun(1). The command line wins over them, and a
 * later one over an earlier one. What sbatch sets in a job is not among them: a step begins with
 * that. */
static const struct {
    const char *variable, *option;
} inputs[] = {
    { "SLURM_EXACT", "--exact" },       { "SLURM_EXPORT_ENV", "--export" },
    { "SLURM_LABELIO", "--label" },     { "SLURM_KILL_BAD_EXIT", "--kill-on-bad-exit" },
    { "SLURM_MPI_TYPE", "--mpi" },      { "SLURM_OPEN_MODE", "--open-mode" },
    { "SLURM_OVERLAP", "--overlap" },   { "SLURM_REMOTE_CWD", "--chdir" },
    { "SLURM_STDERRMODE", "--error" },  { "SLURM_STDINMODE", "--input" },
    { "SLURM_STDOUTMODE", "--output" }, { "SLURM_TIMELIMIT", "--time" },
    { "SLURM_WAIT", "--wait" },         { "SRUN_CPUS_PER_TASK", "--cpus-per-task" },
    { "SRUN_EXPORT_ENV", "--export" },
};

/* Of an option without an argument: whether the variable sets it. */
static bool is_switched_on(const char *value)
{
    return value[0] == '\0' || strcmp(value, "yes") == 0 || strtol(value, NULL, 10) != 0;
}

static int read_variable(struct srun *srun, const char *variable, const char *option,
                         struct error *err)
{
    const char *none, *value = getenv(variable);
    const struct own *own = find_own(option, &none);

    if (!value || (own && own->argument == 'n' && !is_switched_on(value)))
        return 0;
    if (own) {
        int code = take_own(srun, own, value[0] ? value : NULL, err);
        return code < 0 ? error_prefix(err, code, "%s", variable) : 0;
    }
    srun->has_cpus |= strcmp(option, "--cpus-per-task") == 0;
    list_add(&srun->values, mem_printf("%s=%s", option, value));
    list_add(&srun->words, srun->values.items[srun->values.count - 1]);
    return 0;
}

static int read_variables(struct srun *srun, struct error *err)
{
    int code = 0;

    for (size_t i = 0; i < COUNT_OF(inputs) && code == 0; i++)
        code = read_variable(srun, inputs[i].variable, inputs[i].option, err);
    return code;
}

static bool is_without_gpus(const char *word)
{
    return strcmp(word, "--gres=none") == 0 || strcmp(word, "--gpus=0") == 0 ||
           strcmp(word, "-G0") == 0;
}

/* The options up to the next of srun's own, which sbatch's parser knows; ret_rest: the first word
 * that is none of them. */
static int skip_others(int until, char **argv, int at, int *ret_rest, struct error *err)
{
    struct sbatch sbatch;

    sbatch_init(&sbatch);
    int code = sbatch_parse_args(&sbatch, until, argv, at, ret_rest, err);
    sbatch_release(&sbatch);
    return code;
}

static int read_words(struct srun *srun, int argc, char **argv, struct error *err)
{
    const char *value;
    int at = 1, code = 0;

    while (at < argc && code == 0) {
        const struct own *own = find_own(argv[at], &value);
        if (own) {
            at++;
            if (own->argument == 'y' && !value[0] && at < argc)
                value = argv[at++];
            code = take_own(srun, own, value[0] ? value : NULL, err);
            continue;
        }
        if (is_without_gpus(argv[at])) {
            srun->has_no_gpus = true;
            at++;
            continue;
        }
        int until = at + 1, rest = argc;
        while (until < argc && !find_own(argv[until], &value) && !is_without_gpus(argv[until]) &&
               strcmp(argv[until - 1], "--") != 0)
            until++;
        code = skip_others(until, argv, at, &rest, err);
        for (int i = at; i < rest && code == 0; i++) {
            srun->has_cpus |= string_starts(argv[i], "-c") || string_starts(argv[i], "--cpus");
            if (strcmp(argv[i], "--") != 0)
                list_add(&srun->words, argv[i]);
        }
        bool is_over = code == 0 && (rest < until || strcmp(argv[rest - 1], "--") == 0);
        at = rest;
        if (is_over)
            break;
    }
    srun->command = argv + at;
    if (code == 0 && at >= argc)
        code = error_set(err, -EINVAL, "nothing to run: expected a command");
    return code;
}

/* ---- a step of the job that it is called in ---- */

static uint32_t number_of(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    unsigned long number = text ? strtoul(text, NULL, 10) : 0;

    return number > 0 && number <= UINT32_MAX ? (uint32_t)number : otherwise;
}

/* What the step does not say it takes from the job, as lines of a script. */
static int add_defaults(struct sbatch *sbatch, const struct srun *srun, struct error *err)
{
    AUTO_RELEASE(text) struct text lines = { 0 };
    bool has_per_node = false, has_gpus = srun->has_no_gpus;
    const char *gpus = getenv("SLURM_GPUS_PER_TASK");

    for (size_t i = 1; i < srun->words.count; i++) {
        has_per_node |= string_starts(srun->words.items[i], "--ntasks-per-node") ||
                        string_starts(srun->words.items[i], "--tasks-per-node");
        has_gpus |= string_starts(srun->words.items[i], "--gpus") ||
                    string_starts(srun->words.items[i], "--gres") ||
                    string_starts(srun->words.items[i], "-G");
    }
    if (!has_per_node)
        text_printf(&lines, "#SBATCH -n %" PRIu32 "\n", number_of("SLURM_NTASKS", 1));
    if (gpus && !has_gpus)
        text_printf(&lines, "#SBATCH --gpus-per-task %s\n", gpus);
    return sbatch_parse_script(sbatch, text_string(&lines), lines.length, "job", err);
}

/* What means nothing within a job. */
static int check_step_keys(const json_t *job, struct error *err)
{
    static const char *const known[] = { "tasks", "cpus",  "gpus",   "memory",       "output",
                                         "error", "input", "append", "cwd",          "env",
                                         "name",  "slurm", "export", "max_duration", NULL };
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)job, key, value)
    {
        if (!string_is_in(key, known))
            return error_set(err, -EINVAL,
                             "%s: not for a step of a job; expected it where the job is submitted",
                             key);
    }
    return 0;
}

/* The job's GPUs, as the runtime of their maker names them. */
static const char *find_gpus(char **ret_names, struct srun_share *share, char **ret_items)
{
    static const char *const variables[] = { "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                             "ZE_AFFINITY_MASK" };

    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        const char *value = getenv(variables[i]);
        if (!value || !value[0])
            continue;
        *ret_names = mem_string(value);
        char *rest = *ret_names;
        while (rest && share->gpus_total < SHARE_GPUS_MAX)
            ret_items[share->gpus_total++] = strsep(&rest, ",");
        return variables[i];
    }
    return NULL;
}

static void tell_wait(void)
{
    const char *id = getenv("SLURM_JOB_ID");

    fprintf(stderr, "srun: job %s: the step waits for CPUs or GPUs that other steps use\n",
            id ? id : "");
}

/* CPUs that steps count with: at least one a task, also where a task asked for less. */
static uint32_t slots(void)
{
    const uint32_t cpus = number_of("SLURM_CPUS_ON_NODE", 1), tasks = number_of("SLURM_NTASKS", 1);

    return cpus > tasks ? cpus : tasks;
}

struct wish {
    int64_t tasks, cpus, gpus, task_gpus;
    bool has_gpus; /* it says how many */
};

static int read_wish(const json_t *job, const struct srun *srun, struct wish *ret,
                     struct error *err)
{
    const json_t *tasks = json_object_get(job, "tasks"), *cpus = json_object_get(job, "cpus");
    const char *gpus = json_string_value(json_object_get(job, "gpus"));
    struct request request;

    *ret = (struct wish){ .tasks = json_is_object(tasks) ? field_number(tasks, "count")
                                                         : json_integer_value(tasks),
                          .task_gpus = field_number(tasks, "gpus"),
                          .has_gpus = gpus || srun->has_no_gpus };
    ret->cpus = ret->tasks * (slots() / number_of("SLURM_NTASKS", 1));
    if (cpus && srun->has_cpus)
        ret->cpus = (int64_t)(strtod(json_string_value(cpus), NULL) + 0.999);
    if (!gpus)
        return 0;
    request_default(&request);
    int code = request_parse_gpus(&request, gpus, err);
    ret->gpus = code == 0 && request.gpu_alternatives > 0 ? request.gpus[0].count : 0;
    return code;
}

/* Without --exact a step has all CPUs of its job, and without a number of GPUs all of those. */
static int take_share(const struct srun *srun, const struct wish *wish, struct srun_share *share,
                      struct error *err)
{
    const char *path = getenv("TARN_STEPS");
    const int64_t gpus = wish->has_gpus ? wish->gpus : share->gpus_total;
    bool is_exact = srun->is_exact || srun->has_cpus;

    share->cpus_total = slots();
    if (path && wish->cpus > share->cpus_total)
        return error_set(err, -EINVAL,
                         "%" PRId64 " tasks need %" PRId64 " CPUs, and the job has %" PRIu32
                         "; expected fewer, or more where the job is submitted",
                         wish->tasks, wish->cpus, share->cpus_total);
    if (gpus > share->gpus_total)
        return error_set(err, -EINVAL, "%" PRId64 " GPUs, and the job has %" PRIu32, gpus,
                         share->gpus_total);
    if (!path && (srun->is_exact || (wish->has_gpus && gpus > 0 && gpus < share->gpus_total)))
        return error_set(err, -EINVAL,
                         "this job was not submitted with Slurm's options, so CPUs and GPUs of its "
                         "steps are not counted; expected sbatch, or #SBATCH lines");
    if (!srun->overlaps)
        share->cpus = is_exact ? (uint32_t)wish->cpus : share->cpus_total;
    if (!srun->overlaps)
        share->gpus = (uint32_t)gpus;
    int code = srun_share_take(share, path, tell_wait, err);
    for (uint32_t i = 0; (srun->overlaps || !path) && i < (uint32_t)gpus; i++)
        share->gpu_places[i] = i;
    share->gpus = (uint32_t)gpus;
    return code;
}

/* What its options set, after what they request. */
static char **variables_of(const json_t *job)
{
    LIST(char *) list = { 0 };
    json_t *slurm = json_object_get(job, "slurm"), *env = json_object_get(job, "env"), *value;
    const char *key;

    json_object_foreach(slurm, key, value)
        list_add(&list, mem_printf("%s=%s", key, json_string_value(value)));
    json_object_foreach(env, key, value)
        list_add(&list, mem_printf("%s=%s", key, json_string_value(value)));
    list_add(&list, NULL);
    return list.items;
}

/* A step has Slurm's variables also in a job that has none. */
static void adopt_job(void)
{
    static const struct {
        const char *slurm, *own;
    } pairs[] = {
        { "SLURM_JOB_ID", "TARN_JOB_ID" },           { "SLURM_JOBID", "TARN_JOB_ID" },
        { "SLURM_JOB_NAME", "TARN_JOB_NAME" },       { "SLURM_NTASKS", "TARN_TASKS" },
        { "SLURM_GPUS_PER_TASK", "TARN_TASK_GPUS" }, { "SLURM_CPUS_ON_NODE", "TARN_CPUS" },
        { "SLURM_JOB_NODELIST", "TARN_HOSTS" },      { "SLURM_NODELIST", "TARN_HOSTS" },
        { "SLURMD_NODENAME", "TARN_HOSTS" },         { "SLURM_JOB_NUM_NODES", "TARN_NODE_COUNT" },
    };

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        const char *value = getenv(pairs[i].own);
        if (value)
            setenv(pairs[i].slurm, value, 0);
    }
}

/* "90000ms", as the parser writes it; 0: none. */
static int64_t limit_of(const json_t *job)
{
    const char *text = json_string_value(json_object_get(job, "max_duration"));
    usec_t limit = 0;

    if (!text || units_parse_duration(text, &limit, NULL) < 0 || limit == USEC_NEVER)
        return 0;
    return limit / USEC_PER_SEC;
}

/* One task needs no others. */
static int check_mpi(const struct srun *srun, int64_t tasks, struct error *err)
{
    if (!srun->mpi || tasks == 1 || strcmp(srun->mpi, "none") == 0 || srun_mpi_has(srun->mpi))
        return 0;
    return error_set(err, -ENOTSUP,
                     "--mpi=%.40s: not supported for several tasks; expected none or pmix, or "
                     "mpirun -np %" PRId64 " instead of srun",
                     srun->mpi, tasks);
}

static int run_step(const struct srun *srun, const json_t *job, int *ret_status, struct error *err)
{
    struct srun_share share = { .fd = -1 };
    char *names = NULL, *items[SHARE_GPUS_MAX], *taken[SHARE_GPUS_MAX];
    struct wish wish = { 0 };

    int code = check_step_keys(job, err);
    if (code == 0)
        code = read_wish(job, srun, &wish, err);
    if (code == 0)
        code = check_mpi(srun, wish.tasks, err);
    if (code < 0)
        return code;
    const char *variable = find_gpus(&names, &share, items);
    code = take_share(srun, &wish, &share, err);
    for (uint32_t i = 0; code == 0 && i < share.gpus; i++)
        taken[i] = items[share.gpu_places[i]];
    struct srun_step step = {
        .tasks = (uint32_t)wish.tasks,
        .number = share.number,
        .command = srun->command,
        .gpus = taken,
        .gpu_count = share.gpus,
        .gpus_per_task = srun->has_no_gpus ? 0 : (uint32_t)wish.task_gpus,
        .gpu_variable = variable,
        .output = json_string_value(json_object_get(job, "output")),
        .error = json_string_value(json_object_get(job, "error")),
        .input = json_string_value(json_object_get(job, "input")),
        .directory = json_string_value(json_object_get(job, "cwd")),
        .variables = variables_of(job),
        .appends = json_is_true(json_object_get(job, "append")),
        .master_port = wish.tasks > 1 ? free_port_find() : 0,
        .mpi = srun->mpi && srun_mpi_has(srun->mpi) ? srun->mpi : NULL,
        .has_labels = srun->has_labels,
        .kills_on_bad_exit = srun->kills,
        .wait_s = srun->wait_s,
        .limit_s = limit_of(job),
        .has_no_environment = json_object_get(job, "export") != NULL,
    };
    if (code == 0)
        code = srun_step_run(&step, ret_status, err);
    srun_share_give(&share);
    string_list_destroy((char **)(uintptr_t)step.variables);
    free(names);
    return code;
}

static int run_inside(const struct srun *srun, int *ret_status, struct error *err)
{
    struct sbatch sbatch;
    int rest;

    if (srun->has_pty)
        return error_set(err, -ENOTSUP,
                         "--pty: not supported for a step of a job; expected it where the job is "
                         "submitted, or tarn exec --pty");
    adopt_job();
    sbatch_init(&sbatch);
    sbatch.is_slurm = true;
    int code = sbatch_parse_args(&sbatch, (int)srun->words.count, srun->words.items, 1, &rest, err);
    if (code == 0)
        code = add_defaults(&sbatch, srun, err);
    if (code == 0)
        code = sbatch_finish(&sbatch, err);
    if (code == 0)
        code = run_step(srun, sbatch.job, ret_status, err);
    sbatch_release(&sbatch);
    return code;
}

/* ---- a job of its own, whose only step is this command ---- */

static int run_outside(struct srun *srun, int *ret_status, struct error *err)
{
    static char over[] = "--", self[] = "srun", label[] = "--label", kill[] = "--kill-on-bad-exit",
                exclusive[] = "--exclusive";
    AUTO_RELEASE(sending) struct sending sending = { 0 };
    const char *slash = strrchr(srun->command[0], '/');
    AUTO_FREE char *wait = mem_printf("--wait=%d", srun->wait_s);
    AUTO_FREE char *mpi = mem_printf("--mpi=%s", srun->mpi ? srun->mpi : "none");

    if (srun->is_exclusive)
        list_add(&srun->words, exclusive);
    list_add(&srun->words, over);
    if (!srun->has_pty) {
        list_add(&srun->words, self);
        if (srun->has_labels)
            list_add(&srun->words, label);
        if (srun->kills)
            list_add(&srun->words, kill);
        if (srun->wait_s > 0)
            list_add(&srun->words, wait);
        if (srun->mpi)
            list_add(&srun->words, mpi);
        list_add(&srun->words, over);
    }
    for (char **word = srun->command; *word; word++)
        list_add(&srun->words, *word);
    int count = (int)srun->words.count;
    list_add(&srun->words, NULL);
    int code = sending_read_slurm(&sending, count, srun->words.items, true, srun->has_pty, err);
    if (code < 0)
        return code;
    const json_t *tasks = json_object_get(sending.document, "tasks");
    int64_t count_tasks =
        json_is_object(tasks) ? field_number(tasks, "count") : json_integer_value(tasks);
    if (srun->has_pty && count_tasks > 1)
        return error_set(err, -EINVAL, "--pty: expected one task");
    code = check_mpi(srun, count_tasks > 0 ? count_tasks : 1, err);
    if (code < 0)
        return code;
    sending_set_name(&sending, slash ? slash + 1 : srun->command[0]);
    sending.sbatch.is_quiet = true;
    return submit_and_follow(&sending, true, ret_status, err);
}

/* To Slurm a ':' alone begins another command with options of its own. */
static int check_command(char *const *words, struct error *err)
{
    for (; words && *words; words++) {
        if (strcmp(*words, ":") == 0)
            return error_set(err, -ENOTSUP,
                             "':': several commands of one step are not supported; expected a "
                             "srun for each, with & and wait");
    }
    return 0;
}

int slurm_srun(int argc, char **argv)
{
    struct srun srun = { 0 };
    struct error err;
    int status = 0;

    list_add(&srun.words, argv[0]);
    int code = read_variables(&srun, &err);
    if (code == 0)
        code = read_words(&srun, argc, argv, &err);
    if (code == 0)
        code = check_command(srun.command, &err);
    if (code == 0)
        code = is_inside() ? run_inside(&srun, &status, &err) : run_outside(&srun, &status, &err);
    for (size_t i = 0; i < srun.values.count; i++)
        free(srun.values.items[i]);
    list_release(&srun.values);
    list_release(&srun.words);
    if (code < 0)
        slurm_fail("%s", err.text);
    return code < 0 && status == 0 ? 1 : status;
}
