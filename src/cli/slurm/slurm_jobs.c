/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/slurm_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fields.h"

/* ---- states ---- */

static const struct state {
    const char *word, *code; /* of Slurm */
    const char *state, *result;
} states[] = {
    { "PENDING", "PD", "held", NULL },
    { "PENDING", "PD", "waiting", NULL },
    { "PENDING", "PD", "queued", NULL },
    { "CONFIGURING", "CF", "granted", NULL },
    { "RUNNING", "R", "running", NULL },
    { "COMPLETING", "CG", "stopping", NULL },
    { "COMPLETED", "CD", "ended", "ok" },
    { "FAILED", "F", "ended", "failed" },
    { "CANCELLED", "CA", "ended", "cancelled" },
    { "TIMEOUT", "TO", "ended", "timeout" },
    { "OUT_OF_MEMORY", "OOM", "ended", "out_of_memory" },
    { "NODE_FAIL", "NF", "ended", "lost" },
    /* No job here is ever in these. */
    { "SUSPENDED", "S", "", NULL },
    { "PREEMPTED", "PR", "", NULL },
    { "BOOT_FAIL", "BF", "", NULL },
    { "DEADLINE", "DL", "", NULL },
};

const char *slurm_state(const json_t *job, bool is_short)
{
    const char *state = field_text(job, "state"), *result = field_text(job, "result");

    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (strcmp(states[i].state, state) == 0 &&
            (!states[i].result || strcmp(states[i].result, result) == 0))
            return is_short ? states[i].code : states[i].word;
    }
    return is_short ? "?" : "UNKNOWN";
}

int slurm_states_check(const char *list, struct error *err)
{
    AUTO_FREE char *copy = mem_string(list);
    char *rest = copy;

    for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
        bool is_known = strcasecmp(word, "all") == 0;
        for (size_t i = 0; i < COUNT_OF(states); i++)
            is_known |=
                strcasecmp(states[i].word, word) == 0 || strcasecmp(states[i].code, word) == 0;
        if (!is_known)
            return error_set(err, -EINVAL, "state '%.40s': expected one like PENDING, RUNNING, R",
                             word);
    }
    return 0;
}

/* ---- fields ---- */

static void put(struct text *text, const char *words)
{
    text_add(text, words && words[0] ? words : "N/A");
}

static void add_id(const json_t *job, struct text *text)
{
    put(text, field_text(job, "label"));
}

static void add_raw_id(const json_t *job, struct text *text)
{
    text_printf(text, "%" PRId64, field_number(job, "id"));
}

static void add_array_id(const json_t *job, struct text *text)
{
    bool is_task = !field_is_null(job, "array_index");

    text_printf(text, "%" PRId64, field_number(job, is_task ? "group" : "id"));
}

static void add_array_index(const json_t *job, struct text *text)
{
    if (field_is_null(job, "array_index"))
        text_add(text, "N/A");
    else
        text_printf(text, "%" PRId64, field_number(job, "array_index"));
}

static void add_name(const json_t *job, struct text *text)
{
    text_add(text, field_text(job, "name"));
}

static void add_user(const json_t *job, struct text *text)
{
    text_add(text, field_text(job, "user"));
}

static void add_pool(const json_t *job, struct text *text)
{
    const char *pool = field_text(job, "pool");

    text_add(text, pool[0] ? pool : "default");
}

static void add_queue(const json_t *job, struct text *text)
{
    text_add(text, field_text(job, "queue"));
}

static void add_code(const json_t *job, struct text *text)
{
    text_add(text, slurm_state(job, true));
}

static void add_state(const json_t *job, struct text *text)
{
    text_add(text, slurm_state(job, false));
}

static int64_t seconds_of(const json_t *object, const char *key)
{
    usec_t duration = field_seconds(object, key);

    return duration == FIELD_ABSENT ? -1 : duration / USEC_PER_SEC;
}

