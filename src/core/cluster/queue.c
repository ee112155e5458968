/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/wide.h"
#include "core/predict/decay.h"

#define ONE  (UINT64_C(1) << 32)
#define LN2  UINT64_C(2977044472) /* ln 2 in parts of 2^32 */
#define FINE (UINT64_C(1) << 62)  /* so that also a millisecond of a week counts */

void queue_release(struct queue *queue)
{
    free(queue->name);
    list_release(&queue->subjects);
    list_release(&queue->cells);
    list_release(&queue->during);
    list_release(&queue->names);
    list_release(&queue->budgets);
}

bool queue_bounds_users(const struct queue *queue)
{
    LIST_EACH (const struct budget, budget, &queue->budgets) {
        if (budget->user != PAYER_ALL)
            return true;
    }
    return queue->subjects.count > 0;
}

enum { SPAN_FINE = 4096 };

/* How long, in parts of SPAN_FINE of a microsecond, a constant use of `elapsed` counts for when
 * it decays meanwhile: half_life / ln 2 * (1 - 2^-(elapsed / half_life)); short ones by series. */
static uint64_t decayed_span(usec_t elapsed, usec_t half_life)
{
    assert(elapsed > 0 && half_life > 0);
    if (elapsed < half_life / 256) {
        uint64_t x = wide_scale((uint64_t)elapsed, LN2, (uint64_t)half_life);
        return wide_scale((uint64_t)elapsed * SPAN_FINE, ONE - x / 2 + wide_scale(x, x, ONE) / 6,
                          ONE);
    }
    uint64_t gone = FINE - usage_decay(FINE, elapsed, half_life);
    return wide_scale(wide_scale((uint64_t)half_life * SPAN_FINE, gone, FINE), ONE, LN2);
}

uint64_t queue_usage(const struct queue *queue, enum share kind, usec_t now, usec_t half_life)
{
    usec_t elapsed = now - queue->usage_at;

    if (elapsed <= 0)
        return queue->usage[kind];
    /* To the nearest, so that many small steps lose nothing. */
    const wide_t ms = 1000 * SPAN_FINE;
    wide_t used = (wide_t)queue->share[kind] * decayed_span(elapsed, half_life);
    return usage_decay(queue->usage[kind], elapsed, half_life) + (uint64_t)((used + ms / 2) / ms);
}

/* usage_at moves in whole milliseconds only, so that many small steps lose nothing. */
void queue_advance(struct queue *queue, usec_t now, usec_t half_life)
{
    assert(half_life > 0);

    usec_t whole = queue->usage_at + (now - queue->usage_at) / 1000 * 1000;

    if (whole <= queue->usage_at)
        return;
    for (enum share kind = 0; kind < SHARES; kind++)
        queue->usage[kind] = queue_usage(queue, kind, whole, half_life);
    queue->usage_at = whole;
}
