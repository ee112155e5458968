/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/list_view.h"
#include "cli/screen.h"
#include "cli/session.h"
#include "io/file.h"

enum { TOPOLOGY, RECORD, CLEAR };

const struct option_entry options_gpus[] = {
    { "topology", '\0', NULL, "distances between the GPUs" },
    { "record", '\0', "FILE", "save a description, for --devices recorded:FILE" },
    { "clear", '\0', "GPU", "mark a faulty GPU (number, NODE/NUMBER or UUID) as repaired" },
    { 0 },
};

/* "4 ana", "9 (0.5)" */
static void add_jobs(const json_t *gpu, struct text *text)
{
    const json_t *job;
    char share[UNITS_TEXT_SIZE];
    size_t i;

    json_array_foreach(json_object_get(gpu, "jobs"), i, job)
    {
        text_printf(text, "%s%s %s", text->length > 0 ? ", " : "", field_text(job, "label"),
                    field_text(job, "user"));
        if (!field_is_null(job, "share") && field_milli(job, "share") != 1000)
            text_printf(text, " (%s)", units_format_milli(share, field_milli(job, "share")));
    }
}

/* "synthetic" or "recorded"; "" for a real device. */
static const char *synthetic_word(const json_t *gpu)
{
    if (!field_is_true(gpu, "synthetic"))
        return "";
    return field_is_true(gpu, "recorded") ? "recorded" : "synthetic";
}

/* "H100" for "h100", with "synthetic" or "recorded" where it applies. */
static void cell_model(struct table *table, const json_t *gpu, const char *key)
{
    AUTO_RELEASE(text) struct text model = { 0 };

    upper_add(field_text(gpu, key), &model);
    table_add_format(table, "%s%s%s", text_string(&model),
                     field_is_true(gpu, "synthetic") ? " " : "", synthetic_word(gpu));
}

static void cell_mode(struct table *table, const json_t *gpu, const char *key)
{
    table_add_text(table, field_is_true(gpu, key) ? "mig" : "whole");
}

static void cell_given(struct table *table, const json_t *gpu, const char *key)
{
    table_add_format(table, "%" PRId64 "%%", field_milli(gpu, key) / 10);
}

static void cell_use(struct table *table, const json_t *gpu, const char *key)
{
    cell_percent(table, json_object_get(gpu, "reading"), key);
}

/* What is in use where that is known, else what was given. */
static void cell_memory(struct table *table, const json_t *gpu, const char *key)
{
    const json_t *reading = json_object_get(gpu, "reading");
    char part[UNITS_TEXT_SIZE], whole[UNITS_TEXT_SIZE];
    bool is_read = !field_is_null(reading, "memory_used");
    int64_t used = is_read ? (int64_t)(field_real(reading, "memory_used") / 1048576)
                           : field_number(gpu, "memory_given");

    if (field_is_null(gpu, key))
        table_add_absent(table);
    else
        table_add_format(table, "%s %s %s", used > 0 ? units_format_mib(part, used) : "0",
                         is_read ? "/" : "of", units_format_mib(whole, field_number(gpu, key)));
}

static void cell_temperature(struct table *table, const json_t *gpu, const char *key)
{
    const json_t *reading = json_object_get(gpu, "reading");

    if (field_is_null(reading, key))
        table_add_absent(table);
    else
        table_add_format(table, "%.0f°C", field_real(reading, key));
}

static void cell_power(struct table *table, const json_t *gpu, const char *key)
{
    const json_t *reading = json_object_get(gpu, "reading");

    if (field_is_null(reading, key))
        table_add_absent(table);
    else if (field_is_null(reading, "power_limit"))
        table_add_format(table, "%.0f W", field_real(reading, key));
    else
        table_add_format(table, "%.0f / %.0f W", field_real(reading, key),
                         field_real(reading, "power_limit"));
}

