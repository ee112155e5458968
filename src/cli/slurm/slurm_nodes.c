/* SPDX-License-Identifier: Apache-2.0 */
/* sinfo: pools and nodes */
#include "cli/slurm/slurm_nodes.h"

#include <inttypes.h>
#include <string.h>

#include "cli/fields.h"
#include "cli/slurm/slurm.h"
#include "cli/slurm/slurm_options.h"

/* ---- fields ---- */

static const json_t *first_of(const json_t *line)
{
    return json_array_get(json_object_get(line, "nodes"), 0);
}

static void add_pool(const json_t *line, struct text *text)
{
    text_add(text, field_text(line, "pool"));
}

static void add_marked_pool(const json_t *line, struct text *text)
{
    bool is_default = strcmp(field_text(line, "pool"), "default") == 0;

    text_printf(text, "%s%s", field_text(line, "pool"), is_default ? "*" : "");
}

static void add_up(const json_t *line, struct text *text)
{
    (void)line;
    text_add(text, "up");
}

static void add_limit(const json_t *line, struct text *text)
{
    (void)line;
    text_add(text, "infinite");
}

static void add_count(const json_t *line, struct text *text)
{
    text_printf(text, "%zu", json_array_size(json_object_get(line, "nodes")));
}

static void add_state(const json_t *line, struct text *text)
{
    text_add(text, field_text(line, "state"));
}

static void add_long_state(const json_t *line, struct text *text)
{
    static const char *const words[][2] = {
        { "alloc", "allocated" }, { "mix", "mixed" }, { "drain", "drained" }, { "drng", "draining" }
    };
    const char *state = field_text(line, "state");

    for (size_t i = 0; i < COUNT_OF(words); i++)
        state = strcmp(words[i][0], state) == 0 ? words[i][1] : state;
    text_add(text, state);
}

static void add_names(const json_t *line, struct text *text)
{
    const json_t *node;
    size_t i;

    json_array_foreach(json_object_get(line, "nodes"), i, node)
        text_printf(text, "%s%s", i > 0 ? "," : "", field_text(node, "name"));
}

static void add_gres(const json_t *line, struct text *text)
{
    const char *gres = json_string_value(json_array_get(json_object_get(line, "gres"), 0));

    text_add(text, gres && gres[0] ? gres : "(null)");
}

static void add_cpus(const json_t *line, struct text *text)
{
    text_printf(text, "%" PRId64, field_milli(first_of(line), "cpus") / 1000);
}

static void add_memory(const json_t *line, struct text *text)
{
    text_printf(text, "%" PRId64, field_number(first_of(line), "memory"));
}

static void add_free_memory(const json_t *line, struct text *text)
{
    const json_t *node = first_of(line);

    text_printf(text, "%" PRId64,
                field_number(node, "memory") - field_number(node, "memory_given"));
}

static void add_reason(const json_t *line, struct text *text)
{
    const char *reason = field_text(first_of(line), "reason");

    text_add(text, reason[0] ? reason : "none");
}

/* "allocated/idle/other/total" */
static void add_cpu_states(const json_t *line, struct text *text)
{
    int64_t given = 0, other = 0, total = 0;
    const json_t *node;
    size_t i;

    json_array_foreach(json_object_get(line, "nodes"), i, node)
    {
        const int64_t cpus = field_milli(node, "cpus") / 1000,
                      used = (field_milli(node, "cpus_given") + 999) / 1000;
        bool is_up = strcmp(field_text(node, "state"), "up") == 0;
        given += used < cpus ? used : cpus;
        other += is_up || used >= cpus ? 0 : cpus - used;
        total += cpus;
    }
    text_printf(text, "%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64, given, total - given - other,
                other, total);
}

const struct slurm_field slurm_node_fields[] = {
    { 'P', "PartitionName", "PARTITION", 10, add_marked_pool, false },
    { 'R', "Partition", "PARTITION", 10, add_pool, false },
    { 'a', "Available", "AVAIL", 10, add_up, false },
    { 'l', "Time", "TIMELIMIT", 10, add_limit, false },
    { 'D', "Nodes", "NODES", 10, add_count, false },
    { 't', "StateCompact", "STATE", 10, add_state, false },
    { 'T', "StateLong", "STATE", 10, add_long_state, false },
    { 'N', "NodeList", "NODELIST", 20, add_names, false },
    { 'n', "NodeHost", "HOSTNAMES", 20, add_names, false },
    { 'G', "Gres", "GRES", 20, add_gres, false },
    { 'c', "CPUs", "CPUS", 8, add_cpus, false },
    { 'C', "CPUsState", "CPUS(A/I/O/T)", 15, add_cpu_states, false },
    { 'm', "Memory", "MEMORY", 10, add_memory, false },
    { 'e', "FreeMem", "FREE_MEM", 10, add_free_memory, false },
    { 'E', "Reason", "REASON", 20, add_reason, false },
    { 0 },
};

/* ---- lines ---- */

static const char *state_of(const json_t *node)
{
    const int64_t gpus = field_milli(node, "gpus"), given = field_milli(node, "gpus_given");
    const char *state = field_text(node, "state");
    bool is_used = given > 0 || field_milli(node, "cpus_given") > 0;
    bool is_full =
        gpus > 0 ? given >= gpus : field_milli(node, "cpus_given") >= field_milli(node, "cpus");

    if (strcmp(state, "drained") == 0)
        return is_used ? "drng" : "drain";
    if (strcmp(state, "up") != 0)
        return state;
    return !is_used ? "idle" : is_full ? "alloc" : "mix";
}

