/* SPDX-License-Identifier: Apache-2.0 */
#include "control/times.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/zone_file.h"
#include "time/calendar.h"
#include "time/cron.h"

void times_release(struct times *times)
{
    list_release(&times->windows);
    arena_release(&times->arena);
}

int times_zone(const char *zone_name, struct zone **ret, struct error *err)
{
    int code = zone_load(zone_name && zone_name[0] ? zone_name : "local", ret, err);

    return code < 0 ? error_prefix(err, code == -ENOENT ? -EINVAL : code, "timezone") : 0;
}

static struct window_place place_of(const struct control *control, const struct zone *zone)
{
    return (struct window_place){ .zone = zone,
                                  .now = control_now(control),
                                  .wall_ahead = control_wall_ahead(control),
                                  .ahead = WINDOW_AHEAD,
                                  .spans_most = WINDOW_FEW };
}

static int add_window(struct times *times, const struct window_place *place, const char *name,
                      const char *words, struct error *err)
{
    struct event event;

    int code = window_event(place, name, words, &times->arena, &event, err);
    if (code == 0)
        list_add(&times->windows, event);
    return code;
}

int times_add_window(struct times *times, const struct control *control, const char *zone_name,
                     const char *name, const char *words, struct error *err)
{
    AUTO(zone) struct zone *zone = NULL;

    int code = times_zone(zone_name, &zone, err);
    if (code < 0)
        return code;
    struct window_place place = place_of(control, zone);
    return add_window(times, &place, name, words, err);
}

bool times_are_over(const struct control *control, const char *words, const struct zone *zone)
{
    usec_t wall = control_wall(control);
    AUTO(calendar) struct calendar *calendar = NULL;
    struct span_list spans = { 0 };
    struct error err;

    if (calendar_parse(words, &calendar, &err) < 0)
        return false;
    int code = calendar_expand(calendar, zone, wall, wall + 3650 * USEC_PER_DAY, &spans, &err);
    bool is_empty = code == 0 && spans.count == 0;
    span_list_release(&spans);
    return is_empty;
}

usec_t times_next_cron(const struct control *control, const char *schedule, usec_t wall)
{
    AUTO(zone) struct zone *zone = NULL;
    struct cron cron;
    struct error err;

    if (cron_parse(schedule, &cron, &err) < 0 ||
        times_zone(control_state(control)->agenda.timezone, &zone, &err) < 0)
        return USEC_NEVER;
    usec_t next = cron_next(&cron, zone, wall);
    return next == USEC_NEVER ? next : next - control_wall_ahead(control);
}

/* ---- a configuration ---- */

static const struct event_reservation *find_reservation(const struct config *config,
                                                        const char *name)
{
    for (size_t i = 0; i < config->reservation_count; i++) {
        if (strcmp(config->reservations[i].name, name) == 0)
            return &config->reservations[i];
    }
    return NULL;
}

static bool has_window(const struct times *times, const char *name)
{
    for (size_t i = 0; i < times->windows.count; i++) {
        if (strcmp(times->windows.items[i].window.name, name) == 0)
            return true;
    }
    return false;
}

/* Reservations made by command stay, so the queues and windows they use must stay. */
static int check_kept(const struct state *state, const struct config *config, struct error *err)
{
    const struct agenda *agenda = &state->agenda;

    for (size_t i = 0; i < agenda->reservations.count; i++) {
        const struct reservation *kept = &agenda->reservations.items[i];
        const char *window = agenda->windows.items[kept->window]->name;
        if (!kept->maker[0])
            continue;
        if (find_reservation(config, kept->name))
            return error_set(err, -EALREADY,
                             "reservation %s: %s made it; run tarn reserve --remove %s first",
                             kept->name, kept->maker, kept->name);
        if (!strchr(window, ' ') && !config_find_window(config, window))
            return error_set(err, -EALREADY, "window %s: reservation %s names it", window,
                             kept->name);
        if (kept->kind == RESERVATION_QUEUE && strcmp(kept->owner, "default") != 0 &&
            config_find_queue(config, kept->owner) < 0)
            return error_set(err, -EALREADY, "queue %s: reservation %s is for it", kept->owner,
                             kept->name);
    }
    return 0;
}

