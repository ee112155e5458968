/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/capacity/profile.h"

#include <assert.h>
#include <string.h>

void profile_start(struct profile *profile, usec_t now, const int64_t *free)
{
    struct profile_step first = { .at = now };

    memcpy(first.free, free, sizeof(first.free));
    profile->steps.count = 0;
    list_add(&profile->steps, first);
}

void profile_release(struct profile *profile)
{
    list_release(&profile->steps);
}

/* The last step that begins at this time or before. */
static size_t step_at(const struct profile *profile, usec_t at)
{
    assert(profile->steps.count > 0);
    size_t low = 0, high = profile->steps.count - 1;

    while (low < high) {
        size_t middle = (low + high + 1) / 2;
        if (profile->steps.items[middle].at <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* A step that begins just then. */
static size_t split(struct profile *profile, usec_t at)
{
    size_t place = step_at(profile, at);

    if (profile->steps.items[place].at >= at || profile->steps.count >= PROFILE_STEPS_MAX)
        return place;
    struct profile_step step = profile->steps.items[place];
    step.at = at;
    list_insert(&profile->steps, place + 1, step);
    return place + 1;
}

void profile_give_back(struct profile *profile, usec_t at, const int64_t *amounts)
{
    struct profile_step step = profile->steps.items[profile->steps.count - 1];

    if (at == USEC_NEVER)
        return;
    if (at > step.at && profile->steps.count < PROFILE_STEPS_MAX) {
        step.at = at;
        list_add(&profile->steps, step);
    }
    struct profile_step *last = &profile->steps.items[profile->steps.count - 1];
    for (size_t lane = 0; lane < PROFILE_LANES; lane++)
        last->free[lane] += amounts[lane];
}

static bool fits(const struct profile_step *step, const struct profile_need *need)
{
    int64_t gpu = 0;

    for (size_t lane = 0; lane < PROFILE_GPU_LANES; lane++)
        gpu += need->serves >> lane & 1 && step->free[lane] > 0 ? step->free[lane] : 0;
    if (gpu < need->gpu)
        return false;
    for (size_t lane = PROFILE_GPU_LANES; lane < PROFILE_LANES; lane++) {
        if (need->amount[lane] > 0 && step->free[lane] < need->amount[lane])
            return false;
    }
    return true;
}

usec_t profile_find(const struct profile *profile, const struct profile_need *need, usec_t from)
{
    const struct profile_step *items = profile->steps.items;
    usec_t start = USEC_NEVER;

    assert(from >= 0);
    for (size_t i = step_at(profile, from); i < profile->steps.count; i++) {
        if (start != USEC_NEVER && items[i].at - start >= need->run)
            break;
        if (!fits(&items[i], need))
            start = USEC_NEVER;
        else if (start == USEC_NEVER)
            start = items[i].at > from ? items[i].at : from;
    }
    return start;
}

static void take_of(struct profile_step *step, const struct profile_need *need)
{
    int64_t left = need->gpu;

    for (size_t lane = 0; lane < PROFILE_GPU_LANES && left > 0; lane++) {
        int64_t here = need->serves >> lane & 1 ? step->free[lane] : 0;
        here = here < left ? here : left;
        if (here > 0) {
            step->free[lane] -= here;
            left -= here;
        }
    }
    for (size_t lane = PROFILE_GPU_LANES; lane < PROFILE_LANES; lane++)
        step->free[lane] -= need->amount[lane];
}

void profile_take(struct profile *profile, const struct profile_need *need, usec_t at)
{
    usec_t end = usec_after(at, need->run);
    size_t first = split(profile, at);
    size_t last = end == USEC_NEVER ? profile->steps.count : split(profile, end);

    for (size_t i = first; i < last; i++)
        take_of(&profile->steps.items[i], need);
}
