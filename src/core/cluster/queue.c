/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/queue.h"

#include <stdlib.h>

#include "base/wide.h"

#define ONE  (UINT64_C(1) << 32)
#define LN2  UINT64_C(2977044472) /* ln 2 in parts of 2^32 */
#define FINE (UINT64_C(1) << 62)  /* so that also a millisecond of a week counts */

void queue_release(struct queue *queue)
{
    free(queue->name);
    list_release(&queue->subjects);
    list_release(&queue->cells);
    list_release(&queue->during);
}

/* 2^-(1/2^k) in parts of 2^32, k = 1, 2 ... */
static const uint32_t roots[] = {
    3037000500, 3611622603, 3938502376, 4112874773, 4202935003, 4248701965,
    4271771996, 4283353945, 4289156690, 4292061010, 4293513907, 4294240540,
};

/* 2^-(elapsed / half_life) in parts of 2^62, for elapsed below half_life: the first twelve bits
 * of the quotient by the table, what is left by the series of e^-x, which is short there. */
static uint64_t fraction_of_half(usec_t elapsed, usec_t half_life)
{
    const uint64_t ln2 = UINT64_C(3196577161300663915); /* in parts of 2^62 */
    const unsigned tail_bits = 62 - COUNT_OF(roots);
    uint64_t position = wide_scale((uint64_t)elapsed, FINE, (uint64_t)half_life);
    uint64_t factor = ONE;

    for (size_t k = 0; k < COUNT_OF(roots); k++) {
        if (position >> (61 - k) & 1)
            factor = wide_scale(factor, roots[k], ONE);
    }
    uint64_t x = wide_scale(position & ((UINT64_C(1) << tail_bits) - 1), ln2, FINE);
    return wide_scale(FINE - x + wide_scale(x, x, FINE) / 2, factor, ONE);
}

uint64_t usage_decay(uint64_t value, usec_t elapsed, usec_t half_life)
{
    if (elapsed <= 0)
        return value;
    usec_t halvings = elapsed / half_life;
    if (halvings >= 63)
        return 0;
    return wide_scale(value >> halvings, fraction_of_half(elapsed % half_life, half_life), FINE);
}

enum { SPAN_FINE = 4096 };

/* How long, in parts of SPAN_FINE of a microsecond, a constant use of `elapsed` counts for when
 * it decays meanwhile: half_life / ln 2 * (1 - 2^-(elapsed / half_life)); short ones by series. */
static uint64_t decayed_span(usec_t elapsed, usec_t half_life)
{
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
    usec_t whole = queue->usage_at + (now - queue->usage_at) / 1000 * 1000;

    if (whole <= queue->usage_at)
        return;
    for (enum share kind = 0; kind < SHARES; kind++)
        queue->usage[kind] = queue_usage(queue, kind, whole, half_life);
    queue->usage_at = whole;
}

void queue_charge(struct queue *queue, usec_t now, uint64_t clock)
{
    usec_t elapsed = now - queue->charged_at;

    if (elapsed <= 0)
        return;
    account_add_money(&queue->accounts[ACCOUNT_MONEY], queue->rate, clock - queue->charged_clock);
    account_add_time(&queue->accounts[ACCOUNT_GPU_TIME], queue->used.of[RESOURCE_GPUS], elapsed);
    queue->charged_at = now;
    queue->charged_clock = clock;
}
