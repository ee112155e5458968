/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_times.h"

#include <stdlib.h>
#include <string.h>

#include "core/state/agenda.h"
#include "worlds/fuzz_shadow.h"

static void release_reservation(struct shadow_reservation *reservation)
{
    free(reservation->name);
    free(reservation->owner);
    free(reservation->model);
    free(reservation->nodes);
}

void shadow_times_release(struct shadow_times *times)
{
    for (size_t i = 0; i < times->windows.count; i++) {
        free(times->windows.items[i].name);
        list_release(&times->windows.items[i].spans);
    }
    for (size_t i = 0; i < times->tariffs.count; i++)
        free(times->tariffs.items[i].name);
    for (size_t i = 0; i < times->reservations.count; i++)
        release_reservation(&times->reservations.items[i]);
    list_release(&times->windows);
    list_release(&times->tariffs);
    list_release(&times->reservations);
    list_release(&times->crons);
}

/* ---- names ---- */

uint32_t shadow_times_claim(struct shadow_times *times, const char *window)
{
    for (uint32_t i = 0; i < times->windows.count; i++) {
        if (strcmp(times->windows.items[i].name, window) == 0)
            return i;
    }
    list_add(&times->windows, (struct shadow_window){ .name = mem_string(window) });
    return (uint32_t)times->windows.count - 1;
}

/* So many as there are: none. */
static size_t find_reservation(const struct shadow_times *times, const char *name)
{
    size_t i = 0;

    while (i < times->reservations.count && strcmp(times->reservations.items[i].name, name) != 0)
        i++;
    return i;
}

static size_t find_cron(const struct shadow_times *times, uint64_t id)
{
    size_t i = 0;

    while (i < times->crons.count && times->crons.items[i] != id)
        i++;
    return i;
}

/* ---- what is told ---- */

static bool are_in_order(const struct event_window *event)
{
    usec_t last = -1;

    for (uint32_t i = 0; i < event->spans_count; i++) {
        if (event->spans[i].from <= last || event->spans[i].until <= event->spans[i].from)
            return false;
        last = event->spans[i].until;
    }
    return true;
}

bool shadow_times_accept(const struct shadow_times *times, const struct event *event)
{
    switch (event->kind) {
    case EVENT_WINDOW:
        return are_in_order(&event->window);
    case EVENT_RESERVATION:
        return event->reservation.kind <= RESERVATION_USER &&
               times->reservations.count < AGENDA_RESERVATIONS_MAX;
    case EVENT_RESERVATION_REMOVE:
        return find_reservation(times, event->reservation_remove.name) < times->reservations.count;
    case EVENT_TARIFF:
        return event->tariff.factor_milli <= TARIFF_MAX &&
               times->tariffs.count < AGENDA_TARIFFS_MAX;
    case EVENT_CRON:
        return event->cron.id > times->next_cron ||
               find_cron(times, event->cron.id) < times->crons.count;
    default:
        return find_cron(times, event->cron_remove.id) < times->crons.count;
    }
}

static void apply_window(struct shadow_times *times, const struct event_window *event)
{
    uint32_t number = shadow_times_claim(times, event->name);
    struct shadow_window *window = &times->windows.items[number];

    window->spans.count = 0;
    for (uint32_t i = 0; i < event->spans_count; i++)
        list_add(&window->spans, event->spans[i]);
}

static void apply_reservation(struct shadow_times *times, const struct event_reservation *event)
{
    uint32_t window = shadow_times_claim(times, event->window);
    size_t found = find_reservation(times, event->name);

    if (found == times->reservations.count)
        list_add(&times->reservations, (struct shadow_reservation){ .name = NULL });
    struct shadow_reservation *reservation = &times->reservations.items[found];
    release_reservation(reservation);
    *reservation = (struct shadow_reservation){ .name = mem_string(event->name),
                                                .owner = mem_string(event->owner),
                                                .model = mem_string(event->model),
                                                .nodes = mem_string(event->nodes),
                                                .window = window,
                                                .gpus = event->gpus,
                                                .kind = event->kind };
}

