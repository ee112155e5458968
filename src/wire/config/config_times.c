/* SPDX-License-Identifier: Apache-2.0 */
/* What of a configuration hangs on times: windows, tariffs and reservations. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "time/calendar_inside.h"
#include "wire/config/config_keys.h"

/* ---- windows ---- */

/* Words or a list of words at a key. */
static int read_rules(const struct reader *reader, const json_t *object, const char *key,
                      struct calendar *calendar, struct calendar_rules *into)
{
    const json_t *value = reader_get(object, key);
    bool is_list = json_is_array(value);
    size_t count = is_list ? json_array_size(value) : value ? 1 : 0;
    int code = 0;

    for (size_t i = 0; i < count && code == 0; i++) {
        const json_t *words = is_list ? json_array_get(value, i) : value;
        if (json_is_string(words))
            code = calendar_add(calendar, into, json_string_value(words), reader->err);
        else
            code = error_set(reader->err, -EINVAL, "expected words like 22:00-06:00, not %s",
                             reader_kind(words));
        if (code < 0)
            code = is_list ? reader_place_item(reader, code, value, i)
                           : reader_place_line(reader, code, object, key);
    }
    return code;
}

int calendar_read(const struct reader *reader, const json_t *object, const char *key,
                  const char *name, struct calendar **ret)
{
    static const char *const keys[] = { "during", "except", NULL };
    const json_t *value = reader_get(object, key);
    bool is_map = json_is_object(value);
    AUTO(calendar) struct calendar *calendar = calendar_create();
    const struct reader inner = reader_at(reader, "window %.80s", name);

    int code = is_map ? reader_check_keys(&inner, value, keys) : 0;
    if (code == 0)
        code = read_rules(&inner, is_map ? value : object, is_map ? "during" : key, calendar,
                          &calendar->during);
    if (code == 0 && is_map)
        code = read_rules(&inner, value, "except", calendar, &calendar->except);
    if (code < 0)
        return code;
    code = value ? calendar_check(calendar, inner.err) : 0;
    if (code < 0)
        return reader_place_line(&inner, code, object, key);
    *ret = value ? TAKE(calendar) : NULL;
    return 0;
}

const char *times_words(const struct config *config, const char *window)
{
    const struct config_window *own =
        strchr(window, ' ') ? config_find_window(config, window) : NULL;

    return own ? own->words : window;
}

/* Times as a window of that name. */
static int read_times(struct config *config, const struct reader *reader, const json_t *object,
                      const char *key, const char *name, const char *window)
{
    AUTO(calendar) struct calendar *calendar = NULL;
    AUTO_RELEASE(text) struct text words = { 0 };

    int code = calendar_read(reader, object, key, name, &calendar);
    if (code < 0)
        return code;
    calendar_format(calendar, &words);
    config_add_window(config, window, text_string(&words));
    return 0;
}

int times_read_windows(struct config *config, const struct reader *reader, const json_t *document)
{
    const json_t *windows = reader_get(document, "windows");
    const char *zone = NULL, *name;
    json_t *value;

    int code = reader_string(reader, document, "timezone", ZONE_NAME_MAX, &zone);
    if (code == 0 && zone && strcmp(zone, "local") != 0) {
        if (!zone_name_is_valid(zone))
            return reader_fail(reader, -EINVAL, document, "timezone",
                               "'%s': expected a name like Europe/Berlin, UTC or local", zone);
        config->timezone = config_text(config, zone);
    }
    if (code == 0 && windows)
        code = map_check(reader, document, "windows", SETTING_WINDOWS);
    json_object_foreach((json_t *)(uintptr_t)windows, name, value)
    {
        if (code == 0 && json_is_null(value))
            code = reader_fail(reader, -EINVAL, windows, name, "expected times");
        if (code == 0)
            code = read_times(config, reader, windows, name, name, name);
    }
    return code;
}

