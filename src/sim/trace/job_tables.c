/* SPDX-License-Identifier: Apache-2.0 */
/* The formats: of those that are tables of jobs the columns, and what is special about each. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/job/request.h"
#include "sim/trace/job_table.h"

static int number_of(const struct row *row, enum job_column column, double max, double *ret,
                     struct error *err)
{
    if (row->at[column] < 0)
        return 0;
    return cells_number(row->cells, (uint32_t)row->at[column], 0, max, ret, err);
}

/* Pods that were deleted run from when they were scheduled, or else created. */
static int finish_openb(const struct row *row, struct sim_job *job, struct error *err)
{
    usec_t scheduled, deleted = 0;

    if (!job || row->at[COLUMN_SUBMIT] < 0)
        return ROW_IS_JOB; /* a list without times */
    scheduled = job->submit;
    int code = row_time(row, COLUMN_START, &scheduled, err);
    if (code == 0)
        code = row_time(row, COLUMN_END, &deleted, err);
    if (code < 0)
        return code;
    if (row_text(row, COLUMN_END))
        job->run = deleted > scheduled ? deleted - scheduled : 0;
    return ROW_IS_JOB;
}

static const struct job_table openb = {
    .columns = { [COLUMN_NAME] = "!name",
                 [COLUMN_CPUS] = "!cpu_milli",
                 [COLUMN_MEMORY] = "!memory_mib",
                 [COLUMN_GPUS] = "!num_gpu",
                 [COLUMN_MILLI] = "!gpu_milli",
                 [COLUMN_MODELS] = "gpu_spec",
                 [COLUMN_QUEUE] = "qos",
                 [COLUMN_SUBMIT] = "creation_time",
                 [COLUMN_START] = "scheduled_time",
                 [COLUMN_END] = "deletion_time" },
    .cpu_unit = 1,
    .finish = finish_openb,
};

/* Service is iterations times the time of one; duration is from the original trace. */
static int finish_muri(const struct row *row, struct sim_job *job, struct error *err)
{
    double iterations = 0, each = 0;

    if (!job)
        return ROW_IS_JOB;
    int code = number_of(row, COLUMN_EXTRA, 1e15, &iterations, err);
    if (code == 0)
        code = number_of(row, COLUMN_EXTRA2, 1e12, &each, err);
    if (code < 0)
        return code;
    if (iterations * each > 0) {
        if (iterations * each * 1e3 > (double)WORKLOAD_TIME_MAX)
            return row_fail(row, COLUMN_EXTRA, err, "less than 200 years of work");
        job->run = llrint(iterations * each * 1e3);
    }
    return ROW_IS_JOB;
}

static const struct job_table muri = {
    .columns = { [COLUMN_NAME] = "!job_id",
                 [COLUMN_GPUS] = "!num_gpu",
                 [COLUMN_SUBMIT] = "!submit_time",
                 [COLUMN_EXTRA] = "!iterations",
                 [COLUMN_GROUP] = "model_name",
                 [COLUMN_RUN] = "duration",
                 [COLUMN_EXTRA2] = "iteration_time" },
    .unit = 1e3,
    .finish = finish_muri,
};

static const struct job_table itp = {
    .columns = { [COLUMN_NAME] = "!job_id",
                 [COLUMN_SUBMIT] = "!submission_time|submit_time",
                 [COLUMN_RUN] = "!duration",
                 [COLUMN_GPUS] = "!num_gpu" },
};

static const struct job_table philly = {
    .columns = { [COLUMN_NAME] = "job_id|jobid|id|jobname|name",
                 [COLUMN_USER] = "user|user_id",
                 [COLUMN_GROUP] = "jobname|model_name|model|group",
                 [COLUMN_QUEUE] = "vc|virtual_cluster|queue",
                 [COLUMN_SUBMIT] = "!submit_time|submitted_time|submission_time|arrival_time|"
                                   "arrival|timestamp",
                 [COLUMN_START] = "start_time",
                 [COLUMN_END] = "end_time|finish_time",
                 [COLUMN_RUN] = "duration|run_time|runtime|service_time|original_duration",
                 [COLUMN_LIMIT] = "limit|time_limit|walltime",
                 [COLUMN_GPUS] = "!num_gpu|num_gpus|gpu_num|gpus|gpu|scale_factor|gpu_request",
                 [COLUMN_CPUS] = "num_cpu|cpu_num|cpus" },
};