/* "1-02:03:04", "2:03:04", "3:04" */
static void add_short_span(int64_t seconds, struct text *text)
{
    const int64_t days = seconds / 86400, hours = seconds / 3600 % 24, minutes = seconds / 60 % 60;

    if (days > 0)
        text_printf(text, "%" PRId64 "-%02" PRId64 ":", days, hours);
    else if (hours > 0)
        text_printf(text, "%" PRId64 ":", hours);
    text_printf(text, days + hours > 0 ? "%02" PRId64 ":%02" PRId64 : "%" PRId64 ":%02" PRId64,
                minutes, seconds % 60);
}

/* "1-02:03:04", "00:03:04" */
static void add_span(int64_t seconds, struct text *text)
{
    if (seconds >= 86400)
        text_printf(text, "%" PRId64 "-", seconds / 86400);
    text_printf(text, "%02" PRId64 ":%02" PRId64 ":%02" PRId64, seconds / 3600 % 24,
                seconds / 60 % 60, seconds % 60);
}

static int64_t run_of(const json_t *job)
{
    int64_t seconds = seconds_of(job, "run_seconds");

    return seconds > 0 ? seconds : 0;
}

static void add_used(const json_t *job, struct text *text)
{
    add_short_span(run_of(job), text);
}

static void add_elapsed(const json_t *job, struct text *text)
{
    add_span(run_of(job), text);
}

static void add_elapsed_raw(const json_t *job, struct text *text)
{
    text_printf(text, "%" PRId64, run_of(job));
}

static int64_t limit_of(const json_t *job)
{
    return seconds_of(json_object_get(job, "request"), "max_duration");
}

static void add_limit(const json_t *job, struct text *text)
{
    if (limit_of(job) < 0)
        text_add(text, "UNLIMITED");
    else
        add_short_span(limit_of(job), text);
}

static void add_long_limit(const json_t *job, struct text *text)
{
    if (limit_of(job) < 0)
        text_add(text, "UNLIMITED");
    else
        add_span(limit_of(job), text);
}

static void add_left(const json_t *job, struct text *text)
{
    const int64_t left = limit_of(job) - run_of(job);

    if (limit_of(job) < 0)
        text_add(text, "UNLIMITED");
    else
        add_short_span(left > 0 ? left : 0, text);
}

/* Days from today to that day; both at noon, whatever the clocks do in between. */
static long days_ahead(struct tm today, struct tm day)
{
    today.tm_hour = day.tm_hour = 12;
    today.tm_min = today.tm_sec = day.tm_min = day.tm_sec = 0;
    const long hours = (long)(mktime(&day) - mktime(&today)) / 3600; /* a day may have 23 or 25 */
    return (hours + (hours < 0 ? -12 : 12)) / 24;
}

/* "relative" of SLURM_TIME_FORMAT: shorter, the nearer it is. */
static const char *relative_format(const struct tm *parts)
{
    const time_t now = time(NULL);
    struct tm today;

    localtime_r(&now, &today);
    const long days = days_ahead(today, *parts);
    if (days == 0)
        return "%H:%M:%S";
    if (days == 1)
        return "Tomorr %H:%M";
    if (days == -1)
        return "Ystday %H:%M";
    if (days > 0 && days < 7)
        return "%a %H:%M";
    return parts->tm_year == today.tm_year ? "%-d %b %H:%M" : "%-d %b %Y";
}

/* 2026-01-31T08:00:00, unless the user wants another form. */
static void time_add(time_t when, const char *unknown, struct text *text)
{
    const char *format = getenv("SLURM_TIME_FORMAT");
    char buffer[256];
    struct tm parts;

    if (when == 0) {
        text_add(text, unknown);
        return;
    }
    localtime_r(&when, &parts);
    if (!format || !format[0] || strcmp(format, "standard") == 0)
        format = "%Y-%m-%dT%H:%M:%S";
    else if (strcmp(format, "relative") == 0)
        format = relative_format(&parts);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    buffer[strftime(buffer, sizeof(buffer), format, &parts)] = '\0';
#pragma GCC diagnostic pop
    text_add(text, buffer);
}

static void add_submit(const json_t *job, struct text *text)
{
    time_add(field_time(job, "submitted"), "Unknown", text);
}

