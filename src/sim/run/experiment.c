/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/experiment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/trace/lines.h"
#include "time/begin.h"
#include "time/civil.h"
#include "wire/json.h"

static const char *const experiment_keys[] = {
    "name",       "cluster",      "workload", "policy",   "pools",   "queues",
    "fair_share", "placement",    "backfill", "order",    "predict", "seeds",
    "measure",    "window",       "variants", "timezone", "starts",  "windows",
    "tariffs",    "reservations", "prices",   "config",   "speeds",  "choice",
    "schedule",   "look_ahead",   NULL
};

void experiment_destroy(struct experiment *experiment)
{
    if (!experiment)
        return;
    free(experiment->name);
    free(experiment->variant);
    free(experiment->folder);
    free(experiment->path);
    json_decref(experiment->document);
    cluster_release(&experiment->cluster);
    config_destroy(experiment->config);
    free(experiment->seeds);
    free(experiment->adapt.slice_starts);
    list_release(&experiment->adapt.speeds);
    free(experiment);
}

void experiment_list_release(struct experiment_list *list)
{
    for (size_t i = 0; i < list->items.count; i++)
        experiment_destroy(list->items.items[i]);
    list_release(&list->items);
}

static int add_seeds(const struct reader *reader, const json_t *document,
                     struct experiment *experiment, uint64_t from, uint64_t to)
{
    if (to < from || to - from >= EXPERIMENT_SEEDS_MAX - experiment->seed_count)
        return reader_fail(reader, -EINVAL, document, "seeds",
                           "expected 1 to %d seeds: 42, 42..51 or a list", EXPERIMENT_SEEDS_MAX);
    for (uint64_t seed = from; seed <= to; seed++) {
        experiment->seeds =
            mem_resize(experiment->seeds, experiment->seed_count + 1, sizeof(uint64_t));
        experiment->seeds[experiment->seed_count++] = seed;
    }
    return 0;
}

/* 42, "42..51", [1, 2, 3] */
static int read_seeds(const struct reader *reader, const json_t *document,
                      struct experiment *experiment)
{
    const json_t *value = reader_get(document, "seeds");
    unsigned long long from, to;
    int length = -1, code = 0;

    if (!value)
        return add_seeds(reader, document, experiment, 1, 1);
    if (json_is_string(value)) {
        const char *text = json_string_value(value);
        bool is_range = text[0] >= '0' && text[0] <= '9' &&
                        sscanf(text, "%19llu..%19llu%n", &from, &to, &length) == 2 && length > 0 &&
                        text[length] == '\0';
        return add_seeds(reader, document, experiment, is_range ? from : 1, is_range ? to : 0);
    }
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < count && code == 0; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        bool is_seed = json_is_integer(item) && json_integer_value(item) >= 0;
        uint64_t seed = (uint64_t)json_integer_value(item);
        code = add_seeds(reader, document, experiment, is_seed ? seed : 1, is_seed ? seed : 0);
    }
    return code == 0 && count == 0 ? add_seeds(reader, document, experiment, 1, 0) : code;
}

/* Policy, pools and queues in the words of a configuration. */
static int read_policy(const struct reader *reader, const json_t *document,
                       struct experiment *experiment)
{
    static const char *const misfits[] = { "wait", "drop", NULL };
    const json_t *policy = reader_get(document, "policy");
    struct reader inside = reader_at(reader, "policy");
    size_t misfit = 0;

    int code =
        config_read(document, reader->lines, reader->source, &experiment->config, reader->err);
    if (code < 0 || !policy)
        return code;
    code = config_read_policy(experiment->config, &inside, policy, "on_misfit");
    if (code == 0)
        code = reader_word(&inside, policy, "on_misfit", misfits, &misfit);
    experiment->is_dropping = misfit == 1;
    return code;
}

