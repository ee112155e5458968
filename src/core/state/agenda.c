/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/agenda.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void agenda_init(struct agenda *agenda)
{
    *agenda = (struct agenda){ .next_edge = USEC_NEVER,
                               .factor_milli = TARIFF_ONE,
                               .next_cron = 1,
                               .timezone = mem_string("") };
}

void reservation_release(struct reservation *reservation)
{
    free(reservation->name);
    free(reservation->owner);
    free(reservation->model);
    list_release(&reservation->where);
    free(reservation->maker);
}

void agenda_release(struct agenda *agenda)
{
    for (size_t i = 0; i < agenda->windows.count; i++)
        window_destroy(agenda->windows.items[i]);
    for (size_t i = 0; i < agenda->tariffs.count; i++)
        free(agenda->tariffs.items[i].name);
    for (size_t i = 0; i < agenda->reservations.count; i++)
        reservation_release(&agenda->reservations.items[i]);
    for (size_t i = 0; i < agenda->crons.count; i++)
        record_release(event_type(EVENT_CRON), &agenda->crons.items[i]);
    list_release(&agenda->windows);
    list_release(&agenda->tariffs);
    list_release(&agenda->reservations);
    list_release(&agenda->crons);
    free(agenda->timezone);
    agenda->timezone = NULL;
}

int64_t agenda_find_window(const struct agenda *agenda, const char *name)
{
    for (size_t i = 0; i < agenda->windows.count; i++) {
        if (strcmp(agenda->windows.items[i]->name, name) == 0)
            return (int64_t)i;
    }
    return -1;
}

int64_t agenda_find_reservation(const struct agenda *agenda, const char *name)
{
    for (size_t i = 0; i < agenda->reservations.count; i++) {
        if (strcmp(agenda->reservations.items[i].name, name) == 0)
            return (int64_t)i;
    }
    return -1;
}

struct event_cron *agenda_find_cron(const struct agenda *agenda, uint64_t id)
{
    for (size_t i = 0; i < agenda->crons.count; i++) {
        if (agenda->crons.items[i].id == id)
            return &agenda->crons.items[i];
    }
    return NULL;
}

int64_t agenda_claim_window(struct agenda *agenda, const char *name)
{
    int64_t found = agenda_find_window(agenda, name);

    if (found >= 0)
        return found;
    if (agenda->windows.count == AGENDA_WINDOWS_MAX)
        return -1;
    list_add(&agenda->windows, window_create(name));
    return (int64_t)agenda->windows.count - 1;
}

uint32_t agenda_factor(const struct agenda *agenda, usec_t at, usec_t *ret_until)
{
    uint32_t factor = TARIFF_ONE;
    usec_t until = USEC_NEVER;

    for (size_t i = 0; i < agenda->tariffs.count; i++) {
        const struct tariff *tariff = &agenda->tariffs.items[i];
        usec_t edge;
        assert(tariff->window < agenda->windows.count);
        if (window_at(agenda->windows.items[tariff->window], at, &edge))
            factor = tariff->factor_milli;
        until = edge < until ? edge : until;
    }
    if (ret_until)
        *ret_until = until;
    return factor;
}

usec_t agenda_cheap_at(const struct agenda *agenda, uint32_t most_milli, usec_t at)
{
    usec_t until;

    while (agenda_factor(agenda, at, &until) > most_milli) {
        if (until == USEC_NEVER)
            return USEC_NEVER;
        at = until;
    }
    return at;
}

void agenda_advance(const struct agenda *agenda, struct agenda_time *time, usec_t to)
{
    while (time->at < to) {
        usec_t until;
        uint32_t factor = agenda_factor(agenda, time->at, &until);
        until = until < to ? until : to;
        assert(until > time->at); /* the next edge is later */
        time->clock += (uint64_t)(until - time->at) * factor;
        time->at = until;
    }
}

uint64_t agenda_clock(const struct agenda *agenda, usec_t at)
{
    struct agenda_time time = { agenda->clock_at, agenda->clock };

    agenda_advance(agenda, &time, at);
    return time.clock;
}

usec_t agenda_period_start(const struct window *window, usec_t at)
{
    size_t next = span_list_find(&window->spans, at);

    if (next < window->spans.count && window->spans.items[next].from <= at)
        return window->spans.items[next].from;
    return next > 0 ? window->spans.items[next - 1].until : 0;
}
