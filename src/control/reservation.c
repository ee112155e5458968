/* SPDX-License-Identifier: Apache-2.0 */
#include "control/reservation.h"

#include <string.h>

#include "control/times.h"
#include "wire/config/config.h"

/* Remove its window, too, if no other object uses it. */
void reserve_end(const struct control *control, const char *reservation)
{
    const struct agenda *agenda = &control_state(control)->agenda;
    int64_t found = agenda_find_reservation(agenda, reservation);
    const char *window = agenda->windows.items[agenda->reservations.items[found].window]->name;

    control_emit(control, (struct event){ .kind = EVENT_RESERVATION_REMOVE,
                                          .reservation_remove = { .name = reservation } });
    if (strchr(window, ' '))
        control_emit(control, (struct event){ .kind = EVENT_WINDOW, .window = { .name = window } });
}

static int check(const struct state *state, const struct event_reservation *asked,
                 struct error *err)
{
    const char *missing;

    if (agenda_find_reservation(&state->agenda, asked->name) >= 0)
        return error_set(err, REFUSED_CONFLICT, "reservation %s: there is one of that name",
                         asked->name);
    if (state->agenda.reservations.count == AGENDA_RESERVATIONS_MAX)
        return error_set(err, REFUSED_TOO_MANY, "more than %d reservations",
                         AGENDA_RESERVATIONS_MAX);
    if (asked->kind == RESERVATION_QUEUE && state_find_queue(state, asked->owner) <= QUEUE_ROOT)
        return error_set(err, REFUSED_NOT_FOUND, "reservation %s: no queue '%s'", asked->name,
                         asked->owner);
    if (!times_find_nodes(state, asked, &missing))
        return error_set(err, REFUSED_NOT_FOUND, "reservation %s: no node '%s'", asked->name,
                         missing);
    int64_t matching = 0;
    for (size_t i = 0; i < state->devices.count; i++)
        matching += !asked->model[0] || strcmp(state->devices.items[i].model, asked->model) == 0;
    if (asked->gpus > matching)
        return error_set(err, REFUSED_NEVER, "reservation %s: %u gpus of %s, there are only %lld",
                         asked->name, asked->gpus, asked->model[0] ? asked->model : "any model",
                         (long long)matching);
    return 0;
}

/* The words of a window that is for this reservation alone; NULL: it is another's. */
static const char *own_words(const struct config *config, const struct event_reservation *asked)
{
    return strchr(asked->window, ' ') ? config_find_window(config, asked->window)->words : NULL;
}

static int check_times(const struct control *control, const struct event_reservation *asked,
                       const char *words, struct error *err)
{
    AUTO(zone) struct zone *zone = NULL;

    int code = times_zone(control_state(control)->agenda.timezone, &zone, err);
    if (code == 0 && words && times_are_over(control, words, zone))
        code = error_set(err, REFUSED_BAD, "reservation %s: when: '%s' is over or never occurs",
                         asked->name, words);
    return code;
}

int reserve(const struct control *control, const char *maker, const struct config *config,
            const struct event_reservation *asked, struct error *err)
{
    const struct state *state = control_state(control);
    const char *words = own_words(config, asked);
    struct times times = { 0 };
    struct event event = { .kind = EVENT_RESERVATION, .reservation = *asked };

    int code = check(state, asked, err);
    if (code == 0)
        code = check_times(control, asked, words, err);
    if (code < 0)
        return code;
    event.reservation.maker = maker;
    if (words)
        code = times_add_window(&times, control, state->agenda.timezone, event.reservation.window,
                                words, err);
    if (code == 0) {
        times_emit_windows(&times, control);
        control_emit(control, event);
    }
    times_release(&times);
    return code;
}

int reserve_remove(const struct control *control, const char *name, struct error *err)
{
    const struct agenda *agenda = &control_state(control)->agenda;
    int64_t found = agenda_find_reservation(agenda, name);

    if (found < 0)
        return error_set(err, REFUSED_NOT_FOUND, "reservation %s: there is none", name);
    if (!agenda->reservations.items[found].maker[0])
        return error_set(err, REFUSED_CONFLICT,
                         "reservation %s: it is part of the configuration; remove it there", name);
    reserve_end(control, name);
    return 0;
}