/* "2026-01-05T08:00"; unless it is given a Monday, at midnight. */
static int read_starts(const struct reader *reader, const json_t *document,
                       struct experiment *experiment)
{
    struct begin_fields fields;
    const char *text = NULL;

    experiment->starts = civil_day(1970, 1, 5) * USEC_PER_DAY;
    int code = reader_string(reader, document, "starts", 40, &text);
    if (code < 0 || !text)
        return code;
    if (!begin_split(text, &fields) || !fields.has_date)
        return reader_fail(reader, -EINVAL, document, "starts",
                           "'%s': expected a date like 2026-01-05 or 2026-01-05T08:00", text);
    experiment->starts = civil_day(fields.year, fields.month, fields.day) * USEC_PER_DAY +
                         fields.hour * USEC_PER_HOUR + fields.minute * USEC_PER_MIN +
                         fields.second * USEC_PER_SEC;
    return 0;
}

static int read_format(const struct reader *reader, const json_t *workload,
                       struct experiment *experiment)
{
    const char *names[40] = { 0 };
    char hint[READER_SCALAR_SIZE];
    const char *name = NULL, *file = NULL;

    int code = reader_string(reader, workload, "format", 64, &name);
    if (code == 0)
        code = reader_string(reader, workload, "file", 4096, &file);
    if (code < 0)
        return code;
    for (size_t i = 0; formats[i].name && i + 1 < COUNT_OF(names); i++)
        names[i] = formats[i].name;
    if (!name)
        return reader_fail(reader, -EINVAL, workload, NULL, "no format; expected format: NAME");
    experiment->format = format_find(name);
    if (!experiment->format)
        return reader_fail(reader, -EINVAL, workload, "format", "unknown format '%s'%s", name,
                           reader_suggest(name, names, hint, sizeof(hint)));
    if (experiment->format->has_file && !file)
        return reader_fail(reader, -EINVAL, workload, NULL, "no file; expected file: PATH");
    if (!experiment->format->has_file && file)
        return reader_fail(reader, -EINVAL, workload, "file", "format %s reads no file", name);
    experiment->path = file ? path_beside(experiment->folder, file) : NULL;
    return 0;
}

static int read_workload(const struct reader *above, const json_t *document,
                         struct experiment *experiment)
{
    const json_t *workload = reader_get(document, "workload");
    struct reader reader = reader_at(above, "workload");

    if (!workload)
        return reader_fail(above, -EINVAL, document, NULL, "no workload; expected workload: {...}");
    int code = reader_check_keys(&reader, workload, adapt_keys);
    if (code == 0)
        code = read_format(&reader, workload, experiment);
    if (code == 0)
        code = adapt_read(&reader, workload, &experiment->adapt);
    if (code == 0)
        code = generator_read(&reader, workload, &experiment->generator);
    return code;
}

static int read_cluster(const struct reader *above, const json_t *document,
                        struct experiment *experiment)
{
    const json_t *cluster = reader_get(document, "cluster");
    struct reader reader = reader_at(above, "cluster");

    if (!cluster)
        return reader_fail(above, -EINVAL, document, NULL, "no cluster; expected cluster: {...}");
    return cluster_read(&reader, cluster, experiment->folder, &experiment->cluster, above->err);
}

/* With `recorded`, the jobs start when they did: the workload must be as it was. */
static int read_schedule(const struct reader *reader, const json_t *document,
                         struct experiment *experiment)
{
    static const char *const words[] = { "tarn", "recorded", NULL };
    const struct adapt *adapt = &experiment->adapt;
    size_t schedule = 0;

    int code = reader_word(reader, document, "schedule", words, &schedule);
    experiment->is_recorded = schedule == 1;
    if (code < 0 || !experiment->is_recorded)
        return code;
    bool is_changed = adapt->shuffle || adapt->inflate > 0 || !adapt->departures ||
                      adapt->load > 0 || adapt->time_scale != 1 || adapt->run_max != USEC_NEVER ||
                      adapt->speeds.count > 0 || experiment->is_dropping;
    return is_changed ? reader_fail(reader, -EINVAL, document, "schedule",
                                    "recorded: expected the jobs as they were, without shuffle, "
                                    "inflate, departures, load, time_scale, run_max, speeds and "
                                    "on_misfit")
                      : 0;
}