/* A static pool has the nodes of its devices; another those with its model, or all. */
static bool has_node(const json_t *pool, const json_t *node, const json_t *gpus)
{
    const char *model = field_text(pool, "model"), *name = field_text(node, "name");
    bool is_static = strcmp(field_text(pool, "type"), "static") == 0;
    const json_t *gpu;
    size_t i;

    json_array_foreach(gpus, i, gpu)
    {
        if (strcmp(field_text(gpu, "node"), name) != 0)
            continue;
        if (is_static ? strcmp(field_text(gpu, "pool"), field_text(pool, "name")) == 0
                      : !model[0] || strcmp(field_text(gpu, "model"), model) == 0)
            return true;
    }
    return !is_static && !model[0];
}

/* "gpu:h100:4", with commas where there are several models. New. */
static json_t *gres_of(const json_t *node, const json_t *gpus)
{
    AUTO(json) json_t *counts = json_object();
    AUTO_RELEASE(text) struct text text = { 0 };
    const char *model;
    json_t *count;
    const json_t *gpu;
    size_t i;

    json_array_foreach(gpus, i, gpu)
    {
        model = field_text(gpu, "model");
        if (strcmp(field_text(gpu, "node"), field_text(node, "name")) == 0)
            json_object_set_new(counts, model, json_integer(field_number(counts, model) + 1));
    }
    json_object_foreach(counts, model, count)
        text_printf(&text, "%sgpu:%s:%" JSON_INTEGER_FORMAT, text.length > 0 ? "," : "", model,
                    json_integer_value(count));
    return json_string(text_string(&text));
}

static void add_node(json_t *lines, const char *pool, json_t *node, const json_t *gpus,
                     bool each_node)
{
    json_t *line = NULL;
    size_t i;

    json_array_foreach(lines, i, line)
    {
        if (!each_node && strcmp(field_text(line, "pool"), pool) == 0 &&
            strcmp(field_text(line, "state"), state_of(node)) == 0)
            break;
    }
    if (i == json_array_size(lines)) {
        line = json_pack("{s:s, s:s, s:[], s:[]}", "pool", pool, "state", state_of(node), "nodes",
                         "gres");
        json_array_append_new(lines, line);
    }
    json_array_append(json_object_get(line, "nodes"), node);
    json_array_append_new(json_object_get(line, "gres"), gres_of(node, gpus));
}

int slurm_nodes_find(struct session *session, const char *pools, bool each_node, json_t **ret,
                     struct error *err)
{
    AUTO(json) json_t *pool_reply = NULL;
    AUTO(json) json_t *node_reply = NULL;
    AUTO(json) json_t *gpu_reply = NULL;
    json_t *lines = json_array(), *node;
    const json_t *pool;
    size_t i, k;

    int code = session_get(session, "/v1/pools", &pool_reply, err);
    if (code == 0)
        code = session_get(session, "/v1/nodes", &node_reply, err);
    if (code == 0)
        code = session_get(session, "/v1/gpus", &gpu_reply, err);
    const json_t *gpus = json_object_get(gpu_reply, "gpus");
    json_array_foreach(json_object_get(pool_reply, "pools"), i, pool)
    {
        if (code < 0 || !slurm_list_has(pools, field_text(pool, "name")))
            continue;
        json_array_foreach(json_object_get(node_reply, "nodes"), k, node)
        {
            if (has_node(pool, node, gpus))
                add_node(lines, field_text(pool, "name"), node, gpus, each_node);
        }
    }
    if (code < 0)
        json_decref(lines);
    else
        *ret = lines;
    return code;
}

int slurm_sinfo(int argc, char **argv)
{
    static const struct option options[] = {
        { "Node", no_argument, NULL, 'N' },
        { "noheader", no_argument, NULL, 'h' },
        { "format", required_argument, NULL, 'o' },
        { "Format", required_argument, NULL, 'O' },
        { "partition", required_argument, NULL, 'p' },
        { "all", no_argument, NULL, 'a' },
        { "long", no_argument, NULL, 'l' },
        { "clusters", required_argument, NULL, 'M' },
        { 0 },
    };
    AUTO_RELEASE(session) struct session session = { 0 };
    struct slurm_format format = { 0 };
    AUTO(json) json_t *lines = NULL;
    const char *letters = getenv("SINFO_FORMAT"), *names = NULL, *pools = getenv("SINFO_PARTITION");
    bool each_node = false, has_titles = true, is_long = false;
    const json_t *line;
    struct error err;
    int option;
    size_t i;

    while ((option = slurm_option(argc, argv, "Nho:O:p:alM:", options)) != -1) {
        switch (option) {
        case 'N':
            each_node = true;
            break;
        case 'h':
            has_titles = false;
            break;
        case 'o':
            letters = optarg;
            break;
        case 'O':
            names = optarg;
            break;
        case 'p':
            pools = optarg;
            break;
        case 'M':
            if (!slurm_is_own_cluster(optarg))
                return 1;
            break;
        case 'l':
            is_long = true;
            break;
        case 'a':
            break;
        default:
            return 1;
        }
    }
    if (optind < argc)
        return slurm_fail("'%s': expected options only", argv[optind]);
    if (!letters)
        letters = each_node && is_long ? "%20N %.5D %9P %11T %.4c %.8m %20E"
                  : each_node          ? "%20N %.6D %9P %6t"
                                       : "%9P %.5a %.10l %.6D %6t %N";
    int code = names ? slurm_format_names(&format, names, slurm_node_fields, &err)
                     : slurm_format_letters(&format, letters, slurm_node_fields, &err);
    if (code == 0)
        code = session_open(&session, &err);
    if (code == 0)
        code = slurm_nodes_find(&session, pools, each_node, &lines, &err);
    if (code == 0 && has_titles)
        slurm_put_titles(&format);
    json_array_foreach(lines, i, line) slurm_put_row(&format, line);
    slurm_format_release(&format);
    return code < 0 ? slurm_fail("%s", err.text) : 0;
}
