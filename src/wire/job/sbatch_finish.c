/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/units.h"
#include "core/job/request.h"
#include "wire/job/sbatch.h"
#include "wire/job/sbatch_given.h"
#include "wire/job/signal_name.h"
#include "wire/job/submission.h"
#include "wire/reader.h"

enum {
    CPU_MILLI_MAX = 100000 * 1000,
    MEMORY_MIB_MAX = 1 << 30,
    NICE_DEFAULT = 100,
    NICE_MOST = 2147483645,
    WARN_MOST_S = 65535
};

/* What the options on nodes, tasks and GPUs come to together. */
struct shape {
    int64_t nodes;
    int64_t members;
    int64_t tasks;          /* of a batch script, which runs once: what srun starts; 0: a gang */
    int64_t task_gpus;      /* of each of them; 0: all see all */
    int64_t cpu_milli;      /* of a member */
    struct request request; /* only its GPUs */
};

static const struct sbatch_given *given(const struct sbatch *sbatch, enum sbatch_id id)
{
    return sbatch->given[id].is_set ? &sbatch->given[id] : NULL;
}

/* The one that is given of two that mean the same. */
static const struct sbatch_given *either(const struct sbatch *sbatch, enum sbatch_id first,
                                         enum sbatch_id second)
{
    const struct sbatch_given *option = given(sbatch, first);

    return option ? option : given(sbatch, second);
}

/* Put the option and its place before the words of err. */
static int in_option(const struct sbatch_given *option, int code, struct error *err)
{
    error_prefix(err, code, "--%s", option->name);
    return option->place ? error_prefix(err, code, "%s", option->place) : code;
}

static int PRINTF(3, 4)
    fail(const struct sbatch_given *option, struct error *err, const char *format, ...)
{
    char words[ERROR_TEXT_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    error_set(err, -EINVAL, "%s", words);
    return in_option(option, -EINVAL, err);
}

static void set_string(struct sbatch *sbatch, const char *key, const char *value)
{
    json_object_set_new(sbatch->job, key, json_string(value));
}

static int parse_count(const struct sbatch_given *option, int64_t max, int64_t *ret,
                       struct error *err)
{
    size_t digits = strspn(option->value, "0123456789");

    if (digits < 1 || digits > 9 || option->value[digits])
        return fail(option, err, "'%.40s': expected a whole number", option->value);
    *ret = strtoll(option->value, NULL, 10);
    if (*ret < 1 || *ret > max)
        return fail(option, err, "%s, expected 1 to %" PRId64, option->value, max);
    return 0;
}

static int read_count(struct sbatch *sbatch, enum sbatch_id id, const char *key, int64_t max,
                      struct error *err)
{
    const struct sbatch_given *option = given(sbatch, id);
    int64_t count = 0;

    int code = option ? parse_count(option, max, &count, err) : 0;
    if (option && code == 0)
        json_object_set_new(sbatch->job, key, json_integer(count));
    return code;
}

/* "2" or "1-4" */
static int read_nodes(struct sbatch *sbatch, struct shape *shape, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, SBATCH_NODES);
    int64_t to;
    char rest;

    shape->nodes = 1;
    if (!option)
        return 0;
    const char *value = option->value;
    if (strlen(value) <= 16 && strspn(value, "0123456789.-") == strlen(value) &&
        (sscanf(value, "%" SCNd64 "-%" SCNd64 "%c", &shape->nodes, &to, &rest) == 2 ||
         sscanf(value, "%" SCNd64 "..%" SCNd64 "%c", &shape->nodes, &to, &rest) == 2) &&
        shape->nodes >= 1 && to >= shape->nodes && to <= REQUEST_MEMBERS_MAX) {
        AUTO_FREE char *range = mem_printf("%" PRId64 "..%" PRId64, shape->nodes, to);
        set_string(sbatch, "nodes", range);
        if (strchr(value, '-') && !given(sbatch, SBATCH_RESIZE))
            set_string(sbatch, "resize", "never"); /* Slurm's range is for the start alone */
        return 0;
    }
    int code = parse_count(option, REQUEST_MEMBERS_MAX, &shape->nodes, err);
    if (code == 0)
        json_object_set_new(sbatch->job, "nodes", json_integer(shape->nodes));
    return code;
}

/* Whether this option means what Slurm's manual says: in a script, and on the command line of
 * sbatch and srun. */
static bool is_slurms(const struct sbatch *sbatch, const struct sbatch_given *option)
{
    return option && (option->place || sbatch->is_slurm);
}

/* Slurm's options describe a script that runs once, on the first node. */
static bool is_batch(const struct sbatch *sbatch)
{
    static const enum sbatch_id ids[] = {
        SBATCH_NTASKS,        SBATCH_NTASKS_PER_NODE, SBATCH_TASKS_PER_NODE, SBATCH_NODES,
        SBATCH_GPUS_PER_TASK, SBATCH_GPUS_PER_NODE,   SBATCH_GPUS,           SBATCH_GRES,
    };
    bool is_any = sbatch->is_slurm;

    for (size_t i = 0; i < COUNT_OF(ids); i++)
        is_any |= is_slurms(sbatch, given(sbatch, ids[i]));
    return is_any && !given(sbatch, SBATCH_RANKS) &&
           (!given(sbatch, SBATCH_NTASKS) || is_slurms(sbatch, given(sbatch, SBATCH_NTASKS)));
}

