/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/trace/lines.h"
#include "sim/trace/trace_cells.h"

static const int64_t plenty_cpu_milli = INT64_C(1000000000);
static const int64_t plenty_memory_mib = INT64_C(1) << 40;

void cluster_release(struct cluster *cluster)
{
    list_release(&cluster->nodes);
    workload_release(&cluster->strings);
}

char *path_beside(const char *folder, const char *path)
{
    return path[0] == '/' || !folder[0] ? mem_string(path) : mem_printf("%s/%s", folder, path);
}

bool models_have(const char *models, const char *model)
{
    size_t length = strlen(model);

    if (!models[0])
        return true;
    for (const char *at = models; *at;) {
        size_t part = strcspn(at, "|");
        if (part == length && memcmp(at, model, length) == 0)
            return true;
        at += part + (at[part] == '|');
    }
    return false;
}

int64_t cluster_count(const struct cluster *cluster, const char *models)
{
    int64_t count = 0;

    for (size_t i = 0; i < cluster->nodes.count; i++) {
        const struct cluster_node *node = &cluster->nodes.items[i];
        count += models_have(models, node->model) ? node->gpus : 0;
    }
    return count;
}

static int add_node(struct cluster *cluster, const struct cluster_node *node, struct error *err)
{
    if (cluster->nodes.count == CLUSTER_NODES_MAX)
        return error_set(err, -E2BIG, "more than %d nodes", CLUSTER_NODES_MAX);
    if (cluster->gpu_count + node->gpus > CLUSTER_GPUS_MAX)
        return error_set(err, -E2BIG, "more than %d gpus", CLUSTER_GPUS_MAX);
    list_add(&cluster->nodes, *node);
    cluster->gpu_count += node->gpus;
    if (node->gpus > cluster->gpus_max)
        cluster->gpus_max = node->gpus;
    return 0;
}

/* sn,cpu_milli,memory_mib,gpu,model */
static int read_openb_node(const struct cells *cells, struct cluster *cluster, struct error *err)
{
    double cpus, memory, gpus;

    if (cells->count < 5)
        return cells_fail(cells, CELLS_MAX, err, "5: sn,cpu_milli,memory_mib,gpu,model");
    int code = cells_number(cells, 1, 0, 1e9, &cpus, err);
    if (code == 0)
        code = cells_number(cells, 2, 0, 1e12, &memory, err);
    if (code == 0)
        code = cells_number(cells, 3, 0, 64, &gpus, err);
    if (code < 0)
        return code;
    struct cluster_node node = {
        .name = workload_string(&cluster->strings, cells->items[0].text),
        .model = workload_lower(&cluster->strings, cells->items[4].text),
        .rack = "",
        .block = "",
        .cpu_milli = llrint(cpus),
        .memory_mib = llrint(memory),
        .gpus = (uint32_t)gpus,
    };
    return add_node(cluster, &node, err);
}

/* num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node (GiB) */
static int read_muri_row(const struct cells *cells, struct cluster *cluster, struct error *err)
{
    double values[5];
    char name[48];

    if (cells->count < 5)
        return cells_fail(
            cells, CELLS_MAX, err,
            "5: num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node");
    for (uint32_t i = 0; i < 5; i++) {
        int code = cells_number(cells, i, 0, i < 3 ? 10000 : 1e6, &values[i], err);
        if (code < 0)
            return code;
    }
    for (int rack = 0; rack < (int)values[0]; rack++) {
        for (int i = 0; i < (int)values[1]; i++) {
            struct cluster_node node = { .block = "", .model = CLUSTER_MODEL_NONE };
            snprintf(name, sizeof(name), "rack%02d", rack);
            node.rack = workload_string(&cluster->strings, name);
            snprintf(name, sizeof(name), "node%02d-%03d", rack, i);
            node.name = workload_string(&cluster->strings, name);
            node.gpus = (uint32_t)values[2];
            node.cpu_milli = llrint(values[3] * 1000);
            node.memory_mib = llrint(values[4] * 1024);
            int code = add_node(cluster, &node, err);
            if (code < 0)
                return code;
        }
    }
    return 0;
}

