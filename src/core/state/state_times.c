/* SPDX-License-Identifier: Apache-2.0 */
/* What windows change as time passes: quotas, the sizes of pools, tariffs, accounts. */
#include <assert.h>
#include <string.h>

#include "core/state/fold.h"

static bool is_open(const struct state *state, uint32_t window, usec_t at)
{
    assert(window < state->agenda.windows.count);
    return window_at(state->agenda.windows.items[window], at, NULL);
}

void state_quota_at(const struct state *state, uint32_t queue, uint32_t resource, usec_t at,
                    struct quota *ret)
{
    const struct queue *q = &state->queues.items[queue];

    *ret = q->base[resource];
    for (size_t i = 0; i < q->during.count; i++) {
        const struct queue_during *during = &q->during.items[i];
        if (during->resource == resource && is_open(state, during->window, at))
            quota_override(ret, &during->quota);
    }
}

static void set_queue(struct state *state, struct queue *queue)
{
    memcpy(queue->quota, queue->base, sizeof(queue->quota));
    for (size_t i = 0; i < queue->during.count; i++) {
        const struct queue_during *during = &queue->during.items[i];
        if (is_open(state, during->window, state->now))
            quota_override(&queue->quota[during->resource], &during->quota);
    }
}

/* What the windows that are open at a time leave of its usual size. */
static struct pool_size pool_size_at(const struct state *state, const struct pool *pool, usec_t at)
{
    struct pool_size size = { pool->base_min, pool->base_max };

    for (size_t i = 0; i < pool->during.count; i++) {
        const struct pool_during *during = &pool->during.items[i];
        if (!is_open(state, during->window, at))
            continue;
        size.min = during->milli_min != ABSENT ? during->milli_min : size.min;
        size.max = during->milli_max != ABSENT ? during->milli_max : size.max;
    }
    return size;
}

static void set_pool(struct state *state, struct pool *pool)
{
    struct pool_size size = pool_size_at(state, pool, state->now);

    pool->milli_min = size.min;
    pool->milli_max = size.max;
}

static usec_t next_edge(const struct state *state, const struct pool *pool, usec_t at)
{
    usec_t next = USEC_NEVER;

    for (size_t i = 0; i < pool->during.count; i++) {
        usec_t edge =
            window_next_edge(state->agenda.windows.items[pool->during.items[i].window], at);
        next = edge < next ? edge : next;
    }
    return next;
}

static void widen(struct pool_size *size, struct pool_size other)
{
    size->min = other.min < size->min ? other.min : size->min;
    if (size->max != 0 && (other.max == 0 || other.max > size->max))
        size->max = other.max;
}

void state_pool_at(const struct state *state, uint32_t number, usec_t at, struct pool_size *ret)
{
    const struct pool *pool = &state->pools.items[number];

    *ret = (struct pool_size){ pool->milli_min, pool->milli_max };
    if (at == 0 || pool->during.count == 0)
        return;
    if (at != USEC_NEVER) {
        *ret = pool_size_at(state, pool, at);
        return;
    }
    for (at = next_edge(state, pool, state->now); at != USEC_NEVER; at = next_edge(state, pool, at))
        widen(ret, pool_size_at(state, pool, at));
}

void state_set_times(struct state *state)
{
    struct agenda *agenda = &state->agenda;

    for (size_t i = 0; i < state->queues.count; i++)
        set_queue(state, &state->queues.items[i]);
    for (size_t i = 0; i < state->pools.count; i++)
        set_pool(state, &state->pools.items[i]);
    agenda->factor_milli = agenda_factor(agenda, state->now, NULL);
    agenda->next_edge = USEC_NEVER;
    for (size_t i = 0; i < agenda->windows.count; i++) {
        usec_t edge = window_next_edge(agenda->windows.items[i], state->now);
        agenda->next_edge = edge < agenda->next_edge ? edge : agenda->next_edge;
    }
}

/* Where a new period began. */
void state_renew_accounts(struct state *state)
{
    for (uint32_t i = 0; i < state->payers.items.count; i++) {
        struct payer *payer = &state->payers.items.items[i];
        for (size_t k = 0; k < ACCOUNTS; k++) {
            struct account *account = &payer->accounts[k];
            if (account->window == 0)
                continue;
            const struct window *window = state->agenda.windows.items[account->window - 1];
            usec_t since = agenda_period_start(window, state->now);
            usec_t end = window_next_edge(window, state->now);
            usec_t length = end == USEC_NEVER ? 0 : end - since;
            usec_t later = since - account->since;
            if (later <= 0)
                continue;
            account->since = since;
            if (later <= length / 2)
                continue; /* the same one: the clock of the place was set */
            state_charge_payer(state, i);
            account->spent = 0;
            account->rest = 0;
        }
    }
}

void state_pass_time(struct state *state, usec_t until)
{
    while (state->agenda.next_edge <= until) {
        state->now = state->agenda.next_edge;
        state_advance_clock(state);
        state_renew_accounts(state);
        state_set_times(state);
        state->agenda.passed++;
    }
}