/* A strict job has a deadline after its submission; a best-effort job has none. */
static int finish_chronus(const struct row *row, struct sim_job *job, struct error *err)
{
    double expect = 0;

    if (!job)
        return ROW_IS_JOB;
    const char *best_effort = row_text(row, COLUMN_EXTRA2);
    if (best_effort && strcmp(best_effort, "0") != 0)
        return ROW_IS_JOB;
    int code = number_of(row, COLUMN_EXTRA, 1e9, &expect, err);
    if (code == 0 && expect > 0)
        job->deadline = job->submit + llrint(expect * row->unit);
    return code;
}

static const struct job_table chronus = {
    .columns = { [COLUMN_NAME] = "!job_id",
                 [COLUMN_USER] = "user",
                 [COLUMN_GROUP] = "model_name",
                 [COLUMN_QUEUE] = "job_type",
                 [COLUMN_SUBMIT] = "!submit_time",
                 [COLUMN_RUN] = "!duration",
                 [COLUMN_GPUS] = "!num_gpu",
                 [COLUMN_EXTRA] = "expect_time_list|expect_time",
                 [COLUMN_EXTRA2] = "best_effort" },
    .unit = 60e6,
    .finish = finish_chronus,
};

static const struct job_table shockwave = {
    .columns = { [COLUMN_NAME] = "!job_id",
                 [COLUMN_GROUP] = "job_type",
                 [COLUMN_SUBMIT] = "!arrival_s|arrival",
                 [COLUMN_RUN] = "!effective_service_s|duration_s|duration",
                 [COLUMN_IDEAL] = "exclusive_runtime_for_ftf_s",
                 [COLUMN_GPUS] = "!num_gpus|num_gpu|scale_factor" },
};

/* Gavel's traces state steps: how long one takes is in its table of throughputs, by job type and
 * number of GPUs, which the group is written as. */
static int finish_gavel(const struct row *row, struct sim_job *job, struct error *err)
{
    double steps = 0;
    char key[WORKLOAD_TEXT_MAX];

    if (!job)
        return ROW_IS_JOB;
    int code = number_of(row, COLUMN_EXTRA, 1e15, &steps, err);
    if (code < 0)
        return code;
    if (steps * 1e6 > (double)WORKLOAD_TIME_MAX)
        return row_fail(row, COLUMN_EXTRA, err, "less than 6,307,200,000 steps");
    snprintf(key, sizeof(key), "('%s', %u)", row_text(row, COLUMN_EXTRA2), (unsigned)job->gpus);
    job->group = workload_string(row->workload, key);
    job->run = llrint(steps * 1e6);
    row->workload->is_in_steps = true;
    return ROW_IS_JOB;
}

static const struct job_table gavel = {
    .columns = { [COLUMN_SUBMIT] = "!arrival_time",
                 [COLUMN_EXTRA] = "!total_steps",
                 [COLUMN_EXTRA2] = "!job_type",
                 [COLUMN_GPUS] = "!scale_factor" },
    .header = "job_type\tcommand\tworking_directory\tnum_steps_arg\tneeds_data_dir\ttotal_steps\t"
              "scale_factor\tpriority_weight\tSLO\tarrival_time",
    .separator = '\t',
    .finish = finish_gavel,
};

/* Columns besides name, submission and deadline are models, with the run time on each. */
static bool is_hydra_model(const struct row *row, uint32_t column)
{
    return row->names[column][0] && (int32_t)column != row->at[COLUMN_NAME] &&
           (int32_t)column != row->at[COLUMN_SUBMIT] && (int32_t)column != row->at[COLUMN_EXTRA];
}

