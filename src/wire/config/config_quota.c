/* SPDX-License-Identifier: Apache-2.0 */
/* The amounts of a queue: bounds by resource, limits of people, cells, budgets, and what holds
 * while a window is open. A queue with guaranteed GPUs of some models is guaranteed at least as
 * many GPUs. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/config/config_keys.h"
#include "wire/config/window_event.h"
#include "wire/job/submission.h"

enum { MEMORY_MIB_MAX = 1 << 30 };

static const char *const bound_keys[BOUNDS + 1] = { "guarantee", "limit", "borrow", "lend", NULL };

struct quota *config_quota(struct config *config, struct event_queue *queue, const char *resource)
{
    if (strcmp(resource, "gpus") == 0)
        return &queue->gpus;
    for (uint32_t i = 0; i < queue->quotas_count; i++) {
        if (strcmp(queue->quotas[i].resource, resource) == 0)
            return (struct quota *)(uintptr_t)&queue->quotas[i].quota;
    }
    struct event_quota *added = CONFIG_NEW(config, queue->quotas, queue->quotas_count);
    *added = (struct event_quota){ config_text(config, resource), QUOTA_OPEN };
    return &added->quota;
}

const struct quota *queue_quota_at(const struct event_queue *queue, uint32_t index,
                                   const char **ret_resource)
{
    *ret_resource =
        index == 0 || index > queue->quotas_count ? "gpus" : queue->quotas[index - 1].resource;
    return index == 0                     ? &queue->gpus
           : index <= queue->quotas_count ? &queue->quotas[index - 1].quota
                                          : NULL;
}

/* ---- amounts ---- */

bool lower_copy(char ret[REQUEST_MODEL_SIZE], const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i <= length && length < REQUEST_MODEL_SIZE; i++)
        ret[i] = (char)tolower((unsigned char)name[i]);
    return length < REQUEST_MODEL_SIZE;
}

int resource_read(const struct reader *reader, const json_t *object, const char *key, char *ret)
{
    if (name_is_valid(key) && lower_copy(ret, key))
        return 0;
    error_set(reader->err, -EINVAL, "'%.80s': expected gpus, cpus, memory or a model of GPUs", key);
    return reader_place_line(reader, -EINVAL, object, key);
}

/* What a number of GPUs, or a map from resource to amount, says. */
struct resource_amounts {
    uint32_t count;
    struct resource_amount {
        char resource[REQUEST_MODEL_SIZE];
        int64_t amount;
    } items[RESOURCES_MAX];
};

/* The amount of the resource that the next item has. */
static int read_amount(const struct reader *reader, const json_t *object, const char *key,
                       struct resource_amounts *amounts)
{
    struct resource_amount *next = &amounts->items[amounts->count];
    char buffer[READER_SCALAR_SIZE];
    const char *text = NULL;
    int code;

    next->amount = ABSENT;
    if (strcmp(next->resource, "memory") != 0)
        code =
            reader_milli(reader, object, key, (int64_t)CONFIG_GPUS_MAX * GPU_MILLI, &next->amount);
    else
        code = reader_scalar(reader, object, key, "an amount of memory like 512G", buffer, &text);
    if (code == 0 && text) {
        code = units_parse_mib(text, &next->amount, reader->err);
        if (code == 0 && next->amount > MEMORY_MIB_MAX)
            code = error_set(reader->err, -EINVAL, "'%s': more than a pebibyte", text);
        if (code < 0)
            reader_place(reader, code, object, key);
    }
    amounts->count += next->amount != ABSENT;
    return code;
}

static bool is_listed(const char *name, const char *const *names)
{
    for (; names && *names; names++) {
        if (strcmp(name, *names) == 0)
            return true;
    }
    return false;
}

