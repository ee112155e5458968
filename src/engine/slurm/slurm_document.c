/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_document.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/slurm/gres.h"

struct gpus {
    uint32_t count;              /* of a part: in thousandths of a GPU */
    char model[GRES_MODEL_SIZE]; /* "gpu": any */
    bool is_part, is_mps;
};

static bool is_set(const char *text)
{
    return text && text[0];
}

/* "shard:2", "mps:h100:50": as much of one GPU as tarn counts it. */
static int read_part(const char *part, const struct slurm_largest *largest, struct gpus *gpus,
                     struct error *err)
{
    AUTO_FREE char(*models)[GRES_MODEL_SIZE] = NULL;
    bool is_mps = string_starts(part, "mps");
    uint32_t parts = is_mps ? largest->mps : largest->shards;
    AUTO_FREE char *word = mem_string_of(part, strcspn(part, ","));
    AUTO_FREE char *as_gpu = mem_printf("gpu%s", word + strcspn(word, ":"));
    uint64_t count = gres_number(word);

    if (count == 0 && !strchr(word, ':'))
        count = 1;
    if (count == 0 || count > parts)
        return error_set(err, -ENOTSUP, "it asks for a part of a GPU that no node offers (%s)",
                         word);
    gpus->is_part = true;
    gpus->is_mps = is_mps;
    gpus->count = (uint32_t)(count * 1000 / parts);
    gres_models(as_gpu, &models);
    memcpy(gpus->model, models[0], sizeof(gpus->model));
    return 0;
}

/* "gres:gpu:h100:2", "gres:shard:1": resources of other kinds are Slurm's alone. */
static int read_gpus(const char *text, uint32_t times, const struct slurm_largest *largest,
                     struct gpus *gpus, struct error *err)
{
    struct text plain = { 0 };
    AUTO_FREE char(*models)[GRES_MODEL_SIZE] = NULL;
    int code = 0;

    for (const char *at = text ? text : ""; *at;) {
        size_t length = strcspn(at, ",");
        const char *part = string_starts(at, "gres:") || string_starts(at, "gres/") ? at + 5 : at;
        text_printf(&plain, "%s%.*s", plain.length > 0 ? "," : "", (int)(at + length - part), part);
        if (code == 0 && (string_starts(part, "shard") || string_starts(part, "mps")))
            code = read_part(part, largest, gpus, err);
        at += length + (at[length] == ',');
    }
    uint32_t count = gres_models(text_string(&plain), &models);
    text_release(&plain);
    if (code < 0)
        return code;
    for (uint32_t i = 0; i < count; i++) {
        if (gpus->count > 0 && strcmp(gpus->model, models[i]) != 0)
            return error_set(err, -ENOTSUP, "it asks for GPUs of several models");
        memcpy(gpus->model, models[i], sizeof(gpus->model));
        gpus->count += times;
    }
    return 0;
}

static uint32_t divide_up(uint32_t a, uint32_t b)
{
    return a / b + (a % b > 0);
}

/* Sets the number of nodes, too: as many as the GPUs need. */
static int count_gpus(const struct slurm_wish *wish, const struct slurm_largest *largest,
                      uint32_t *nodes, struct gpus *ret, struct error *err)
{
    struct gpus all = { 0 };
    uint32_t most = largest->gpus > 0 ? largest->gpus : 1;

    int code = read_gpus(wish->per_node, 1, largest, ret, err);
    if (code == 0 && ret->count == 0)
        code = read_gpus(wish->per_job, 1, largest, &all, err);
    if (code == 0 && ret->count == 0 && all.count == 0)
        code = read_gpus(wish->per_task, wish->task_count, largest, &all, err);
    if (code == 0 && is_set(wish->per_socket))
        code = error_set(err, -ENOTSUP, "it asks for GPUs of each socket");
    if (code == 0 && ret->is_part && *nodes > 1)
        code = error_set(err, -ENOTSUP, "it asks for parts of GPUs on several nodes");
    if (code < 0 || all.count == 0)
        return code;
    if (divide_up(all.count, *nodes) > most)
        *nodes = divide_up(all.count, most);
    *ret = all;
    ret->count = divide_up(all.count, *nodes);
    return 0;
}

/* A value of JSON; the text becomes valid UTF-8 without control characters. */
static void add_value(struct text *json, const char *value)
{
    char clean[4096];

    string_clean(clean, sizeof(clean), value, strlen(value));
    text_add_char(json, '"');
    for (const char *at = clean; *at; at++) {
        if (*at == '"' || *at == '\\')
            text_add_char(json, '\\');
        text_add_char(json, *at);
    }
    text_add_char(json, '"');
}

static void add_text(struct text *json, const char *key, const char *value)
{
    if (!is_set(value))
        return;
    text_printf(json, ",\"%s\":", key);
    add_value(json, value);
}