/* Of one that waits: when it is expected to start. */
static void add_start(const json_t *job, struct text *text)
{
    const time_t started = field_time(job, "started");

    time_add(started != 0 ? started : field_time(json_object_get(job, "why"), "expected_start"),
             "N/A", text);
}

/* Of one that runs: at its limit. */
static void add_end(const json_t *job, struct text *text)
{
    const time_t started = field_time(job, "started"), ended = field_time(job, "ended");
    const int64_t limit = limit_of(job);

    time_add(ended != 0                   ? ended
             : started != 0 && limit >= 0 ? started + (time_t)limit
                                          : 0,
             "N/A", text);
}

static int64_t cpus_of(const json_t *job)
{
    return (field_milli(job, "cpus") * field_number(job, "members") + 999) / 1000;
}

static void add_cpus(const json_t *job, struct text *text)
{
    text_printf(text, "%" PRId64, cpus_of(job));
}

/* Of all its CPUs. */
static void add_cpu_span(const json_t *job, struct text *text)
{
    add_span(run_of(job) * cpus_of(job), text);
}

static void add_cpu_span_raw(const json_t *job, struct text *text)
{
    text_printf(text, "%" PRId64, run_of(job) * cpus_of(job));
}

/* Slurm, too, has these of steps alone. */
static void add_of_steps(const json_t *job, struct text *text)
{
    (void)job;
    (void)text;
}

/* Those that srun starts, or the members of a gang. */
static void add_task_count(const json_t *job, struct text *text)
{
    int64_t tasks = field_number(json_object_get(job, "launch"), "tasks");

    text_printf(text, "%" PRId64, tasks > 0 ? tasks : field_number(job, "members"));
}

static int64_t nodes_of(const json_t *job)
{
    const size_t now = json_array_size(json_object_get(job, "gpu_nodes"));
    const int64_t asked = field_number(json_object_get(job, "request"), "nodes");

    return now > 0 ? (int64_t)now : asked > 0 ? asked : 1;
}

static void add_node_count(const json_t *job, struct text *text)
{
    text_printf(text, "%" PRId64, nodes_of(job));
}

static void add_memory(const json_t *job, struct text *text)
{
    const int64_t mib = field_number(job, "memory");

    if (mib > 0 && mib % 1024 == 0)
        text_printf(text, "%" PRId64 "G", mib / 1024);
    else
        text_printf(text, "%" PRId64 "%s", mib, mib > 0 ? "M" : "");
}

static void add_gres(const json_t *job, struct text *text)
{
    const char *gpus = field_text(job, "gpus");

    if (gpus[0] && strcmp(gpus, "0") != 0)
        text_printf(text, "gres/gpu:%s", gpus);
    else
        text_add(text, "N/A");
}

static void add_tres(const json_t *job, struct text *text)
{
    const int64_t gpus = field_milli(job, "gpu_count");
    char buffer[UNITS_TEXT_SIZE];

    text_printf(text, "cpu=%" PRId64, cpus_of(job));
    if (field_number(job, "memory") > 0) {
        text_add(text, ",mem=");
        add_memory(job, text);
    }
    text_printf(text, ",node=%" PRId64, nodes_of(job));
    if (gpus > 0)
        text_printf(text, ",gres/gpu=%s", units_format_milli(buffer, gpus));
}

static void add_nodes(const json_t *job, struct text *text)
{
    const json_t *node;
    const size_t before = text->length;
    size_t i;

    json_array_foreach(json_object_get(job, "gpu_nodes"), i, node)
        text_printf(text, "%s%s", text->length > before ? "," : "", field_text(node, "node"));
    if (text->length == before)
        text_add(text, field_text(job, "node"));
}

