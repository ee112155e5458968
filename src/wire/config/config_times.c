/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_times.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/config/calendar_read.h"
#include "wire/config/config.h"

const char *const config_times_keys[CONFIG_TIMES_KEYS] = { "timezone", "windows", "tariffs",
                                                           "reservations" };

#define MONEY_MAX     1e9 /* of a budget: whole ones of the currency */
#define GPU_HOURS_MAX 1e7

static void release_when(struct config_when *when)
{
    free(when->window);
    free(when->words);
}

void config_reservation_release(struct config_reservation *reservation)
{
    free(reservation->name);
    free(reservation->owner);
    free(reservation->model);
    string_list_destroy(reservation->nodes);
    release_when(&reservation->when);
    *reservation = (struct config_reservation){ 0 };
}

void config_times_release(struct config *config)
{
    for (size_t i = 0; i < config->window_count; i++) {
        free(config->windows[i].name);
        free(config->windows[i].words);
    }
    for (size_t i = 0; i < config->tariff_count; i++) {
        free(config->tariffs[i].name);
        release_when(&config->tariffs[i].when);
    }
    for (size_t i = 0; i < config->reservation_count; i++)
        config_reservation_release(&config->reservations[i]);
    free(config->windows);
    free(config->tariffs);
    free(config->reservations);
    free(config->timezone);
}

void config_times_release_queue(struct config_queue *queue)
{
    for (size_t i = 0; i < queue->during_count; i++)
        free(queue->during[i].window);
    free(TAKE(queue->during));
    queue->during_count = 0;
}

void config_times_release_pool(struct config_pool *pool)
{
    for (size_t i = 0; i < pool->during_count; i++)
        free(pool->during[i].window);
    free(TAKE(pool->during));
    pool->during_count = 0;
}

const char *config_when_words(const struct config_when *when)
{
    return when->window ? when->window : when->words;
}

/* ---- windows ---- */

static struct reader reader_in(const struct reader *reader, const char *kind, const char *name)
{
    struct reader inner = *reader;

    snprintf(inner.where, sizeof(inner.where), "%.50s%s%.63s", kind, name[0] ? " " : "", name);
    return inner;
}

/* A map whose keys are names; its size is within a limit. */
static int check_map(const struct reader *reader, const json_t *document, const char *key,
                     size_t most)
{
    const json_t *map = reader_get(document, key);
    const char *name;
    json_t *value;

    if (!json_is_object(map) || json_object_size(map) > most)
        return reader_fail(reader, -EINVAL, document, key, "expected a map of at most %zu by name",
                           most);
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        if (name_is_valid(name))
            continue;
        error_set(reader->err, -EINVAL, "%s: '%.80s' is no name", key, name);
        return reader_place_line(reader, -EINVAL, map, name);
    }
    return 0;
}

static char *words_of(const struct calendar *calendar)
{
    AUTO_RELEASE(text) struct text words = { 0 };

    calendar_format(calendar, &words);
    return text_take(&words);
}

static const struct config_window *find_window(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->window_count; i++) {
        if (strcmp(config->windows[i].name, name) == 0)
            return &config->windows[i];
    }
    return NULL;
}

static int fail_window(const struct config *config, const struct reader *reader,
                       const json_t *object, const char *key, const char *name)
{
    const char *names[CONFIG_WINDOWS_MAX + 1] = { 0 };
    char hint[READER_SCALAR_SIZE * 2];

    for (size_t i = 0; i < config->window_count; i++)
        names[i] = config->windows[i].name;
    error_set(reader->err, -EINVAL, "no window '%.80s'%s", name,
              reader_suggest(name, names, hint, sizeof(hint)));
    return reader_place_line(reader, -EINVAL, object, key);
}