/* "1", or a range that begins with it. */
static int check_one_node(const struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, SBATCH_NODES);

    if (!option || strcmp(option->value, "1") == 0 || string_starts(option->value, "1-"))
        return 0;
    return fail(
        option, err,
        "'%.40s': a batch script runs on one node; expected 1; for a gang on several nodes: "
        "tarn submit --nodes and --ranks",
        option->value);
}

/* The tasks are for srun: the job is one member with what all of them need. */
static int read_tasks(struct sbatch *sbatch, struct shape *shape, struct error *err)
{
    const struct sbatch_given *tasks = given(sbatch, SBATCH_NTASKS);
    const struct sbatch_given *per_node =
        either(sbatch, SBATCH_NTASKS_PER_NODE, SBATCH_TASKS_PER_NODE);
    int64_t each = 1;

    int code = check_one_node(sbatch, err);
    if (code == 0 && per_node)
        code = parse_count(per_node, REQUEST_MEMBERS_MAX, &each, err);
    shape->nodes = shape->members = 1;
    shape->tasks = each;
    if (code == 0 && tasks)
        code = parse_count(tasks, REQUEST_MEMBERS_MAX, &shape->tasks, err);
    if (code == 0 && tasks && per_node && shape->tasks > each)
        return fail(tasks, err, "%" PRId64 " on 1 node with %" PRId64 " each", shape->tasks, each);
    return code;
}

static void set_tasks(struct sbatch *sbatch, const struct shape *shape)
{
    if (shape->task_gpus > 0)
        json_object_set_new(sbatch->job, "tasks",
                            json_pack("{s:I, s:I}", "count", (json_int_t)shape->tasks, "gpus",
                                      (json_int_t)shape->task_gpus));
    else if (shape->tasks > 0)
        json_object_set_new(sbatch->job, "tasks", json_integer(shape->tasks));
}

/* "8", or "2..8" of an elastic gang: *ret is the least. */
static int parse_ranks(struct sbatch *sbatch, const struct sbatch_given *option, int64_t *ret,
                       struct error *err)
{
    int64_t most;
    char rest;

    if (!strstr(option->value, ".."))
        return parse_count(option, REQUEST_MEMBERS_MAX, ret, err);
    if (strlen(option->value) > 16 ||
        strspn(option->value, "0123456789.") != strlen(option->value) ||
        sscanf(option->value, "%" SCNd64 "..%" SCNd64 "%c", ret, &most, &rest) != 2 || *ret < 1 ||
        most < *ret || most > REQUEST_MEMBERS_MAX)
        return fail(option, err, "'%.40s': expected 1 to %d, or a range like 2..8", option->value,
                    REQUEST_MEMBERS_MAX);
    set_string(sbatch, "ranks", option->value);
    return 0;
}

static int read_members(struct sbatch *sbatch, struct shape *shape, struct error *err)
{
    const struct sbatch_given *tasks = either(sbatch, SBATCH_RANKS, SBATCH_NTASKS);
    const struct sbatch_given *per_node =
        either(sbatch, SBATCH_NTASKS_PER_NODE, SBATCH_TASKS_PER_NODE);
    int64_t each = 1;

    if (is_batch(sbatch))
        return read_tasks(sbatch, shape, err);
    int code = read_nodes(sbatch, shape, err);
    shape->members = shape->nodes;
    if (code == 0 && per_node)
        code = parse_count(per_node, REQUEST_MEMBERS_MAX, &each, err);
    if (code == 0 && tasks)
        code = parse_ranks(sbatch, tasks, &shape->members, err);
    if (code < 0)
        return code;
    if (!tasks)
        shape->members = shape->nodes * each;
    else if (per_node && shape->members > shape->nodes * each)
        return fail(tasks, err, "%" PRId64 " on %" PRId64 " node%s with %" PRId64 " each",
                    shape->members, shape->nodes, shape->nodes > 1 ? "s" : "", each);
    if ((tasks || per_node) && !json_object_get(sbatch->job, "ranks"))
        json_object_set_new(sbatch->job, "ranks", json_integer(shape->members));
    return 0;
}

/* GPUs of a node among its members. */
static int divide_gpus(const struct sbatch_given *option, struct shape *shape, struct error *err)
{
    for (uint32_t i = 0; i < shape->request.gpu_alternatives; i++) {
        struct gpu_ask *ask = &shape->request.gpus[i];
        int64_t total = ask->count * shape->nodes;
        bool is_share = ask->kind == SHARE_FRACTION || ask->kind == SHARE_MPS;

        if (shape->members == shape->nodes)
            continue;
        if (is_share || total % shape->members != 0 || total < shape->members)
            return fail(option, err,
                        "'%.60s' of a node cannot be divided among %" PRId64
                        " members; use --gpus for each",
                        option->value, shape->members);
        ask->count = (uint16_t)(total / shape->members);
    }
    return 0;
}