/* Why it is not allocated, else its jobs, else its fault. */
static void cell_fate(struct table *table, const json_t *gpu, const char *key)
{
    AUTO_RELEASE(text) struct text jobs = { 0 };
    const char *sick = field_text(gpu, key);
    const json_t *fault = json_array_get(json_object_get(gpu, "faults"), 0);

    add_jobs(gpu, &jobs);
    bool is_occupied = field_is_true(gpu, "occupied");
    if (sick[0])
        table_add_format(table, "%s%s%s%s", text_string(&jobs), jobs.length > 0 ? " · " : "",
                         is_occupied ? "" : "drained: ", sick);
    else if (fault)
        table_add_format(table, "%s%s%s", text_string(&jobs), jobs.length > 0 ? " · " : "",
                         field_text(fault, "words"));
    else
        table_add_text(table, text_string(&jobs));
    if (sick[0] || fault)
        table_style(table, sick[0] && !is_occupied ? TABLE_BAD : TABLE_WAITS);
}

static void print_footer(const json_t *gpus)
{
    char given[UNITS_TEXT_SIZE];
    const char *synthetic = "";
    int64_t milli = 0;
    size_t i, busy = 0, read = 0;
    const json_t *gpu;

    json_array_foreach(gpus, i, gpu)
    {
        const json_t *reading = json_object_get(gpu, "reading");
        milli += field_milli(gpu, "given");
        synthetic = synthetic[0] ? synthetic : synthetic_word(gpu);
        read += !field_is_null(reading, "gpu_use");
        busy += field_real(reading, "gpu_use") >= 0.05;
    }
    AUTO_RELEASE(text) struct text words = { 0 };
    size_t count = json_array_size(gpus);
    text_printf(&words, "%zu gpu%s · %s allocated", count, count == 1 ? "" : "s",
                units_format_milli(given, milli));
    if (read > 0)
        text_printf(&words, ", %zu busy", busy);
    if (synthetic[0])
        text_printf(&words, " · %s: no real devices", synthetic);
    talk("%s", text_string(&words));
}

static const struct list_column gpu_columns[] = {
    { "GPU", TABLE_RIGHT, 0, cell_number, "index" },
    { "MODEL", TABLE_LEFT, 8, cell_model, "model" },
    { "MODE", TABLE_LEFT, 0, cell_mode, "mig" },
    { "ALLOC", TABLE_RIGHT, 0, cell_given, "given" },
    { "USE", TABLE_RIGHT, 0, cell_use, "gpu_use" },
    { "MEMORY", TABLE_LEFT, 0, cell_memory, "memory" },
    { "TEMP", TABLE_RIGHT, 0, cell_temperature, "temperature" },
    { "POWER", TABLE_RIGHT, 0, cell_power, "power" },
    { "JOB", TABLE_LEFT, 8, cell_fate, "sick" },
    { "POOL", TABLE_LEFT, 0, cell_text, "pool" },
    { "NODE", TABLE_LEFT, 0, cell_text, "node" },
};

/* "GPU0  X  NV4  SYS": as nvidia-smi topo draws it. */
static void print_topology(const json_t *gpus)
{
    struct table_column columns[TABLE_COLUMNS_MAX] = { { .title = "" } };
    char titles[TABLE_COLUMNS_MAX][16];
    size_t count = json_array_size(gpus), i, k;
    const json_t *gpu, *word;

    count = count < TABLE_COLUMNS_MAX - 2 ? count : TABLE_COLUMNS_MAX - 2;
    for (i = 0; i < count; i++) {
        snprintf(titles[i], sizeof(titles[i]), "GPU%" PRId64,
                 field_number(json_array_get(gpus, i), "index"));
        columns[i + 1] = (struct table_column){ .title = titles[i] };
    }
    columns[count + 1] = (struct table_column){ .title = "NUMA" };
    AUTO(table) struct table *table = table_create(columns, count + 2);
    json_array_foreach(gpus, i, gpu)
    {
        table_start_row(table);
        table_add_format(table, "GPU%" PRId64, field_number(gpu, "index"));
        json_array_foreach(json_object_get(gpu, "links"), k, word)
        {
            if (k < count)
                table_add_text(table, value_text(word));
        }
        cell_number(table, gpu, "numa");
    }
    screen_table(table);
    talk("X itself · NVn n links · PIX one PCIe switch · PXB several · PHB one host bridge · NODE "
         "one "
         "NUMA node · SYS beyond · ? not known");
    if (json_array_size(gpus) > count)
        talk("only %zu of %zu gpus are shown; --json has all", count, json_array_size(gpus));
}