static int read_zone(struct config *config, const struct reader *reader, const json_t *document)
{
    const char *zone = NULL;

    int code = reader_string(reader, document, "timezone", ZONE_NAME_MAX, &zone);
    if (code < 0 || !zone || strcmp(zone, "local") == 0)
        return code;
    if (!zone_name_is_valid(zone))
        return reader_fail(reader, -EINVAL, document, "timezone",
                           "'%s': expected a name like Europe/Berlin, UTC or local", zone);
    config->timezone = mem_string(zone);
    return 0;
}

int config_times_read_windows(struct config *config, const struct reader *reader,
                              const json_t *document)
{
    const json_t *windows = reader_get(document, "windows");
    const char *name;
    json_t *value;

    int code = read_zone(config, reader, document);
    if (code < 0 || !windows)
        return code;
    code = check_map(reader, document, "windows", CONFIG_WINDOWS_MAX);
    if (code < 0)
        return code;
    config->windows = mem_zero(json_object_size(windows) + 1, sizeof(config->windows[0]));
    json_object_foreach((json_t *)(uintptr_t)windows, name, value)
    {
        AUTO(calendar) struct calendar *calendar = NULL;
        code = calendar_read(reader, windows, name, name, &calendar);
        if (code < 0)
            return code;
        if (!calendar)
            return reader_fail(reader, -EINVAL, windows, name, "expected times");
        config->windows[config->window_count++] =
            (struct config_window){ mem_string(name), words_of(calendar) };
    }
    return 0;
}

/* The name of a window, or a calendar. */
static int read_when(const struct config *config, const struct reader *reader, const json_t *object,
                     const char *key, const char *name, struct config_when *ret)
{
    const char *word = json_string_value(reader_get(object, key));
    AUTO(calendar) struct calendar *calendar = NULL;

    if (word && name_is_valid(word) && find_window(config, word)) {
        ret->window = mem_string(word);
        return 0;
    }
    int code = calendar_read(reader, object, key, name, &calendar);
    if (code < 0 && word && name_is_valid(word))
        return fail_window(config, reader, object, key, word);
    if (code == 0 && !calendar)
        code = reader_fail(reader, -EINVAL, object, NULL, "expected %s: times, or a window", key);
    if (code == 0)
        ret->words = words_of(calendar);
    return code;
}

/* ---- tariffs ---- */

static int read_factor(const struct reader *reader, const json_t *object, const char *key,
                       uint32_t *ret)
{
    int64_t milli = -1;

    int code = reader_milli(reader, object, key, TARIFF_MAX, &milli);
    if (code == 0 && milli < 0)
        code = reader_fail(reader, -EINVAL, object, NULL, "expected factor: 0 to %d",
                           TARIFF_MAX / TARIFF_ONE);
    *ret = (uint32_t)(milli > 0 ? milli : 0);
    return code;
}

static int read_tariff(const struct config *config, const struct reader *above,
                       const json_t *tariffs, struct config_tariff *tariff)
{
    static const char *const keys[] = { "during", "factor", NULL };
    const json_t *value = json_object_get(tariffs, tariff->name);
    struct reader reader = reader_in(above, "tariff", tariff->name);

    if (json_is_object(value)) {
        int code = reader_check_keys(&reader, value, keys);
        if (code == 0)
            code = read_factor(&reader, value, "factor", &tariff->factor_milli);
        if (code == 0)
            code = read_when(config, &reader, value, "during", tariff->name, &tariff->when);
        return code;
    }
    if (!find_window(config, tariff->name))
        return fail_window(config, &reader, tariffs, tariff->name, tariff->name);
    tariff->when.window = mem_string(tariff->name);
    return read_factor(&reader, tariffs, tariff->name, &tariff->factor_milli);
}

