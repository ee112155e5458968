/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_WINDOW_H
#define CORE_CLUSTER_WINDOW_H

/* window - a named set of moments, as spans of absolute time
 *
 * It has no days, weeks or time zones: a caller that has a clock computes the spans
 * (time/calendar.h) for some time ahead, and extends them later. After its last span a window is
 * closed.
 *
 * Order of calls:  window_create, window_set*, (queries)*, window_destroy
 * Owner:           the caller of window_create()
 * On failure:      nothing has changed
 * Limits:          WINDOW_SPANS_MAX spans; every query is a binary search
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/units.h"
#include "time/span.h"

enum { WINDOW_SPANS_MAX = 10000 };

struct window {
    char *name;
    char *words;            /* their definition (time/calendar.h); NULL: none */
    struct span_list spans; /* in order (span.h) */
    usec_t made, until;     /* when the spans were computed, and up to which time */
};

struct window *window_create(const char *name);
void window_destroy(struct window *window); /* NULL is fine */
DEFINE_AUTO(window)

/* Replace the spans. Fails with -EINVAL (a span is empty, or does not begin after the end of the
 * previous one) or -E2BIG. */
int window_set(struct window *window, const struct span *spans, size_t count, struct error *err);

/* Whether the window is open at a moment. ret_until (may be NULL): how long that holds; USEC_NEVER:
 * for ever. */
bool window_at(const struct window *window, usec_t at, usec_t *ret_until);

/* The first moment after `at` when a span begins or ends; USEC_NEVER: none. */
usec_t window_next_edge(const struct window *window, usec_t at);

/* Whether the window is open at any moment of [from, until). */
bool window_overlaps(const struct window *window, usec_t from, usec_t until);

#endif
