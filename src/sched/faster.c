/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/faster.h"

#include <string.h>

#include "base/log2.h"
#include "core/job/own_speed.h"
#include "sched/brain.h"

enum { FASTER_MOST = 3, FASTER_OF = 4 }; /* expected ends are not exact */

static bool is_earlier(const void *a, const void *b)
{
    const struct faster_gpu *left = a, *right = b;

    return left->at < right->at;
}

/* By model: when its busy GPUs that can be used become free. Jobs come in the order of their ends,
 * so each list is a heap. */
static void list_busy(struct brain *brain)
{
    const struct layout *layout = &brain->layout;
    const struct state *state = brain->state;

    while (brain->busy.count <= layout->model_count)
        list_add(&brain->busy, (struct faster_line){ 0 });
    LIST_EACH (struct faster_line, line, &brain->busy)
        line->gpus.count = 0;
    brain->busy_in = brain->plans;
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        const struct lease *lease = at.job->run->lease;
        for (uint32_t i = 0; lease && i < lease->slices_count; i++) {
            uint32_t slot = layout->slot_of_device.items[lease->slices[i].device];
            if (lease->slices[i].milli < GPU_MILLI || slot >= layout->slots.count ||
                !device_is_usable(state, &state->devices.items[lease->slices[i].device]))
                continue;
            uint32_t model = layout->kinds.items[layout->slots.items[slot].kind].model;
            usec_t end = at.end > state->now ? at.end : state->now;
            list_add(&brain->busy.items[model].gpus, (struct faster_gpu){ end, at.job->id });
        }
    }
}

/* The last of the first `count` GPUs that become free. */
static struct faster_gpu look(struct brain *brain, const struct faster_line *line, uint32_t count)
{
    struct faster_line rest = *line;
    struct faster_gpu last = line->gpus.items[0];

    if (count == 1)
        return last;
    rest.gpus.items = arena_take(&brain->arena, rest.gpus.count, sizeof(last));
    memcpy(rest.gpus.items, line->gpus.items, rest.gpus.count * sizeof(last));
    for (uint32_t i = 0; i < count; i++) {
        last = rest.gpus.items[0];
        rest.gpus.items[0] = rest.gpus.items[--rest.gpus.count];
        if (rest.gpus.count > 0)
            list_sift(&rest.gpus, 0, is_earlier);
    }
    return last;
}

/* Some of the busy GPUs may be for others: then it is not known when it could have one. */
static bool is_open_to_all(const struct brain *brain, const struct request *request)
{
    return request->where_count == 0 && !request->pool[0] && !brain->layout.has_static_pools &&
           brain->state->agenda.reservations.count == 0;
}

static bool may_leave(const struct brain *brain, const struct pending_bucket *bucket,
                      const struct request *request)
{
    enum ordering order = (enum ordering)brain->state->settings.order;
    bool is_urgent = bucket->urgent_in == brain->plans && bucket->urgent_count > 0;
    bool has_waited = bucket->left == bucket->first->id && brain->state->now >= bucket->left_until;

    return bucket->has_speeds && bucket->first->estimate > 0 && bucket->estimate > 0 &&
           bucket->deadline == 0 && !is_urgent && !has_waited &&
           (order == ORDER_DEFAULT || order == ORDER_SHORTEST) &&
           brain->state->settings.choice != CHOICE_PLACE &&
           brain->state->settings.backfill_depth > 0 && request->members == 1 &&
           request->members_max == 0 && request->gpu_alternatives == 1 &&
           !request->gpus[0].model[0] && request->gpus[0].kind == SHARE_WHOLE &&
           is_open_to_all(brain, request);
}

/* All jobs of the bucket leave, one after another, or none: if one of them would not end by then,
 * it takes what is free; they are alike, so the first may. */
static bool book(struct brain *brain, struct faster_line *line, const struct pending_bucket *bucket,
                 uint32_t count, usec_t run, usec_t by)
{
    size_t size = line->gpus.count;
    struct faster_gpu *before = arena_take(&brain->arena, size, sizeof(*before));
    bool is_booked = true;

    memcpy(before, line->gpus.items, size * sizeof(*before));
    for (uint32_t i = 0; i < bucket->count && is_booked; i++) {
        struct faster_gpu gpu = look(brain, line, count);
        gpu.at = usec_after(gpu.at, run);
        for (uint32_t k = 0; k < count; k++) {
            line->gpus.items[0] = gpu;
            list_sift(&line->gpus, 0, is_earlier);
        }
        is_booked = gpu.at <= by;
    }
    if (!is_booked)
        memcpy(line->gpus.items, before, size * sizeof(*before));
    return is_booked;
}

bool faster_leaves(struct brain *brain, struct pending_bucket *bucket, struct why *ret_why)
{
    const struct request *request = state_request(brain->state, bucket->first);
    struct model_score scores[SPEED_MODELS];
    usec_t now = brain->state->now, best = USEC_NEVER, run_there = 0;
    struct faster_gpu first = { 0 };
    uint32_t free, count = request->gpus[0].count, chosen = 0;

    if (!may_leave(brain, bucket, request))
        return false;
    struct place_query query = brain_query(brain, bucket->first);
    uint32_t models = place_models_now(&query, 0, scores, &free);
    if (free == 0 || free >= models)
        return false; /* it has what it prefers, or nothing */
    if (brain->busy_in != brain->plans)
        list_busy(brain);
    for (uint32_t i = 0; i < free; i++) {
        struct faster_line *line = &brain->busy.items[scores[i].model];
        usec_t run = own_speed_run(bucket->estimate, (uint32_t)log2_power(scores[i].speed));
        if (line->gpus.count < count)
            continue;
        struct faster_gpu gpu = look(brain, line, count);
        if (usec_after(gpu.at, run) >= best)
            continue;
        best = usec_after(gpu.at, run);
        first = gpu;
        chosen = scores[i].model;
        run_there = run;
    }
    usec_t here = own_speed_run(bucket->estimate, (uint32_t)log2_power(scores[free].speed));
    usec_t by = usec_after(now, here / FASTER_OF * FASTER_MOST);
    if (best > by || !book(brain, &brain->busy.items[chosen], bucket, count, run_there, by))
        return false;
    if (bucket->left != bucket->first->id)
        bucket->left_until = first.at;
    bucket->left = bucket->first->id;
    brain_review(brain, first.at > now ? first.at : now + USEC_PER_SEC);
    *ret_why = (struct why){ .kind = WHY_FASTER, .job = first.job, .at = first.at };
    return true;
}