/* Except of the keys `beside`; NULL: none. */
static int read_amounts_beside(const struct reader *reader, const json_t *object, const char *key,
                               const char *const *beside, struct resource_amounts *ret)
{
    const json_t *value = reader_get(object, key);
    const struct reader inner = reader_inside(reader, key);
    const char *name;
    json_t *each;
    int code = 0;

    *ret = (struct resource_amounts){ 0, { { "gpus", ABSENT } } };
    if (!json_is_object(value))
        return read_amount(reader, object, key, ret);
    json_object_foreach((json_t *)(uintptr_t)value, name, each)
    {
        if (is_listed(name, beside))
            continue;
        if (ret->count == RESOURCES_MAX)
            return reader_fail(reader, -E2BIG, object, key,
                               "%zu resources, at most %d are accepted", json_object_size(value),
                               RESOURCES_MAX);
        if (code == 0)
            code = resource_read(&inner, value, name, ret->items[ret->count].resource);
        if (code == 0)
            code = read_amount(&inner, value, name, ret);
    }
    return code;
}

static int read_amounts(const struct reader *reader, const json_t *object, const char *key,
                        struct resource_amounts *ret)
{
    return read_amounts_beside(reader, object, key, NULL, ret);
}

/* One that says GPUs alone is a number; one that says nothing is none. */
static json_t *shorten(json_t *map)
{
    json_t *gpus = json_object_get(map, "gpus");

    if (json_object_size(map) > 0 && (json_object_size(map) > 1 || !gpus))
        return map;
    json_incref(gpus);
    json_decref(map);
    return gpus;
}

static void set_amount(json_t *map, const char *resource, int64_t amount)
{
    char buffer[UNITS_TEXT_SIZE];

    json_object_set_new(map, resource,
                        strcmp(resource, "memory") == 0
                            ? json_string(amount_spell(buffer, resource, amount))
                            : decimal_to_json(amount, GPU_MILLI));
}

/* ---- bounds ---- */

static enum quota_bound bound_of(const struct setting *row)
{
    return (enum quota_bound)((row->offset - offsetof(struct event_queue, gpus)) / sizeof(int64_t));
}

int read_bound(const struct setting_place *place)
{
    struct resource_amounts amounts;

    int code = read_amounts(place->reader, place->object, place->key, &amounts);
    for (uint32_t i = 0; i < amounts.count && code == 0; i++) {
        struct quota *quota = config_quota(place->config, place->base, amounts.items[i].resource);
        *quota_part(quota, bound_of(place->row)) = amounts.items[i].amount;
    }
    return code;
}

json_t *write_bound(const struct setting_view *of)
{
    enum quota_bound bound = bound_of(of->row);
    json_t *map = json_object();
    const struct quota *quota;
    const char *resource;

    for (uint32_t i = 0; (quota = queue_quota_at(of->base, i, &resource)); i++) {
        int64_t amount = quota_part_of(quota, bound);
        if (bound == BOUND_GUARANTEE ? amount > 0 : amount != QUOTA_NONE)
            set_amount(map, resource, amount);
    }
    return shorten(map);
}

/* All of them, with the first row: by resource. */
void tell_bounds(const struct setting_view *of, struct properties *ret)
{
    const struct quota *quota;
    const char *resource;

    for (uint32_t i = 0; bound_of(of->row) == 0 && (quota = queue_quota_at(of->base, i, &resource));
         i++) {
        for (enum quota_bound bound = 0; bound < BOUNDS; bound++) {
            int64_t amount = quota_part_of(quota, bound);
            if ((i == 0 && bound <= BOUND_LIMIT) ||
                amount != (bound == BOUND_GUARANTEE ? 0 : QUOTA_NONE))
                property_add_amount(ret, bound_keys[bound], resource, amount);
        }
    }
}

/* ---- budgets ---- */

static const char *const budget_keys[] = { "budget", "gpu_hours", NULL }; /* by enum account_kind */

static enum account_kind account_of(const struct setting *row)
{
    return strcmp(row->key, budget_keys[ACCOUNT_MONEY]) == 0 ? ACCOUNT_MONEY : ACCOUNT_GPU_TIME;
}

static double unit_of(enum account_kind kind)
{
    return kind == ACCOUNT_MONEY ? 1e6 : (double)USEC_PER_HOUR;
}

/* That a queue has, or a user. */
static int64_t budget_most(const char *key)
{
    const struct setting_rows keys = keys_rows(KEYS_QUEUE);
    int64_t most = 0;

    for (size_t i = 0; i < keys.count; i++)
        most = strcmp(keys.rows[i].key, key) == 0 ? keys.rows[i].most : most;
    return most;
}

