/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/turn.h"

#include "sched/reserve.h"

static struct turn *turn_of(const struct turns *turns, uint32_t queue)
{
    for (size_t i = 0; i < turns->held.count; i++) {
        if (turns->held.items[i].queue == queue)
            return &turns->held.items[i];
    }
    return NULL;
}

static bool is_below(const struct state *state, uint32_t queue, uint32_t above)
{
    for (; queue != above; queue = state->queues.items[queue].parent) {
        if (queue == QUEUE_ROOT)
            return false;
    }
    return true;
}

/* The next end after `after` among those below the queue, and what is given back then. */
static int64_t next_end(const struct state *state, struct job *const *active, size_t count,
                        uint32_t queue, usec_t after, usec_t *ret_at)
{
    int64_t milli = 0;

    *ret_at = USEC_NEVER;
    for (size_t i = 0; i < count; i++) {
        usec_t end = reserve_end_of(state, active[i]);
        if (!is_below(state, active[i]->queue, queue) || end <= after || end > *ret_at)
            continue;
        milli = active[i]->lease->milli + (end == *ret_at ? milli : 0);
        *ret_at = end;
    }
    return milli;
}

void turn_make(struct turns *turns, const struct state *state, struct job *const *active,
               size_t active_count, const struct job *job, const struct why *why)
{
    const struct queue *queue = &state->queues.items[why->queue];
    struct turn turn = { .queue = why->queue, .job = job->id };
    int64_t left = queue->limit_milli - queue->used_milli - why->wanted;

    if (turn_of(turns, why->queue))
        return;
    /* Without backfill nobody passes. */
    for (usec_t at = state->now - 1; state->settings.backfill_depth > 0 && left < 0;) {
        left += next_end(state, active, active_count, why->queue, at, &turn.at);
        if (turn.at == USEC_NEVER)
            break;
        at = turn.at;
    }
    turn.spare = left > 0 ? left : 0;
    list_add(&turns->held, turn);
}

/* Does who ends at `end` still hold it when the turn has come? Two without end never agree. */
static bool is_over(usec_t end, usec_t at)
{
    return end > at || end == USEC_NEVER;
}

bool turn_allows(const struct turns *turns, const struct state *state, uint32_t queue,
                 int64_t milli, usec_t end, struct why *why)
{
    for (uint32_t at = queue; turns->held.count > 0; at = state->queues.items[at].parent) {
        const struct turn *turn = turn_of(turns, at);
        if (turn && is_over(end, turn->at) && milli > turn->spare) {
            *why = (struct why){ .kind = WHY_TURN, .queue = at, .job = turn->job };
            return false;
        }
        if (at == QUEUE_ROOT)
            break;
    }
    return true;
}

void turn_take(struct turns *turns, const struct state *state, uint32_t queue, int64_t milli,
               usec_t end)
{
    for (uint32_t at = queue; turns->held.count > 0; at = state->queues.items[at].parent) {
        struct turn *turn = turn_of(turns, at);
        if (turn && is_over(end, turn->at))
            turn->spare -= milli;
        if (at == QUEUE_ROOT)
            break;
    }
}

void turns_release(struct turns *turns)
{
    list_release(&turns->held);
}
