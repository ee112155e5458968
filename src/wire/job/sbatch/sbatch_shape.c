/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sbatch/sbatch_shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/job/sbatch/sbatch_given.h"

enum { MEMORY_MIB_MAX = 1 << 30 };

/* "2" or "1-4" */
static int read_nodes(struct sbatch *sbatch, struct sbatch_shape *shape, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, SBATCH_NODES);
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
        sbatch_set_string(sbatch, "nodes", range);
        if (strchr(value, '-') && !given_find(sbatch, SBATCH_RESIZE))
            sbatch_set_string(sbatch, "resize", "never"); /* Slurm's range is for the start alone */
        return 0;
    }
    int code = given_parse_count(option, REQUEST_MEMBERS_MAX, &shape->nodes, err);
    if (code == 0)
        json_object_set_new(sbatch->job, "nodes", json_integer(shape->nodes));
    return code;
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
        is_any |= given_is_slurms(sbatch, given_find(sbatch, ids[i]));
    return is_any && !given_find(sbatch, SBATCH_RANKS) &&
           (!given_find(sbatch, SBATCH_NTASKS) ||
            given_is_slurms(sbatch, given_find(sbatch, SBATCH_NTASKS)));
}

/* "1", or a range that begins with it. */
static int check_one_node(const struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, SBATCH_NODES);

    if (!option || strcmp(option->value, "1") == 0 || string_starts(option->value, "1-"))
        return 0;
    return given_fail(
        option, err,
        "'%.40s': a batch script runs on one node; expected 1; for a gang on several nodes: "
        "tarn submit --nodes and --ranks",
        option->value);
}

/* The tasks are for srun: the job is one member with what all of them need. */
static int read_tasks(struct sbatch *sbatch, struct sbatch_shape *shape, struct error *err)
{
    const struct sbatch_given *tasks = given_find(sbatch, SBATCH_NTASKS);
    const struct sbatch_given *per_node =
        given_either(sbatch, SBATCH_NTASKS_PER_NODE, SBATCH_TASKS_PER_NODE);
    int64_t each = 1;

    int code = check_one_node(sbatch, err);
    if (code == 0 && per_node)
        code = given_parse_count(per_node, REQUEST_MEMBERS_MAX, &each, err);
    shape->nodes = shape->members = 1;
    shape->tasks = each;
    if (code == 0 && tasks)
        code = given_parse_count(tasks, REQUEST_MEMBERS_MAX, &shape->tasks, err);
    if (code == 0 && tasks && per_node && shape->tasks > each)
        return given_fail(tasks, err, "%" PRId64 " on 1 node with %" PRId64 " each", shape->tasks,
                          each);
    return code;
}

static void set_tasks(struct sbatch *sbatch, const struct sbatch_shape *shape)
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
        return given_parse_count(option, REQUEST_MEMBERS_MAX, ret, err);
    if (strlen(option->value) > 16 ||
        strspn(option->value, "0123456789.") != strlen(option->value) ||
        sscanf(option->value, "%" SCNd64 "..%" SCNd64 "%c", ret, &most, &rest) != 2 || *ret < 1 ||
        most < *ret || most > REQUEST_MEMBERS_MAX)
        return given_fail(option, err, "'%.40s': expected 1 to %d, or a range like 2..8",
                          option->value, REQUEST_MEMBERS_MAX);
    sbatch_set_string(sbatch, "ranks", option->value);
    return 0;
}

static int read_members(struct sbatch *sbatch, struct sbatch_shape *shape, struct error *err)
{
    const struct sbatch_given *tasks = given_either(sbatch, SBATCH_RANKS, SBATCH_NTASKS);
    const struct sbatch_given *per_node =
        given_either(sbatch, SBATCH_NTASKS_PER_NODE, SBATCH_TASKS_PER_NODE);
    int64_t each = 1;

    if (is_batch(sbatch))
        return read_tasks(sbatch, shape, err);
    int code = read_nodes(sbatch, shape, err);
    shape->members = shape->nodes;
    if (code == 0 && per_node)
        code = given_parse_count(per_node, REQUEST_MEMBERS_MAX, &each, err);
    if (code == 0 && tasks)
        code = parse_ranks(sbatch, tasks, &shape->members, err);
    if (code < 0)
        return code;
    if (!tasks)
        shape->members = shape->nodes * each;
    else if (per_node && shape->members > shape->nodes * each)
        return given_fail(tasks, err, "%" PRId64 " on %" PRId64 " node%s with %" PRId64 " each",
                          shape->members, shape->nodes, shape->nodes > 1 ? "s" : "", each);
    if ((tasks || per_node) && !json_object_get(sbatch->job, "ranks"))
        json_object_set_new(sbatch->job, "ranks", json_integer(shape->members));
    return 0;
}