static void add_reason(const json_t *job, struct text *text)
{
    static const struct {
        const char *kind, *word;
    } words[] = {
        { "held", "JobHeldUser" },         { "needs", "Dependency" },
        { "begin", "BeginTime" },          { "new", "None" },
        { "gpus", "Resources" },           { "cpus", "Resources" },
        { "memory", "Resources" },         { "array", "JobArrayTaskLimit" },
        { "behind", "Priority" },          { "turn", "Priority" },
        { "reserved", "Priority" },        { "quota", "AssocGrpGRES" },
        { "user_limit", "AssocMaxGRES" },  { "reservation", "Reservation" },
        { "unusable", "ReqNodeNotAvail" }, { "pool_max", "PartitionNodeLimit" },
    };
    const char *kind = field_text(json_object_get(job, "why"), "kind");

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(words[i].kind, kind) == 0) {
            text_add(text, words[i].word);
            return;
        }
    }
    text_add(text, kind[0] ? kind : "None");
}

/* Nodes, or in brackets why it has none. */
static void add_nodes_or_reason(const json_t *job, struct text *text)
{
    if (strcmp(slurm_state(job, true), "PD") != 0) {
        add_nodes(job, text);
        return;
    }
    text_add_char(text, '(');
    add_reason(job, text);
    text_add_char(text, ')');
}

static void add_priority(const json_t *job, struct text *text)
{
    text_printf(text, "%" PRId64, field_number(job, "priority"));
}

/* As in Slurm, a job that failed without a process to say so has status 1. */
static void add_exit(const json_t *job, struct text *text)
{
    const char *result = field_text(job, "result");
    bool has_failed = strcmp(result, "failed") == 0 || strcmp(result, "lost") == 0;

    if (has_failed && field_is_null(job, "exit_code") && field_is_null(job, "signal")) {
        text_add(text, "1:0");
        return;
    }
    text_printf(text, "%" PRId64 ":%" PRId64, field_number(job, "exit_code"),
                field_number(job, "signal"));
}

static void add_folder(const json_t *job, struct text *text)
{
    put(text, field_text(json_object_get(job, "launch"), "cwd"));
}

static void add_output(const json_t *job, struct text *text)
{
    put(text, field_text(json_object_get(job, "launch"), "output"));
}

static void add_error(const json_t *job, struct text *text)
{
    const json_t *launch = json_object_get(job, "launch");

    put(text, field_text(launch, field_is_null(launch, "error") ? "output" : "error"));
}

/* Of a script without its interpreter, as it was submitted. */
static void add_command(const json_t *job, struct text *text)
{
    const json_t *launch = json_object_get(job, "launch");
    const json_t *words = json_object_get(launch, "command"), *word;
    const char *script = field_text(launch, "script_path");
    bool is_shown = !script[0];
    size_t i;

    json_array_foreach(words, i, word)
    {
        is_shown |= strcmp(value_text(word), script) == 0;
        if (is_shown)
            text_printf(text, "%s%s", text->length > 0 ? " " : "", value_text(word));
    }
    if (json_array_size(words) == 0)
        text_add(text, "N/A");
}

static void add_restarts(const json_t *job, struct text *text)
{
    const int64_t attempt = field_number(job, "attempt");

    text_printf(text, "%" PRId64, attempt > 0 ? attempt - 1 : 0);
}

static void add_memory_max(const json_t *job, struct text *text)
{
    const json_t *usage = json_object_get(job, "usage");

    if (!field_is_null(usage, "memory_mib_max"))
        text_printf(text, "%" PRId64 "M", field_number(usage, "memory_mib_max"));
}

static void add_cpu_time(const json_t *job, struct text *text)
{
    const json_t *usage = json_object_get(job, "usage");
    const int64_t user = seconds_of(usage, "user_seconds"),
                  system = seconds_of(usage, "system_seconds");

    add_span((user > 0 ? user : 0) + (system > 0 ? system : 0), text);
}

static void add_needs(const json_t *job, struct text *text)
{
    static const char *const words[][2] = { { "ok", "afterok" },
                                            { "any", "afterany" },
                                            { "failed", "afternotok" },
                                            { "started", "after" } };
    const json_t *needs = json_object_get(job, "needs"), *need;
    size_t i;

    json_array_foreach(needs, i, need)
    {
        const char *word = field_text(need, "when");
        for (size_t k = 0; k < COUNT_OF(words); k++)
            word = strcmp(words[k][0], word) == 0 ? words[k][1] : word;
        text_printf(text, "%s%s:%" PRId64, i > 0 ? "," : "", word, field_number(need, "on"));
    }
    if (json_array_size(needs) == 0)
        text_add(text, "(null)");
}

