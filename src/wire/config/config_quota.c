/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_quota.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/config/config.h"

const char *const config_quota_keys[CONFIG_QUOTA_KEYS] = {
    "guarantee", "limit",       "borrow",          "lend", "users",
    "groups",    "min_runtime", "above_guarantee", "shape"
};
enum { MEMORY_MIB_MAX = 1 << 30 };

/* In the order of the keys. */
static int64_t *bound_of(struct quota *quota, size_t which)
{
    int64_t *const bounds[BOUNDS] = { &quota->guarantee, &quota->limit, &quota->borrow,
                                      &quota->lend };

    return bounds[which];
}

static int64_t bound_at(const struct quota *quota, size_t which)
{
    const int64_t bounds[BOUNDS] = { quota->guarantee, quota->limit, quota->borrow, quota->lend };

    return bounds[which];
}

struct quota *config_quota_of(struct config_queue *queue, const char *resource)
{
    for (size_t i = 0; i < queue->quota_count; i++) {
        if (strcmp(queue->quotas[i].resource, resource) == 0)
            return &queue->quotas[i].quota;
    }
    struct config_quota added = { .quota = { 0, QUOTA_NONE, QUOTA_NONE, QUOTA_NONE } };
    snprintf(added.resource, sizeof(added.resource), "%s", resource);
    queue->quotas = mem_resize(queue->quotas, queue->quota_count + 1, sizeof(added));
    queue->quotas[queue->quota_count] = added;
    return &queue->quotas[queue->quota_count++].quota;
}

void config_quota_init(struct config_queue *queue)
{
    config_quota_of(queue, "gpus");
    for (size_t i = 0; i < ACCOUNTS; i++)
        queue->budgets[i].most = ACCOUNT_NO_BUDGET;
}

void config_quota_release(struct config_queue *queue)
{
    free(TAKE(queue->quotas));
    free(TAKE(queue->subjects));
    free(TAKE(queue->cells));
    config_times_release_queue(queue);
    queue->quota_count = queue->subject_count = queue->cell_count = 0;
}

/* A model's name as devices have it: lower case. */
int config_resource_read(const struct reader *reader, const json_t *object, const char *key,
                         char *ret)
{
    size_t length = strlen(key);

    if (!name_is_valid(key) || length >= REQUEST_MODEL_SIZE) {
        error_set(reader->err, -EINVAL, "'%.80s': expected gpus, cpus, memory or a model of GPUs",
                  key);
        return reader_place_line(reader, -EINVAL, object, key);
    }
    for (size_t i = 0; i <= length; i++)
        ret[i] = (char)tolower((unsigned char)key[i]);
    return 0;
}

static int read_amount(const struct reader *reader, const json_t *object, const char *key,
                       const char *resource, int64_t *ret)
{
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    if (strcmp(resource, "memory") != 0)
        return reader_milli(reader, object, key, (int64_t)CONFIG_GPUS_MAX * GPU_MILLI, ret);
    int code = reader_scalar(reader, object, key, "an amount of memory like 512G", buffer, &text);
    if (code < 0 || !text)
        return code;
    code = units_parse_mib(text, ret, reader->err);
    if (code == 0 && *ret > MEMORY_MIB_MAX)
        code = error_set(reader->err, -EINVAL, "'%s': more than a pebibyte", text);
    return code < 0 ? reader_place(reader, code, object, key) : 0;
}

int config_amounts_read(const struct reader *reader, const json_t *object, const char *key,
                        config_amount_fn *set, void *user)
{
    const json_t *value = reader_get(object, key);
    struct reader inner = *reader;
    const char *name;
    json_t *each;

    if (!json_is_object(value)) {
        int64_t amount = QUOTA_NONE;
        int code = read_amount(reader, object, key, "gpus", &amount);
        if (code == 0 && amount != QUOTA_NONE)
            set(user, "gpus", amount);
        return code;
    }
    snprintf(inner.where, sizeof(inner.where), "%.90s: %.32s", reader->where, key);
    if (json_object_size(value) > RESOURCES_MAX)
        return reader_fail(reader, -E2BIG, object, key, "%zu resources, at most %d are taken",
                           json_object_size(value), RESOURCES_MAX);
    json_object_foreach((json_t *)(uintptr_t)value, name, each)
    {
        char resource[REQUEST_MODEL_SIZE];
        int64_t amount = QUOTA_NONE;

        int code = config_resource_read(&inner, value, name, resource);
        if (code == 0)
            code = read_amount(&inner, value, name, resource, &amount);
        if (code < 0)
            return code;
        if (amount != QUOTA_NONE)
            set(user, resource, amount);
    }
    return 0;
}

