/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/reserve.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void reserve_start(struct reserve *reserve, struct job *const *active, size_t active_count)
{
    reserve_follow(reserve, active, active_count);
    reserve->count = 0;
}

void reserve_follow(struct reserve *reserve, struct job *const *active, size_t active_count)
{
    reserve->active = active;
    reserve->active_count = active_count;
}

void reserve_release(struct reserve *reserve)
{
    for (size_t i = 0; i < reserve->held.count; i++)
        room_release(&reserve->held.items[i].rest);
    list_release(&reserve->held);
    room_release(&reserve->future);
}

static usec_t add_time(usec_t start, usec_t duration)
{
    return duration >= USEC_NEVER - start ? USEC_NEVER : start + duration;
}

/* One that is over its limit, or being stopped, is taken to end now. */
usec_t reserve_end_of(const struct state *state, const struct job *job)
{
    usec_t start = job->state == JOB_GRANTED ? job->granted : job->started;
    usec_t end = add_time(start > 0 ? start : job->granted, job->max_duration);

    return job->state == JOB_STOPPING || end < state->now ? state->now : end;
}

struct leaving {
    usec_t end;
    const struct job *job;
};

static int compare_leaving(const void *a, const void *b)
{
    const struct leaving *left = a, *right = b;

    if (left->end != right->end)
        return left->end < right->end ? -1 : 1;
    return (left->job->id > right->job->id) - (left->job->id < right->job->id);
}

static uint32_t list_leaving(const struct reserve *reserve, const struct state *state,
                             struct arena *arena, struct leaving **ret_leaving)
{
    struct leaving *leaving = arena_take(arena, reserve->active_count, sizeof(*leaving));
    uint32_t found = 0;

    for (size_t i = 0; i < reserve->active_count; i++) {
        const struct job *job = reserve->active[i];
        if (job_is_active(job))
            leaving[found++] = (struct leaving){ reserve_end_of(state, job), job };
    }
    qsort(leaving, found, sizeof(leaving[0]), compare_leaving);
    *ret_leaving = leaving;
    return found;
}

static void take_smaller(struct room *room, const struct room *other)
{
    for (size_t i = 0; i < room->nodes.count; i++) {
        struct room_node *a = &room->nodes.items[i];
        const struct room_node *b = &other->nodes.items[i];
        a->cpu_milli = b->cpu_milli < a->cpu_milli ? b->cpu_milli : a->cpu_milli;
        a->memory_mib = b->memory_mib < a->memory_mib ? b->memory_mib : a->memory_mib;
    }
    for (size_t i = 0; i < room->devices.count; i++) {
        struct room_device *a = &room->devices.items[i];
        const struct room_device *b = &other->devices.items[i];
        a->milli = b->milli < a->milli ? b->milli : a->milli;
        a->memory_mib = b->memory_mib < a->memory_mib ? b->memory_mib : a->memory_mib;
    }
    for (size_t i = 0; i < room->pools.count; i++) {
        if (other->pools.items[i] > room->pools.items[i])
            room->pools.items[i] = other->pools.items[i];
    }
}

/* Whether a job that ends at `end` still runs at a promise's time. Two without end never agree. */
static bool is_over(usec_t end, usec_t at)
{
    return end > at || end == USEC_NEVER;
}

const struct room *reserve_room(const struct reserve *reserve, const struct room *now, usec_t end,
                                struct room *scratch)
{
    bool is_copied = false;

    for (size_t i = 0; i < reserve->count; i++) {
        const struct reservation *held = &reserve->held.items[i];
        if (!is_over(end, held->at))
            continue;
        if (!is_copied)
            room_copy(scratch, now);
        is_copied = true;
        take_smaller(scratch, &held->rest);
    }
    return is_copied ? scratch : now;
}

const struct room *reserve_spare(const struct reserve *reserve, usec_t end)
{
    for (size_t i = 0; i < reserve->count; i++) {
        if (!is_over(end, reserve->held.items[i].at))
            return &reserve->held.items[i].rest;
    }
    return NULL;
}

void reserve_take(struct reserve *reserve, const struct lease *lease, usec_t end)
{
    for (size_t i = 0; i < reserve->count; i++) {
        if (is_over(end, reserve->held.items[i].at))
            room_add(&reserve->held.items[i].rest, lease, -1);
    }
}

uint64_t reserve_holder(const struct reserve *reserve, usec_t end)
{
    for (size_t i = 0; i < reserve->count; i++) {
        if (is_over(end, reserve->held.items[i].at))
            return reserve->held.items[i].job;
    }
    return 0;
}

static void keep(struct reserve *reserve, uint64_t job, usec_t at)
{
    if (reserve->held.count == reserve->count)
        list_add(&reserve->held, (struct reservation){ 0 });
    struct reservation *held = &reserve->held.items[reserve->count++];
    held->job = job;
    held->at = at;
    room_copy(&held->rest, &reserve->future);
}

/* `future` is what is free at `at` with the earlier promises that start by then taken out. */
static bool promise_at(struct reserve *reserve, const struct place_query *query,
                       const struct job *job, usec_t at, struct arena *arena)
{
    usec_t end = add_time(at, job->max_duration);
    struct room room = { 0 };
    struct lease lease;
    struct why why;

    room_copy(&room, &reserve->future);
    for (size_t i = 0; i < reserve->count; i++) {
        if (reserve->held.items[i].at > at && is_over(end, reserve->held.items[i].at))
            take_smaller(&room, &reserve->held.items[i].rest);
    }
    bool fits = place_job(query, &room, arena, &lease, &why);
    if (fits) {
        reserve_take(reserve, &lease, end); /* from promises that start while it will run */
        room_add(&reserve->future, &lease, -1);
        keep(reserve, job->id, at);
    }
    room_release(&room);
    return fits;
}

bool reserve_make(struct reserve *reserve, const struct state *state, const struct job *job,
                  struct arena *arena, usec_t *ret_at)
{
    struct place_query query = {
        .state = state,
        .request = state_request(state, job),
        .queue = job->queue,
        .spare = &state->room, /* others may use what is free now until then, and longer */
        .quota = PLACE_QUOTA_EVER,
    };
    struct leaving *leaving;
    uint32_t count = list_leaving(reserve, state, arena, &leaving);

    room_copy(&reserve->future, &state->room);
    for (uint32_t i = 0; i < count;) {
        usec_t at = leaving[i].end;
        for (; i < count && leaving[i].end == at; i++)
            room_add(&reserve->future, leaving[i].job->lease, 1);
        /* Earlier promises: from their time on, only what they leave is free. */
        struct room all = { 0 };
        room_copy(&all, &reserve->future);
        for (size_t k = 0; k < reserve->count; k++) {
            if (reserve->held.items[k].at <= at)
                take_smaller(&reserve->future, &reserve->held.items[k].rest);
        }
        bool is_made = promise_at(reserve, &query, job, at, arena);
        if (!is_made)
            room_copy(&reserve->future, &all);
        room_release(&all);
        if (is_made) {
            *ret_at = at;
            return true;
        }
    }
    return false;
}