const struct slurm_field slurm_job_fields[] = {
    { 'i', "JobID", "JOBID", 12, add_id, false },
    { 'A', "JobIDRaw", "JOBID", 12, add_raw_id, false },
    { 'F', "ArrayJobID", "ARRAY_JOB_ID", 12, add_array_id, false },
    { 'K', "ArrayTaskID", "ARRAY_TASK_ID", 13, add_array_index, false },
    { 'j', "JobName", "NAME", 10, add_name, false },
    { '\0', "Name", "NAME", 20, add_name, false },
    { 'u', "User", "USER", 9, add_user, false },
    { '\0', "UserName", "USER", 20, add_user, false },
    { 'P', "Partition", "PARTITION", 10, add_pool, false },
    { 'a', "Account", "ACCOUNT", 10, add_queue, false },
    { 'q', "QOS", "QOS", 10, add_queue, false },
    { 't', "StateCompact", "ST", 12, add_code, false },
    { 'T', "State", "STATE", 10, add_state, false },
    { '\0', "JobState", "STATE", 10, add_state, false },
    { 'M', "TimeUsed", "TIME", 10, add_used, false },
    { '\0', "Elapsed", NULL, 10, add_elapsed, false },
    { '\0', "ElapsedRaw", NULL, 10, add_elapsed_raw, false },
    { '\0', "RunTime", NULL, 10, add_elapsed, false },
    { 'l', "TimeLimit", "TIME_LIMIT", 10, add_limit, true },
    { '\0', "LongTimeLimit", NULL, 10, add_long_limit, true },
    { 'L', "TimeLeft", "TIME_LEFT", 10, add_left, true },
    { 'V', "Submit", "SUBMIT_TIME", 19, add_submit, false },
    { '\0', "SubmitTime", "SUBMIT_TIME", 19, add_submit, false },
    { 'S', "Start", "START_TIME", 19, add_start, false },
    { '\0', "StartTime", "START_TIME", 19, add_start, false },
    { 'e', "End", "END_TIME", 19, add_end, true },
    { '\0', "EndTime", "END_TIME", 19, add_end, true },
    { 'C', "AllocCPUS", "CPUS", 10, add_cpus, false },
    { '\0', "NCPUS", NULL, 10, add_cpus, false },
    { '\0', "ReqCPUS", NULL, 8, add_cpus, false },
    { '\0', "NumCPUs", "CPUS", 10, add_cpus, false },
    { '\0', "NumTasks", "TASKS", 10, add_task_count, true },
    { 'D', "NNodes", "NODES", 8, add_node_count, true },
    { '\0', "AllocNodes", NULL, 10, add_node_count, true },
    { '\0', "NumNodes", "NODES", 8, add_node_count, true },
    { 'm', "ReqMem", "MIN_MEMORY", 10, add_memory, false },
    { 'b', "Gres", "TRES_PER_NODE", 20, add_gres, false },
    { '\0', "AllocTRES", NULL, 30, add_tres, true },
    { '\0', "ReqTRES", NULL, 30, add_tres, true },
    { 'N', "NodeList", "NODELIST", 15, add_nodes, false },
    { 'R', "ReasonList", "NODELIST(REASON)", 20, add_nodes_or_reason, false },
    { 'r', "Reason", "REASON", 20, add_reason, false },
    { 'Q', "Priority", "PRIORITY", 10, add_priority, false },
    { '\0', "ExitCode", NULL, 8, add_exit, false },
    { 'Z', "WorkDir", "WORK_DIR", 20, add_folder, true },
    { 'o', "Command", "COMMAND", 20, add_command, true },
    { '\0', "StdOut", "STDOUT", 20, add_output, true },
    { '\0', "StdErr", "STDERR", 20, add_error, true },
    { 'E', "Dependency", "DEPENDENCY", 20, add_needs, true },
    { '\0', "Restarts", NULL, 8, add_restarts, false },
    { '\0', "MaxRSS", NULL, 10, add_memory_max, true },
    { '\0', "TotalCPU", NULL, 10, add_cpu_time, true },
    { '\0', "CPUTime", NULL, 10, add_cpu_span, false },
    { '\0', "CPUTimeRAW", NULL, 10, add_cpu_span_raw, false },
    { '\0', "NTasks", NULL, 8, add_of_steps, false },
    { '\0', "AveCPU", NULL, 10, add_of_steps, false },
    { '\0', "AveRSS", NULL, 10, add_of_steps, false },
    { '\0', "AveVMSize", NULL, 10, add_of_steps, false },
    { '\0', "MaxVMSize", NULL, 10, add_of_steps, false },
    { 0 },
};