struct bound_sink {
    struct config_queue *queue;
    size_t which;
};

static void set_bound(void *user, const char *resource, int64_t amount)
{
    const struct bound_sink *sink = user;

    *bound_of(config_quota_of(sink->queue, resource), sink->which) = amount;
}

struct subject_sink {
    struct config_queue *queue;
    struct config_subject subject;
};

static void set_subject(void *user, const char *resource, int64_t amount)
{
    const struct subject_sink *sink = user;
    struct config_queue *queue = sink->queue;
    struct config_subject added = sink->subject;

    snprintf(added.resource, sizeof(added.resource), "%s", resource);
    added.limit = amount;
    queue->subjects = mem_resize(queue->subjects, queue->subject_count + 1, sizeof(added));
    queue->subjects[queue->subject_count++] = added;
}

static int read_subjects(struct config_queue *queue, const struct reader *reader,
                         const json_t *object, const char *key, enum subject_kind kind)
{
    const json_t *map = reader_get(object, key);
    struct reader inner = *reader;
    const char *name;
    json_t *value;

    if (!map)
        return 0;
    if (!json_is_object(map))
        return reader_fail(reader, -EINVAL, object, key,
                           "expected a map from name to limit, not %s", reader_kind(map));
    snprintf(inner.where, sizeof(inner.where), "%.90s: %.32s", reader->where, key);
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        struct subject_sink sink = { .queue = queue, .subject = { .kind = (uint8_t)kind } };

        if (!name_is_valid(name)) {
            error_set(inner.err, -EINVAL, "'%.80s' is no name", name);
            return reader_place_line(&inner, -EINVAL, map, name);
        }
        if (kind == SUBJECT_USER && strcmp(name, "each") == 0)
            sink.subject.kind = SUBJECT_EACH_USER;
        else
            snprintf(sink.subject.name, sizeof(sink.subject.name), "%s", name);
        int code = config_amounts_read(&inner, map, name, set_subject, &sink);
        if (code < 0)
            return code;
        if (queue->subject_count > SUBJECTS_MAX)
            return reader_fail(reader, -E2BIG, object, key, "more than %d limits", SUBJECTS_MAX);
    }
    return 0;
}

/* Who is guaranteed GPUs of some models is guaranteed as many GPUs. */
static void sum_models(struct config_queue *queue)
{
    int64_t sum = 0;

    for (size_t i = 1; i < queue->quota_count; i++) {
        const char *name = queue->quotas[i].resource;
        if (strcmp(name, "cpus") != 0 && strcmp(name, "memory") != 0)
            sum += queue->quotas[i].quota.guarantee;
    }
    if (sum > queue->quotas[0].quota.guarantee)
        queue->quotas[0].quota.guarantee = sum;
}

/* ---- whole cells ---- */

