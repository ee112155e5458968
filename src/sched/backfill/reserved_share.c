/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/backfill/reserved_share.h"

#include <assert.h>

static struct reserved_share *reserved_share_of(const reserved_share_list *shares, uint32_t queue)
{
    for (size_t i = 0; i < shares->count; i++) {
        if (shares->items[i].queue == queue)
            return &shares->items[i];
    }
    return NULL;
}

void reserved_share_make(reserved_share_list *shares, const struct state *state,
                         const struct ends *ends, const struct job *job, const struct why *why)
{
    struct reserved_share turn = { .queue = why->queue, .resource = why->resource, .job = job->id };
    int64_t left = why->free - why->wanted;

    assert(why->kind == WHY_QUOTA && why->resource < state->resources.count);
    if (reserved_share_of(shares, why->queue))
        return;
    turn.at = state->now;
    /* Without backfill, no job passes. All that end at the same time count. */
    for (struct ends_walk next = ends_first(ends); next.job; ends_next(&next)) {
        usec_t end = next.end > state->now ? next.end : state->now;
        struct amounts held;
        if (state->settings.backfill_depth == 0 || (left >= 0 && end > turn.at))
            break;
        if (!state_is_below(state, next.job->queue, why->queue))
            continue;
        amounts_of_lease(state, next.job->run->lease, &held);
        left += held.of[why->resource];
        turn.at = end;
    }
    if (left < 0)
        turn.at = state->settings.backfill_depth > 0 ? USEC_NEVER : 0;
    turn.spare = left > 0 ? left : 0;
    list_add(shares, turn);
}

void reserved_share_keep(reserved_share_list *shares, const struct state *state,
                         const struct job *job, int64_t bound, uint32_t queue, int64_t milli)
{
    int64_t left = bound - state->queues.items[queue].used.of[RESOURCE_GPUS] - milli;

    assert(milli >= 0 && bound != QUOTA_NONE);
    if (reserved_share_of(shares, queue))
        return;
    list_add(shares, (struct reserved_share){ .queue = queue,
                                              .resource = RESOURCE_GPUS,
                                              .job = job->id,
                                              .at = state->now,
                                              .spare = left > 0 ? left : 0 });
}

/* A job that ends at `end` still holds it when the turn has come; also if neither has an end. */
static bool is_over(usec_t end, usec_t at)
{
    return end > at || end == USEC_NEVER;
}

bool reserved_share_allows(const reserved_share_list *shares, const struct state *state,
                           const struct reserved_share_ask *ask, struct why *why)
{
    assert(ask->queue < state->queues.count);
    for (uint32_t at = ask->queue; at != QUEUE_NONE && shares->count > 0;
         at = queue_above(state->queues.items, at)) {
        const struct reserved_share *turn = reserved_share_of(shares, at);
        if (turn && turn->job != ask->job && is_over(ask->end, turn->at) &&
            ask->amounts->of[turn->resource] > 0 &&
            ask->amounts->of[turn->resource] > turn->spare) {
            *why = (struct why){
                .kind = WHY_TURN, .queue = at, .resource = turn->resource, .job = turn->job
            };
            return false;
        }
    }
    return true;
}

void reserved_share_take(reserved_share_list *shares, const struct state *state, uint32_t queue,
                         const struct amounts *amounts, usec_t end)
{
    for (uint32_t at = queue; at != QUEUE_NONE && shares->count > 0;
         at = queue_above(state->queues.items, at)) {
        struct reserved_share *turn = reserved_share_of(shares, at);
        if (turn && is_over(end, turn->at))
            turn->spare -= amounts->of[turn->resource];
    }
}