static int show_topology(struct session *session, const struct options *options, struct error *err)
{
    AUTO(json) json_t *reply = NULL;

    int code = session_get(session, "/v1/topology", &reply, err);
    if (code < 0)
        return code;
    const json_t *gpus = json_object_get(reply, "gpus"), *gpu;
    size_t i;
    if (options->is_json)
        reply_print(reply);
    else if (options->is_quiet)
        json_array_foreach(gpus, i, gpu) list_put_id(json_object_get(gpu, "uuid"));
    else if (json_array_size(gpus) == 0)
        talk("no gpus");
    else
        print_topology(gpus);
    return 0;
}

/* The description and readings of a device, without its users. */
static json_t *recorded_gpus(const json_t *gpus)
{
    static const char *const keys[] = {
        "index",  "node",    "uuid", "model", "product", "vendor",
        "memory", "address", "numa", "mig",   "sick",    "reading"
    };
    json_t *recorded = json_array();
    const json_t *gpu;
    size_t i;

    json_array_foreach(gpus, i, gpu)
    {
        json_t *kept = json_object();
        for (size_t k = 0; k < COUNT_OF(keys); k++)
            json_object_set(kept, keys[k], json_object_get(gpu, keys[k]));
        json_array_append_new(recorded, kept);
    }
    return recorded;
}

static int record(struct session *session, const char *path, const json_t *gpus, struct error *err)
{
    AUTO(json) json_t *topology = NULL;

    int code = session_get(session, "/v1/topology", &topology, err);
    if (code < 0)
        return code;
    AUTO(json)
    json_t *document = json_pack("{s:i, s:o, s:O}", "tarn_recording", 1, "gpus",
                                 recorded_gpus(json_object_get(gpus, "gpus")), "topology",
                                 json_object_get(topology, "gpus"));
    AUTO_FREE char *bytes = json_dumps(document, JSON_INDENT(1));
    code = file_replace(path, bytes, strlen(bytes), err);
    if (code == 0)
        talk("saved · tarn up --devices recorded:%s simulates the same devices", path);
    return code;
}

static int clear(struct session *session, const char *gpu, struct error *err)
{
    AUTO_FREE char *path = mem_printf("/v1/gpus/%s/clear", gpu);

    if (gpu[0] == '\0')
        return error_set(err, -EINVAL, "gpu '%s': expected a number, NODE/NUMBER or a UUID", gpu);
    int code = session_send(session, "POST", path, NULL, NULL, err);
    if (code == 0)
        talk("gpu %s can be allocated again", gpu);
    return code;
}

static int list(struct session *session, const struct options *options, struct error *err)
{
    const struct list_view view = { .key = "gpus",
                                    .id = "uuid",
                                    .none = "no gpus",
                                    .columns = gpu_columns,
                                    .count = COUNT_OF(gpu_columns) };
    AUTO(json) json_t *reply = NULL;

    int code = session_get(session, "/v1/gpus", &reply, err);
    if (code < 0)
        return code;
    if (options->values[RECORD])
        return record(session, options->values[RECORD], reply, err);
    if (list_show(&view, reply, options))
        print_footer(json_object_get(reply, "gpus"));
    return 0;
}

int run_gpus(const struct options *options)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    struct error err;

    int code = session_open(&session, &err);
    if (code == 0 && options->values[CLEAR])
        code = clear(&session, options->values[CLEAR], &err);
    else if (code == 0 && options->values[TOPOLOGY])
        code = show_topology(&session, options, &err);
    else if (code == 0)
        code = list(&session, options, &err);
    return code < 0 ? complain(&err) : 0;
}
