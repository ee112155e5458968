/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/backfill/promise_search.h"

#include <assert.h>

enum {
    WALK_WORTH = 128,   /* leases walked through for each job that ended */
    OPENINGS_MOST = 64, /* ends of reservations that one walk looks at */
};

void reserve_start(struct reserve *reserve)
{
    reserve->promises.count = 0;
    if (reserve->walked <= reserve->ended * WALK_WORTH)
        reserve_forget(reserve);
}

void reserve_forget(struct reserve *reserve)
{
    if (reserve->promises.kept > 0)
        promise_drop(&reserve->promises, reserve->ahead.layout, 0);
    reserve->promises.count = 0;
    reserve->walked = reserve->ended = 0;
}

void reserve_finish(struct reserve *reserve)
{
    assert(reserve->promises.count <= reserve->promises.held.count);
    if (reserve->promises.kept > reserve->promises.count)
        promise_drop(&reserve->promises, reserve->ahead.layout, reserve->promises.count);
}

void reserve_account(struct reserve *reserve, const struct lease *lease, usec_t end, int sign)
{
    reserve->ended += sign < 0;
    if (reserve->promises.kept > 0)
        promise_account(&reserve->promises, reserve->ahead.layout, lease, end, sign);
}

void reserve_release(struct reserve *reserve)
{
    promises_release(&reserve->promises);
    fleet_release(&reserve->ahead);
    list_release(&reserve->bookings);
    list_release(&reserve->touched);
    list_release(&reserve->counts);
    list_release(&reserve->roomy);
    kept_places_release(&reserve->role_places);
}

static void book(struct reserve *reserve, usec_t at, const struct lease *lease, int sign)
{
    const struct booking *items = reserve->bookings.items, added = { at, lease, sign };
    size_t place = reserve->bookings.count;

    while (place > 0 && (items[place - 1].at > at ||
                         (items[place - 1].at == at && items[place - 1].sign > sign)))
        place--;
    list_insert(&reserve->bookings, place, added);
}

static void book_all(struct reserve *reserve)
{
    reserve->bookings.count = 0;
    for (size_t i = 0; i < reserve->promises.count; i++) {
        const struct promise *promise = &reserve->promises.held.items[i];
        book(reserve, promise->at, promise->lease, 1);
        if (promise->end != USEC_NEVER)
            book(reserve, promise->end, promise->lease, -1);
    }
}

/* ---- the walk ---- */

struct schedule {
    struct reserve *reserve;
    struct place_query query;
    struct ends_walk leaving;
    size_t booked;    /* the next */
    uint64_t members; /* of a gang that fit somewhere */
    usec_t now;
    usec_t opens;       /* when a reservation that bars it ends next; USEC_NEVER */
    int openings;       /* how many of these were looked at */
    usec_t earliest;    /* no start before is wanted */
    bool is_everywhere; /* not only nodes that the walk changed may have room */
};

static void touch(struct schedule *walk, const struct lease *lease)
{
    struct reserve *reserve = walk->reserve;

    for (uint32_t i = 0; i < lease->members_count; i++) {
        uint32_t node = lease->members[i].node;
        size_t count = reserve->touched.count;
        if (count == 0 || reserve->touched.items[count - 1] != node)
            list_add(&reserve->touched, node);
    }
}

static usec_t next_end(const struct schedule *walk)
{
    return walk->leaving.end > walk->now ? walk->leaving.end : walk->now;
}

static struct keepout_ask ask_from(const struct schedule *walk, usec_t from)
{
    return (struct keepout_ask){ walk->query.queue, walk->query.user, from, USEC_NEVER };
}

/* When the next reservation that is in its way ends. */
static usec_t next_opening(const struct schedule *walk, usec_t after)
{
    const struct keepouts *keepouts = walk->query.keepouts;
    struct keepout_ask ask = ask_from(walk, after);
    usec_t next = USEC_NEVER;

    for (size_t i = 0; keepouts && walk->openings < OPENINGS_MOST && i < keepouts->items.count;
         i++) {
        usec_t opens = keepout_opens_at(&keepouts->items.items[i], walk->query.state, &ask);
        next = opens < next ? opens : next;
    }
    return next;
}