/* The period and how firm it is, of a budget that is a map. */
static int read_terms(const struct reader *reader, const json_t *map, enum period *ret_period,
                      uint8_t *ret_firmness)
{
    const char *names[KEYS_MAX], *per = NULL;
    const json_t *hard = reader_get(map, "hard");
    const char *word = json_string_value(hard);

    keys_names(KEYS_BUDGET, NULL, names);
    int code = reader_check_keys(reader, map, names);
    if (code == 0)
        code = reader_string(reader, map, "per", 20, &per);
    if (code < 0)
        return code;
    if (per && !period_of_name(per, ret_period))
        return reader_fail(reader, -EINVAL, map, "per",
                           "'%s': expected hour, day, week, month, quarter or year", per);
    if (hard && !json_is_boolean(hard) && (!word || strcmp(word, "kill") != 0))
        return reader_fail(reader, -EINVAL, map, "hard", "expected true, false or kill");
    *ret_firmness = word ? BUDGET_KILL : json_is_true(hard) ? BUDGET_HARD : BUDGET_SOFT;
    return 0;
}

/* An amount for a month, or a map. user: whose it is; "": the queue's. */
static int read_budget_of(const struct setting_place *place, const struct reader *reader,
                          const json_t *parent, const char *name, const char *user)
{
    const json_t *given = reader_get(parent, name);
    bool is_map = json_is_object(given);
    const struct reader inner = reader_inside(reader, name);
    const json_t *object = is_map ? given : parent;
    const char *key = is_map ? "amount" : name;
    const json_t *value = reader_get(object, key);
    double amount = json_number_value(value);
    struct event_queue *queue = place->base;
    enum account_kind kind =
        strcmp(name, budget_keys[ACCOUNT_MONEY]) == 0 ? ACCOUNT_MONEY : ACCOUNT_GPU_TIME;
    int64_t most = budget_most(name);
    enum period period = PERIOD_MONTH;
    uint8_t firmness = BUDGET_SOFT;

    int code = is_map ? read_terms(&inner, object, &period, &firmness) : 0;
    if (code < 0)
        return code;
    if (!json_is_number(value) || amount < 0 || amount > (double)most)
        return reader_fail(is_map ? &inner : reader, -EINVAL, object, value ? key : NULL,
                           "expected %s: a number from 0 to %" PRId64, key, most);
    if (queue->budgets_count == BUDGETS_MAX)
        return place_fail(place, -E2BIG, "more than %d budgets", BUDGETS_MAX);
    struct event_budget *budget = CONFIG_NEW(place->config, queue->budgets, queue->budgets_count);
    *budget =
        (struct event_budget){ window_of_period(period), (int64_t)(amount * unit_of(kind) + 0.5),
                               (uint8_t)kind, firmness, config_text(place->config, user) };
    return 0;
}

int read_budget(const struct setting_place *place)
{
    return read_budget_of(place, place->reader, place->object, place->key, "");
}

static enum period period_of(const struct event_budget *budget)
{
    enum period period = PERIOD_HOUR;

    window_is_period(budget->window, &period);
    return period;
}

static const struct event_budget *find_budget(const struct setting_view *of)
{
    const struct event_queue *queue = of->base;

    for (uint32_t i = 0; i < queue->budgets_count; i++) {
        if (queue->budgets[i].account == account_of(of->row) && !queue->budgets[i].user[0])
            return &queue->budgets[i];
    }
    return NULL;
}

static json_t *budget_to_json(const struct event_budget *budget)
{
    json_t *hard = budget->firmness == BUDGET_SOFT   ? NULL
                   : budget->firmness == BUDGET_KILL ? json_string("kill")
                                                     : json_true();

    return json_pack("{s:o, s:s, s:o*}", "amount",
                     decimal_to_json(budget->most, (int64_t)unit_of(budget->account)), "per",
                     period_name(period_of(budget)), "hard", hard);
}

json_t *write_budget(const struct setting_view *of)
{
    const struct event_budget *budget = find_budget(of);

    return budget ? budget_to_json(budget) : NULL;
}

static void tell_budget_as(const char *name, const struct event_budget *budget,
                           struct properties *ret)
{
    static const char *const words[] = { "", ", hard", ", hard: kill" };
    char buffer[UNITS_TEXT_SIZE * 2];