static int read_tariffs(struct config *config, const struct reader *reader, const json_t *document)
{
    const json_t *tariffs = reader_get(document, "tariffs");
    const char *name;
    json_t *value;

    int code = tariffs ? check_map(reader, document, "tariffs", AGENDA_TARIFFS_MAX) : 0;
    if (code < 0 || !tariffs)
        return code;
    config->tariffs = mem_zero(json_object_size(tariffs) + 1, sizeof(config->tariffs[0]));
    json_object_foreach((json_t *)(uintptr_t)tariffs, name, value)
    {
        struct config_tariff *tariff = &config->tariffs[config->tariff_count++];
        tariff->name = mem_string(name);
        code = read_tariff(config, reader, tariffs, tariff);
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- reservations ---- */

/* maintenance, {queue: NAME} or {user: NAME} */
static int read_owner(const struct config *config, const struct reader *reader,
                      const json_t *object, struct config_reservation *ret)
{
    static const char *const keys[] = { "queue", "user", NULL };
    const json_t *whom = reader_get(object, "for");
    const char *word = json_string_value(whom), *queue = NULL, *user = NULL;

    ret->owner = mem_string("");
    if (word && strcmp(word, "maintenance") == 0)
        return 0;
    if (!json_is_object(whom))
        return reader_fail(reader, -EINVAL, object, whom ? "for" : NULL,
                           "expected for: maintenance, {queue: NAME} or {user: NAME}");
    int code = reader_check_keys(reader, whom, keys);
    if (code == 0)
        code = reader_name(reader, whom, "queue", &queue);
    if (code == 0)
        code = reader_name(reader, whom, "user", &user);
    if (code < 0)
        return code;
    if (!queue == !user)
        return reader_fail(reader, -EINVAL, object, "for", "expected a queue or a user");
    if (queue && config && strcmp(queue, "default") != 0 && config_find_queue(config, queue) < 0)
        return reader_fail(reader, -EINVAL, object, "for", "no queue '%s'", queue);
    free(ret->owner);
    ret->owner = mem_string(queue ? queue : user);
    ret->kind = queue ? RESERVATION_QUEUE : RESERVATION_USER;
    return 0;
}

static int read_what(const struct reader *reader, const json_t *object,
                     struct config_reservation *ret)
{
    char model[REQUEST_MODEL_SIZE] = "";
    const char *word = NULL;
    int64_t gpus = 0;
    size_t count;

    int code = reader_integer(reader, object, "gpus", 1, CONFIG_GPUS_MAX, &gpus);
    if (code == 0)
        code = reader_name(reader, object, "model", &word);
    if (code == 0 && reader_get(object, "nodes"))
        code = reader_names(reader, object, "nodes", CONFIG_NODES_MAX, &ret->nodes, &count);
    if (code < 0)
        return code;
    if (gpus == 0 && !ret->nodes)
        return reader_fail(reader, -EINVAL, object, NULL, "expected gpus: N or nodes: [NAME]");
    if (word && gpus == 0)
        return reader_fail(reader, -EINVAL, object, "model", "expected gpus: N with it");
    if (word && strlen(word) >= sizeof(model))
        return reader_fail(reader, -EINVAL, object, "model", "'%s': longer than %d bytes", word,
                           REQUEST_MODEL_SIZE - 1);
    for (size_t i = 0; word && word[i]; i++)
        model[i] = (char)tolower((unsigned char)word[i]);
    ret->model = mem_string(model);
    ret->gpus = (uint32_t)gpus;
    return 0;
}

int config_reservation_read(const struct config *config, const struct reader *reader,
                            const json_t *object, struct config_reservation *ret)
{
    static const char *const keys[] = { "for", "when", "gpus", "model", "nodes", NULL };

    int code = reader_check_keys(reader, object, keys);
    if (code == 0)
        code = read_owner(config, reader, object, ret);
    if (code == 0)
        code = read_what(reader, object, ret);
    if (code == 0)
        code = read_when(config, reader, object, "when", ret->name, &ret->when);
    return code;
}

static int read_reservations(struct config *config, const struct reader *above,
                             const json_t *document)
{
    const json_t *reservations = reader_get(document, "reservations");
    const char *name;
    json_t *value;

    int code =
        reservations ? check_map(above, document, "reservations", AGENDA_RESERVATIONS_MAX) : 0;
    if (code < 0 || !reservations)
        return code;
    config->reservations =
        mem_zero(json_object_size(reservations) + 1, sizeof(config->reservations[0]));
    json_object_foreach((json_t *)(uintptr_t)reservations, name, value)
    {
        struct reader reader = reader_in(above, "reservation", name);
        struct config_reservation *reservation = &config->reservations[config->reservation_count++];
        reservation->name = mem_string(name);
        code = config_reservation_read(config, &reader, value, reservation);
        if (code < 0)
            return code;
    }
    return 0;
}

int config_times_read(struct config *config, const struct reader *reader, const json_t *document)
{
    int code = read_tariffs(config, reader, document);

    return code < 0 ? code : read_reservations(config, reader, document);
}

/* ---- of queues ---- */

/* The bounds of one kind, of one resource or of several. */
struct during_sink {
    struct config_queue *queue;
    const char *window;
    enum quota_bound which;
};

static struct config_during *during_of(struct config_queue *queue, const char *window,
                                       const char *resource)
{
    for (size_t i = 0; i < queue->during_count; i++) {
        if (strcmp(queue->during[i].window, window) == 0 &&
            strcmp(queue->during[i].resource, resource) == 0)
            return &queue->during[i];
    }
    struct config_during added = { .window = mem_string(window), .quota = QUOTA_ABSENT };
    snprintf(added.resource, sizeof(added.resource), "%s", resource);
    queue->during = mem_resize(queue->during, queue->during_count + 1, sizeof(added));
    queue->during[queue->during_count] = added;
    return &queue->during[queue->during_count++];
}

static void set_during(void *user, const char *resource, int64_t amount)
{
    const struct during_sink *sink = user;
    struct config_during *during = during_of(sink->queue, sink->window, resource);

    *quota_part(&during->quota, sink->which) = amount;
}

static const char *const bound_keys[] = { "guarantee", "limit", "borrow", "lend", NULL };

static int read_bounds(struct config_queue *queue, const struct reader *reader,
                       const json_t *object, const char *window)
{
    int code = reader_check_keys(reader, object, bound_keys);

    for (enum quota_bound i = 0; i < BOUNDS && code == 0; i++) {
        struct during_sink sink = { queue, window, i };
        const char *word = json_string_value(reader_get(object, bound_keys[i]));
        if (word && i > 0 && strcmp(word, "none") == 0)
            set_during(&sink, "gpus", QUOTA_NONE);
        else
            code = config_amounts_read(reader, object, bound_keys[i], set_during, &sink);
    }
    return code;
}

/* during: {WINDOW: {...}} */
static int check_during(const struct config *config, const struct reader *reader,
                        const json_t *object)
{
    const json_t *during = reader_get(object, "during");
    const char *name;
    json_t *value;

    if (during && !json_is_object(during))
        return reader_fail(reader, -EINVAL, object, "during",
                           "expected a map from window to what holds then, not %s",
                           reader_kind(during));
    json_object_foreach((json_t *)(uintptr_t)during, name, value)
    {
        if (!find_window(config, name))
            return fail_window(config, reader, during, name, name);
    }
    return 0;
}

static struct reader during_reader(const struct reader *reader, const char *window)
{
    struct reader inner = *reader;

    snprintf(inner.where, sizeof(inner.where), "%.70s: during %.40s", reader->where, window);
    return inner;
}

static int read_amount(const struct reader *reader, const json_t *object, const char *key,
                       double most, double unit, int64_t *ret)
{
    const json_t *value = reader_get(object, key);
    double amount = json_number_value(value);

    if (!json_is_number(value) || amount < 0 || amount > most)
        return reader_fail(reader, -EINVAL, object, value ? key : NULL,
                           "expected %s: a number from 0 to %.0f", key, most);
    *ret = (int64_t)(amount * unit + 0.5);
    return 0;
}

/* {amount: 5000, per: month, hard: true}, or the amount alone: for a month. */
static int read_budget(const struct reader *above, const json_t *object, const char *key,
                       double most, double unit, struct config_budget *ret)
{
    static const char *const keys[] = { "amount", "per", "hard", NULL };
    const json_t *value = reader_get(object, key);
    struct reader reader = *above;
    const char *per = NULL;

    *ret = (struct config_budget){ .most = ACCOUNT_NO_BUDGET, .period = PERIOD_MONTH };
    if (!value)
        return 0;
    if (!json_is_object(value))
        return read_amount(above, object, key, most, unit, &ret->most);
    snprintf(reader.where, sizeof(reader.where), "%.90s: %.30s", above->where, key);
    int code = reader_check_keys(&reader, value, keys);
    if (code == 0)
        code = read_amount(&reader, value, "amount", most, unit, &ret->most);
    if (code == 0)
        code = reader_string(&reader, value, "per", 20, &per);
    if (code == 0 && per && !period_of_name(per, &ret->period))
        code = reader_fail(&reader, -EINVAL, value, "per",
                           "'%s': expected hour, day, week, month, quarter or year", per);
    const json_t *hard = reader_get(value, "hard");
    if (code == 0 && hard && !json_is_boolean(hard) &&
        (!json_is_string(hard) || strcmp(json_string_value(hard), "kill") != 0))
        code = reader_fail(&reader, -EINVAL, value, "hard", "expected true, false or kill");
    ret->firmness = json_is_string(hard) ? BUDGET_KILL
                    : json_is_true(hard) ? BUDGET_HARD
                                         : BUDGET_SOFT;
    return code;
}

int config_times_read_queue(const struct config *config, struct config_queue *queue,
                            const struct reader *reader, const json_t *object)
{
    const json_t *during = reader_get(object, "during");
    const char *name;
    json_t *value;

    int code = check_during(config, reader, object);
    json_object_foreach((json_t *)(uintptr_t)during, name, value)
    {
        struct reader inner = during_reader(reader, name);
        if (code == 0)
            code = read_bounds(queue, &inner, value, name);
    }
    if (code == 0)
        code =
            read_budget(reader, object, "budget", MONEY_MAX, 1e6, &queue->budgets[ACCOUNT_MONEY]);
    if (code == 0)
        code = read_budget(reader, object, "gpu_hours", GPU_HOURS_MAX, (double)USEC_PER_HOUR,
                           &queue->budgets[ACCOUNT_GPU_TIME]);
    return code;
}

/* ---- of pools ---- */

int config_times_read_pool(const struct config *config, struct config_pool *pool,
                           const struct reader *reader, const json_t *object)
{
    static const char *const keys[] = { "min", "max", NULL };
    const json_t *during = reader_get(object, "during");
    const char *name;
    json_t *value;

    int code = check_during(config, reader, object);
    if (code < 0 || !during)
        return code;
    if (pool->is_static)
        return reader_fail(reader, -EINVAL, object, "during",
                           "a static pool has a fixed size; expected none of it");
    pool->during = mem_zero(json_object_size(during) + 1, sizeof(pool->during[0]));
    json_object_foreach((json_t *)(uintptr_t)during, name, value)
    {
        struct reader inner = during_reader(reader, name);
        struct config_pool_during *added = &pool->during[pool->during_count++];
        *added = (struct config_pool_during){ mem_string(name), CONFIG_NONE, CONFIG_NONE };
        code = reader_check_keys(&inner, value, keys);
        if (code == 0)
            code = reader_integer(&inner, value, "min", 0, CONFIG_GPUS_MAX, &added->min);
        if (code == 0)
            code = reader_integer(&inner, value, "max", 1, CONFIG_GPUS_MAX, &added->max);
        if (code == 0 && added->max != CONFIG_NONE && added->min > added->max)
            code = reader_fail(&inner, -EINVAL, value, "max",
                               "%" PRId64 " is less than min, %" PRId64, added->max, added->min);
        if (code < 0)
            return code;
    }
    return 0;
}
