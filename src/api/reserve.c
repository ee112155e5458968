/* SPDX-License-Identifier: Apache-2.0 */
/* GET, POST, DELETE /v1/reservations: what is kept for whom, and when. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/times.h"
#include "wire/config/config_event.h"

static const struct window *window_of(const struct api *api, const struct reservation *reservation)
{
    return api_state(api)->agenda.windows.items[reservation->window];
}

static json_t *view_reservation(const struct api *api, const struct reservation *reservation)
{
    const struct window *window = window_of(api, reservation);
    usec_t now = api->ports.now(api->ports.user);
    struct config_reservation said;
    usec_t edge;

    times_reservation_of(&said, api_state(api), reservation);
    json_t *view = config_reservation_to_json(&said);
    config_reservation_release(&said);
    bool is_open = window_at(window, now, &edge);
    usec_t until = is_open || edge == USEC_NEVER ? edge : window_next_edge(window, edge);
    json_object_set_new(view, "name", json_string(reservation->name));
    json_object_set_new(view, "by",
                        reservation->maker[0] ? json_string(reservation->maker) : json_null());
    json_object_set_new(view, "open", json_boolean(is_open));
    json_object_set_new(view, "from", is_open ? json_null() : view_edge(api, edge));
    json_object_set_new(view, "until", view_edge(api, until));
    return view;
}

void handle_reservations(struct call *call)
{
    const struct agenda *agenda = &api_state(call->api)->agenda;
    json_t *list = json_array();

    for (size_t i = 0; i < agenda->reservations.count; i++)
        json_array_append_new(list, view_reservation(call->api, &agenda->reservations.items[i]));
    reply_json(call->request, 200, json_pack("{s:o}", "reservations", list));
}

/* With its window, when nobody else has it. */
void times_remove_reservation(struct api *api, const char *reservation)
{
    const struct agenda *agenda = &api_state(api)->agenda;
    int64_t found = agenda_find_reservation(agenda, reservation);
    AUTO_FREE char *name = mem_string(reservation);
    AUTO_FREE char *window = mem_string(window_of(api, &agenda->reservations.items[found])->name);
    struct event remove = { .kind = EVENT_RESERVATION_REMOVE,
                            .reservation_remove = { .name = name } };
    struct event gone = { .kind = EVENT_WINDOW, .window = { .name = window } };

    api->ports.emit(api->ports.user, &remove);
    if (strchr(window, ' '))
        api->ports.emit(api->ports.user, &gone);
}

struct reserving {
    struct api_change change;
    struct api *api;
    struct http_request *request;
    struct config_reservation asked;
    struct times times;
    char name[REQUEST_NAME_SIZE];
    bool is_removal;
};

static int check_reservation(struct reserving *reserving, struct error *err)
{
    const struct state *state = api_state(reserving->api);
    const struct config_reservation *asked = &reserving->asked;

    if (agenda_find_reservation(&state->agenda, asked->name) >= 0)
        return error_set(err, -EALREADY, "reservation %s: there is one of that name", asked->name);
    if (state->agenda.reservations.count == AGENDA_RESERVATIONS_MAX)
        return error_set(err, -EDQUOT, "more than %d reservations", AGENDA_RESERVATIONS_MAX);
    if (asked->kind == RESERVATION_QUEUE && state_find_queue(state, asked->owner) <= QUEUE_ROOT)
        return error_set(err, -ENOENT, "reservation %s: no queue '%s'", asked->name, asked->owner);
    for (char **node = asked->nodes; node && *node; node++) {
        if (state_find_node(state, *node) < 0)
            return error_set(err, -ENOENT, "reservation %s: no node '%s'", asked->name, *node);
    }
    int64_t matching = 0;
    for (size_t i = 0; i < state->devices.count; i++)
        matching += !asked->model[0] || strcmp(state->devices.items[i].model, asked->model) == 0;
    if (asked->gpus > matching)
        return error_set(err, -EDOM, "reservation %s: %u gpus of %s, there are only %lld",
                         asked->name, asked->gpus, asked->model[0] ? asked->model : "any model",
                         (long long)matching);
    return 0;
}

static int check_times(const struct reserving *reserving, struct error *err)
{
    const char *words = reserving->asked.when.words;
    AUTO(zone) struct zone *zone = NULL;

    int code = times_zone(api_state(reserving->api)->agenda.timezone, &zone, err);
    if (code == 0 && words && times_are_over(reserving->api, words, zone))
        code = error_set(err, -EINVAL, "reservation %s: when: '%s' is over, or never comes",
                         reserving->asked.name, words);
    return code;
}

