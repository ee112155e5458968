/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/move.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/wide.h"
#include "core/state/state.h"

enum { NODES_NAMED = 3 };

int64_t move_loss(const struct lease *lease, usec_t again)
{
    uint64_t loss = wide_scale(again > 0 ? (uint64_t)again : 0, (uint64_t)lease->milli, GPU_MILLI);

    return loss < 1 ? 1 : loss < INT64_MAX / 4096 ? (int64_t)loss : INT64_MAX / 4096;
}

static bool is_in_hour(const struct moves *moves, usec_t at)
{
    return moves->from > 0 && at - moves->from < USEC_PER_HOUR;
}

int64_t moves_left(const struct state *state, usec_t at)
{
    int64_t lost = is_in_hour(&state->moves, at) ? state->moves.lost : 0;

    return lost < state->settings.defrag_most ? state->settings.defrag_most - lost : 0;
}

usec_t moves_renew_at(const struct state *state)
{
    return usec_after(state->moves.from, USEC_PER_HOUR);
}

char *state_place_of(const struct state *state, const struct lease *lease)
{
    struct text text = { 0 };
    uint32_t named = 0, last = UINT32_MAX;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct slice *slice = &lease->slices[i];
        assert(slice->rank < lease->members_count);
        uint32_t node = lease->members[slice->rank].node;
        if (node != last && named++ == NODES_NAMED) {
            text_add(&text, " ...");
            break;
        }
        if (node != last)
            text_printf(&text, "%s%s:", last == UINT32_MAX ? "" : " ",
                        state->nodes.items[node].name);
        text_printf(&text, "%s%" PRIu32, node != last ? "" : ",",
                    state->devices.items[slice->device].index);
        last = node;
    }
    char *place = mem_string(text_string(&text));
    text_release(&text);
    return place;
}

static void spend(struct state *state, int64_t loss)
{
    struct moves *moves = &state->moves;

    if (!is_in_hour(moves, state->now))
        *moves = (struct moves){ .from = state->now };
    moves->lost += loss < INT64_MAX / 2 - moves->lost ? loss : 0;
}

void move_begin(struct state *state, struct job *job, const struct event_stop *event)
{
    struct job_run *run = job_claim_run(job);

    free(run->moved_from);
    free(TAKE(run->moved_to));
    run->moved_from = state_place_of(state, run->lease);
    run->moved_for = event->other;
    run->moved = state->now;
    run->members_next = event->members;
    run->lost += event->lost > 0 ? event->lost : 0;
    run->unsaved = job_unsaved(job, state->now);
    spend(state, move_loss(run->lease, event->lost));
}

void move_end(const struct state *state, struct job_run *run)
{
    if (run->moved_from && !run->moved_to)
        run->moved_to = state_place_of(state, run->lease);
}