/* --gpus-per-task of a batch script: the job has them all. */
static int multiply_gpus(const struct sbatch_given *option, struct shape *shape, struct error *err)
{
    for (uint32_t i = 0; i < shape->request.gpu_alternatives; i++) {
        struct gpu_ask *ask = &shape->request.gpus[i];
        bool is_share = ask->kind == SHARE_FRACTION || ask->kind == SHARE_MPS;

        if ((is_share && shape->tasks > 1) || ask->count * shape->tasks > UINT16_MAX ||
            ask->count != shape->request.gpus[0].count)
            return fail(option, err, "'%.60s' for each of %" PRId64 " tasks: expected whole GPUs",
                        option->value, shape->tasks);
    }
    for (uint32_t i = 0; i < shape->request.gpu_alternatives; i++) {
        shape->task_gpus =
            shape->request.gpus[i].kind == SHARE_WHOLE ? shape->request.gpus[0].count : 0;
        shape->request.gpus[i].count = (uint16_t)(shape->request.gpus[i].count * shape->tasks);
    }
    return 0;
}

static bool is_features(const char *text, size_t length, const char *operators)
{
    bool is = length > 0;

    for (size_t i = 0; i < length && is; i++)
        is = isalnum((unsigned char)text[i]) || strchr("._-+@=", text[i]) ||
             strchr(operators, text[i]);
    return is;
}

/* The list of conditions; --where is one of them. */
static json_t *where_of(struct sbatch *sbatch)
{
    json_t *where = json_object_get(sbatch->job, "where");

    if (json_is_array(where))
        return where;
    json_t *list = json_array();
    if (where)
        json_array_append(list, where);
    json_object_set_new(sbatch->job, "where", list);
    return list;
}

static int check_nodes(const struct sbatch_given *option, struct error *err)
{
    for (const char *at = option->value;; at++) {
        size_t length = strcspn(at, ",");
        AUTO_FREE char *name = mem_string_of(at, length);
        if (!name_is_valid(name))
            return fail(option, err,
                        "'%.60s': expected names of nodes, as in n1,n2; brackets and files are "
                        "not supported",
                        option->value);
        at += length;
        if (!*at)
            return 0;
    }
}

static int read_places(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *list = given(sbatch, SBATCH_NODELIST);
    const struct sbatch_given *exclude = given(sbatch, SBATCH_EXCLUDE);
    int code = list ? check_nodes(list, err) : 0;

    if (code == 0 && exclude)
        code = check_nodes(exclude, err);
    if (code < 0)
        return code;
    if (list && strchr(list->value, ','))
        return fail(list, err,
                    "'%.60s': several nodes, which all would be used; expected one, or --where "
                    "'node in (n1,n2)' for one of them",
                    list->value);
    if (list)
        json_array_append_new(where_of(sbatch), json_sprintf("node in (%s)", list->value));
    if (exclude)
        json_array_append_new(where_of(sbatch), json_sprintf("node notin (%s)", exclude->value));
    return 0;
}

/* "nvme&(v100|a100)" as conditions: features are labels or models. What counts nodes, and brackets
 * for nodes that are alike, is not to be said with conditions. */
static int read_constraint(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, SBATCH_CONSTRAINT);
    bool is_several = option && strchr(option->value, '&');

    if (!option)
        return 0;
    json_t *where = where_of(sbatch);
    for (const char *at = option->value;; at++) {
        size_t length = strcspn(at, "&");
        bool is_inside = length > 2 && at[0] == '(' && at[length - 1] == ')';
        const char *part = at + is_inside;
        size_t part_length = length - 2u * is_inside;
        if (is_several && !is_inside && memchr(part, '|', part_length))
            return fail(option, err,
                        "'%.60s': & and | together; expected parentheses around |, like "
                        "'nvme&(v100|a100)'",
                        option->value);
        if (!is_features(part, part_length, "|"))
            return fail(option, err,
                        "'%.60s': expected features like a100, 'v100|a100' or 'nvme&a100'; "
                        "numbers of nodes and brackets are not supported",
                        option->value);
        json_array_append_new(where, json_stringn(part, part_length));
        at += length;
        if (!*at)
            return 0;
    }
}

/* "per_task:N" is what --gpus-per-task=N does. */
static bool is_bound_so(const struct sbatch *sbatch, const char *value)
{
    const struct sbatch_given *each = given(sbatch, SBATCH_GPUS_PER_TASK);

    return each && string_starts(value, "per_task:") &&
           strcmp(value + strlen("per_task:"), each->value) == 0;
}

static int check_bind(const struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *bind = given(sbatch, SBATCH_GPU_BIND);

    if (!bind || strcmp(bind->value, "none") == 0 || is_bound_so(sbatch, bind->value))
        return 0;
    return fail(bind, err,
                "'%.60s': expected none, or per_task:N with --gpus-per-task=N, which binds "
                "GPUs to tasks",
                bind->value);
}

static int parse_gpus(const struct sbatch *sbatch, const struct sbatch_given *option,
                      struct request *ret, struct error *err)
{
    request_default(ret);
    int code = option == given(sbatch, SBATCH_GRES) ? request_parse_gres(ret, option->value, err)
                                                    : request_parse_gpus(ret, option->value, err);
    return code < 0 && option->place ? error_prefix(err, code, "%s", option->place) : code;
}