/* Features and the node by name: conditions of tarn, all of which must hold. */
static int add_where(const struct slurm_wish *wish, struct text *json, struct error *err)
{
    const char *start = ",\"where\":[";

    for (const char *at = wish->features ? wish->features : ""; *at;) {
        size_t length = strcspn(at, "&,");
        AUTO_FREE char *feature = mem_string_of(at, length);
        for (size_t i = 0; i < length; i++) {
            if (!isalnum((unsigned char)at[i]) && !strchr("_-.", at[i]))
                return error_set(err, -ENOTSUP, "its constraint '%s' is not a list of features",
                                 wish->features);
        }
        text_add(json, start);
        add_value(json, feature);
        start = ",";
        at += length + (at[length] != '\0');
    }
    AUTO_FREE char *node = mem_printf("node=%s", is_set(wish->req_nodes) ? wish->req_nodes : "");
    if (is_set(wish->req_nodes)) {
        text_add(json, start);
        add_value(json, node);
        start = ",";
    }
    text_add(json, start[1] ? "" : "]");
    return 0;
}

static int check(const struct slurm_wish *wish, struct error *err)
{
    if (wish->is_component)
        return error_set(err, -ENOTSUP, "it is a heterogeneous job");
    if (is_set(wish->reservation))
        return error_set(err, -ENOTSUP, "it asks for a reservation of Slurm");
    if (is_set(wish->exc_nodes))
        return error_set(err, -ENOTSUP, "it excludes nodes");
    if (is_set(wish->req_nodes) && strpbrk(wish->req_nodes, ",["))
        return error_set(err, -ENOTSUP, "it asks for several nodes by name");
    return 0;
}

static int64_t cpus_of(const struct slurm_wish *wish, const struct slurm_largest *largest,
                       const struct gpus *gpus, uint32_t nodes)
{
    int64_t cpus = wish->cpu_count > 0 ? divide_up(wish->cpu_count, nodes) : 1;
    int64_t of_gpus = gpus->is_part ? 0 : gpus->count * (int64_t)gres_number(wish->cpus_per_gpu);

    if (wish->is_exclusive && largest->cpu_milli >= 1000)
        return largest->cpu_milli / 1000;
    return of_gpus > cpus ? of_gpus : cpus;
}

static int64_t memory_of(const struct slurm_wish *wish, const struct gpus *gpus, int64_t cpus)
{
    if (!gpus->is_part && gres_number(wish->mib_per_gpu) > 0)
        return gpus->count * (int64_t)gres_number(wish->mib_per_gpu);
    return wish->is_memory_per_cpu ? wish->memory_mib * cpus : wish->memory_mib;
}

static void add_gpus(struct text *json, const struct gpus *gpus)
{
    bool is_typed = strcmp(gpus->model, "gpu") != 0;

    if (gpus->count == 0)
        return;
    text_printf(json, ",\"gpus\":\"%s", is_typed ? gpus->model : "");
    if (gpus->is_mps)
        text_printf(json, "%smps=%" PRIu32 "%%\"", is_typed ? "," : "", divide_up(gpus->count, 10));
    else if (gpus->is_part && gpus->count < 1000)
        text_printf(json, "%s0.%03" PRIu32 "\"", is_typed ? ":" : "", gpus->count);
    else
        text_printf(json, "%s%" PRIu32 "\"", is_typed ? ":" : "", gpus->is_part ? 1 : gpus->count);
}

char *slurm_document(const struct slurm_wish *wish, const struct slurm_largest *largest,
                     struct error *err)
{
    uint32_t nodes = wish->node_count > 0 ? wish->node_count : 1;
    AUTO_RELEASE(text) struct text where = { 0 };
    struct text json = { 0 };
    struct gpus gpus = { 0 };

    int code = check(wish, err);
    if (code == 0)
        code = count_gpus(wish, largest, &nodes, &gpus, err);
    if (code == 0)
        code = add_where(wish, &where, err);
    if (code < 0)
        return NULL;
    int64_t cpus = cpus_of(wish, largest, &gpus, nodes), mib = memory_of(wish, &gpus, cpus);
    text_printf(&json,
                "{\"run\":\": runs in Slurm\",\"requeue\":false,\"nodes\":%" PRIu32
                ",\"cpus\":%" PRId64,
                nodes, cpus);
    add_gpus(&json, &gpus);
    if (mib > 0)
        text_printf(&json, ",\"memory\":%" PRId64, mib);
    if (wish->limit_min > 0)
        text_printf(&json, ",\"max_duration\":\"%" PRIu32 "m\"", wish->limit_min + 1);
    text_add(&json, text_string(&where));
    add_text(&json, "name", wish->name);
    add_text(&json, "comment", wish->comment);
    if (is_set(wish->cwd) && wish->cwd[0] == '/')
        add_text(&json, "cwd", wish->cwd);
    if (is_set(wish->output) && wish->output[0] == '/' && !strchr(wish->output, '%'))
        add_text(&json, "output", wish->output);
    text_add(&json, "}");
    return text_take(&json);
}

uint32_t slurm_tasks(const char *text, uint32_t **ret)
{
    LIST(uint32_t) tasks = { 0 };
    const char *at = text ? text : "";

    while (isdigit((unsigned char)*at)) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first, step = 1;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (*end == ':')
            step = strtoul(end + 1, &end, 10);
        for (; first <= last && step > 0 && tasks.count <= SLURM_TASKS_MAX; first += step)
            list_add(&tasks, (uint32_t)first);
        at = *end == ',' ? end + 1 : end;
    }
    if ((*at && *at != '%') || tasks.count > SLURM_TASKS_MAX)
        tasks.count = 0;
    *ret = tasks.items;
    return (uint32_t)tasks.count;
}