/* GPUs of a node among its members. */
static int divide_gpus(const struct sbatch_given *option, struct sbatch_shape *shape,
                       struct error *err)
{
    for (uint32_t i = 0; i < shape->request.gpu_alternatives; i++) {
        struct gpu_ask *ask = &shape->request.gpus[i];
        int64_t total = ask->count * shape->nodes;
        bool is_share = ask->kind == SHARE_FRACTION || ask->kind == SHARE_MPS;

        if (shape->members == shape->nodes)
            continue;
        if (is_share || total % shape->members != 0 || total < shape->members)
            return given_fail(option, err,
                              "'%.60s' of a node cannot be divided among %" PRId64
                              " members; use --gpus for each",
                              option->value, shape->members);
        ask->count = (uint16_t)(total / shape->members);
    }
    return 0;
}

/* --gpus-per-task of a batch script: the job has them all. */
static int multiply_gpus(const struct sbatch_given *option, struct sbatch_shape *shape,
                         struct error *err)
{
    for (uint32_t i = 0; i < shape->request.gpu_alternatives; i++) {
        struct gpu_ask *ask = &shape->request.gpus[i];
        bool is_share = ask->kind == SHARE_FRACTION || ask->kind == SHARE_MPS;

        if ((is_share && shape->tasks > 1) || ask->count * shape->tasks > UINT16_MAX ||
            ask->count != shape->request.gpus[0].count)
            return given_fail(option, err,
                              "'%.60s' for each of %" PRId64 " tasks: expected whole GPUs",
                              option->value, shape->tasks);
    }
    for (uint32_t i = 0; i < shape->request.gpu_alternatives; i++) {
        shape->task_gpus =
            shape->request.gpus[i].kind == SHARE_WHOLE ? shape->request.gpus[0].count : 0;
        shape->request.gpus[i].count = (uint16_t)(shape->request.gpus[i].count * shape->tasks);
    }
    return 0;
}

/* "per_task:N" is what --gpus-per-task=N does. */
static bool is_bound_so(const struct sbatch *sbatch, const char *value)
{
    const struct sbatch_given *each = given_find(sbatch, SBATCH_GPUS_PER_TASK);

    return each && string_starts(value, "per_task:") &&
           strcmp(value + strlen("per_task:"), each->value) == 0;
}

static int check_bind(const struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *bind = given_find(sbatch, SBATCH_GPU_BIND);

    if (!bind || strcmp(bind->value, "none") == 0 || is_bound_so(sbatch, bind->value))
        return 0;
    return given_fail(bind, err,
                      "'%.60s': expected none, or per_task:N with --gpus-per-task=N, which binds "
                      "GPUs to tasks",
                      bind->value);
}

static int parse_gpus(const struct sbatch *sbatch, const struct sbatch_given *option,
                      struct request *ret, struct error *err)
{
    request_default(ret);
    int code = option == given_find(sbatch, SBATCH_GRES)
                   ? request_parse_gres(ret, option->value, err)
                   : request_parse_gpus(ret, option->value, err);
    return code < 0 && option->place ? error_prefix(err, code, "%s", option->place) : code;
}

/* A batch script may state its GPUs in several ways, if they are the same ones. */
static int check_others(const struct sbatch *sbatch, const struct sbatch_given *option,
                        const struct sbatch_shape *shape, struct error *err)
{
    static const enum sbatch_id ids[] = { SBATCH_GPUS, SBATCH_GRES, SBATCH_GPUS_PER_NODE };
    AUTO_RELEASE(text) struct text all = { 0 };

    request_format_gpus(&shape->request, &all);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        const struct sbatch_given *other = given_find(sbatch, ids[i]);
        AUTO_RELEASE(text) struct text words = { 0 };
        struct request request;
        if (!other || other == option || strcmp(other->value, "none") == 0)
            continue;
        int code = parse_gpus(sbatch, other, &request, err);
        if (code < 0)
            return code;
        request_format_gpus(&request, &words);
        if (shape->tasks == 0 || strcmp(text_string(&words), text_string(&all)) != 0)
            return given_fail(other, err,
                              "'%.60s', and --%s: '%.60s' makes '%.60s'; expected one of them",
                              other->value, option->name, option->value, text_string(&all));
    }
    return 0;
}