/* {from: 0.3, to: 1}: parts of the time in which jobs come */
static int read_window(const struct reader *above, const json_t *document,
                       struct experiment *experiment)
{
    static const char *const keys[] = { "from", "to", NULL };
    const json_t *window = reader_get(document, "window");
    struct reader reader = reader_at(above, "window");

    if (!window)
        return 0;
    int code = reader_check_keys(&reader, window, keys);
    if (code == 0)
        code = reader_real(&reader, window, "from", 0, 1, &experiment->window_from);
    if (code == 0)
        code = reader_real(&reader, window, "to", 0, 1, &experiment->window_to);
    if (code == 0 && experiment->window_to > 0 && experiment->window_to <= experiment->window_from)
        code = reader_fail(&reader, -EINVAL, window, "to", "expected more than from");
    return code;
}

static int read_document(const struct reader *reader, const json_t *document,
                         struct experiment *experiment)
{
    const char *name = NULL;

    int code = reader_check_keys(reader, document, experiment_keys);
    if (code == 0)
        code = reader_string(reader, document, "name", 200, &name);
    if (code == 0)
        code = read_cluster(reader, document, experiment);
    if (code == 0)
        code = read_workload(reader, document, experiment);
    if (code == 0)
        code = read_policy(reader, document, experiment);
    if (code == 0)
        code = read_schedule(reader, document, experiment);
    if (code == 0)
        code = read_starts(reader, document, experiment);
    if (code == 0)
        code = read_seeds(reader, document, experiment);
    if (code == 0)
        code = read_window(reader, document, experiment);
    if (code == 0)
        code = wanted_read(reader, document, &experiment->wanted);
    if (name) {
        free(experiment->name);
        experiment->name = mem_string(name);
    }
    experiment->generator.capacity_gpus = (double)experiment->cluster.gpu_count;
    return code;
}

/* Merge `from` into `to`: values of `from` take precedence, maps are merged recursively. Depth is
 * bounded by that of the document. */
static void merge(json_t *to, const json_t *from)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)from, key, value)
    {
        json_t *old = json_object_get(to, key);
        if (json_is_object(old) && json_is_object(value) && strcmp(key, "cluster") != 0)
            merge(old, value);
        else
            json_object_set_new(to, key, json_deep_copy(value));
    }
}

static bool is_known_key(const char *key)
{
    for (size_t i = 0; experiment_keys[i]; i++) {
        if (strcmp(experiment_keys[i], key) == 0)
            return true;
    }
    return false;
}

/* A configuration file is the base of the experiment. The keys of the experiment take precedence.
 * Keys that do not affect scheduling are ignored. */
static int take_config(const struct reader *reader, json_t *document, const char *folder)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *config = NULL;
    AUTO(config) struct config *checked = NULL;
    const char *name = NULL, *key;
    json_t *value;

    int code = reader_string(reader, document, "config", 4096, &name);
    if (code < 0 || !name)
        return code;
    AUTO_FREE char *path = path_beside(folder, name);
    code = lines_read_all(path, EXPERIMENT_BYTES_MAX, &text, reader->err);
    if (code == 0)
        code = yaml_parse(text_string(&text), text.length, path, &config, &lines, reader->err);
    if (code == 0)
        code = config_parse(config, lines, path, &checked, reader->err);
    if (code < 0)
        return code;
    json_object_foreach(config, key, value)
    {
        json_t *own = json_object_get(document, key);
        if (json_is_object(own) && json_is_object(value)) {
            AUTO(json) json_t *both = json_deep_copy(value);
            merge(both, own);
            json_object_set(document, key, both);
        } else if (!own && is_known_key(key))
            json_object_set(document, key, value);
    }
    return 0;
}

