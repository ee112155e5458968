/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/stretch.h"

#include <string.h>

#include "base/log2.h"

enum {
    FINE = 16, /* offsets are finer than logarithms by so much */
    OCTAVE = LOG2_ONE * FINE,
    PRIOR = OCTAVE * 5 / 8, /* until something is known */
    STEP = OCTAVE / 32,
    OUTWARD = 10, /* steps, for one inward */
    HASTE = 24,   /* the first steps are larger */
    MOST = 8 * OCTAVE,
};

static const usec_t tick = USEC_PER_MS;

static int32_t log_of(usec_t wait)
{
    usec_t bounded = wait > 0 ? wait : 0;

    return log2_of((bounded < USEC_NEVER / 2 ? bounded : USEC_NEVER / 2) / tick + 1000);
}

static usec_t moved(usec_t wait, int32_t offset)
{
    int64_t ms = log2_power(log_of(wait) + offset / FINE) - 1000;

    return ms <= 0 ? 0 : ms < USEC_NEVER / 2 / tick ? ms * tick : USEC_NEVER / 2;
}

/* An end of the range nearer to its median: by its distance, so that no range collapses. `by` is
 * not positive. */
static usec_t narrowed(usec_t end, usec_t median, int32_t by)
{
    usec_t distance = end > median ? end - median : median - end;
    int64_t ms = log2_power(log2_of(distance / tick + 1) + by / FINE) - 1;
    usec_t rest = (ms > 0 ? ms : 0) * tick;

    rest = rest < distance ? rest : distance;
    return end > median ? median + rest : median - rest;
}

static struct stretch_ends known(const struct stretch *stretch, enum wait_kind kind)
{
    if (stretch->kinds[kind].count > 0)
        return stretch->kinds[kind];
    if (stretch->all.count > 0)
        return stretch->all;
    return (struct stretch_ends){ .low = -PRIOR, .high = PRIOR };
}

void stretch_range(const struct stretch *stretch, enum wait_kind kind, struct wait_range *range)
{
    struct stretch_ends ends = known(stretch, kind);

    bool is_edge = (kind == WAIT_TIME || kind == WAIT_BUDGET) && range->low == range->high;

    if (range->median == USEC_NEVER || is_edge)
        return;
    usec_t low = ends.low <= 0 ? moved(range->low, ends.low)
                               : narrowed(range->low, range->median, -ends.low);
    usec_t high = range->high;
    if (high != USEC_NEVER)
        high = ends.high >= 0 ? moved(high, ends.high) : narrowed(high, range->median, ends.high);
    range->low = low < range->median ? low : range->median;
    range->high = high > range->median ? high : range->median;
}

static int32_t bound(int32_t value)
{
    return value < -MOST ? -MOST : value > MOST ? MOST : value;
}

static void move(struct stretch_ends *ends, const struct wait_range *given, usec_t actual)
{
    int32_t young = ends->count < HASTE ? (int32_t)(HASTE - ends->count) : 0;
    int32_t step = STEP + STEP * 3 * young / HASTE;

    ends->low = bound(ends->low + (wait_is_below(given, actual) ? -OUTWARD * step : step));
    ends->high = bound(ends->high + (wait_is_above(given, actual) ? OUTWARD * step : -step));
    ends->count++;
}

void stretch_learn(struct stretch *stretch, enum wait_kind kind, const struct wait_range *given,
                   usec_t actual)
{
    bool is_time = given->high != USEC_NEVER && given->high - given->low <= STRETCH_TICK;
    bool is_right = !wait_is_below(given, actual) && !wait_is_above(given, actual);

    /* A time that was right says nothing of how wide ranges should be. */
    if (given->median == USEC_NEVER || (is_time && is_right))
        return;
    if (stretch->kinds[kind].count == 0) {
        stretch->kinds[kind] = known(stretch, kind);
        stretch->kinds[kind].count = 0;
    }
    if (stretch->all.count == 0)
        stretch->all = (struct stretch_ends){ .low = -PRIOR, .high = PRIOR };
    move(&stretch->kinds[kind], given, actual);
    move(&stretch->all, given, actual);
}

static const char *const names[WAIT_KINDS] = { "room",   "order", "reclaim", "limit", "time",
                                               "budget", "spot",  "needs",   "far" };

const char *wait_kind_name(enum wait_kind kind)
{
    return names[kind];
}

bool wait_kind_of_name(const char *name, enum wait_kind *ret)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i], name) == 0) {
            *ret = (enum wait_kind)i;
            return true;
        }
    }
    return false;
}