/* What reservations that end then have kept. */
static void open_gates(struct schedule *walk, usec_t at)
{
    const struct keepouts *keepouts = walk->query.keepouts;
    struct keepout_ask ask = ask_from(walk, at - 1);

    LIST_EACH (const struct keepout, keepout, &keepouts->items) {
        if (keepout_opens_at(keepout, walk->query.state, &ask) == at)
            list_add(&walk->reserve->touched, keepout->node);
    }
    walk->openings++;
    walk->opens = next_opening(walk, at);
}

/* All that ends, and what promises take, until then. */
static void pass(struct schedule *walk, usec_t at)
{
    struct reserve *reserve = walk->reserve;
    const struct booking *bookings = reserve->bookings.items;

    for (; walk->leaving.job && next_end(walk) <= at; ends_next(&walk->leaving)) {
        fleet_take(&reserve->ahead, walk->leaving.job->run->lease, -1);
        reserve->walked++;
        touch(walk, walk->leaving.job->run->lease);
    }
    for (; walk->booked < reserve->bookings.count && bookings[walk->booked].at <= at;
         walk->booked++) {
        fleet_take(&reserve->ahead, bookings[walk->booked].lease, bookings[walk->booked].sign);
        touch(walk, bookings[walk->booked].lease);
    }
}

/* Go to the next time at which a job frees something; all that happens until then is done. */
static bool step(struct schedule *walk, usec_t *ret_at)
{
    struct reserve *reserve = walk->reserve;
    const struct booking *bookings = reserve->bookings.items;
    usec_t at = next_end(walk);
    bool is_over = !walk->leaving.job;

    reserve->touched.count = 0;
    walk->is_everywhere = walk->earliest > walk->now;
    if (walk->is_everywhere) {
        *ret_at = walk->earliest;
        walk->earliest = 0;
        walk->opens = next_opening(walk, *ret_at);
        pass(walk, *ret_at);
        return true;
    }
    for (size_t i = walk->booked; i < reserve->bookings.count; i++) {
        if (bookings[i].sign > 0)
            continue;
        is_over = false;
        at = bookings[i].at < at ? bookings[i].at : at;
        break;
    }
    if (walk->opens < at)
        at = walk->opens;
    if (is_over && walk->opens == USEC_NEVER)
        return false;
    pass(walk, at);
    if (walk->opens == at && at != USEC_NEVER)
        open_gates(walk, at);
    *ret_at = at;
    return true;
}

static struct shape *shape_of(const struct schedule *walk, uint32_t alternative)
{
    return shape_claim(walk->query.shapes, walk->query.state, walk->query.fleet->layout,
                       walk->query.class, 0, alternative, 0, walk->query.queue);
}

static uint32_t alternatives_of(const struct schedule *walk)
{
    uint32_t count = walk->query.request->gpu_alternatives;

    return count > 0 ? count : 1;
}

/* For a gang: how many members fit on a node, of any alternative the most. */
static void count_members(struct schedule *walk, uint32_t node)
{
    struct reserve *reserve = walk->reserve;
    struct spot spot = spot_of(&reserve->ahead, node);
    uint32_t most = 0;

    for (uint32_t i = 0; i < alternatives_of(walk); i++) {
        uint32_t here =
            score_count(walk->query.scorer, shape_of(walk, i), &spot, walk->query.request->members);
        most = here > most ? here : most;
    }
    walk->members += (uint64_t)most - reserve->counts.items[node];
    reserve->counts.items[node] = most;
}

/* Nodes that have room for none now need no look. */
static void start_counting(struct schedule *walk)
{
    struct reserve *reserve = walk->reserve;
    size_t nodes = reserve->ahead.nodes.count;

    list_zero(&reserve->counts, nodes);
    for (uint32_t i = 0; i < alternatives_of(walk); i++) {
        struct shape *shape = shape_of(walk, i);
        shape_catch_up(shape, walk->query.scorer, walk->query.fleet);
        for (uint32_t node = 0; node < nodes; node++) {
            if (shape->costs.items[node] != COST_NONE && reserve->counts.items[node] == 0)
                count_members(walk, node);
        }
    }
}