    snprintf(buffer, sizeof(buffer), "%.10g per %s%s",
             (double)budget->most / unit_of(budget->account), period_name(period_of(budget)),
             words[budget->firmness]);
    property_add(ret, name, buffer, "");
}

void tell_budget(const struct setting_view *of, struct properties *ret)
{
    const struct event_budget *budget = find_budget(of);

    if (budget)
        tell_budget_as(of->row->key, budget, ret);
}

/* ---- people ---- */

int read_people(const struct setting_place *place)
{
    bool is_group = place->row->kind == SETTING_GROUPS;
    const json_t *map = place->value;
    const struct reader inner = reader_inside(place->reader, place->key);
    struct event_queue *queue = place->base;
    struct resource_amounts amounts;
    const char *name;
    json_t *value;

    if (!json_is_object(map))
        return place_fail(place, -EINVAL, "expected a map from name to limit, not %s",
                          reader_kind(map));
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        bool is_each = !is_group && strcmp(name, EACH_USER) == 0;
        if (!name_is_valid(name)) {
            error_set(inner.err, -EINVAL, "'%.80s' is not a valid name", name);
            return reader_place_line(&inner, -EINVAL, map, name);
        }
        const struct reader own = reader_inside(&inner, name);
        for (size_t i = 0; is_group && i < ACCOUNTS; i++) {
            if (json_object_get(value, budget_keys[i]))
                return reader_fail(&own, -EINVAL, value, budget_keys[i],
                                   "queues and users have budgets, Unix groups have none");
        }
        int code = read_amounts_beside(&inner, map, name, is_group ? NULL : budget_keys, &amounts);
        for (enum account_kind i = 0; i < ACCOUNTS && code == 0 && !is_group; i++) {
            if (json_object_get(value, budget_keys[i]))
                code = read_budget_of(place, &own, value, budget_keys[i], name);
        }
        if (code < 0)
            return code;
        for (uint32_t i = 0; i < amounts.count; i++) {
            struct event_subject *subject =
                CONFIG_NEW(place->config, queue->subjects, queue->subjects_count);
            subject->kind = is_group ? SUBJECT_GROUP : is_each ? SUBJECT_EACH_USER : SUBJECT_USER;
            subject->name = is_each ? "" : config_text(place->config, name);
            subject->resource = config_text(place->config, amounts.items[i].resource);
            subject->limit = amounts.items[i].amount;
        }
        if (queue->subjects_count > SUBJECTS_MAX)
            return place_fail(place, -E2BIG, "more than %d limits", SUBJECTS_MAX);
    }
    return 0;
}

json_t *write_people(const struct setting_view *of)
{
    const struct event_queue *queue = of->base;
    json_t *people = NULL, *map;
    bool is_group = of->row->kind == SETTING_GROUPS;
    const char *name;
    void *next;

    for (uint32_t i = 0; i < queue->subjects_count; i++) {
        const struct event_subject *subject = &queue->subjects[i];
        if ((subject->kind == SUBJECT_GROUP) != is_group)
            continue;
        const char *of_each = subject->kind == SUBJECT_EACH_USER ? EACH_USER : subject->name;
        people = people ? people : json_object();
        set_amount(map_below(people, of_each), subject->resource, subject->limit);
    }
    for (uint32_t i = 0; i < queue->budgets_count && !is_group; i++) {
        const struct event_budget *budget = &queue->budgets[i];
        if (!budget->user[0])
            continue;
        people = people ? people : json_object();
        json_object_set_new(map_below(people, budget->user), budget_keys[budget->account],
                            budget_to_json(budget));
    }
    json_object_foreach_safe(people, next, name, map)
    {
        json_incref(map);
        json_object_set_new(people, name, shorten(map));
    }
    return people;
}