static void apply_tariff(struct shadow_times *times, const struct event_tariff *event)
{
    for (size_t i = 0; i < times->tariffs.count; i++) {
        if (strcmp(times->tariffs.items[i].name, event->name) != 0)
            continue;
        free(times->tariffs.items[i].name);
        list_remove(&times->tariffs, i);
        break;
    }
    if (!event->window[0])
        return;
    uint32_t window = shadow_times_claim(times, event->window);
    list_add(&times->tariffs, (struct shadow_tariff){ .name = mem_string(event->name),
                                                      .window = window,
                                                      .factor = event->factor_milli });
}

void shadow_times_apply(struct shadow_times *times, const struct event *event)
{
    size_t found;

    switch (event->kind) {
    case EVENT_WINDOW:
        apply_window(times, &event->window);
        break;
    case EVENT_RESERVATION:
        apply_reservation(times, &event->reservation);
        break;
    case EVENT_RESERVATION_REMOVE:
        found = find_reservation(times, event->reservation_remove.name);
        release_reservation(&times->reservations.items[found]);
        list_remove(&times->reservations, found);
        break;
    case EVENT_TARIFF:
        apply_tariff(times, &event->tariff);
        break;
    case EVENT_CRON:
        if (find_cron(times, event->cron.id) == times->crons.count)
            list_add(&times->crons, event->cron.id);
        if (event->cron.id > times->next_cron)
            times->next_cron = event->cron.id;
        break;
    default:
        list_remove(&times->crons, find_cron(times, event->cron_remove.id));
        break;
    }
}

/* ---- when ---- */

bool shadow_is_open_in(const struct shadow_times *times, uint32_t window, usec_t from, usec_t until)
{
    const struct shadow_window *at = &times->windows.items[window];

    for (size_t i = 0; i < at->spans.count; i++) {
        if (at->spans.items[i].from < until && from < at->spans.items[i].until)
            return true;
    }
    return false;
}

bool shadow_is_open(const struct shadow_times *times, uint32_t window, usec_t at)
{
    return shadow_is_open_in(times, window, at, at + 1);
}

usec_t shadow_edge_after(const struct shadow_times *times, uint32_t window, usec_t at)
{
    const struct shadow_window *found = &times->windows.items[window];
    usec_t next = USEC_NEVER;

    for (size_t i = 0; i < found->spans.count; i++) {
        usec_t edges[] = { found->spans.items[i].from, found->spans.items[i].until };
        for (size_t k = 0; k < COUNT_OF(edges); k++)
            next = edges[k] > at && edges[k] < next ? edges[k] : next;
    }
    return next;
}

usec_t shadow_edge_before(const struct shadow_times *times, uint32_t window, usec_t at)
{
    const struct shadow_window *found = &times->windows.items[window];
    usec_t last = 0;

    for (size_t i = 0; i < found->spans.count; i++) {
        usec_t edges[] = { found->spans.items[i].from, found->spans.items[i].until };
        for (size_t k = 0; k < COUNT_OF(edges); k++)
            last = edges[k] <= at && edges[k] > last ? edges[k] : last;
    }
    return last;
}

usec_t shadow_any_edge_after(const struct shadow_times *times, usec_t at)
{
    usec_t next = USEC_NEVER;

    for (uint32_t i = 0; i < times->windows.count; i++) {
        usec_t edge = shadow_edge_after(times, i, at);
        next = edge < next ? edge : next;
    }
    return next;
}

uint32_t shadow_factor(const struct shadow_times *times, usec_t at)
{
    for (size_t i = times->tariffs.count; i-- > 0;) {
        if (shadow_is_open(times, times->tariffs.items[i].window, at))
            return times->tariffs.items[i].factor;
    }
    return TARIFF_ONE;
}

usec_t shadow_cheap_at(const struct shadow_times *times, uint32_t most, usec_t at)
{
    while (at != USEC_NEVER && shadow_factor(times, at) > most)
        at = shadow_any_edge_after(times, at);
    return at;
}

