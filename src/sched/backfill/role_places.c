/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/backfill/role_places.h"

#include <assert.h>

void role_places_keep(struct role_places *role_places, const struct state *state, uint64_t job,
                      const struct lease *lease)
{
    size_t kept = 0;

    assert(job != 0 && lease->members_count > 0);
    for (size_t i = 0; i < role_places->items.count; i++) {
        struct seat seat = role_places->items.items[i];
        const struct job *other = state_job(state, seat.job);
        if (seat.job != job && other && other->state == JOB_QUEUED)
            role_places->items.items[kept++] = seat;
        else
            lease_destroy(seat.lease);
    }
    role_places->items.count = kept;
    list_add(&role_places->items, (struct seat){ job, lease_copy(lease) });
}

const struct lease *role_places_of(const struct role_places *role_places, uint64_t job)
{
    for (size_t i = 0; i < role_places->items.count; i++) {
        if (role_places->items.items[i].job == job)
            return role_places->items.items[i].lease;
    }
    return NULL;
}

void role_places_release(struct role_places *role_places)
{
    for (size_t i = 0; i < role_places->items.count; i++)
        lease_destroy(role_places->items.items[i].lease);
    list_release(&role_places->items);
}