/* Of users, of groups, and of cells. */
void tell_people(const struct setting_view *of, struct properties *ret)
{
    const struct event_queue *queue = of->base;
    char name[REQUEST_NAME_SIZE * 2], count[UNITS_TEXT_SIZE];

    for (uint32_t i = 0; i < queue->subjects_count; i++) {
        const struct event_subject *subject = &queue->subjects[i];
        snprintf(name, sizeof(name), "limit of %s%.63s",
                 subject->kind == SUBJECT_GROUP ? "group " : "",
                 subject->kind == SUBJECT_EACH_USER ? "each user" : subject->name);
        property_add_amount(ret, name, subject->resource, subject->limit);
    }
    for (uint32_t i = 0; i < queue->budgets_count; i++) {
        const struct event_budget *budget = &queue->budgets[i];
        bool is_each = strcmp(budget->user, EACH_USER) == 0;
        snprintf(name, sizeof(name), "%s of %.63s", budget_keys[budget->account],
                 is_each ? "each user" : budget->user);
        if (budget->user[0])
            tell_budget_as(name, budget, ret);
    }
    for (uint32_t i = 0; i < queue->cells_count; i++) {
        const struct cell_quota *cell = &queue->cells[i];
        snprintf(name, sizeof(name), "whole %.8s of %" PRIu32 " %.31s",
                 cell_level_name((enum cell_level)cell->level), cell->gpus, cell->model);
        snprintf(count, sizeof(count), "%" PRIu32, cell->count);
        property_add(ret, name, count, "");
    }
}

/* ---- names that a queue lists ---- */

static const char *const people_keys[] = { "users", "groups", NULL };

/* The list of models, or of users: that of the groups is the next one. */
static enum queue_list list_of(const struct setting *row)
{
    return row->kind == SETTING_MODELS       ? QUEUE_MODELS
           : strcmp(row->key, "submit") == 0 ? QUEUE_SUBMIT_USERS
                                             : QUEUE_ADMIN_USERS;
}

static int read_names(const struct setting_place *place, const struct reader *reader,
                      const json_t *object, const char *key, enum queue_list list)
{
    struct event_queue *queue = place->base;
    char **names = NULL;
    size_t count = 0;

    int code = reader_names(reader, object, key, QUEUE_NAMES_MAX, &names, &count);
    if (code == 0 && count + queue->names_count > QUEUE_NAMES_MAX)
        code = reader_fail(reader, -E2BIG, object, key, "more than %d names in its lists together",
                           QUEUE_NAMES_MAX);
    for (size_t i = 0; i < count && code == 0; i++) {
        struct queue_name *added = CONFIG_NEW(place->config, queue->names, queue->names_count);
        added->list = (uint8_t)list;
        snprintf(added->name, sizeof(added->name), "%s", names[i]);
        if (list == QUEUE_MODELS && !lower_copy(added->name, names[i]))
            code = reader_fail(reader, -EINVAL, object, key, "'%s': longer than %d bytes", names[i],
                               REQUEST_MODEL_SIZE - 1);
    }
    string_list_destroy(names);
    return code;
}

/* An empty list would say nothing, and let everybody in. */
int read_listed(const struct setting_place *place)
{
    const struct event_queue *queue = place->base;
    const struct reader inner = reader_inside(place->reader, place->key);
    enum queue_list list = list_of(place->row);
    uint32_t before = queue->names_count;
    int code = 0;

    if (!json_is_object(place->value) || list == QUEUE_MODELS)
        code = read_names(place, place->reader, place->object, place->key, list);
    else {
        code = reader_check_keys(&inner, place->value, people_keys);
        for (uint32_t i = 0; i < 2 && code == 0; i++)
            code = read_names(place, &inner, place->value, people_keys[i],
                              (enum queue_list)(list + i));
    }
    return code == 0 && queue->names_count == before
               ? place_fail(place, -EINVAL, "expected at least one name, like %s",
                            place->row->example)
               : code;
}

static json_t *names_of(const struct event_queue *queue, enum queue_list list)
{
    json_t *names = NULL;

    for (uint32_t i = 0; i < queue->names_count; i++) {
        if (queue->names[i].list != list)
            continue;
        names = names ? names : json_array();
        json_array_append_new(names, json_string(queue->names[i].name));
    }
    return names;
}

json_t *write_listed(const struct setting_view *of)
{
    enum queue_list list = list_of(of->row);
    json_t *names = names_of(of->base, list);
    json_t *groups = list == QUEUE_MODELS ? NULL : names_of(of->base, (enum queue_list)(list + 1));

    if (list == QUEUE_MODELS || (!names && !groups))
        return names;
    return json_pack("{s:o*, s:o*}", people_keys[0], names, people_keys[1], groups);
}

