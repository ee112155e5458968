/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/window_event.h"

#include <errno.h>
#include <string.h>

#include "core/cluster/window.h"
#include "time/calendar.h"

static const char *const windows_of_periods[PERIODS] = {
    [PERIOD_HOUR] = "each hour",   [PERIOD_DAY] = "each day",         [PERIOD_WEEK] = "each week",
    [PERIOD_MONTH] = "each month", [PERIOD_QUARTER] = "each quarter", [PERIOD_YEAR] = "each year",
};

const char *window_of_period(enum period period)
{
    return windows_of_periods[period];
}

bool window_is_period(const char *name, enum period *ret)
{
    enum period at = 0;

    while (at < PERIODS && strcmp(name, windows_of_periods[at]) != 0)
        at++;
    if (at < PERIODS)
        *ret = at;
    return at < PERIODS;
}

/* Every other period, from the one that is now on. */
static void expand_period(const struct window_place *place, enum period period,
                          struct span_list *spans)
{
    usec_t now = place->now + place->wall_ahead;
    usec_t at = period_start(period, place->zone, now);

    while (spans->count < place->spans_most && (spans->count < 2 || at < now + place->ahead)) {
        struct span span = { at, period_next(period, place->zone, at) };
        span_list_add(spans, span);
        at = period_next(period, place->zone, span.until);
    }
}

static int expand_calendar(const struct window_place *place, const char *words,
                           struct span_list *spans, usec_t *ret_ahead, struct error *err)
{
    usec_t now = place->now + place->wall_ahead, ahead = place->ahead;
    AUTO(calendar) struct calendar *calendar = NULL;

    int code = calendar_parse(words, &calendar, err);
    if (code < 0)
        return code;
    for (;; ahead /= 2) {
        usec_t back = ahead < USEC_PER_DAY ? ahead : USEC_PER_DAY;
        code = calendar_expand(calendar, place->zone, now - back, now + ahead, spans, err);
        bool is_much = code == -E2BIG || (code == 0 && spans->count > place->spans_most);
        if (!is_much || ahead < USEC_PER_HOUR)
            break;
    }
    if (code == 0 && spans->count > WINDOW_SPANS_MAX)
        code = error_set(err, -E2BIG, "more than %d spans in a day", WINDOW_SPANS_MAX);
    *ret_ahead = ahead;
    return code;
}

int window_event(const struct window_place *place, const char *name, const char *words,
                 struct arena *arena, struct event *ret, struct error *err)
{
    struct span_list spans = { 0 };
    usec_t ahead = place->ahead;
    enum period period;
    int code = 0;

    if (window_is_period(words, &period))
        expand_period(place, period, &spans);
    else
        code = expand_calendar(place, words, &spans, &ahead, err);
    if (code == 0) {
        struct event_span *list = arena_take(arena, spans.count + 1, sizeof(*list));
        uint32_t count = 0;
        for (size_t i = 0; i < spans.count; i++) {
            struct event_span span = { spans.items[i].from - place->wall_ahead,
                                       spans.items[i].until - place->wall_ahead };
            if (span.until > 0)
                list[count++] = (struct event_span){ span.from > 0 ? span.from : 0, span.until };
        }
        *ret = (struct event){ .kind = EVENT_WINDOW,
                               .window = { .name = name,
                                           .words = words,
                                           .spans = list,
                                           .spans_count = count,
                                           .until = place->now + ahead } };
    } else
        error_prefix(err, code, "window %s", name);
    span_list_release(&spans);
    return code;
}