/* The run time is that on the first model, and the others have a speed relative to it. */
static int hydra_speeds(const struct row *row, struct sim_job *job, struct error *err)
{
    AUTO_RELEASE(text) struct text models = { 0 };
    struct model_speed *speeds =
        arena_take(&row->workload->strings, row->column_count, sizeof(speeds[0]));

    job->speeds = speeds;
    for (uint32_t i = 0; i < row->column_count; i++) {
        usec_t run = 0;
        if (!is_hydra_model(row, i))
            continue;
        int code = cells_duration(row->cells, i, row->unit, &run, err);
        if (code == 0 && run <= 0)
            code = cells_fail(row->cells, i, err, "a run time above 0");
        if (code < 0)
            return code;
        job->run = job->speed_count == 0 ? run : job->run;
        text_printf(&models, "%s%s", job->speed_count > 0 ? "|" : "", row->names[i]);
        speeds[job->speed_count++] =
            (struct model_speed){ row->names[i], (double)job->run / (double)run };
    }
    if (job->speed_count == 0)
        return cells_fail(row->cells, CELLS_MAX, err, "a column with run times for each model");
    job->models = workload_string(row->workload, models.bytes);
    return 0;
}

/* A job has one GPU; a deadline of inf is none. */
static int finish_hydra(const struct row *row, struct sim_job *job, struct error *err)
{
    if (!job)
        return ROW_IS_JOB;
    job->gpus = 1;
    if (strcasecmp(row_text(row, COLUMN_EXTRA), "inf") != 0) {
        int code = row_time(row, COLUMN_EXTRA, &job->deadline, err);
        if (code < 0)
            return code;
    }
    return hydra_speeds(row, job, err);
}

static const struct job_table hydra = {
    .columns = { [COLUMN_NAME] = "!job_name",
                 [COLUMN_SUBMIT] = "!norm_job_submit_time",
                 [COLUMN_EXTRA] = "!ddl" },
    .finish = finish_hydra,
};

/* The traces in Shockwave's repository, as its simulator reads them. */
static const struct job_table shockwave_trace = {
    .columns = { [COLUMN_GROUP] = "!job_type",
                 [COLUMN_SUBMIT] = "!arrival_time",
                 [COLUMN_RUN] = "!duration",
                 [COLUMN_GPUS] = "!scale_factor" },
    .header = "job_type\tcommand\tworking_directory\tnum_steps_arg\tneeds_data_dir\ttotal_steps\t"
              "scale_factor\tmode\tpriority_weight\tSLO\tduration\tarrival_time",
    .separator = '\t',
};

/* The column queue says how long it waited there: the tenant is the virtual cluster. */
static const struct job_table helios = {
    .columns = { [COLUMN_NAME] = "job_id|jobname",
                 [COLUMN_USER] = "user",
                 [COLUMN_GROUP] = "jobname",
                 [COLUMN_QUEUE] = "vc",
                 [COLUMN_SUBMIT] = "!submit_time",
                 [COLUMN_START] = "start_time",
                 [COLUMN_END] = "end_time",
                 [COLUMN_RUN] = "duration",
                 [COLUMN_GPUS] = "!gpu_num",
                 [COLUMN_CPUS] = "cpu_num",
                 [COLUMN_STATE] = "state" },
};

/* plan_gpu and plan_cpu are in percent, plan_mem in GB, each of an instance; a task without a
 * start or an end never ran, or was not over. */
static int finish_pai(const struct row *row, struct sim_job *job, struct error *err)
{
    double percent = 0, memory = 0;

    if (!job) {
        bool has_run = row_text(row, COLUMN_RUN) || row_text(row, COLUMN_END);
        return has_run && row_text(row, COLUMN_SUBMIT) ? ROW_IS_JOB : ROW_IS_NONE;
    }
    if (row_text(row, COLUMN_EXTRA)) {
        int code = number_of(row, COLUMN_EXTRA, 100.0 * WORKLOAD_GPUS_MAX, &percent, err);
        if (code < 0)
            return code;
        job->gpus = percent <= 0 ? 0 : percent < 100 ? 1 : (uint32_t)ceil(percent / 100);
        job->milli = percent > 0 && percent < 100 ? (uint32_t)ceil(percent * 10) : GPU_MILLI;
        job->cpu_milli /= 100; /* was percent, too */
    }
    if (row_text(row, COLUMN_EXTRA2)) {
        int code = number_of(row, COLUMN_EXTRA2, 1e9, &memory, err);
        if (code < 0)
            return code;
        job->memory_mib = llrint(memory * 1024);
    }
    if (strcmp(job->models, "misc") == 0)
        job->models = "";
    return ROW_IS_JOB;
}