/* A batch script may state its GPUs in several ways, if they are the same ones. */
static int check_others(const struct sbatch *sbatch, const struct sbatch_given *option,
                        const struct shape *shape, struct error *err)
{
    static const enum sbatch_id ids[] = { SBATCH_GPUS, SBATCH_GRES, SBATCH_GPUS_PER_NODE };
    AUTO_RELEASE(text) struct text all = { 0 };

    request_format_gpus(&shape->request, &all);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        const struct sbatch_given *other = given(sbatch, ids[i]);
        AUTO_RELEASE(text) struct text words = { 0 };
        struct request request;
        if (!other || other == option || strcmp(other->value, "none") == 0)
            continue;
        int code = parse_gpus(sbatch, other, &request, err);
        if (code < 0)
            return code;
        request_format_gpus(&request, &words);
        if (shape->tasks == 0 || strcmp(text_string(&words), text_string(&all)) != 0)
            return fail(other, err,
                        "'%.60s', and --%s: '%.60s' makes '%.60s'; expected one of them",
                        other->value, option->name, option->value, text_string(&all));
    }
    return 0;
}

static int read_gpus(struct sbatch *sbatch, struct shape *shape, struct error *err)
{
    const struct sbatch_given *each = either(sbatch, SBATCH_GPUS_PER_TASK, SBATCH_GPUS);
    const struct sbatch_given *gres = given(sbatch, SBATCH_GRES);
    gres = gres && strcmp(gres->value, "none") != 0 ? gres : NULL;
    const struct sbatch_given *per_node = gres ? gres : given(sbatch, SBATCH_GPUS_PER_NODE);
    const struct sbatch_given *option = each ? each : per_node;

    request_default(&shape->request);
    int code = check_bind(sbatch, err);
    if (code < 0 || !option)
        return code;
    code = parse_gpus(sbatch, option, &shape->request, err);
    if (code == 0 && !each)
        code = divide_gpus(option, shape, err);
    else if (code == 0 && shape->tasks > 0 && each == given(sbatch, SBATCH_GPUS_PER_TASK))
        code = multiply_gpus(option, shape, err);
    if (code == 0)
        code = check_others(sbatch, option, shape, err);
    if (code < 0)
        return code;
    AUTO_RELEASE(text) struct text gpus = { 0 };
    request_format_gpus(&shape->request, &gpus);
    set_string(sbatch, "gpus", gpus.length > 0 ? gpus.bytes : "0");
    return 0;
}

/* For options that are given for each GPU. */
static int gpus_of_member(const struct sbatch_given *option, const struct shape *shape,
                          int64_t *ret, struct error *err)
{
    if (shape->request.gpu_alternatives == 0)
        return fail(option, err, "no gpus are requested");
    *ret = shape->request.gpus[0].count;
    return 0;
}

static int read_cpus(struct sbatch *sbatch, struct shape *shape, struct error *err)
{
    const struct sbatch_given *each = either(sbatch, SBATCH_CPUS, SBATCH_CPUS_PER_TASK);
    const struct sbatch_given *per_gpu = given(sbatch, SBATCH_CPUS_PER_GPU);
    char text[UNITS_TEXT_SIZE];
    int64_t gpus = 1;

    const int64_t tasks = shape->tasks > 0 ? shape->tasks : 1;
    const struct sbatch_given *option = each ? each : per_gpu;
    shape->cpu_milli = 1000 * tasks;
    if (!option && tasks > 1)
        set_string(sbatch, "cpus", units_format_milli(text, shape->cpu_milli));
    if (!option)
        return 0;
    int code = units_parse_milli(option->value, CPU_MILLI_MAX, &shape->cpu_milli, err);
    if (code < 0)
        return in_option(option, code, err);
    if (per_gpu)
        code = gpus_of_member(option, shape, &gpus, err);
    if (code < 0)
        return code;
    shape->cpu_milli *= per_gpu ? gpus : tasks;
    set_string(sbatch, "cpus", units_format_milli(text, shape->cpu_milli));
    return 0;
}

static int read_memory(struct sbatch *sbatch, struct shape *shape, struct error *err)
{
    const struct sbatch_given *each = given(sbatch, SBATCH_MEMORY);
    const struct sbatch_given *per_node = given(sbatch, SBATCH_MEM);
    const struct sbatch_given *per_cpu = given(sbatch, SBATCH_MEM_PER_CPU);
    const struct sbatch_given *per_gpu = given(sbatch, SBATCH_MEM_PER_GPU);
    const struct sbatch_given *option = each       ? each
                                        : per_node ? per_node
                                        : per_cpu  ? per_cpu
                                                   : per_gpu;
    int64_t mib, gpus = 1;

    if (!option)
        return 0;
    int code = units_parse_mib(option->value, &mib, err);
    if (code < 0)
        return in_option(option, code, err);
    if (mib == 0 && option == per_node) {
        set_string(sbatch, "memory", "all");
        return 0;
    }
    if (mib == 0 && !each)
        return fail(option, err, "0: expected a size, as in 4G; --mem=0 is all memory of a node");
    if (per_gpu)
        code = gpus_of_member(option, shape, &gpus, err);
    if (code < 0)
        return code;
    if (mib > MEMORY_MIB_MAX)
        return fail(option, err, "'%.40s': more than a pebibyte", option->value);
    mib *= gpus;
    if (per_node)
        mib = (mib * shape->nodes + shape->members - 1) / shape->members;
    if (per_cpu)
        mib = (mib * (shape->cpu_milli / 10) + 99) / 100;
    AUTO_FREE char *size = mem_printf("%" PRId64 "M", mib);
    set_string(sbatch, "memory", size);
    return 0;
}