bool times_find_nodes(const struct state *state, const struct event_reservation *reservation,
                      const char **ret_missing)
{
    for (uint32_t i = 0; i < reservation->where_count; i++) {
        *ret_missing = reservation->where[i].value;
        if (state_find_node(state, *ret_missing) < 0)
            return false;
    }
    return true;
}

static int check_nodes(const struct state *state, const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->reservation_count; i++) {
        const struct event_reservation *reservation = &config->reservations[i];
        const char *missing;
        if (!times_find_nodes(state, reservation, &missing))
            return error_set(err, -EINVAL, "reservation %s: nodes: no node '%s'", reservation->name,
                             missing);
    }
    return 0;
}

int times_check(const struct state *state, const struct config *config, struct error *err)
{
    AUTO(zone) struct zone *zone = NULL;

    int code = times_zone(config->timezone, &zone, err);
    if (code < 0)
        return code;
    if (state->agenda.windows.count + config->window_count > AGENDA_WINDOWS_MAX)
        return error_set(err, -E2BIG, "windows: more than %d were named so far",
                         AGENDA_WINDOWS_MAX);
    code = check_kept(state, config, err);
    return code < 0 ? code : check_nodes(state, config, err);
}

/* A window that cannot be expanded now is left out. (The limit, 10,000 spans in an hour, is never
 * reached.) */
void times_prepare(struct times *times, const struct control *control, const struct config *config)
{
    AUTO(zone) struct zone *zone = NULL;
    struct error err;

    if (times_zone(config->timezone, &zone, &err) < 0)
        zone = zone_utc(); /* it existed when the configuration was checked */
    struct window_place place = place_of(control, zone);
    for (size_t i = 0; i < config->window_count; i++)
        add_window(times, &place, config->windows[i].name, config->windows[i].words, &err);
}

void times_emit_windows(struct times *times, const struct control *control)
{
    for (size_t i = 0; i < times->windows.count; i++)
        control_emit(control, times->windows.items[i]);
}

/* The order of tariffs matters: remove all, then add them in order. */
void times_emit_rest(const struct control *control, const struct config *config)
{
    const struct agenda *agenda = &control_state(control)->agenda;

    while (agenda->tariffs.count > 0) {
        const char *name = agenda->tariffs.items[0].name;
        control_emit(control, (struct event){ .kind = EVENT_TARIFF, .tariff = { .name = name } });
    }
    for (size_t i = 0; i < config->tariff_count; i++)
        control_emit(control, (struct event){ .kind = EVENT_TARIFF, .tariff = config->tariffs[i] });
    for (size_t i = agenda->reservations.count; i-- > 0;) {
        const char *name = agenda->reservations.items[i].name;
        if (!agenda->reservations.items[i].maker[0] && !find_reservation(config, name))
            control_emit(control, (struct event){ .kind = EVENT_RESERVATION_REMOVE,
                                                  .reservation_remove = { .name = name } });
    }
    for (size_t i = 0; i < config->reservation_count; i++)
        control_emit(control, (struct event){ .kind = EVENT_RESERVATION,
                                              .reservation = config->reservations[i] });
}

/* Whether a reservation made by command uses this window. */
static bool is_kept(const struct agenda *agenda, uint32_t window)
{
    for (size_t i = 0; i < agenda->reservations.count; i++) {
        if (agenda->reservations.items[i].window == window)
            return true;
    }
    return false;
}

void times_emit_gone(struct times *times, const struct control *control)
{
    const struct agenda *agenda = &control_state(control)->agenda;

    for (uint32_t i = 0; i < agenda->windows.count; i++) {
        const struct window *window = agenda->windows.items[i];
        if (window->words && window->words[0] && !has_window(times, window->name) &&
            !is_kept(agenda, i))
            control_emit(control, (struct event){ .kind = EVENT_WINDOW,
                                                  .window = { .name = window->name } });
    }
}