void tell_listed(const struct setting_view *of, struct properties *ret)
{
    const struct event_queue *queue = of->base;
    enum queue_list list = list_of(of->row);
    AUTO_RELEASE(text) struct text words = { 0 };

    for (uint32_t i = 0; i < queue->names_count; i++) {
        const struct queue_name *name = &queue->names[i];
        bool is_group = list != QUEUE_MODELS && name->list == list + 1;
        if (name->list == list || is_group)
            text_printf(&words, "%s%s%s", words.length > 0 ? ", " : "", is_group ? "group " : "",
                        name->name);
    }
    if (words.length > 0)
        property_add(ret, of->row->label, text_string(&words), "");
}

/* ---- whole cells ---- */

static int read_cell(const struct setting_place *place, const struct reader *reader,
                     const json_t *object)
{
    struct event_queue *queue = place->base;
    struct cell_quota *cell = CONFIG_NEW(place->config, queue->cells, queue->cells_count);

    int code = keys_read(place->config, reader, object, KEYS_CELL, cell);
    if (code < 0)
        return code;
    if (cell->level == CELL_PAIR && cell->gpus == 0)
        cell->gpus = 2;
    if (cell->level == CELL_LEVELS || !cell->model[0] || cell->gpus == 0)
        return reader_fail(reader, -EINVAL, object, NULL,
                           "expected cell (pair, island, node or rack), model and gpus");
    return cell->level == CELL_PAIR && cell->gpus != 2
               ? reader_fail(reader, -EINVAL, object, "gpus", "a pair has 2")
               : 0;
}

int read_shape(const struct setting_place *place)
{
    const json_t *list = place->value;
    struct reader inner = reader_inside(place->reader, place->key);
    int code = 0;

    if (!json_is_array(list) || json_array_size(list) > QUEUE_CELLS_MAX)
        return place_fail(place, -EINVAL, "expected a list of at most %d cells like %s",
                          QUEUE_CELLS_MAX, "{cell: node, model: h100, gpus: 8, count: 2}");
    for (size_t i = 0; i < json_array_size(list) && code == 0; i++)
        code = read_cell(place, &inner, json_array_get(list, i));
    return code;
}

/* A shape is a guarantee, too. */
static void guarantee_cells(struct config *config, struct event_queue *queue)
{
    for (uint32_t i = 0; i < queue->cells_count; i++) {
        struct quota *quota = config_quota(config, queue, queue->cells[i].model);
        int64_t sum = 0;
        for (uint32_t k = 0; k < queue->cells_count; k++) {
            const struct cell_quota *cell = &queue->cells[k];
            if (strcmp(cell->model, queue->cells[i].model) == 0)
                sum += (int64_t)cell->gpus * cell->count * GPU_MILLI;
        }
        quota->guarantee = sum > quota->guarantee ? sum : quota->guarantee;
    }
}

int queue_check(struct config *config, const struct reader *reader, const json_t *object,
                struct event_queue *queue)
{
    const struct quota *quota;
    const char *resource;
    int64_t sum = 0;

    if (queue->rules.duration_most > 0 &&
        queue->rules.duration_default > queue->rules.duration_most)
        return reader_fail(reader, -EINVAL, object, "default_duration",
                           "more than longest_duration");
    guarantee_cells(config, queue);
    for (uint32_t i = 1; (quota = queue_quota_at(queue, i, &resource)); i++)
        sum +=
            strcmp(resource, "cpus") != 0 && strcmp(resource, "memory") != 0 ? quota->guarantee : 0;
    if (sum > queue->gpus.guarantee)
        queue->gpus.guarantee = sum;
    for (uint32_t i = 0; (quota = queue_quota_at(queue, i, &resource)); i++) {
        const char *what = i == 0 ? "" : resource, *space = i == 0 ? "" : ": ";
        if (quota->limit != QUOTA_NONE && quota->guarantee > quota->limit)
            return reader_fail(reader, -EINVAL, object, "guarantee", "%s%smore than the limit",
                               what, space);
        if (quota->lend != QUOTA_NONE && quota->lend > quota->guarantee)
            return reader_fail(reader, -EINVAL, object, "lend", "%s%smore than the guarantee", what,
                               space);
    }
    return 0;
}

/* ---- while a window is open ---- */