static const struct job_table pai = {
    .columns = { [COLUMN_NAME] = "job_name|job_id|jobid",
                 [COLUMN_USER] = "user",
                 [COLUMN_GROUP] = "group|task_name",
                 [COLUMN_STATE] = "status",
                 [COLUMN_MEMBERS] = "inst_num|num_inst",
                 [COLUMN_SUBMIT] = "!submit_time|start_time",
                 [COLUMN_START] = "start_time",
                 [COLUMN_END] = "end_time",
                 [COLUMN_RUN] = "duration",
                 [COLUMN_GPUS] = "num_gpu",
                 [COLUMN_CPUS] = "plan_cpu|num_cpu",
                 [COLUMN_MODELS] = "gpu_type",
                 [COLUMN_EXTRA] = "plan_gpu",
                 [COLUMN_EXTRA2] = "plan_mem" },
    .header = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,"
              "plan_gpu,gpu_type",
    .finish = finish_pai,
};

/* 0.1 ms a token that is read, 20 ms a token that is written, an eighth of a GPU: what a server
 * that handles several at once takes. */
static int finish_azure_llm(const struct row *row, struct sim_job *job, struct error *err)
{
    double context = 0, generated = 0;

    if (!job)
        return ROW_IS_JOB;
    int code = number_of(row, COLUMN_EXTRA, 1e9, &context, err);
    if (code == 0)
        code = number_of(row, COLUMN_EXTRA2, 1e9, &generated, err);
    job->run = llrint(context * 100 + generated * 20000);
    job->gpus = 1;
    job->milli = GPU_MILLI / 8;
    return code;
}

static const struct job_table azure_llm = {
    .columns = { [COLUMN_SUBMIT] = "!TIMESTAMP",
                 [COLUMN_EXTRA] = "!ContextTokens",
                 [COLUMN_EXTRA2] = "!GeneratedTokens" },
    .finish = finish_azure_llm,
};

/* The amount of one resource in "billing=8,cpu=8,gres/gpu=4,gres/gpu:a100=4,mem=64G"; NULL. */
static const char *tres_find(const char *tres, const char *name, size_t *ret_length)
{
    size_t length = strlen(name);

    for (const char *at = tres; at && *at;) {
        size_t all = strcspn(at, ",");
        if (all > length && strncmp(at, name, length) == 0 && at[length] == '=') {
            *ret_length = all - length - 1;
            return at + length + 1;
        }
        at += all + (at[all] == ',');
    }
    return NULL;
}

/* The column that says what a job had. */
static enum job_column tres_column(const struct row *row)
{
    return row_text(row, COLUMN_EXTRA) ? COLUMN_EXTRA : COLUMN_EXTRA2;
}

/* An amount, that of memory in MiB; 0: not there. */
static int tres_amount(const struct row *row, const char *name, double *ret, struct error *err)
{
    static const char units[] = "KMGTP";
    char text[32] = "";
    double value = 0, scale = 1;
    size_t length;
    const char *found = tres_find(row_text(row, tres_column(row)), name, &length);

    *ret = 0;
    if (!found)
        return 0;
    memcpy(text, found, length < sizeof(text) ? length : 0);
    const char *unit = length > 0 && length < sizeof(text) && strcmp(name, "mem") == 0
                           ? strchr(units, text[length - 1])
                           : NULL;
    if (unit) {
        scale = pow(1024, (double)(unit - units) - 1);
        text[length - 1] = '\0';
    }
    if (!number_parse(text, &value) || value < 0 || value * scale > 1e12) {
        char expected[80];
        snprintf(expected, sizeof(expected), "an amount after %.40s=, like 4 or 64G of mem", name);
        return row_fail(row, tres_column(row), err, expected);
    }
    *ret = value * scale;
    return 0;
}