static int read_time(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *slurm = given(sbatch, SBATCH_TIME);
    usec_t duration;

    if (!slurm)
        return 0;
    int code = units_parse_slurm_time(slurm->value, &duration, err);
    if (code < 0)
        return in_option(slurm, code, err);
    if (duration == USEC_NEVER || duration == 0) {
        set_string(sbatch, "max_duration", "unlimited");
        return 0;
    }
    AUTO_FREE char *text = mem_printf("%" PRId64 "ms", duration / USEC_PER_MS);
    set_string(sbatch, "max_duration", text);
    return 0;
}

/* "afterok:12:13": a job for each number. */
static int add_dependency(const struct sbatch_given *option, char *text, json_t *depends,
                          struct error *err)
{
    static const struct {
        const char *name;
        const char *when;
    } kinds[] = {
        { "afterok", "ok" },
        { "afterany", "any" },
        { "afternotok", "failed" },
        { "after", "started" },
    };
    const char *when = NULL;
    char *rest = text;

    const char *kind = strsep(&rest, ":");
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(kinds[i].name, kind) == 0)
            when = kinds[i].when;
    }
    if (!when)
        return fail(option, err, "'%.40s': expected afterok, afterany, afternotok or after", kind);
    if (!rest)
        return fail(option, err, "'%.40s': expected numbers of jobs after it, as in %s:12", kind,
                    kind);
    while (rest) {
        const char *number = strsep(&rest, ":");
        size_t digits = strspn(number, "0123456789");

        if (digits < 1 || digits > 18 || number[digits])
            return fail(option, err, "'%.40s': expected the number of a job", number);
        if (json_array_size(depends) >= SUBMISSION_DEPENDS_MAX)
            return fail(option, err, "more than %d jobs", SUBMISSION_DEPENDS_MAX);
        json_array_append_new(
            depends,
            json_pack("{s:I, s:s}", "on", (json_int_t)strtoll(number, NULL, 10), "when", when));
    }
    return 0;
}

static int read_dependency(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, SBATCH_DEPENDENCY);
    int code = 0;

    if (!option)
        return 0;
    if (strchr(option->value, '?'))
        return fail(option, err, "'?' (one of several) is not supported; ',' needs all of them");
    json_t *depends = json_array();
    AUTO_FREE char *copy = mem_string(option->value);
    char *rest = copy;
    while (rest && code == 0)
        code = add_dependency(option, strsep(&rest, ","), depends, err);
    json_object_set_new(sbatch->job, "depends", depends);
    return code;
}

static int read_invalid_dependency(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, SBATCH_KILL_ON_INVALID_DEP);

    if (!option || strcasecmp(option->value, "yes") == 0)
        return 0;
    if (strcasecmp(option->value, "no") != 0)
        return fail(option, err, "'%.40s': expected yes or no", option->value);
    sbatch_note(sbatch, option->place,
                "--kill-on-invalid-dep=no: the job is cancelled all the same when a dependency "
                "has failed");
    return 0;
}

/* Up to the next comma that is not in quotes; NULL: a quote is open. */
static char *next_export(char **rest)
{
    char *word = *rest, quote = '\0';
    char *s = word;

    for (; *s && (quote || *s != ','); s++) {
        if (*s == quote)
            quote = '\0';
        else if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
    }
    *rest = *s ? s + 1 : NULL;
    *s = '\0';
    return quote ? NULL : word;
}

/* 'NAME=VALUE' or NAME='VALUE': the quotes protect commas, and are no part of it. */
static char *without_quotes(char *word)
{
    size_t length = strlen(word);

    if (length < 2 || (*word != '\'' && *word != '"') || word[length - 1] != *word)
        return word;
    word[length - 1] = '\0';
    return word + 1;
}

/* "NAME=VALUE", or "NAME" with the value that it has here. */
static void add_export(json_t *env, char *word, bool has_all)
{
    char *equals = strchr(word, '=');
    const char *value = equals ? without_quotes(equals + 1) : has_all ? NULL : getenv(word);

    if (equals)
        *equals = '\0';
    if (value && !json_object_get(env, word))
        json_object_set_new(env, word, json_string(value));
}

/* "ALL", "NONE", "NAME=VALUE", "NAME", with commas. */
static int read_export(struct sbatch *sbatch, struct error *err)
{
    static const char *const words[] = { "ALL", "NONE", "NIL", NULL };
    const struct sbatch_given *option = given(sbatch, SBATCH_EXPORT);
    bool has_all = false;

    if (!option)
        return 0;
    json_t *env = json_object_get(sbatch->job, "env");
    if (!env) {
        env = json_object();
        json_object_set_new(sbatch->job, "env", env);
    }
    AUTO_FREE char *copy = mem_string(option->value);
    char *rest = copy;
    while (rest) {
        char *word = next_export(&rest);
        if (!word)
            return fail(option, err, "'%.60s': a quote is not closed", option->value);
        word = without_quotes(word);
        has_all |= strcmp(word, "ALL") == 0;
        if (*word == '=')
            return fail(option, err, "'%.60s': expected ALL, NONE, NAME or NAME=VALUE", word);
        if (!string_is_in(word, words))
            add_export(env, word, has_all);
    }
    if (!has_all)
        set_string(sbatch, "export", "none");
    return 0;
}