/* ---- which ---- */

const char *slurm_own_name(void)
{
    const struct passwd *me = getpwuid(geteuid());

    return me ? me->pw_name : "";
}

static bool has_id(const char *ids, const json_t *job)
{
    AUTO_RELEASE(text) struct text raw = { 0 }, array = { 0 };

    add_raw_id(job, &raw);
    add_array_id(job, &array);
    return slurm_list_has(ids, field_text(job, "label")) ||
           slurm_list_has(ids, text_string(&raw)) || slurm_list_has(ids, text_string(&array));
}

static bool is_chosen(const struct slurm_choice *choice, const json_t *job)
{
    const char *pool = field_text(job, "pool");
    const time_t submitted = field_time(job, "submitted"), ended = field_time(job, "ended");
    bool is_all = choice->states && slurm_list_has(choice->states, "all");

    return slurm_list_has(choice->users, field_text(job, "user")) &&
           slurm_list_has(choice->names, field_text(job, "name")) &&
           slurm_list_has(choice->queues, field_text(job, "queue")) &&
           slurm_list_has(choice->pools, pool[0] ? pool : "default") && has_id(choice->ids, job) &&
           (is_all || slurm_list_has(choice->states, slurm_state(job, true)) ||
            slurm_list_has(choice->states, slurm_state(job, false))) &&
           (choice->since == 0 || ended == 0 || ended >= choice->since) &&
           (choice->until == 0 || submitted <= choice->until);
}

/* The name of the machine, where there is one only. */
static char *only_node(struct session *session)
{
    AUTO(json) json_t *reply = NULL;

    if (session_get(session, "/v1/nodes", &reply, NULL) < 0)
        return NULL;
    const json_t *nodes = json_object_get(reply, "nodes");
    return json_array_size(nodes) == 1 ? mem_string(field_text(json_array_get(nodes, 0), "name"))
                                       : NULL;
}

/* The whole of it; one that has just been forgotten stays as it is. */
static json_t *with_details(struct session *session, json_t *job)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s", field_text(job, "label"));
    json_t *whole = NULL;

    return session_get(session, path, &whole, NULL) == 0 ? whole : json_incref(job);
}

static bool has_placed(const json_t *job)
{
    return field_time(job, "started") != 0;
}

int slurm_jobs_find(struct session *session, const struct slurm_choice *choice, bool has_details,
                    json_t **ret, struct error *err)
{
    AUTO_FREE char *node = only_node(session);
    json_t *jobs = json_array(), *job;
    int64_t after = 0;
    int code = 0;
    size_t i;

    do {
        AUTO_FREE char *path = mem_printf("/v1/jobs?limit=10000&after=%" PRId64 "%s", after,
                                          choice->has_ended ? "&all=1" : "");
        AUTO(json) json_t *reply = NULL;
        code = session_get(session, path, &reply, err);
        json_array_foreach(json_object_get(reply, "jobs"), i, job)
        {
            if (!is_chosen(choice, job))
                continue;
            json_t *item = has_details ? with_details(session, job) : json_incref(job);
            if (node && has_placed(item))
                json_object_set_new(item, "node", json_string(node));
            json_array_append_new(jobs, item);
        }
        after = code == 0 ? field_number(reply, "next") : 0;
    } while (after > 0);
    if (code < 0)
        json_decref(jobs);
    else
        *ret = jobs;
    return code;
}
