/* SPDX-License-Identifier: Apache-2.0 */
/* scontrol: show and change jobs, show nodes and pools */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fields.h"
#include "cli/slurm/slurm.h"
#include "cli/slurm/slurm_change.h"
#include "cli/slurm/slurm_jobs.h"
#include "cli/slurm/slurm_nodes.h"

/* A line of "Key=value" pairs: "Key" or "Key:Name" of a field. Those of an array are for its tasks
 * only. */
static const char *const job_lines[] = {
    "JobId:JobIDRaw ArrayJobId:ArrayJobID ArrayTaskId:ArrayTaskID JobName",
    "UserId:User Account",
    "Priority JobState Reason Dependency",
    "Restarts ExitCode",
    "RunTime TimeLimit:LongTimeLimit",
    "SubmitTime StartTime EndTime",
    "Partition NodeList",
    "BatchHost:NodeList",
    "NumNodes NumCPUs NumTasks",
    "TRES:AllocTRES TresPerNode:Gres",
    "Command",
    "WorkDir",
    "StdErr",
    "StdOut",
};
static const char *const node_lines[] = {
    "NodeName:NodeList",
    "CPUTot:CPUs RealMemory:Memory FreeMem",
    "Gres",
    "State:StateLong Reason",
    "Partitions:Partition",
};
static const char *const pool_lines[] = {
    "PartitionName:Partition",
    "State:Available MaxTime:Time",
    "Nodes:NodeList TotalNodes:Nodes",
};

static const struct slurm_field *field_of(const struct slurm_field *fields, const char *name)
{
    while (fields->add && (!fields->name || strcmp(fields->name, name) != 0))
        fields++;
    return fields;
}

static void put_block(const char *const *lines, size_t count, const struct slurm_field *fields,
                      const json_t *item, bool is_one_line)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *copy = mem_string(lines[i]);
        char *rest = copy;
        bool is_first = true;
        printf("%s", i == 0 ? "" : is_one_line ? " " : "   ");
        for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
            AUTO_RELEASE(text) struct text value = { 0 };
            char *name = strchr(word, ':');
            if (strncmp(word, "Array", 5) == 0 && field_is_null(item, "array_index"))
                continue;
            if (name)
                *name++ = '\0';
            field_of(fields, name ? name : word)->add(item, &value);
            AUTO_FREE char *clean = string_copy_clean(text_string(&value));
            printf("%s%s=%s", is_first ? "" : " ", word, clean);
            is_first = false;
        }
        printf("%s", is_one_line ? "" : "\n");
    }
    printf("\n");
}

static int show_jobs(struct session *session, const char *id, bool is_one_line, struct error *err)
{
    const struct slurm_choice choice = { .ids = id, .has_ended = id != NULL };
    AUTO(json) json_t *jobs = NULL;
    const json_t *job;
    size_t i;

    int code = slurm_jobs_find(session, &choice, true, &jobs, err);
    if (code < 0)
        return code;
    if (id && json_array_size(jobs) == 0)
        return error_set(err, -ENOENT, "job %.40s: no such job", id);
    json_array_foreach(jobs, i, job)
        put_block(job_lines, COUNT_OF(job_lines), slurm_job_fields, job, is_one_line);
    if (json_array_size(jobs) == 0)
        printf("No jobs in the system\n");
    return 0;
}

static int show_nodes(struct session *session, const char *name, bool is_one_line,
                      struct error *err)
{
    AUTO(json) json_t *lines = NULL;
    AUTO(json) json_t *seen = json_object();
    const json_t *line;
    size_t i;

    int code = slurm_nodes_find(session, NULL, true, &lines, err);
    json_array_foreach(lines, i, line)
    {
        const char *node = field_text(json_array_get(json_object_get(line, "nodes"), 0), "name");
        if ((name && !slurm_list_has(name, node)) || json_object_get(seen, node))
            continue;
        json_object_set_new(seen, node, json_true());
        put_block(node_lines, COUNT_OF(node_lines), slurm_node_fields, line, is_one_line);
    }
    if (code == 0 && name && json_object_size(seen) == 0)
        return error_set(err, -ENOENT, "node %.60s: no such node", name);
    return code;
}

/* Its nodes in whatever state, in one line. */
static int show_pools(struct session *session, const char *name, bool is_one_line,
                      struct error *err)
{
    AUTO(json) json_t *lines = NULL;
    AUTO(json) json_t *pools = json_array();
    json_t *line, *last = NULL;
    size_t i;

    int code = slurm_nodes_find(session, name, true, &lines, err);
    json_array_foreach(lines, i, line)
    {
        if (last && strcmp(field_text(last, "pool"), field_text(line, "pool")) == 0) {
            json_array_extend(json_object_get(last, "nodes"), json_object_get(line, "nodes"));
            continue;
        }
        last = line;
        json_array_append(pools, line);
    }
    json_array_foreach(pools, i, line)
        put_block(pool_lines, COUNT_OF(pool_lines), slurm_node_fields, line, is_one_line);
    if (code == 0 && name && json_array_size(pools) == 0)
        return error_set(err, -ENOENT, "partition %.60s: no such pool, or it has no nodes", name);
    return code;
}