/* Slurm takes 2147483645 at most; the priorities of tarn end before. */
static int nice_parse(struct sbatch *sbatch, const struct sbatch_given *nice, int32_t *ret,
                      struct error *err)
{
    const int32_t most = SUBMISSION_PRIORITY_MAX;
    char *end;

    errno = 0;
    long value = strtol(nice->value, &end, 10);
    if (end == nice->value || *end || errno != 0 || value < -NICE_MOST || value > NICE_MOST)
        return error_set(err, -EINVAL, "'%.40s', expected -%d to %d", nice->value, NICE_MOST,
                         NICE_MOST);
    *ret = value > most ? most : value < -most ? -most : (int32_t)value;
    if (value == *ret)
        return 0;
    AUTO_FREE char *words = mem_printf("--nice=%ld counts as %" PRId32, value, *ret);
    sbatch_note(sbatch, nice->place, words);
    return 0;
}

static int read_priority(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *nice = given(sbatch, SBATCH_NICE);
    const struct sbatch_given *priority = given(sbatch, SBATCH_PRIORITY);
    int32_t value = -NICE_DEFAULT;
    int code = 0;

    if (priority)
        code = priority_parse(priority->value, &value, err);
    else if (nice && nice->value)
        code = nice_parse(sbatch, nice, &value, err);
    if (code < 0)
        return in_option(priority ? priority : nice, code, err);
    if (!priority && nice && nice->value)
        value = -value;
    if (nice || priority)
        json_object_set_new(sbatch->job, "priority", json_integer(value));
    return 0;
}

/* Four or six digits are a date there, and seconds in a job file. */
static int check_date(const struct sbatch *sbatch, enum sbatch_id id, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, id);
    const size_t length = option ? strlen(option->value) : 0;

    if (!is_slurms(sbatch, option) || (length != 4 && length != 6) ||
        strspn(option->value, "0123456789") != length)
        return 0;
    return fail(option, err, "'%.40s': MMDD[YY] is not supported; expected MM/DD/YY or YYYY-MM-DD",
                option->value);
}

static int check_dates(struct sbatch *sbatch, struct error *err)
{
    int code = check_date(sbatch, SBATCH_BEGIN, err);

    return code < 0 ? code : check_date(sbatch, SBATCH_DEADLINE, err);
}

/* The daemon passes on all soft limits, and so more than a list asks for. */
static int check_propagate(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, SBATCH_PROPAGATE);

    if (!option || !option->value || strcasecmp(option->value, "ALL") == 0)
        return 0;
    if (strcasecmp(option->value, "NONE") == 0)
        return fail(option, err, "NONE: not supported; expected ulimit in the script");
    sbatch_note(sbatch, option->place, "--propagate: all soft limits are passed on");
    return 0;
}

static int read_exclusive(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, SBATCH_EXCLUSIVE);

    if (!option)
        return 0;
    if (option->value)
        return fail(option, err, "'%.40s': expected no value; whole nodes are for one job alone",
                    option->value);
    json_object_set_new(sbatch->job, "exclusive", json_true());
    return 0;
}

static int read_open_mode(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, SBATCH_OPEN_MODE);

    if (!option)
        return 0;
    bool is_append = strcmp(option->value, "append") == 0;
    if (!is_append && strcmp(option->value, "truncate") != 0)
        return fail(option, err, "'%.40s': expected append or truncate", option->value);
    json_object_set_new(sbatch->job, "append", json_boolean(is_append));
    return 0;
}

/* A time at which Slurm sends mail and tarn does not. */
static bool note_mail(struct sbatch *sbatch, const struct sbatch_given *option, const char *word)
{
    static const char *const times[] = { "TIME_LIMIT",     "TIME_LIMIT_90",
                                         "TIME_LIMIT_80",  "TIME_LIMIT_50",
                                         "INVALID_DEPEND", "STAGE_OUT",
                                         "ARRAY_TASKS",    NULL };
    AUTO_FREE char *words = mem_printf("--mail-type=%s: not supported, ignored", word);
    bool is_time = false;

    for (size_t i = 0; times[i]; i++)
        is_time |= strcasecmp(times[i], word) == 0;
    if (is_time)
        sbatch_note(sbatch, option->place, words);
    return is_time;
}

/* Slurm sends mail only for --mail-type, and --mail-user alone means nothing. */
static int read_mail(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, SBATCH_MAIL_TYPE);
    AUTO_RELEASE(text) struct text words = { 0 };

    if (!option || strcasecmp(option->value, "none") == 0) {
        if (given(sbatch, SBATCH_MAIL_USER))
            json_object_del(sbatch->job, "mail");
        return 0;
    }
    AUTO_FREE char *copy = mem_string(option->value);
    char *rest = copy;
    while (rest) {
        const char *word = strsep(&rest, ",");
        static const char *const known[] = { "begin", "end", "fail", "requeue" };
        bool is_known = strcasecmp(word, "all") == 0;

        for (size_t i = 0; i < COUNT_OF(known); i++) {
            if (strcasecmp(word, "all") != 0 && strcasecmp(word, known[i]) != 0)
                continue;
            is_known = true;
            text_printf(&words, "%s%s", words.length > 0 ? "," : "", known[i]);
        }
        if (!is_known && !note_mail(sbatch, option, word))
            return fail(option, err, "'%.40s': expected NONE, BEGIN, END, FAIL, REQUEUE or ALL",
                        word);
    }
    if (words.length > 0)
        json_object_set_new(sbatch->job, "notify", json_string(text_string(&words)));
    else
        json_object_del(sbatch->job, "mail");
    return 0;
}