/* The name of a window, or times, which become a window of its own. */
int read_when(const struct setting_place *place)
{
    const char *const *names = place->base; /* the name is the first member */
    const char *word = json_string_value(place->value);
    const char *kind = place->row->table == KEYS_TARIFF ? "tariff" : "reservation";
    int code = 0;

    AUTO_FREE char *own = mem_printf("%s %s", kind, names[0]);
    if (!place->value)
        return reader_fail(place->reader, -EINVAL, place->object, NULL,
                           "expected %s: times, or a window", place->key);
    bool is_name = word && name_is_valid(word);
    bool is_window = is_name && config_find_window(place->config, word);
    if (!is_window)
        code = read_times(place->config, place->reader, place->object, place->key, names[0], own);
    if (code < 0 && is_name)
        return section_fail(SETTING_WINDOWS, place->config, place->reader, place->object,
                            place->key, word);
    const char *window = config_text(place->config, is_window ? word : own);
    memcpy((char *)place->base + place->row->offset, &window, sizeof(window));
    return code;
}

json_t *write_when(const struct setting_view *of)
{
    return json_string(times_words(of->config, setting_text(of->row, of->base)));
}

/* ---- reservations ---- */

/* maintenance, {queue: NAME} or {user: NAME} */
int read_owner(const struct setting_place *place)
{
    static const char *const keys[] = { "queue", "user", NULL };
    const json_t *owner = place->value;
    const char *word = json_string_value(owner), *queue = NULL, *user = NULL;
    struct event_reservation *reservation = place->base;

    if (word && strcmp(word, "maintenance") == 0)
        return 0;
    if (!json_is_object(owner))
        return reader_fail(place->reader, -EINVAL, place->object, owner ? place->key : NULL,
                           "expected for: maintenance, {queue: NAME} or {user: NAME}");
    int code = reader_check_keys(place->reader, owner, keys);
    if (code == 0)
        code = reader_name(place->reader, owner, "queue", &queue);
    if (code == 0)
        code = reader_name(place->reader, owner, "user", &user);
    if (code < 0)
        return code;
    if (!queue == !user)
        return place_fail(place, -EINVAL, "expected a queue or a user");
    if (queue && strcmp(queue, "default") != 0 && config_find_queue(place->config, queue) < 0)
        return place_fail(place, -EINVAL, "no queue '%s'", queue);
    reservation->owner = config_text(place->config, queue ? queue : user);
    reservation->kind = queue ? RESERVATION_QUEUE : RESERVATION_USER;
    return 0;
}

json_t *write_owner(const struct setting_view *of)
{
    const struct event_reservation *reservation = of->base;

    return reservation->kind == RESERVATION_MAINTENANCE
               ? json_string("maintenance")
               : json_pack("{s:s}", reservation->kind == RESERVATION_QUEUE ? "queue" : "user",
                           reservation->owner);
}

int reservation_check(const struct reader *reader, const json_t *object,
                      struct event_reservation *reservation)
{
    reservation->maker = "";
    if (reservation->gpus == 0 && reservation->where_count == 0)
        return reader_fail(reader, -EINVAL, object, NULL, "expected gpus: N or nodes: [NAME]");
    if (reservation->model[0] && reservation->gpus == 0)
        return reader_fail(reader, -EINVAL, object, "model", "expected gpus: N with it");
    return 0;
}

int config_reservation_read(struct config *config, const struct reader *reader,
                            const json_t *object, struct event_reservation *ret)
{
    int code = keys_read(config, reader, object, KEYS_RESERVATION, ret);
    return code < 0 ? code : reservation_check(reader, object, ret);
}

json_t *config_reservation_to_json(const struct config *config,
                                   const struct event_reservation *reservation)
{
    return keys_to_json(config, KEYS_RESERVATION, reservation);
}

void reservation_say(const struct config *config, const struct event_reservation *reservation,
                     struct text *text)
{
    if (reservation->kind == RESERVATION_MAINTENANCE)
        text_add(text, "maintenance");
    else
        text_printf(text, "for %s %s", reservation->kind == RESERVATION_QUEUE ? "queue" : "user",
                    reservation->owner);
    if (reservation->gpus > 0)
        text_printf(text, ", %" PRIu32 " %s", reservation->gpus,
                    reservation->model[0]    ? reservation->model
                    : reservation->gpus == 1 ? "gpu"
                                             : "gpus");
    for (uint32_t i = 0; i < reservation->where_count; i++)
        text_printf(text, "%s%s",
                    i > 0                   ? " "
                    : reservation->gpus > 0 ? " of "
                                            : ", ",
                    reservation->where[i].value);
    text_printf(text, ", %s", times_words(config, reservation->window));
}