static int read_cell(struct config_queue *queue, const struct reader *reader, const json_t *object)
{
    static const char *const keys[] = { "cell", "model", "gpus", "count", NULL };
    static const char *const levels[] = { "pair", "island", "node", "rack", NULL };
    const char *model = NULL;
    size_t level = CELL_LEVELS;
    int64_t gpus = 0, count = 1;
    struct cell_quota cell = { 0 };

    int code = reader_check_keys(reader, object, keys);
    if (code == 0)
        code = reader_word(reader, object, "cell", levels, &level);
    if (code == 0)
        code = reader_string(reader, object, "model", CELL_MODEL_SIZE - 1, &model);
    if (code == 0)
        code = reader_integer(reader, object, "gpus", 1, CONFIG_GPUS_MAX, &gpus);
    if (code == 0)
        code = reader_integer(reader, object, "count", 1, CONFIG_GPUS_MAX, &count);
    if (code < 0)
        return code;
    if (level == CELL_PAIR && gpus == 0)
        gpus = 2;
    if (level == CELL_LEVELS || !model || !model[0] || gpus == 0)
        return reader_fail(reader, -EINVAL, object, NULL,
                           "expected cell (pair, island, node or rack), model and gpus");
    if (level == CELL_PAIR && gpus != 2)
        return reader_fail(reader, -EINVAL, object, "gpus", "a pair has 2");
    cell.level = (uint8_t)level;
    cell.gpus = (uint32_t)gpus;
    cell.count = (uint32_t)count;
    code = config_resource_read(reader, object, model, cell.model);
    if (code < 0)
        return code;
    queue->cells = mem_resize(queue->cells, queue->cell_count + 1, sizeof(cell));
    queue->cells[queue->cell_count++] = cell;
    return 0;
}

/* A shape is a guarantee, too. */
static void guarantee_cells(struct config_queue *queue)
{
    for (size_t i = 0; i < queue->cell_count; i++) {
        struct quota *quota = config_quota_of(queue, queue->cells[i].model);
        int64_t sum = 0;
        for (size_t k = 0; k < queue->cell_count; k++) {
            const struct cell_quota *cell = &queue->cells[k];
            if (strcmp(cell->model, queue->cells[i].model) == 0)
                sum += (int64_t)cell->gpus * cell->count * GPU_MILLI;
        }
        quota->guarantee = sum > quota->guarantee ? sum : quota->guarantee;
    }
}

static int read_shape(struct config_queue *queue, const struct reader *reader, const json_t *object)
{
    const json_t *list = reader_get(object, "shape");
    struct reader inner = *reader;
    int code = 0;

    if (!list)
        return 0;
    if (!json_is_array(list) || json_array_size(list) > QUEUE_CELLS_MAX)
        return reader_fail(reader, -EINVAL, object, "shape",
                           "expected a list of at most %d cells like {cell: node, model: h100, "
                           "gpus: 8, count: 2}",
                           QUEUE_CELLS_MAX);
    snprintf(inner.where, sizeof(inner.where), "%.90s: shape", reader->where);
    for (size_t i = 0; i < json_array_size(list) && code == 0; i++)
        code = read_cell(queue, &inner, json_array_get(list, i));
    guarantee_cells(queue);
    return code;
}

static void cells_to_json(const struct config_queue *queue, json_t *object)
{
    json_t *list = json_array();

    for (size_t i = 0; i < queue->cell_count; i++) {
        const struct cell_quota *cell = &queue->cells[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I}", "cell",
                                              cell_level_name((enum cell_level)cell->level),
                                              "model", cell->model, "gpus", (json_int_t)cell->gpus,
                                              "count", (json_int_t)cell->count));
    }
    if (json_array_size(list) > 0)
        json_object_set_new(object, "shape", list);
    else
        json_decref(list);
}

static int check_bounds(const struct config_queue *queue, const struct reader *reader,
                        const json_t *object)
{
    for (size_t i = 0; i < queue->quota_count; i++) {
        const struct quota *quota = &queue->quotas[i].quota;
        const char *what = i == 0 ? "" : queue->quotas[i].resource, *space = i == 0 ? "" : ": ";
        if (quota->limit != QUOTA_NONE && quota->guarantee > quota->limit)
            return reader_fail(reader, -EINVAL, object, "guarantee", "%s%smore than the limit",
                               what, space);
        if (quota->lend != QUOTA_NONE && quota->lend > quota->guarantee)
            return reader_fail(reader, -EINVAL, object, "lend", "%s%smore than the guarantee", what,
                               space);
    }
    return 0;
}