/* Read the map under `during`, the keys of which are windows. */
static int read_windows(const struct setting_place *place,
                        int (*read)(const struct setting_place *place, const struct reader *reader,
                                    const json_t *object, const char *window))
{
    json_t *during = (json_t *)(uintptr_t)place->value, *value;
    const char *name;
    int code = 0;

    if (!json_is_object(during))
        return place_fail(place, -EINVAL, "expected a map from window to settings, not %s",
                          reader_kind(during));
    json_object_foreach(during, name, value)
    {
        const struct reader inner =
            reader_at(place->reader, "%.70s: %s %.40s", place->reader->where, place->key, name);
        if (code == 0 && !config_find_window(place->config, name))
            code = section_fail(SETTING_WINDOWS, place->config, place->reader, during, name, name);
        if (code == 0)
            code = read(place, &inner, value, name);
    }
    return code;
}

static struct quota *during_quota(struct config *config, struct event_queue *queue,
                                  const char *window, const char *resource)
{
    struct event_during *list = (struct event_during *)(uintptr_t)queue->during;

    for (uint32_t i = 0; i < queue->during_count; i++) {
        if (strcmp(list[i].window, window) == 0 && strcmp(list[i].resource, resource) == 0)
            return &list[i].quota;
    }
    struct event_during *added = CONFIG_NEW(config, queue->during, queue->during_count);
    *added = (struct event_during){ config_text(config, window), config_text(config, resource),
                                    QUOTA_ABSENT };
    return &added->quota;
}

static int read_bounds(const struct setting_place *place, const struct reader *reader,
                       const json_t *object, const char *window)
{
    int code = reader_check_keys(reader, object, bound_keys);

    for (enum quota_bound bound = 0; bound < BOUNDS && code == 0; bound++) {
        struct resource_amounts amounts = { 1, { { "gpus", QUOTA_NONE } } };
        const char *word = json_string_value(reader_get(object, bound_keys[bound]));
        if (bound == BOUND_GUARANTEE || !word || strcmp(word, "none") != 0)
            code = read_amounts(reader, object, bound_keys[bound], &amounts);
        for (uint32_t i = 0; i < amounts.count && code == 0; i++) {
            struct quota *quota =
                during_quota(place->config, place->base, window, amounts.items[i].resource);
            *quota_part(quota, bound) = amounts.items[i].amount;
        }
    }
    return code;
}

int read_during(const struct setting_place *place)
{
    return read_windows(place, read_bounds);
}

json_t *write_during(const struct setting_view *of)
{
    const struct event_queue *queue = of->base;
    json_t *all = queue->during_count > 0 ? json_object() : NULL;

    for (uint32_t i = 0; i < queue->during_count; i++) {
        const struct event_during *during = &queue->during[i];
        json_t *window = map_below(all, during->window);
        for (enum quota_bound bound = 0; bound < BOUNDS; bound++) {
            int64_t amount = quota_part_of(&during->quota, bound);
            if (amount == QUOTA_NONE) /* of all: as it is read */
                json_object_set_new(window, bound_keys[bound], json_string("none"));
            else if (amount != ABSENT)
                set_amount(map_below(window, bound_keys[bound]), during->resource, amount);
        }
    }
    return all;
}

static void tell_while_open(const char *bound, const char *window, const char *resource,
                            int64_t amount, struct properties *ret)
{
    char name[REQUEST_NAME_SIZE * 2];

    snprintf(name, sizeof(name), "%s during %s", bound, window);
    if (amount == QUOTA_NONE)
        property_add(ret, name, "unbounded", "");
    else if (amount != ABSENT)
        property_add_amount(ret, name, resource, amount);
}

void tell_during(const struct setting_view *of, struct properties *ret)
{
    const struct event_queue *queue = of->base;

    for (uint32_t i = 0; i < queue->during_count; i++) {
        const struct event_during *during = &queue->during[i];
        for (enum quota_bound bound = 0; bound < BOUNDS; bound++)
            tell_while_open(bound_keys[bound], during->window, during->resource,
                            quota_part_of(&during->quota, bound), ret);
    }
}