typedef int row_fn(const struct cells *cells, struct cluster *cluster, struct error *err);

static int read_file(const char *path, row_fn *read_row, struct cluster *cluster, struct error *err)
{
    struct cells cells = { .path = path };
    struct lines lines;
    char *line;
    int got = 0;

    int code = lines_open(&lines, path, err);
    while (code == 0) {
        got = lines_next(&lines, &line, err);
        if (got <= 0)
            break;
        cells.line = lines.number;
        if (lines.number == 1 || !line[strspn(line, " \t")])
            continue; /* the header */
        code = cells_split(&cells, line, ',', err);
        if (code == 0)
            code = read_row(&cells, cluster, err);
    }
    lines_close(&lines);
    return code < 0 ? code : got;
}

static int read_from_file(const struct reader *reader, const json_t *object, const char *folder,
                          struct cluster *cluster, struct error *err)
{
    static const char *const keys[] = { "format", "file", NULL };
    static const char *const words[] = { "openb", "muri", NULL };
    static row_fn *const rows[] = { read_openb_node, read_muri_row };
    const char *file = NULL;
    size_t format = 0;

    int code = reader_check_keys(reader, object, keys);
    if (code == 0)
        code = reader_word(reader, object, "format", words, &format);
    if (code == 0)
        code = reader_string(reader, object, "file", 4096, &file);
    if (code == 0 && !file)
        code = reader_fail(reader, -EINVAL, object, NULL, "no file; expected file: PATH");
    if (code < 0)
        return code;
    AUTO_FREE char *path = path_beside(folder, file);
    return read_file(path, rows[format], cluster, err);
}

static int read_mib(const struct reader *reader, const json_t *object, const char *key,
                    int64_t *ret)
{
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    int code = reader_scalar(reader, object, key, "a size like 64GiB", buffer, &text);
    if (code < 0 || !text)
        return code;
    code = units_parse_mib(text, ret, reader->err);
    return code < 0 ? reader_place(reader, code, object, key) : 0;
}

struct group {
    int64_t nodes, gpus, cpus, memory_mib, gpu_memory_mib, racks, blocks, numa;
    const char *model;
    bool mig;
};

static int read_group(const struct reader *reader, const json_t *object, struct group *group)
{
    static const char *const keys[] = { "nodes", "gpus",   "model", "cpus", "memory", "gpu_memory",
                                        "racks", "blocks", "numa",  "mig",  NULL };

    *group = (struct group){
        .nodes = 1, .gpus = 0, .cpus = -1, .memory_mib = -1, .model = CLUSTER_MODEL_NONE
    };
    int code = reader_check_keys(reader, object, keys);
    if (code == 0)
        code = reader_integer(reader, object, "nodes", 1, CLUSTER_NODES_MAX, &group->nodes);
    if (code == 0)
        code = reader_integer(reader, object, "gpus", 0, 65535, &group->gpus);
    if (code == 0)
        code = reader_name(reader, object, "model", &group->model);
    if (code == 0)
        code = reader_integer(reader, object, "cpus", 0, 1000000, &group->cpus);
    if (code == 0)
        code = read_mib(reader, object, "memory", &group->memory_mib);
    if (code == 0)
        code = read_mib(reader, object, "gpu_memory", &group->gpu_memory_mib);
    if (code == 0)
        code = reader_integer(reader, object, "racks", 0, CLUSTER_NODES_MAX, &group->racks);
    if (code == 0)
        code = reader_integer(reader, object, "blocks", 0, CLUSTER_NODES_MAX, &group->blocks);
    if (code == 0)
        code = reader_integer(reader, object, "numa", 0, 64, &group->numa);
    if (code == 0)
        code = reader_bool(reader, object, "mig", &group->mig);
    return code;
}