/* Whether a node that the walk changed may have room: less than a look for the best place. */
static bool any_fits(const struct schedule *walk)
{
    const struct reserve *reserve = walk->reserve;

    for (uint32_t i = 0; i < alternatives_of(walk); i++) {
        const struct shape *shape = shape_of(walk, i);
        for (size_t k = 0; k < reserve->touched.count; k++) {
            struct spot spot = spot_of(&reserve->ahead, reserve->touched.items[k]);
            if (score_count(walk->query.scorer, shape, &spot, 1) > 0)
                return true;
        }
    }
    return false;
}

/* Where a gang may have members then. */
static void list_roomy(struct schedule *walk)
{
    struct reserve *reserve = walk->reserve;

    reserve->roomy.count = 0;
    for (uint32_t node = 0; node < reserve->ahead.nodes.count; node++) {
        if (reserve->counts.items[node] > 0)
            list_add(&reserve->roomy, node);
    }
}

/* Jobs that no longer wait are forgotten. */
static void keep_roles(kept_places *places, const struct state *state, uint64_t job,
                       const struct lease *lease)
{
    for (size_t i = places->count; i-- > 0;) {
        const struct job *other = state_job(state, places->items[i].job);
        if (!other || other->state != JOB_QUEUED)
            kept_place_drop(places, i);
    }
    kept_place_set(places, job, lease);
}

bool reserve_make(struct reserve *reserve, const struct place_query *query, const struct ends *ends,
                  usec_t duration, usec_t earliest, struct arena *arena, usec_t *ret_at)
{
    struct schedule walk = { .reserve = reserve,
                             .query = *query,
                             .leaving = ends_first(ends),
                             .now = query->state->now,
                             .earliest = earliest };
    bool is_gang = query->request->members > 1;
    /* Members that are alike can be counted first, which is less than a look for their places. */
    bool is_counted = is_gang && query->request->roles_count == 0;
    /* Room that opens elsewhere can matter when it is a pool's budget that is missing. */
    bool is_local = !is_gang && !query->scorer->layout->has_bounds;
    usec_t at;
    bool is_made = false;

    if (promise_renew(&reserve->promises, query->fleet->layout, query->job, earliest, walk.now)) {
        *ret_at = reserve->promises.held.items[reserve->promises.count - 1].at;
        return true;
    }
    reserve_finish(reserve);
    book_all(reserve);
    fleet_follow(&reserve->ahead, query->fleet);
    walk.opens = next_opening(&walk, walk.now);
    if (is_counted)
        start_counting(&walk);
    while (!is_made && step(&walk, &at)) {
        struct place_query *then = &walk.query;
        struct lease *lease = arena_take(arena, 1, sizeof(*lease));
        if (is_counted) {
            for (size_t i = 0; i < reserve->touched.count; i++)
                count_members(&walk, reserve->touched.items[i]);
            if (walk.members < query->request->members)
                continue;
            list_roomy(&walk);
        } else if (is_local && !walk.is_everywhere && query->request->roles_count == 0 &&
                   !any_fits(&walk))
            continue;
        then->fleet = &reserve->ahead;
        then->shapes = NULL;
        then->promises = &reserve->promises;
        then->end = usec_after(at, duration);
        then->from = at;
        then->spare = query->fleet; /* others may use what is free now until then, and longer */
        then->quota = PLACE_QUOTA_EVER;
        then->only = is_counted                        ? reserve->roomy.items
                     : is_local && !walk.is_everywhere ? reserve->touched.items
                                                       : NULL;
        then->only_count = (uint32_t)(is_counted ? reserve->roomy.count : reserve->touched.count);
        reserve->promises.from = at == USEC_NEVER ? at : at + 1;
        is_made = place_job(then, arena, lease, NULL);
        then->shapes = query->shapes;
        then->fleet = query->fleet;
        reserve->promises.from = 0;
        if (!is_made)
            continue;
        fleet_take(&reserve->ahead, lease, 1);
        promise_add(&reserve->promises, query->job, earliest, at, usec_after(at, duration),
                    &reserve->ahead, lease);
        if (lease->roles_count > 0)
            keep_roles(&reserve->role_places, query->state, query->job, lease);
        *ret_at = at;
    }
    return is_made;
}