static int read_heals(struct sbatch *sbatch, struct error *err)
{
    return read_count(sbatch, SBATCH_HEALS, "heals", SUBMISSION_HEALS_MAX, err);
}

static int read_retry(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, SBATCH_RETRY);

    if (!option || strcmp(option->value, "0") != 0)
        return read_count(sbatch, SBATCH_RETRY, "retry", SUBMISSION_RETRY_MAX, err);
    json_object_set_new(sbatch->job, "retry", json_integer(0));
    return 0;
}

/* "none" is no file to Slurm. */
static json_t *plain_value(const struct sbatch *sbatch, const struct sbatch_given *option,
                           const char *key)
{
    static const char *const files[] = { "output", "error", "input", NULL };
    bool is_no_file = is_slurms(sbatch, option) && string_is_in(key, files) &&
                      strcasecmp(option->value, "none") == 0;

    if (!option->value)
        return json_true();
    return json_string(is_no_file ? "/dev/null" : option->value);
}

static void set_plain(struct sbatch *sbatch)
{
    static const struct {
        enum sbatch_id id;
        const char *key;
    } plain[] = {
#define PLAIN(ID, letter, name, argument, group, meaning) { SBATCH_##ID, group },
#include "wire/job/sbatch_options.def"
    };

    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        const struct sbatch_given *option = given(sbatch, plain[i].id);
        if (option)
            json_object_set_new(sbatch->job, plain[i].key,
                                plain_value(sbatch, option, plain[i].key));
    }
    if (either(sbatch, SBATCH_REQUEUE, SBATCH_NO_REQUEUE))
        json_object_set_new(sbatch->job, "requeue",
                            json_boolean(given(sbatch, SBATCH_REQUEUE) != NULL));
}

/* Slurm's [B:]SIGNAL[@SECONDS], some time before the limit: to the shell, or to the steps. */
static int read_warning(struct sbatch *sbatch, const struct sbatch_given *option, struct error *err)
{
    const bool is_shell = string_starts(option->value, "B:");
    const char *value = option->value + (is_shell ? strlen("B:") : 0);
    AUTO_FREE char *name = mem_string_of(value, strcspn(value, "@"));
    const char *time = value[strlen(name)] == '@' ? value + strlen(name) + 1 : "60";
    const size_t digits = strspn(time, "0123456789");

    if (string_starts(value, "R:") || string_starts(value, "RB:"))
        return fail(option, err, "'%.40s': R is not supported; expected [B:]SIGNAL[@SECONDS]",
                    option->value);
    int number = signal_parse(name, err);
    if (number < 0)
        return in_option(option, number, err);
    if (digits < 1 || digits > 5 || time[digits] || atol(time) > WARN_MOST_S)
        return fail(option, err, "'%.40s': expected seconds behind @, 0 to %d", option->value,
                    WARN_MOST_S);
    json_object_set_new(sbatch->job, "warn",
                        json_pack("{s:s, s:i, s:s}", "signal", signal_name(number), "before",
                                  (int)atol(time), "to", is_shell ? "shell" : "steps"));
    return 0;
}

/* [{R|B}:]SIGNAL[@SECONDS]. B and R (the batch shell or its steps) make no difference
 * here: all processes of the job get the signal when it is stopped. */
static int read_signal(struct sbatch *sbatch, json_t *checkpoint, struct error *err)
{
    const struct sbatch_given *option = given(sbatch, SBATCH_SIGNAL);

    if (!option)
        return 0;
    if (is_slurms(sbatch, option))
        return read_warning(sbatch, option, err);
    const char *value = option->value;
    size_t whom = strspn(value, "BR");
    value += value[whom] == ':' ? whom + 1 : 0;
    AUTO_FREE char *name = mem_string_of(value, strcspn(value, "@"));
    const char *time = value[strlen(name)] == '@' ? value + strlen(name) + 1 : NULL;
    usec_t grace;
    int code = signal_parse(name, err);
    if (code >= 0 && time)
        code = units_parse_duration(time, &grace, err);
    if (code < 0)
        return in_option(option, code, err);
    json_object_set_new(checkpoint, "signal", json_string(signal_name(signal_parse(name, err))));
    if (time && given(sbatch, SBATCH_GRACE))
        return fail(option, err, "'%.40s': sets a grace period, like --grace; expected one of them",
                    option->value);
    if (time)
        json_object_set_new(checkpoint, "grace", json_string(time));
    return 0;
}