/* "n1,n[2-4,7]", a name a line. */
static int show_hostnames(const char *list, struct error *err)
{
    const char *own = getenv("SLURM_JOB_NODELIST");
    const char *s = list ? list : own;

    if (!s)
        return error_set(err, -EINVAL,
                         "hostnames: expected a list of nodes, or SLURM_JOB_NODELIST");
    while (*s) {
        size_t length = strcspn(s, ",[");
        AUTO_FREE char *prefix = mem_string_of(s, length);
        s += length;
        if (*s != '[') {
            printf("%s\n", prefix);
            s += *s == ',';
            continue;
        }
        AUTO_FREE char *set = mem_string_of(s + 1, strcspn(s + 1, "]"));
        char *rest = set;
        s += strlen(set) + 1;
        if (*s != ']')
            return error_set(err, -EINVAL, "hostnames: '%.60s': expected ']'", list ? list : own);
        s += s[1] == ',' ? 2 : 1;
        for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
            const int width = (int)strcspn(word, "-");
            char *end;
            unsigned long first = strtoul(word, &end, 10), last = first;
            if (*end == '-')
                last = strtoul(end + 1, &end, 10);
            if (*end || last < first || last - first > 100000)
                return error_set(err, -EINVAL, "hostnames: '%.60s': expected numbers in brackets",
                                 word);
            for (unsigned long i = first; i <= last; i++)
                printf("%s%0*lu\n", prefix, width, i);
        }
    }
    return 0;
}

/* Slurm takes shortened words. */
static bool is_word(const char *given, const char *word, size_t least)
{
    return strlen(given) >= least && strncasecmp(word, given, strlen(given)) == 0;
}

static int show(int argc, char **argv, bool is_one_line, struct error *err)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO_FREE char *what = mem_string(argc > 0 ? argv[0] : "");
    char *equals = strchr(what, '=');
    const char *name = argc > 1 ? argv[1] : NULL;

    if (argc > 2)
        return error_set(err, -EINVAL, "show: '%.60s': expected one name", argv[2]);
    if (equals) {
        *equals = '\0';
        name = equals + 1;
    }
    if (is_word(what, "hostnames", 4))
        return show_hostnames(name, err);
    int code = session_open(&session, err);
    if (code < 0)
        return code;
    if (is_word(what, "jobs", 1) || strcasecmp(what, "jobid") == 0)
        return show_jobs(&session, name, is_one_line, err);
    if (is_word(what, "nodes", 1) || strcasecmp(what, "nodename") == 0)
        return show_nodes(&session, name, is_one_line, err);
    if (is_word(what, "partitions", 1) || strcasecmp(what, "partitionname") == 0)
        return show_pools(&session, name, is_one_line, err);
    return error_set(err, -EINVAL, "show '%.40s': expected job, node, partition or hostnames",
                     what);
}

static int change(const char *action, char **words, int *ret_status, struct error *err)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO_RELEASE(selection) struct selection selection = { 0 };

    if (!words[0])
        return error_set(err, -EINVAL, "%s: expected numbers of jobs", action);
    int code = slurm_ids_read(&selection, words, err);
    if (code == 0)
        code = session_open(&session, err);
    if (code == 0)
        code = selection_confirm(&selection, &session, err);
    if (code == 0)
        *ret_status = slurm_change(&session, &selection, false, action);
    return code;
}

/* -dd is -d twice. */
static bool changes_nothing(const char *option)
{
    static const char *const nothing[] = { "-a",       "--all",   "--details", "--verbose",
                                           "--hide",   "--quiet", "--local",   "--federation",
                                           "--future", NULL };

    return string_is_in(option, nothing) ||
           (option[1] && strspn(option + 1, "advFQ") == strlen(option + 1));
}

int slurm_scontrol(int argc, char **argv)
{
    static const char *const actions[] = { "hold", "release", "requeue" };
    AUTO_FREE char **words = mem_zero((size_t)argc + 1, sizeof(words[0]));
    bool is_one_line = false;
    struct error err;
    int count = 0, status = 0, code = 1;

    for (int i = 1; i < argc; i++) {
        bool makes_one = strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--oneliner") == 0;
        if (argv[i][0] != '-')
            words[count++] = argv[i];
        else if (!makes_one && !changes_nothing(argv[i]))
            return slurm_fail("unknown option '%s'", argv[i]);
        is_one_line |= makes_one;
    }
    const char *verb = count > 0 ? words[0] : "";
    if (is_word(verb, "show", 2))
        code = show(count - 1, words + 1, is_one_line, &err);
    for (size_t i = 0; i < COUNT_OF(actions) && code == 1; i++) {
        if (strcasecmp(verb, actions[i]) == 0)
            code = change(actions[i], words + 1, &status, &err);
    }
    if (code == 1)
        code = error_set(
            &err, -EINVAL,
            "'%.40s': expected show, hold, release or requeue; tarn update changes a job", verb);
    return code < 0 ? slurm_fail("%s", err.text) : status;
}