/* ---- which job may be where ---- */

usec_t shadow_stay_of(const struct shadow_job *job)
{
    usec_t worth = job->grace + job->restart_cost + job->checkpoint_every + USEC_PER_MIN;

    return job->is_preemptible && worth < job->max_duration ? worth : job->max_duration;
}

usec_t shadow_end_of(const struct shadow_job *job)
{
    usec_t from = job->state == JOB_GRANTED || job->started == 0 ? job->granted : job->started;

    return usec_after(from, job->max_duration);
}

bool shadow_is_owner(const struct shadow *shadow, const struct shadow_reservation *reservation,
                     const struct shadow_job *job)
{
    if (reservation->kind == RESERVATION_USER)
        return strcmp(reservation->owner, job->user) == 0;
    int64_t queue = shadow_find_queue(shadow, reservation->owner);
    return reservation->kind == RESERVATION_QUEUE && queue >= 0 &&
           shadow_is_below(shadow, job->queue, (uint32_t)queue);
}

bool shadow_is_barred(const struct shadow *shadow, const struct shadow_reservation *reservation,
                      const struct shadow_job *job)
{
    usec_t until = usec_after(shadow->now, shadow_stay_of(job));

    return shadow_is_open_in(&shadow->times, reservation->window, shadow->now, until) &&
           !shadow_is_owner(shadow, reservation, job);
}

bool shadow_is_named(const char *names, const char *name)
{
    const char *at = strstr(names, name);
    size_t length = strlen(name);

    for (; at; at = strstr(at + 1, name)) {
        if ((at == names || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

bool shadow_keeps_node(const struct shadow *shadow, const struct shadow_reservation *reservation,
                       uint32_t node)
{
    return reservation->gpus == 0 &&
           shadow_is_named(reservation->nodes, shadow->nodes.items[node].name);
}

bool shadow_may_keep(const struct shadow *shadow, const struct shadow_reservation *reservation,
                     uint32_t number)
{
    const struct shadow_device *device = &shadow->devices.items[number];
    const char *node = shadow->nodes.items[device->node].name;

    return device->owner == 0 && shadow_is_usable(shadow, device) &&
           (!reservation->model[0] || strcmp(reservation->model, device->model) == 0) &&
           (!reservation->nodes[0] || shadow_is_named(reservation->nodes, node));
}

bool shadow_is_alone(const struct shadow_times *times, size_t reservation)
{
    const struct shadow_window *own =
        &times->windows.items[times->reservations.items[reservation].window];

    for (size_t i = 0; i < times->reservations.count; i++) {
        uint32_t window = times->reservations.items[i].window;
        for (size_t k = 0; i != reservation && k < own->spans.count; k++) {
            const struct event_span *span = &own->spans.items[k];
            if (shadow_is_open_in(times, window, span->from, span->until))
                return false;
        }
    }
    return true;
}

/* ---- what holds now ---- */

static void set_pool(const struct shadow *shadow, struct shadow_pool *pool)
{
    pool->min = pool->base_min;
    pool->max = pool->base_max;
    for (size_t i = 0; i < pool->during.count; i++) {
        const struct shadow_pool_during *during = &pool->during.items[i];
        if (!shadow_is_open(&shadow->times, during->window, shadow->now))
            continue;
        pool->min = during->min >= 0 ? during->min : pool->min;
        pool->max = during->max >= 0 ? during->max : pool->max;
    }
}

void shadow_set_times(struct shadow *shadow)
{
    for (uint32_t i = 0; i < shadow->queues.count; i++) {
        for (uint32_t k = 0; k < SHADOW_RESOURCES; k++)
            shadow->queues.items[i].quota[k] = shadow_quota_at(shadow, i, k, shadow->now);
    }
    for (size_t i = 0; i < shadow->pools.count; i++)
        set_pool(shadow, &shadow->pools.items[i]);
}