static int read_checkpoint(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *every = given(sbatch, SBATCH_CHECKPOINT_EVERY);
    json_t *checkpoint = json_object();

    if (every)
        json_object_set_new(checkpoint, "every", json_string(every->value));
    int code = read_signal(sbatch, checkpoint, err);
    if (code == 0 && json_object_size(checkpoint) > 0)
        json_object_set(sbatch->job, "checkpoint", checkpoint);
    json_decref(checkpoint);
    return code;
}

static void put_text(json_t *slurm, const char *name, const char *value)
{
    json_object_set_new(slurm, name, json_string(value));
}

static void put_number(json_t *slurm, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    put_text(slurm, name, text);
}

/* Sizes are in MiB in Slurm's variables, and CPUs are whole. */
static void put_amounts(const struct sbatch *sbatch, json_t *slurm)
{
    static const struct {
        enum sbatch_id id;
        const char *variable;
        bool is_size;
    } amounts[] = {
        { SBATCH_MEM, "SLURM_MEM_PER_NODE", true },
        { SBATCH_MEM_PER_CPU, "SLURM_MEM_PER_CPU", true },
        { SBATCH_MEM_PER_GPU, "SLURM_MEM_PER_GPU", true },
        { SBATCH_CPUS_PER_TASK, "SLURM_CPUS_PER_TASK", false },
        { SBATCH_CPUS_PER_GPU, "SLURM_CPUS_PER_GPU", false },
    };

    for (size_t i = 0; i < COUNT_OF(amounts); i++) {
        const struct sbatch_given *option = given(sbatch, amounts[i].id);
        int64_t amount = 0;
        if (!option)
            continue;
        if (amounts[i].is_size)
            units_parse_mib(option->value, &amount, NULL);
        else if (units_parse_milli(option->value, CPU_MILLI_MAX, &amount, NULL) == 0)
            amount = (amount + 999) / 1000;
        if (amount > 0)
            put_number(slurm, amounts[i].variable, amount);
    }
}

/* What sbatch(1) lists with "only set if the option is specified". */
static void put_given(const struct sbatch *sbatch, const struct shape *shape, json_t *slurm)
{
    static const struct {
        enum sbatch_id id;
        const char *variable;
    } plain[] = {
        { SBATCH_NTASKS_PER_NODE, "SLURM_NTASKS_PER_NODE" },
        { SBATCH_TASKS_PER_NODE, "SLURM_NTASKS_PER_NODE" },
        { SBATCH_GPUS, "SLURM_GPUS" },
        { SBATCH_GPUS_PER_NODE, "SLURM_GPUS_PER_NODE" },
        { SBATCH_GPUS_PER_TASK, "SLURM_GPUS_PER_TASK" },
        { SBATCH_GPU_BIND, "SLURM_GPU_BIND" },
        { SBATCH_EXPORT, "SLURM_EXPORT_ENV" },
        { SBATCH_DEPENDENCY, "SLURM_JOB_DEPENDENCY" },
        { SBATCH_QOS, "SLURM_JOB_QOS" },
    };

    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        const struct sbatch_given *option = given(sbatch, plain[i].id);
        if (option)
            put_text(slurm, plain[i].variable, option->value);
    }
    put_amounts(sbatch, slurm);
    if (!given(sbatch, SBATCH_NTASKS) && !json_object_get(slurm, "SLURM_NTASKS_PER_NODE"))
        return;
    const int64_t tasks = shape->tasks > 0 ? shape->tasks : shape->members;
    put_number(slurm, "SLURM_NTASKS", tasks);
    put_number(slurm, "SLURM_NPROCS", tasks);
}

/* A gang on the command line of tarn is not Slurm's, but its tasks on each node are asked for. */
static void set_slurm(struct sbatch *sbatch, const struct shape *shape)
{
    const struct sbatch_given *per_node =
        either(sbatch, SBATCH_NTASKS_PER_NODE, SBATCH_TASKS_PER_NODE);
    json_t *slurm = json_object();

    if (sbatch->is_slurm || sbatch->has_lines)
        put_given(sbatch, shape, slurm);
    else if (per_node && shape->members > 1)
        put_text(slurm, "SLURM_NTASKS_PER_NODE", per_node->value);
    if (sbatch->is_slurm || sbatch->has_lines || json_object_size(slurm) > 0)
        json_object_set(sbatch->job, "slurm", slurm);
    json_decref(slurm);
}

int sbatch_finish(struct sbatch *sbatch, struct error *err)
{
    static int (*const parts[])(struct sbatch *, struct shape *, struct error *) = {
        read_members,
        read_gpus,
        read_cpus,
        read_memory,
    };
    static int (*const others[])(struct sbatch *, struct error *) = {
        read_time,      read_dependency, read_invalid_dependency,
        read_export,    read_priority,   read_open_mode,
        read_retry,     read_heals,      read_checkpoint,
        read_mail,      read_constraint, read_places,
        read_exclusive, check_dates,     check_propagate,
    };
    struct shape shape = { 0 };
    int code = 0;

    set_plain(sbatch);
    for (size_t i = 0; i < COUNT_OF(parts) && code == 0; i++)
        code = parts[i](sbatch, &shape, err);
    set_tasks(sbatch, &shape);
    if (code == 0)
        set_slurm(sbatch, &shape);
    for (size_t i = 0; i < COUNT_OF(others) && code == 0; i++)
        code = others[i](sbatch, err);
    return code;
}
