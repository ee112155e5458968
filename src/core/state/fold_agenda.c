/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the fold that is about times: windows and what they change, tariffs, reservations,
 * what is submitted again and again, and what was spent. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/state/allowance.h"
#include "core/state/fold.h"

static int fold_window(struct state *state, const struct event_window *event, struct error *err)
{
    struct span_list spans = { 0 };
    uint32_t number = 0;

    int code = state_window_of(state, event->name, &number, err);
    if (code < 0)
        return code;
    struct window *window = state->agenda.windows.items[number];
    for (uint32_t i = 0; i < event->spans_count; i++) {
        /* One that is not before the next is for window_set() to find. */
        struct span span = { event->spans[i].from, event->spans[i].until };
        list_add(&spans, span);
    }
    state_advance_clock(state); /* until now the old spans held */
    code = window_set(window, spans.items, spans.count, err);
    span_list_release(&spans);
    if (code < 0)
        return error_prefix(err, -EBADMSG, "journal");
    string_set(&window->words, event->words);
    window->made = state->now;
    window->until = event->until;
    state_renew_accounts(state);
    return 0;
}

static int fold_reservation(struct state *state, const struct event_reservation *event,
                            struct error *err)
{
    struct agenda *agenda = &state->agenda;
    uint32_t window = 0;

    if (event->kind > RESERVATION_USER)
        return error_set(err, -EBADMSG, "reservation %s: kind %d is not known", event->name,
                         event->kind);
    int code = state_window_of(state, event->window, &window, err);
    if (code < 0)
        return code;
    int64_t found = agenda_find_reservation(agenda, event->name);
    if (found < 0) {
        found = (int64_t)agenda->reservations.count;
        list_add(&agenda->reservations, (struct reservation){ .name = mem_string(event->name) });
    }
    struct reservation *reservation = &agenda->reservations.items[found];
    reservation->window = window;
    reservation->kind = event->kind;
    reservation->gpus = event->gpus;
    string_set(&reservation->owner, event->owner);
    string_set(&reservation->model, event->model);
    string_set(&reservation->maker, event->maker);
    if (!where_assign(&reservation->where, event->nodes, NULL, event->where, event->where_count))
        return error_set(err, -EBADMSG, "reservation %s: invalid conditions", event->name);
    reservation->user =
        event->kind == RESERVATION_USER ? state_claim_user(state, reservation->owner) : 0;
    return 0;
}

static int fold_reservation_remove(struct state *state, const char *name, struct error *err)
{
    struct agenda *agenda = &state->agenda;
    int64_t found = agenda_find_reservation(agenda, name);

    if (found < 0)
        return error_set(err, -EBADMSG, "reservation %s: there is none", name);
    reservation_release(&agenda->reservations.items[found]);
    list_remove(&agenda->reservations, (size_t)found);
    return 0;
}

static int fold_tariff(struct state *state, const struct event_tariff *event, struct error *err)
{
    struct agenda *agenda = &state->agenda;
    uint32_t window = 0;

    state_advance_clock(state);
    for (size_t i = 0; i < agenda->tariffs.count; i++) {
        if (strcmp(agenda->tariffs.items[i].name, event->name) != 0)
            continue;
        free(agenda->tariffs.items[i].name);
        list_remove(&agenda->tariffs, i);
        break;
    }
    if (!event->window || !event->window[0])
        return 0;
    if (event->factor_milli > TARIFF_MAX || agenda->tariffs.count == AGENDA_TARIFFS_MAX)
        return error_set(err, -EBADMSG, "tariff %s: is invalid", event->name);
    int code = state_window_of(state, event->window, &window, err);
    if (code < 0)
        return code;
    list_add(&agenda->tariffs, (struct tariff){ .name = mem_string(event->name),
                                                .window = window,
                                                .factor_milli = event->factor_milli });
    return 0;
}

static int fold_cron(struct state *state, const struct event_cron *event, struct error *err)
{
    struct agenda *agenda = &state->agenda;
    struct event_cron *known = agenda_find_cron(agenda, event->id), entry = *event;

    if (!known && event->id < agenda->next_cron)
        return error_set(err, -EBADMSG, "cron %" PRIu64 ": its number is taken", event->id);
    if (event->stored > 0)
        allowance_take(state, state_claim_user(state, event->user), event->stored);
    entry.stored = 0;
    record_own(event_type(EVENT_CRON), &entry);
    if (known) {
        record_release(event_type(EVENT_CRON), known);
        *known = entry;
    } else {
        list_add(&agenda->crons, entry);
        agenda->next_cron = event->id + 1;
    }
    return 0;
}

static int fold_cron_remove(struct state *state, uint64_t id, struct error *err)
{
    struct agenda *agenda = &state->agenda;

    for (size_t i = 0; i < agenda->crons.count; i++) {
        if (agenda->crons.items[i].id != id)
            continue;
        record_release(event_type(EVENT_CRON), &agenda->crons.items[i]);
        list_remove(&agenda->crons, i);
        return 0;
    }
    return error_set(err, -EBADMSG, "cron %" PRIu64 ": there is none", id);
}

int fold_agenda(struct state *state, const struct event *event, struct error *err)
{
    int code = 0;

    switch (event->kind) {
    case EVENT_WINDOW:
        code = fold_window(state, &event->window, err);
        break;
    case EVENT_RESERVATION:
        code = fold_reservation(state, &event->reservation, err);
        break;
    case EVENT_RESERVATION_REMOVE:
        code = fold_reservation_remove(state, event->reservation_remove.name, err);
        break;
    case EVENT_TARIFF:
        code = fold_tariff(state, &event->tariff, err);
        break;
    case EVENT_CRON:
        return fold_cron(state, &event->cron, err);
    default:
        return fold_cron_remove(state, event->cron_remove.id, err);
    }
    state_set_times(state);
    state->agenda.passed++;
    return code;
}
