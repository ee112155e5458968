/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/window.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

struct window *window_create(const char *name)
{
    struct window *window = mem_zero(1, sizeof(*window));

    window->name = mem_string(name);
    return window;
}

void window_destroy(struct window *window)
{
    if (!window)
        return;
    span_list_release(&window->spans);
    free(window->name);
    free(window->words);
    free(window);
}

int window_set(struct window *window, const struct span *spans, size_t count, struct error *err)
{
    if (count > WINDOW_SPANS_MAX)
        return error_set(err, -E2BIG, "window %s: %zu spans, at most %d are accepted", window->name,
                         count, WINDOW_SPANS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (spans[i].from >= spans[i].until)
            return error_set(err, -EINVAL, "window %s: span %zu ends before it begins",
                             window->name, i + 1);
        if (i > 0 && spans[i].from <= spans[i - 1].until)
            return error_set(err, -EINVAL,
                             "window %s: span %zu does not begin after the previous span",
                             window->name, i + 1);
    }
    window->spans.count = 0;
    for (size_t i = 0; i < count; i++)
        span_list_add(&window->spans, spans[i]);
    return 0;
}

bool window_at(const struct window *window, usec_t at, usec_t *ret_until)
{
    size_t i = span_list_find(&window->spans, at);
    bool is_inside = i < window->spans.count && window->spans.items[i].from <= at;

    if (ret_until)
        *ret_until = window_next_edge(window, at);
    return is_inside;
}

usec_t window_next_edge(const struct window *window, usec_t at)
{
    size_t i = span_list_find(&window->spans, at);

    if (i == window->spans.count)
        return USEC_NEVER;
    const struct span *span = &window->spans.items[i];
    return span->from > at ? span->from : span->until;
}

bool window_overlaps(const struct window *window, usec_t from, usec_t until)
{
    size_t i = span_list_find(&window->spans, from);

    return from < until && i < window->spans.count && window->spans.items[i].from < until;
}
