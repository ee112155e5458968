/* SPDX-License-Identifier: Apache-2.0 */
/* GET, POST, DELETE /v1/reservations */
#include <stdio.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "control/config/configure.h"
#include "control/reservation.h"
#include "control/times.h"
#include "wire/config/config.h"

static json_t *view_reservation(const struct api *api, const struct reservation *reservation)
{
    const struct window *window = api_state(api)->agenda.windows.items[reservation->window];
    usec_t now = api_now(api);
    AUTO(config) struct config *config = config_create();
    struct event_reservation said;
    usec_t edge;

    times_reservation_of(config, api_state(api), reservation, &said);
    if (window->words)
        config_add_window(config, window->name, window->words);
    json_t *view = config_reservation_to_json(config, &said);
    bool is_open = window_at(window, now, &edge);
    usec_t until = is_open || edge == USEC_NEVER ? edge : window_next_edge(window, edge);
    json_object_set_new(view, "name", json_string(reservation->name));
    json_object_set_new(view, "by", text_or_null(reservation->maker));
    json_object_set_new(view, "open", json_boolean(is_open));
    json_object_set_new(view, "from", is_open ? json_null() : view_edge(api, edge));
    json_object_set_new(view, "until", view_edge(api, until));
    return view;
}

json_t *handle_reservations(struct call *call)
{
    const struct agenda *agenda = &api_state(call->api)->agenda;
    json_t *list = json_array();

    for (size_t i = 0; i < agenda->reservations.count; i++)
        json_array_append_new(list, view_reservation(call->api, &agenda->reservations.items[i]));
    return json_pack("{s:o}", "reservations", list);
}

struct reserving {
    struct deferred deferred;
    struct config *config; /* has the texts of what is asked for, and the windows */
    struct event_reservation asked;
};

static int run_reserve(struct deferred *deferred, struct error *err)
{
    const struct reserving *reserving = CONTAINER_OF(deferred, struct reserving, deferred);

    return reserve(api_control(deferred->api), deferred->request->who->name, reserving->config,
                   &reserving->asked, err);
}

static int run_remove(struct deferred *deferred, struct error *err)
{
    return reserve_remove(api_control(deferred->api), deferred->name, err);
}

static json_t *answer_removed(struct deferred *deferred)
{
    control_tend_soon(api_control(deferred->api));
    return json_pack("{s:s}", "removed", deferred->name);
}

/* The reservation may be over before it is durable. */
static json_t *answer_reserved(struct deferred *deferred)
{
    const struct agenda *agenda = &api_state(deferred->api)->agenda;
    int64_t found = agenda_find_reservation(agenda, deferred->name);

    if (found < 0)
        return answer_removed(deferred);
    control_tend_soon(api_control(deferred->api));
    return view_reservation(deferred->api, &agenda->reservations.items[found]);
}

static void release_reserving(struct deferred *deferred)
{
    config_destroy(CONTAINER_OF(deferred, struct reserving, deferred)->config);
}

/* In the grammar of the configuration, whose windows it may name. */
static int read_asked(struct reserving *reserving, json_t *body, struct error *err)
{
    struct reader reader = { .err = err };
    const char *name = NULL;

    int code = reader_name(&reader, body, "name", &name);
    if (code == 0 && !name)
        code = error_set(err, REFUSED_BAD, "expected name: of the reservation");
    if (code < 0)
        return code;
    snprintf(reserving->deferred.name, sizeof(reserving->deferred.name), "%s", name);
    snprintf(reader.where, sizeof(reader.where), "reservation %.63s", name);
    reserving->config = config_of_state(api_state(reserving->deferred.api));
    reserving->asked.name = reserving->deferred.name;
    json_object_del(body, "name");
    return config_reservation_read(reserving->config, &reader, body, &reserving->asked);
}

json_t *handle_reserve(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_reserve,
                                             .answer = answer_reserved,
                                             .release = release_reserving };
    struct reserving *reserving = deferred_create(call, sizeof(*reserving), &ops);

    int code = read_body(call);
    if (code == 0)
        code = read_asked(reserving, call->body, &call->err);
    return deferred_begin(call, &reserving->deferred, code);
}

json_t *handle_unreserve(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_remove,
                                             .answer = answer_removed,
                                             .release = release_reserving };
    const char *name = http_query(call->request, "name");

    struct reserving *reserving = deferred_create(call, sizeof(*reserving), &ops);
    snprintf(reserving->deferred.name, sizeof(reserving->deferred.name), "%s", name ? name : "");
    return deferred_begin(call, &reserving->deferred, 0);
}