/* "gres/gpu=4", or where a site counts types only, "gres/gpu:a100=2,gres/gpu:v100=2". */
static int tres_gpus(const struct row *row, double *ret, struct error *err)
{
    const char *tres = row_text(row, tres_column(row));
    double of_types = 0, more;
    size_t all, length;

    int code = tres_amount(row, "gres/gpu", ret, err);
    for (const char *at = tres; at && *at && code == 0; at += all + (at[all] == ',')) {
        all = strcspn(at, ",");
        if (strncmp(at, "gres/gpu:", 9) != 0)
            continue;
        AUTO_FREE char *name = mem_string_of(at, strcspn(at, "=,"));
        code = tres_amount(row, name, &more, err);
        of_types += code == 0 ? more : 0;
    }
    if (code == 0 &&
        (tres_find(tres, "gres/shard", &length) || tres_find(tres, "gres/mps", &length)))
        return row_fail(row, tres_column(row), err, "whole GPUs, not shares of an unknown size");
    *ret = *ret > 0 ? *ret : of_types;
    if (code == 0 && (*ret > WORKLOAD_GPUS_MAX || *ret != floor(*ret)))
        return row_fail(row, tres_column(row), err, "at most 1000000 GPUs, whole ones");
    return code;
}

/* "gres/gpu:a100=4": the model; of several any, as a job of tarn has one. */
static const char *tres_models(const struct row *row)
{
    const char *tres = row_text(row, tres_column(row));
    AUTO_RELEASE(text) struct text models = { 0 };
    size_t all;

    for (const char *at = tres; at && *at; at += all + (at[all] == ',')) {
        all = strcspn(at, ",");
        if (strncmp(at, "gres/gpu:", 9) == 0) {
            text_add(&models, models.length > 0 ? "|" : "");
            text_add_bytes(&models, at + 9, strcspn(at + 9, "=,"));
        }
    }
    return models.length > 0 ? workload_lower(row->workload, models.bytes) : "";
}

/* The word that Slurm writes for "not yet". */
static bool has_happened(const struct row *row, enum job_column column)
{
    static const char *const none[] = { "Unknown", "None", "N/A", NULL };
    const char *time = row_text(row, column);

    return row->at[column] < 0 || (time && !string_is_in(time, none));
}

/* Minutes as a plain number (TimelimitRaw), or like 1-02:03:04; some words are no limit. */
static int sacct_limit(const struct row *row, usec_t *ret, struct error *err)
{
    static const char *const none[] = { "UNLIMITED", "Partition_Limit", "UNKNOWN",
                                        "Unknown",   "INVALID",         NULL };
    const char *text = row_text(row, COLUMN_EXTRA3);

    if (!text || string_is_in(text, none))
        return 0;
    double unit = text[strspn(text, "0123456789")] ? row->unit : 60e6;
    return cells_duration(row->cells, (uint32_t)row->at[COLUMN_EXTRA3], unit, ret, err);
}

static int sacct_sizes(const struct row *row, struct sim_job *job, struct error *err)
{
    double gpus, nodes, cpus, memory;

    int code = tres_gpus(row, &gpus, err);
    if (code == 0)
        code = tres_amount(row, "node", &nodes, err);
    if (code == 0)
        code = tres_amount(row, "cpu", &cpus, err);
    if (code == 0)
        code = tres_amount(row, "mem", &memory, err);
    if (code < 0)
        return code;
    if (cpus > 0)
        job->cpu_milli = llrint(cpus * 1000);
    job->memory_mib = llrint(memory);
    job->gpus = (uint32_t)gpus;
    job->models = tres_models(row);
    uint32_t members = nodes >= 1 && nodes <= WORKLOAD_GPUS_MAX ? (uint32_t)nodes : job->members;
    job->members = 1;
    if (members > 1 && job->gpus % members == 0) { /* a member a node, as it ran there */
        job->members = members;
        job->gpus /= members;
        job->cpu_milli /= members;
        job->memory_mib /= members;
    }
    return 0;
}

/* Steps of jobs, jobs that never ran, and those that still run, are no jobs to run. */
static int finish_sacct(const struct row *row, struct sim_job *job, struct error *err)
{
    if (!job) {
        const char *id = row_text(row, COLUMN_ID);
        bool is_step = strchr(id, '.');
        bool has_run = has_happened(row, COLUMN_START) && has_happened(row, COLUMN_END);
        if (!strchr("0123456789", id[0])) /* the rest of a name with a line break and a bar */
            return row_fail(row, COLUMN_ID, err, "the number of a job");
        return is_step || !has_run ? ROW_IS_NONE : ROW_IS_JOB;
    }
    if (row_text(row, COLUMN_START) && job->waited < 0) /* local time may be turned back */
        return row_fail(row, COLUMN_START, err,
                        "a start that is not before the submission, as sacct with "
                        "SLURM_TIME_FORMAT=%s prints it");
    if (!job->name[0])
        job->name = workload_string(row->workload, row_text(row, COLUMN_ID));
    int code = sacct_sizes(row, job, err);
    return code == 0 ? sacct_limit(row, &job->limit, err) : code;
}