static int read_gpus(struct sbatch *sbatch, struct sbatch_shape *shape, struct error *err)
{
    const struct sbatch_given *each = given_either(sbatch, SBATCH_GPUS_PER_TASK, SBATCH_GPUS);
    const struct sbatch_given *gres = given_find(sbatch, SBATCH_GRES);
    gres = gres && strcmp(gres->value, "none") != 0 ? gres : NULL;
    const struct sbatch_given *per_node = gres ? gres : given_find(sbatch, SBATCH_GPUS_PER_NODE);
    const struct sbatch_given *option = each ? each : per_node;

    request_default(&shape->request);
    int code = check_bind(sbatch, err);
    if (code < 0 || !option)
        return code;
    code = parse_gpus(sbatch, option, &shape->request, err);
    if (code == 0 && !each)
        code = divide_gpus(option, shape, err);
    else if (code == 0 && shape->tasks > 0 && each == given_find(sbatch, SBATCH_GPUS_PER_TASK))
        code = multiply_gpus(option, shape, err);
    if (code == 0)
        code = check_others(sbatch, option, shape, err);
    if (code < 0)
        return code;
    AUTO_RELEASE(text) struct text gpus = { 0 };
    request_format_gpus(&shape->request, &gpus);
    sbatch_set_string(sbatch, "gpus", gpus.length > 0 ? gpus.bytes : "0");
    return 0;
}

/* For options that are given for each GPU. */
static int gpus_of_member(const struct sbatch_given *option, const struct sbatch_shape *shape,
                          int64_t *ret, struct error *err)
{
    if (shape->request.gpu_alternatives == 0)
        return given_fail(option, err, "no gpus are requested");
    *ret = shape->request.gpus[0].count;
    return 0;
}

static int read_cpus(struct sbatch *sbatch, struct sbatch_shape *shape, struct error *err)
{
    const struct sbatch_given *each = given_either(sbatch, SBATCH_CPUS, SBATCH_CPUS_PER_TASK);
    const struct sbatch_given *per_gpu = given_find(sbatch, SBATCH_CPUS_PER_GPU);
    char text[UNITS_TEXT_SIZE];
    int64_t gpus = 1;

    const int64_t tasks = shape->tasks > 0 ? shape->tasks : 1;
    const struct sbatch_given *option = each ? each : per_gpu;
    shape->cpu_milli = 1000 * tasks;
    if (!option && tasks > 1)
        sbatch_set_string(sbatch, "cpus", units_format_milli(text, shape->cpu_milli));
    if (!option)
        return 0;
    int code = units_parse_milli(option->value, CPU_MILLI_MAX, &shape->cpu_milli, err);
    if (code < 0)
        return given_prefix(option, code, err);
    if (per_gpu)
        code = gpus_of_member(option, shape, &gpus, err);
    if (code < 0)
        return code;
    shape->cpu_milli *= per_gpu ? gpus : tasks;
    sbatch_set_string(sbatch, "cpus", units_format_milli(text, shape->cpu_milli));
    return 0;
}

static int read_memory(struct sbatch *sbatch, struct sbatch_shape *shape, struct error *err)
{
    const struct sbatch_given *each = given_find(sbatch, SBATCH_MEMORY);
    const struct sbatch_given *per_node = given_find(sbatch, SBATCH_MEM);
    const struct sbatch_given *per_cpu = given_find(sbatch, SBATCH_MEM_PER_CPU);
    const struct sbatch_given *per_gpu = given_find(sbatch, SBATCH_MEM_PER_GPU);
    const struct sbatch_given *option = each       ? each
                                        : per_node ? per_node
                                        : per_cpu  ? per_cpu
                                                   : per_gpu;
    int64_t mib, gpus = 1;

    if (!option)
        return 0;
    int code = units_parse_mib(option->value, &mib, err);
    if (code < 0)
        return given_prefix(option, code, err);
    if (mib == 0 && option == per_node) {
        sbatch_set_string(sbatch, "memory", "all");
        return 0;
    }
    if (mib == 0 && !each)
        return given_fail(option, err,
                          "0: expected a size, as in 4G; --mem=0 is all memory of a node");
    if (per_gpu)
        code = gpus_of_member(option, shape, &gpus, err);
    if (code < 0)
        return code;
    if (mib > MEMORY_MIB_MAX)
        return given_fail(option, err, "'%.40s': more than a pebibyte", option->value);
    mib *= gpus;
    if (per_node)
        mib = (mib * shape->nodes + shape->members - 1) / shape->members;
    if (per_cpu)
        mib = (mib * (shape->cpu_milli / 10) + 99) / 100;
    AUTO_FREE char *size = mem_printf("%" PRId64 "M", mib);
    sbatch_set_string(sbatch, "memory", size);
    return 0;
}

int sbatch_read_shape(struct sbatch *sbatch, struct sbatch_shape *ret, struct error *err)
{
    static int (*const parts[])(struct sbatch *, struct sbatch_shape *, struct error *) = {
        read_members,
        read_gpus,
        read_cpus,
        read_memory,
    };
    int code = 0;

    *ret = (struct sbatch_shape){ 0 };
    for (size_t i = 0; i < COUNT_OF(parts) && code == 0; i++)
        code = parts[i](sbatch, ret, err);
    set_tasks(sbatch, ret);
    return code;
}