int config_quota_read(struct config_queue *queue, const struct reader *reader, const json_t *object)
{
    static const char *const above_words[] = { "any", "preemptible", NULL };
    size_t above = 0;
    int code = 0;

    for (size_t i = 0; i < BOUNDS && code == 0; i++) {
        struct bound_sink sink = { queue, i };
        code = config_amounts_read(reader, object, config_quota_keys[i], set_bound, &sink);
    }
    if (code == 0)
        code = read_subjects(queue, reader, object, "users", SUBJECT_USER);
    if (code == 0)
        code = read_subjects(queue, reader, object, "groups", SUBJECT_GROUP);
    if (code == 0)
        code = reader_duration(reader, object, "min_runtime", &queue->min_runtime);
    if (code == 0)
        code = reader_word(reader, object, "above_guarantee", above_words, &above);
    if (code == 0)
        code = read_shape(queue, reader, object);
    queue->firm_within = above == 1;
    if (code < 0)
        return code;
    sum_models(queue);
    return check_bounds(queue, reader, object);
}

/* ---- and back ---- */

const char *config_amount_spell(char *buffer, const char *resource, int64_t amount)
{
    if (strcmp(resource, "memory") != 0)
        return units_format_milli(buffer, amount);
    if (amount % 1024 == 0)
        snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 "G", amount / 1024);
    else
        snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 "M", amount);
    return buffer;
}

static json_t *amount_to_json(const char *resource, int64_t amount)
{
    char buffer[UNITS_TEXT_SIZE];

    if (strcmp(resource, "memory") == 0)
        return json_string(config_amount_spell(buffer, resource, amount));
    if (amount % GPU_MILLI == 0)
        return json_integer(amount / GPU_MILLI);
    return json_real((double)amount / GPU_MILLI);
}

/* One that says GPUs alone is a number. */
static json_t *shorten(json_t *map)
{
    json_t *gpus = json_object_get(map, "gpus");

    if (json_object_size(map) != 1 || !gpus)
        return map;
    json_incref(gpus);
    json_decref(map);
    return gpus;
}

static void bounds_to_json(const struct config_queue *queue, size_t which, json_t *object)
{
    json_t *map = json_object();

    for (size_t i = 0; i < queue->quota_count; i++) {
        int64_t amount = bound_at(&queue->quotas[i].quota, which);
        if (which == 0 ? amount > 0 : amount != QUOTA_NONE)
            json_object_set_new(map, queue->quotas[i].resource,
                                amount_to_json(queue->quotas[i].resource, amount));
    }
    if (json_object_size(map) > 0)
        json_object_set_new(object, config_quota_keys[which], shorten(map));
    else
        json_decref(map);
}

static void subjects_to_json(const struct config_queue *queue, bool is_group, json_t *object)
{
    json_t *subjects = json_object();
    const char *name;
    json_t *map;
    void *next;

    for (size_t i = 0; i < queue->subject_count; i++) {
        const struct config_subject *subject = &queue->subjects[i];
        if ((subject->kind == SUBJECT_GROUP) != is_group)
            continue;
        name = subject->kind == SUBJECT_EACH_USER ? "each" : subject->name;
        map = json_object_get(subjects, name);
        if (!map) {
            map = json_object();
            json_object_set_new(subjects, name, map);
        }
        json_object_set_new(map, subject->resource,
                            amount_to_json(subject->resource, subject->limit));
    }
    json_object_foreach_safe(subjects, next, name, map)
    {
        json_incref(map);
        json_object_set_new(subjects, name, shorten(map));
    }
    if (json_object_size(subjects) > 0)
        json_object_set_new(object, is_group ? "groups" : "users", subjects);
    else
        json_decref(subjects);
}

void config_quota_to_json(const struct config_queue *queue, json_t *object)
{
    char buffer[UNITS_TEXT_SIZE];

    for (size_t i = 0; i < BOUNDS; i++)
        bounds_to_json(queue, i, object);
    subjects_to_json(queue, false, object);
    subjects_to_json(queue, true, object);
    if (queue->min_runtime > 0)
        json_object_set_new(object, "min_runtime",
                            json_string(config_duration_spell(buffer, queue->min_runtime)));
    cells_to_json(queue, object);
    if (queue->firm_within)
        json_object_set_new(object, "above_guarantee", json_string("preemptible"));
}