static int read_sizes(const struct setting_place *place, const struct reader *reader,
                      const json_t *object, const char *window)
{
    struct event_pool *pool = place->base;
    struct event_pool_during *during = CONFIG_NEW(place->config, pool->during, pool->during_count);

    if (pool->is_static)
        return place_fail(place, -EINVAL, "a static pool has a fixed size; expected no windows");
    during->window = config_text(place->config, window);
    int code = keys_read(place->config, reader, object, KEYS_WINDOWED, during);
    if (code == 0 && during->milli_max != ABSENT && during->milli_min > during->milli_max)
        code = reader_fail(reader, -EINVAL, object, "max", "%" PRId64 " is less than min, %" PRId64,
                           during->milli_max / GPU_MILLI, during->milli_min / GPU_MILLI);
    return code;
}

int read_pool_during(const struct setting_place *place)
{
    return read_windows(place, read_sizes);
}

void tell_pool_during(const struct setting_view *of, struct properties *ret)
{
    const struct event_pool *pool = of->base;

    for (uint32_t i = 0; i < pool->during_count; i++) {
        const struct event_pool_during *during = &pool->during[i];
        tell_while_open("min", during->window, "gpus", during->milli_min, ret);
        tell_while_open("max", during->window, "gpus", during->milli_max, ret);
    }
}

/* ---- after a job ran out of memory ---- */

/* {oom: {memory: x1.5, most: 256G}}: of a queue, one of the two or both. */
int read_oom_retry(const struct setting_place *place)
{
    static const char *const keys[] = { "oom", NULL }, *const oom_keys[] = { "memory", "most",
                                                                             NULL };
    struct event_queue *queue = place->base;
    const struct reader reader = reader_inside(place->reader, "retry");
    const struct reader inner = reader_inside(&reader, "oom");
    const json_t *oom = json_object_get(place->value, "oom");
    char buffer[READER_SCALAR_SIZE];
    const char *text = NULL;
    uint16_t factor = 0;
    int code = 0;

    if (!json_is_object(place->value) || !json_is_object(oom) || json_object_size(oom) == 0)
        return place_fail(place, -EINVAL, "expected {oom: {memory: x1.5, most: 256G}}");
    code = reader_check_keys(&reader, place->value, keys);
    if (code == 0)
        code = reader_check_keys(&inner, oom, oom_keys);
    if (code == 0 && json_object_get(oom, "memory"))
        code = reader_scalar(&inner, oom, "memory", "a factor like x1.5", buffer, &text);
    if (code == 0 && text && !oom_factor_parse(text, &factor))
        return reader_fail(&inner, -EINVAL, oom, "memory",
                           "'%.40s': expected a factor like x1.5, 1.1 to 10", text);
    queue->rules.oom_factor = factor;
    if (code < 0 || !json_object_get(oom, "most"))
        return code;
    code = reader_scalar(&inner, oom, "most", "a size like 256G", buffer, &text);
    if (code == 0 && units_parse_mib(text, &queue->rules.oom_most, place->reader->err) < 0)
        return reader_place(&inner, -EINVAL, oom, "most");
    return code;
}

json_t *write_oom_retry(const struct setting_view *of)
{
    const struct queue_rules *rules = &((const struct event_queue *)of->base)->rules;
    char factor[UNITS_TEXT_SIZE], most[UNITS_TEXT_SIZE];
    json_t *oom = json_object();

    if (rules->oom_factor > 0)
        json_object_set_new(oom, "memory",
                            json_sprintf("x%s", units_format_milli(factor, rules->oom_factor)));
    if (rules->oom_most > 0)
        json_object_set_new(oom, "most",
                            json_string(amount_spell(most, "memory", rules->oom_most)));
    if (json_object_size(oom) > 0)
        return json_pack("{s:o}", "oom", oom);
    json_decref(oom);
    return NULL;
}

void tell_oom_retry(const struct setting_view *of, struct properties *ret)
{
    const struct queue_rules *rules = &((const struct event_queue *)of->base)->rules;
    char factor[UNITS_TEXT_SIZE], most[UNITS_TEXT_SIZE];

    if (rules->oom_factor > 0) {
        AUTO_FREE char *value = mem_printf("x%s", units_format_milli(factor, rules->oom_factor));
        property_add(ret, "retry oom memory", value, "");
    }
    if (rules->oom_most > 0)
        property_add(ret, "retry oom most", amount_spell(most, "memory", rules->oom_most), "");
}