static struct experiment *create(const char *source, const char *folder, const char *variant)
{
    struct experiment *experiment = mem_zero(1, sizeof(*experiment));
    const char *slash = strrchr(source, '/'), *base = slash ? slash + 1 : source;
    const char *dot = strrchr(base, '.');

    experiment->name = mem_string_of(base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
    experiment->folder = mem_string(folder);
    experiment->variant = mem_string(variant);
    return experiment;
}

static int add(const struct reader *reader, json_t *document, const char *source,
               const char *folder, const char *variant, struct experiment_list *list)
{
    AUTO(experiment) struct experiment *experiment = create(source, folder, variant);

    experiment->document = json_incref(document);
    int code = take_config(reader, document, folder);
    if (code == 0)
        code = read_document(reader, document, experiment);
    if (code == 0)
        list_add(&list->items, TAKE(experiment));
    return code;
}

static int add_variants(const struct reader *reader, json_t *document, const char *source,
                        const char *folder, struct experiment_list *list)
{
    const json_t *variants = reader_get(document, "variants");

    if (!json_is_array(variants) || json_array_size(variants) == 0 ||
        json_array_size(variants) > EXPERIMENT_VARIANTS_MAX)
        return reader_fail(reader, -EINVAL, document, "variants",
                           "expected a list of 1 to %d maps with a name", EXPERIMENT_VARIANTS_MAX);
    for (size_t i = 0; i < json_array_size(variants); i++) {
        const json_t *variant = json_array_get(variants, i);
        AUTO(json) json_t *merged = json_deep_copy(document);
        struct reader plain = { .source = source, .err = reader->err };
        const char *name = json_string_value(json_object_get(variant, "name"));
        if (!name || !name[0] || strlen(name) > 60)
            return reader_fail(reader, -EINVAL, document, "variants", "expected each with a name");
        for (size_t k = 0; k < list->items.count; k++) {
            if (strcmp(list->items.items[k]->variant, name) == 0)
                return reader_fail(reader, -EINVAL, document, "variants", "'%s' appears twice",
                                   name);
        }
        json_object_del(merged, "variants");
        AUTO(json) json_t *own = json_deep_copy(variant);
        json_object_del(own, "name");
        merge(merged, own);
        snprintf(plain.where, sizeof(plain.where), "variant %s", name);
        int code = add(&plain, merged, source, folder, name, list);
        if (code < 0)
            return code;
    }
    return 0;
}

int experiment_parse(const char *text, size_t length, const char *source, const char *folder,
                     char *const *changes, struct experiment_list *list, struct error *err)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;
    struct experiment_list found = { 0 };

    int code = yaml_parse(text, length, source, &document, &lines, err);
    if (code == 0 && !json_is_object(document))
        code = error_set(err, -EINVAL, "%s: expected a map with cluster and workload", source);
    for (size_t i = 0; code == 0 && changes && changes[i]; i++)
        code = json_assign(document, changes[i], err);
    struct reader reader = { .source = source, .lines = lines, .err = err };
    if (code == 0 && reader_get(document, "variants"))
        code = add_variants(&reader, document, source, folder, &found);
    else if (code == 0)
        code = add(&reader, document, source, folder, "", &found);
    for (size_t i = 0; i < found.items.count && code == 0; i++)
        list_add(&list->items, TAKE(found.items.items[i]));
    experiment_list_release(&found);
    return code;
}

int experiment_read(const char *path, char *const *changes, struct experiment_list *list,
                    struct error *err)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *folder = mem_string_of(path, slash ? (size_t)(slash - path) : 0);

    int code = lines_read_all(path, EXPERIMENT_BYTES_MAX, &text, err);
    if (code < 0)
        return code;
    return experiment_parse(text_string(&text), text.length, path, slash == path ? "/" : folder,
                            changes, list, err);
}
