/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/backfill/role_places.h"

#include <assert.h>

void seats_keep(struct seats *seats, const struct state *state, uint64_t job,
                const struct lease *lease)
{
    size_t kept = 0;

    assert(job != 0 && lease->members_count > 0);
    for (size_t i = 0; i < seats->items.count; i++) {
        struct seat seat = seats->items.items[i];
        const struct job *other = state_job(state, seat.job);
        if (seat.job != job && other && other->state == JOB_QUEUED)
            seats->items.items[kept++] = seat;
        else
            lease_destroy(seat.lease);
    }
    seats->items.count = kept;
    list_add(&seats->items, (struct seat){ job, lease_copy(lease) });
}

const struct lease *seats_of(const struct seats *seats, uint64_t job)
{
    for (size_t i = 0; i < seats->items.count; i++) {
        if (seats->items.items[i].job == job)
            return seats->items.items[i].lease;
    }
    return NULL;
}

void seats_release(struct seats *seats)
{
    for (size_t i = 0; i < seats->items.count; i++)
        lease_destroy(seats->items.items[i].lease);
    list_release(&seats->items);
}