static int run_reserve(struct api_change *change, struct error *err)
{
    struct reserving *reserving = CONTAINER_OF(change, struct reserving, change);
    struct api *api = reserving->api;
    struct event event;

    int code = check_reservation(reserving, err);
    if (code == 0)
        code = check_times(reserving, err);
    if (code < 0)
        return code;
    config_reservation_event(&reserving->asked, reserving->request->who->name,
                             &reserving->times.arena, &event);
    if (reserving->asked.when.words)
        code = times_add_window(&reserving->times, api, api_state(api)->agenda.timezone,
                                event.reservation.window, reserving->asked.when.words, err);
    if (code < 0)
        return code;
    times_emit_windows(&reserving->times, api);
    api->ports.emit(api->ports.user, &event);
    return 0;
}

static int run_remove(struct api_change *change, struct error *err)
{
    struct reserving *reserving = CONTAINER_OF(change, struct reserving, change);
    const struct agenda *agenda = &api_state(reserving->api)->agenda;
    int64_t found = agenda_find_reservation(agenda, reserving->name);

    if (found < 0)
        return error_set(err, -ENOENT, "reservation %s: there is none", reserving->name);
    if (!agenda->reservations.items[found].maker[0])
        return error_set(err, -EALREADY,
                         "reservation %s: the configuration has it; take it out there",
                         reserving->name);
    times_remove_reservation(reserving->api, reserving->name);
    return 0;
}

static void done_reserve(struct api_change *change, int code, const struct error *err)
{
    struct reserving *reserving = CONTAINER_OF(change, struct reserving, change);
    const struct agenda *agenda = &api_state(reserving->api)->agenda;
    int64_t found = agenda_find_reservation(agenda, reserving->name);

    if (code < 0)
        reply_error(reserving->request, code, err);
    else if (reserving->is_removal || found < 0)
        reply_json(reserving->request, 200, json_pack("{s:s}", "removed", reserving->name));
    else
        reply_json(reserving->request, 201,
                   view_reservation(reserving->api, &agenda->reservations.items[found]));
    if (code == 0)
        reserving->api->ports.tend_soon(reserving->api->ports.user);
    config_reservation_release(&reserving->asked);
    times_release(&reserving->times);
    free(reserving);
}

static bool may_reserve(struct call *call)
{
    struct error err;

    if (call->request->who->is_admin)
        return true;
    error_set(&err, -EACCES, "reservations: only administrators make and remove them");
    reply_error(call->request, -EACCES, &err);
    return false;
}

static struct reserving *start(struct call *call)
{
    struct reserving *reserving = mem_zero(1, sizeof(*reserving));

    reserving->change.done = done_reserve;
    reserving->api = call->api;
    reserving->request = call->request;
    return reserving;
}

/* The words of a configuration, which knows the windows. */
static int read_asked(struct reserving *reserving, json_t *body, struct error *err)
{
    AUTO(config) struct config *config = config_of_state(api_state(reserving->api));
    struct reader reader = { .err = err };
    const char *name = NULL;

    int code = reader_name(&reader, body, "name", &name);
    if (code == 0 && !name)
        code = error_set(err, -EINVAL, "expected name: of the reservation");
    if (code < 0)
        return code;
    snprintf(reserving->name, sizeof(reserving->name), "%s", name);
    snprintf(reader.where, sizeof(reader.where), "reservation %.63s", name);
    reserving->asked.name = mem_string(name);
    json_object_del(body, "name");
    return config_reservation_read(config, &reader, body, &reserving->asked);
}

void handle_reserve(struct call *call)
{
    struct error err;

    if (!may_reserve(call))
        return;
    json_t *body = read_body(call->request);
    if (!body)
        return;
    struct reserving *reserving = start(call);
    reserving->change.run = run_reserve;
    int code = read_asked(reserving, body, &err);
    json_decref(body);
    if (code < 0) {
        reply_error(call->request, code, &err);
        config_reservation_release(&reserving->asked);
        free(reserving);
        return;
    }
    call->api->ports.enqueue(call->api->ports.user, &reserving->change);
}

void handle_unreserve(struct call *call)
{
    const char *name = http_query(call->request, "name");

    if (!may_reserve(call))
        return;
    struct reserving *reserving = start(call);
    reserving->change.run = run_remove;
    reserving->is_removal = true;
    snprintf(reserving->name, sizeof(reserving->name), "%s", name ? name : "");
    call->api->ports.enqueue(call->api->ports.user, &reserving->change);
}
