/* SPDX-License-Identifier: Apache-2.0 */
/* The users and Unix groups of a queue: budgets, limits, and the lists of names. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/config/config_amounts.h"
#include "wire/config/window_event.h"
#include "wire/json.h"

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
static int read_budget_terms(const struct reader *reader, const json_t *map,
                             enum period *ret_period, uint8_t *ret_firmness)
{
    const char *names[KEYS_MAX], *per = NULL;
    AUTO(json) json_t *hard = plain_read(reader_get(map, "hard"));
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

/* An amount for a month, or a map. user: the user that it limits; "": the queue. */
static int read_budget_of(const struct setting_place *place, const struct reader *reader,
                          const json_t *parent, const char *name, const char *user)
{
    const json_t *given = reader_get(parent, name);
    bool is_map = json_is_object(given);
    const struct reader inner = reader_inside(reader, name);
    const json_t *object = is_map ? given : parent;
    const char *key = is_map ? "amount" : name;
    AUTO(json) json_t *value = plain_read(reader_get(object, key));
    double amount = json_number_value(value);
    struct event_queue *queue = place->base;
    enum account_kind kind =
        strcmp(name, budget_keys[ACCOUNT_MONEY]) == 0 ? ACCOUNT_MONEY : ACCOUNT_GPU_TIME;
    int64_t most = budget_most(name);
    enum period period = PERIOD_MONTH;
    uint8_t firmness = BUDGET_SOFT;

    int code = is_map ? read_budget_terms(&inner, object, &period, &firmness) : 0;
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
        int code = amounts_read(&inner, map, name, is_group ? NULL : budget_keys, &amounts);
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
        amounts_set(map_below(people, of_each), subject->resource, subject->limit);
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
        json_object_set_new(people, name, amounts_shorten(map));
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

static int read_list(const struct setting_place *place, const struct reader *reader,
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

/* An empty list is refused: it would allow all users. */
int read_listed(const struct setting_place *place)
{
    const struct event_queue *queue = place->base;
    const struct reader inner = reader_inside(place->reader, place->key);
    enum queue_list list = list_of(place->row);
    uint32_t before = queue->names_count;
    int code = 0;

    if (!json_is_object(place->value) || list == QUEUE_MODELS)
        code = read_list(place, place->reader, place->object, place->key, list);
    else {
        code = reader_check_keys(&inner, place->value, people_keys);
        for (uint32_t i = 0; i < 2 && code == 0; i++)
            code =
                read_list(place, &inner, place->value, people_keys[i], (enum queue_list)(list + i));
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