/* Equal parts, in order: which of `parts` the i-th of `count` is in. */
static const char *part_name(struct cluster *cluster, const char *kind, int64_t parts, int64_t i,
                             int64_t count)
{
    char name[48];

    if (parts == 0)
        return "";
    snprintf(name, sizeof(name), "%s%03" PRId64, kind, i * parts / count);
    return workload_string(&cluster->strings, name);
}

static int add_group(const struct group *group, size_t number, struct cluster *cluster,
                     struct error *err)
{
    char name[64];

    for (int64_t i = 0; i < group->nodes; i++) {
        snprintf(name, sizeof(name), "node%02zu-%05" PRId64, number, i);
        struct cluster_node node = {
            .name = workload_string(&cluster->strings, name),
            .model = workload_lower(&cluster->strings, group->model),
            .rack = part_name(cluster, "rack", group->racks, i, group->nodes),
            .block = part_name(cluster, "block", group->blocks, i, group->nodes),
            .cpu_milli = group->cpus >= 0 ? group->cpus * 1000 : plenty_cpu_milli,
            .memory_mib = group->memory_mib >= 0 ? group->memory_mib : plenty_memory_mib,
            .gpu_memory_mib = group->gpu_memory_mib,
            .gpus = (uint32_t)group->gpus,
            .numa = (uint32_t)group->numa,
            .mig = group->mig,
        };
        int code = add_node(cluster, &node, err);
        if (code < 0)
            return code;
    }
    return 0;
}

int cluster_read(const struct reader *reader, const json_t *object, const char *folder,
                 struct cluster *cluster, struct error *err)
{
    struct group group;
    int code = 0;

    if (json_is_array(object)) {
        for (size_t i = 0; i < json_array_size(object) && code == 0; i++) {
            code = read_group(reader, json_array_get(object, i), &group);
            if (code == 0)
                code = add_group(&group, i, cluster, err);
        }
    } else if (reader_get(object, "format") || reader_get(object, "file")) {
        code = read_from_file(reader, object, folder, cluster, err);
    } else {
        code = read_group(reader, object, &group);
        if (code == 0)
            code = add_group(&group, 0, cluster, err);
    }
    if (code == 0 && cluster->nodes.count == 0)
        code = reader_fail(reader, -EINVAL, object, NULL, "no node in it");
    return code;
}

static int tell_devices(const struct cluster_node *node, cluster_event_fn *fn, void *user,
                        struct error *err)
{
    char uuid[WORKLOAD_TEXT_MAX + 16];
    int code = 0;

    for (uint32_t i = 0; i < node->gpus && code == 0; i++) {
        snprintf(uuid, sizeof(uuid), "%s.%" PRIu32, node->name, i);
        struct event event = {
            .kind = EVENT_DEVICE,
            .device = { .node = node->name,
                        .uuid = uuid,
                        .model = node->model,
                        .product = "",
                        .address = "",
                        .vendor = "",
                        .index = i,
                        .memory_mib = node->gpu_memory_mib,
                        .numa_node = node->numa ? (int32_t)(i * node->numa / node->gpus) + 1 : 0,
                        .mig_enabled = node->mig,
                        .sick = "" },
        };
        code = fn(user, &event, err);
    }
    return code;
}

int cluster_tell(const struct cluster *cluster, cluster_event_fn *fn, void *user, struct error *err)
{
    for (size_t i = 0; i < cluster->nodes.count; i++) {
        const struct cluster_node *node = &cluster->nodes.items[i];
        struct event event = {
            .kind = EVENT_NODE,
            .node = { .name = node->name,
                      .cpu_milli = node->cpu_milli,
                      .memory_mib = node->memory_mib,
                      .reason = "",
                      .rack = node->rack,
                      .block = node->block },
        };
        int code = fn(user, &event, err);
        if (code == 0)
            code = tell_devices(node, fn, user, err);
        if (code < 0)
            return code;
    }
    return 0;
}