/* A job waits from Eligible on: what it depends on is not in the file. */
static const struct job_table sacct = {
    .columns = { [COLUMN_ID] = "!JobID|JobIDRaw",
                 [COLUMN_NAME] = "JobName",
                 [COLUMN_USER] = "User",
                 [COLUMN_GROUP] = "Account",
                 [COLUMN_QUEUE] = "QOS",
                 [COLUMN_PARTITION] = "Partition",
                 [COLUMN_SUBMIT] = "!Eligible|Submit",
                 [COLUMN_START] = "?Start",
                 [COLUMN_END] = "?End",
                 [COLUMN_RUN] = "ElapsedRaw|Elapsed",
                 [COLUMN_CPUS] = "NCPUS|AllocCPUS|ReqCPUS",
                 [COLUMN_MEMBERS] = "NNodes|AllocNodes",
                 [COLUMN_STATE] = "State",
                 [COLUMN_EXTRA] = "?AllocTRES|ReqTRES",
                 [COLUMN_EXTRA2] = "ReqTRES",
                 [COLUMN_EXTRA3] = "TimelimitRaw|Timelimit" },
    .separator = CELLS_BARS,
    .finish = finish_sacct,
};

/* ---- all formats ---- */

static int read_generated(const struct format_ask *ask, struct workload *workload,
                          struct error *err)
{
    return generate(ask->generator, workload, err);
}

const struct format formats[] = {
    { "openb", &openb, NULL, true }, /* Alibaba's GPU-sharing cluster of 2023: pod list */
    { "muri", &muri, NULL, true },   /* Muri's condensed Philly jobs, milliseconds */
    { "itp", &itp, NULL, true },     /* Microsoft ITP clusters, seconds */
    { "philly", &philly, NULL,
      true }, /* condensed Philly jobs: num_gpu, submit_time, duration ..., seconds */
    { "chronus", &chronus, NULL, true },     /* Philly jobs with deadlines, minutes */
    { "shockwave", &shockwave, NULL, true }, /* Shockwave's jobs: arrival, GPUs, service, seconds */
    { "shockwave_trace", &shockwave_trace, NULL, true }, /* as in its repository, with tabs */
    { "gavel", &gavel, NULL, true },   /* Gavel's traces: steps, which need speeds */
    { "hydra", &hydra, NULL, true },   /* Hydra's cases: run times on each model, and deadlines */
    { "helios", &helios, NULL, true }, /* SenseTime's Helios clusters: cluster_log.csv */
    { "pai", &pai, NULL,
      true }, /* Alibaba's PAI of 2020: task table, or the simulator's job table */
    { "azure_llm", &azure_llm, NULL, true },         /* Azure's LLM requests: each a short job */
    { "sacct", &sacct, NULL, true },                 /* Slurm: sacct --parsable2, with header */
    { "swf", NULL, read_swf, true },                 /* Standard Workload Format */
    { "rlscheduler", NULL, read_rlscheduler, true }, /* the same by RLScheduler's rules */
    { "batsim", NULL, read_batsim, true },           /* Batsim's JSON */
    { "journal", NULL, read_journal, true },         /* a state directory of tarn */
    { "generate", NULL, read_generated, false },     /* synthetic, from a few numbers */
    { 0 },
};

const struct format *format_find(const char *name)
{
    for (const struct format *format = formats; format->name; format++) {
        if (strcmp(format->name, name) == 0)
            return format;
    }
    return NULL;
}

int format_read(const struct format *format, const struct format_ask *ask,
                struct workload *workload, struct error *err)
{
    int code = format->table ? job_table_read(format->table, ask, workload, err)
                             : format->read(ask, workload, err);
    if (code < 0)
        return code;
    if (workload->jobs.count == 0)
        return error_set(err, -EBADMSG, "%s: no job in it", ask->path ? ask->path : format->name);
    return 0;
}
