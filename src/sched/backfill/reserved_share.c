/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/backfill/reserved_share.h"

#include <assert.h>

static struct turn *turn_of(const struct turns *turns, uint32_t queue)
{
    for (size_t i = 0; i < turns->held.count; i++) {
        if (turns->held.items[i].queue == queue)
            return &turns->held.items[i];
    }
    return NULL;
}

void turn_make(struct turns *turns, const struct state *state, const struct ends *ends,
               const struct job *job, const struct why *why)
{
    struct turn turn = { .queue = why->queue, .resource = why->resource, .job = job->id };
    int64_t left = why->free - why->wanted;
    struct ends_walk walk = { .ends = ends };

    assert(why->kind == WHY_QUOTA && why->resource < state->resources.count);
    if (turn_of(turns, why->queue))
        return;
    turn.at = state->now;
    /* Without backfill nobody passes. All that end at the same time count. */
    while (state->settings.backfill_depth > 0) {
        struct ends_walk ahead = walk;
        const struct ends_entry *entry = ends_next(&ahead);
        usec_t end = !entry ? USEC_NEVER : entry->end > state->now ? entry->end : state->now;
        if (!entry || (left >= 0 && end > turn.at))
            break;
        walk = ahead;
        if (!state_is_below(state, entry->job->queue, why->queue))
            continue;
        struct amounts held;
        amounts_of_lease(state, entry->job->run->lease, &held);
        left += held.of[why->resource];
        turn.at = end;
    }
    if (left < 0)
        turn.at = state->settings.backfill_depth > 0 ? USEC_NEVER : 0;
    turn.spare = left > 0 ? left : 0;
    list_add(&turns->held, turn);
}

void turn_keep(struct turns *turns, const struct state *state, const struct job *job, int64_t bound,
               uint32_t queue, int64_t milli)
{
    int64_t left = bound - state->queues.items[queue].used.of[RESOURCE_GPUS] - milli;

    assert(milli >= 0 && bound != QUOTA_NONE);
    if (turn_of(turns, queue))
        return;
    list_add(&turns->held, (struct turn){ .queue = queue,
                                          .resource = RESOURCE_GPUS,
                                          .job = job->id,
                                          .at = state->now,
                                          .spare = left > 0 ? left : 0 });
}

/* Does who ends at `end` still hold it when the turn has come? Two without end never agree. */
static bool is_over(usec_t end, usec_t at)
{
    return end > at || end == USEC_NEVER;
}

bool turn_allows(const struct turns *turns, const struct state *state, const struct turn_ask *ask,
                 struct why *why)
{
    assert(ask->queue < state->queues.count);
    for (uint32_t at = ask->queue; turns->held.count > 0; at = state->queues.items[at].parent) {
        const struct turn *turn = turn_of(turns, at);
        if (turn && turn->job != ask->job && is_over(ask->end, turn->at) &&
            ask->amounts->of[turn->resource] > 0 &&
            ask->amounts->of[turn->resource] > turn->spare) {
            *why = (struct why){
                .kind = WHY_TURN, .queue = at, .resource = turn->resource, .job = turn->job
            };
            return false;
        }
        if (at == QUEUE_ROOT)
            break;
    }
    return true;
}

void turn_take(struct turns *turns, const struct state *state, uint32_t queue,
               const struct amounts *amounts, usec_t end)
{
    for (uint32_t at = queue; turns->held.count > 0; at = state->queues.items[at].parent) {
        struct turn *turn = turn_of(turns, at);
        if (turn && is_over(end, turn->at))
            turn->spare -= amounts->of[turn->resource];
        if (at == QUEUE_ROOT)
            break;
    }
}

void turns_release(struct turns *turns)
{
    list_release(&turns->held);
}
