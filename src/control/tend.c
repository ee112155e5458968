/* SPDX-License-Identifier: Apache-2.0 */
#include "control/tend.h"

#include <stdlib.h>

#include "base/mem.h"
#include "control/repeat.h"
#include "control/reservation.h"
#include "control/times.h"

struct tending {
    struct change change;
    const struct control *control;
    bool is_first;
    usec_t before, step; /* set by run: the offset of before, and by how much the clock was set */
};

static usec_t noted_ahead(const struct control *control)
{
    const struct control_clock *clock = &control->clock;

    return clock->noted_ahead ? clock->noted_ahead(clock->user) : control_wall_ahead(control);
}

/* By how much the wall clock was set forward. It drifts a little against journal time, too. */
static usec_t clock_step(const struct control *control)
{
    usec_t step = control_wall_ahead(control) - noted_ahead(control);

    return step > USEC_PER_SEC || step < -USEC_PER_SEC ? step : 0;
}

static bool is_other(const struct tending *tending)
{
    return tending->is_first || tending->step != 0;
}

/* Daily; a dense window that is expanded for less than two days is due after half of that. */
static usec_t due_at(const struct window *window)
{
    usec_t half = (window->until - window->made) / 2;

    if (!window->words || !window->words[0])
        return USEC_NEVER;
    return window->made + (half > 0 && half < USEC_PER_DAY ? half : USEC_PER_DAY);
}

static void renew_windows(struct tending *tending, struct times *times)
{
    const struct control *control = tending->control;
    const struct agenda *agenda = &control_state(control)->agenda;
    usec_t now = control_now(control);
    struct error err;

    for (size_t i = 0; i < agenda->windows.count; i++) {
        const struct window *window = agenda->windows.items[i];
        if (due_at(window) == USEC_NEVER || (!is_other(tending) && due_at(window) > now))
            continue;
        /* A window that cannot be expanded any more (its zone is gone) stays as it is. */
        times_add_window(times, control, agenda->timezone, window->name, window->words, &err);
    }
    times_emit_windows(times, control);
}

/* It has no future span. */
static bool is_over(const struct control *control, const struct reservation *reservation,
                    const struct zone *zone)
{
    const struct window *window = control_state(control)->agenda.windows.items[reservation->window];

    return window_next_edge(window, control_now(control)) == USEC_NEVER && window->words &&
           times_are_over(control, window->words, zone);
}

/* Reservations made by command only; those of the configuration stay. */
static void remove_over(struct tending *tending, const struct zone *zone)
{
    const struct control *control = tending->control;
    const struct agenda *agenda = &control_state(control)->agenda;

    for (size_t i = agenda->reservations.count; i-- > 0;) {
        const struct reservation *reservation = &agenda->reservations.items[i];
        if (reservation->maker[0] && is_over(control, reservation, zone))
            reserve_end(control, reservation->name);
    }
}

static void renew_crons(struct tending *tending)
{
    const struct agenda *agenda = &control_state(tending->control)->agenda;

    for (size_t i = 0; i < agenda->crons.count; i++) {
        const struct event_cron *entry = &agenda->crons.items[i];
        if (entry->next > control_now(tending->control))
            cron_renew(tending->control, entry, tending->step);
    }
}

/* Times of day and dates are wall time; the state has them in journal time. */
static void move_job(struct tending *tending, const struct job *job)
{
    usec_t step = tending->step, now = control_now(tending->control);
    struct event_update update = { .job = job->id };

    if ((job->wall_times & WALL_BEGIN) && job->begin > now && !job_is_active(job)) {
        update.has_begin = true;
        update.begin_is_wall = true;
        update.begin = job->begin - step > 1 ? job->begin - step : 1;
    }
    if ((job->wall_times & WALL_DEADLINE) && job->deadline > 0)
        update.deadline = job->deadline - step > 1 ? job->deadline - step : 1;
    if (update.has_begin || update.deadline > 0)
        control_emit(tending->control, (struct event){ .kind = EVENT_UPDATE, .update = update });
}

static void move_jobs(struct tending *tending)
{
    const struct job *next;

    for (const struct job *job = control_state(tending->control)->first_job; job; job = next) {
        next = job->next;
        if (job->state != JOB_ENDED)
            move_job(tending, job);
    }
}

static void follow_clock(struct tending *tending)
{
    const struct control_clock *clock = &tending->control->clock;

    renew_crons(tending);
    if (tending->step != 0)
        move_jobs(tending);
    if (clock->note_ahead)
        clock->note_ahead(clock->noter, control_wall_ahead(tending->control));
}

static int run_tend(struct change *change, struct error *err)
{
    struct tending *tending = CONTAINER_OF(change, struct tending, change);
    AUTO(zone) struct zone *zone = NULL;
    struct times times = { 0 };

    (void)err;
    tending->before = noted_ahead(tending->control);
    tending->step = clock_step(tending->control);
    renew_windows(tending, &times);
    times_release(&times);
    if (times_zone(control_state(tending->control)->agenda.timezone, &zone, NULL) == 0)
        remove_over(tending, zone);
    if (is_other(tending))
        follow_clock(tending);
    return 0;
}

/* What fails is tried again by the next tend(), which needs the offset of before. */
static void done_tend(struct change *change, int code, const struct error *err)
{
    struct tending *tending = CONTAINER_OF(change, struct tending, change);
    const struct control_clock *clock = &tending->control->clock;

    (void)err;
    if (code < 0 && is_other(tending) && clock->note_ahead)
        clock->note_ahead(clock->noter, tending->before);
    free(tending);
}

/* When a reservation made by command may be over. */
static usec_t look_at(const struct control *control, const struct reservation *reservation)
{
    const struct window *window = control_state(control)->agenda.windows.items[reservation->window];

    return reservation->maker[0] ? window_next_edge(window, control_now(control)) : USEC_NEVER;
}

usec_t tend(const struct control *control, bool is_first)
{
    const struct agenda *agenda = &control_state(control)->agenda;
    usec_t now = control_now(control), next = USEC_NEVER;
    bool is_due = is_first || clock_step(control) != 0;

    for (size_t i = 0; i < agenda->windows.count; i++) {
        usec_t at = due_at(agenda->windows.items[i]);
        is_due |= at <= now;
        next = at > now && at < next ? at : next;
    }
    for (size_t i = 0; i < agenda->reservations.count; i++) {
        usec_t at = look_at(control, &agenda->reservations.items[i]);
        is_due |= agenda->reservations.items[i].maker[0] && at == USEC_NEVER;
        next = at < next ? at : next;
    }
    if (is_due) {
        struct tending *tending = mem_zero(1, sizeof(*tending));
        *tending = (struct tending){ .change = { .run = run_tend, .done = done_tend },
                                     .control = control,
                                     .is_first = is_first };
        control_enqueue(control, &tending->change);
    }
    for (size_t i = 0; i < agenda->crons.count; i++) {
        usec_t at = agenda->crons.items[i].next;
        if (at <= now)
            cron_fire(control, agenda->crons.items[i].id);
        else
            next = at < next ? at : next;
    }
    return next;
}
