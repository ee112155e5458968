/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/model_score.h"

#include <string.h>

#include "base/log2.h"
#include "core/job/own_speed.h"
#include "core/job/role.h"
#include "sched/placement/fragmentation.h"

enum { TRAINING_LEAST_H = 1 }; /* one that runs so long is no small inference */

static const usec_t tick = USEC_PER_SEC / 1000;

enum gpu_work model_work(const struct job *job, const struct request *request)
{
    uint64_t devices = 0;

    if (request->work != WORK_ANY)
        return (enum gpu_work)request->work;
    for (uint32_t i = 0; i < request_parts(request); i++) {
        const struct request *part = request_part(request, i);
        if (part->gpu_alternatives > 0)
            devices += (uint64_t)part->gpus[0].count * part->members;
    }
    bool is_training = devices > 1 || job_has_interval(job) || job->checkpoint_is_auto ||
                       job->estimate >= TRAINING_LEAST_H * USEC_PER_HOUR;
    return is_training ? WORK_TRAINING : WORK_INFERENCE;
}

static uint32_t speed_of(const struct model_query *query, const char *model, enum gpu_work work)
{
    const struct state *state = query->state;
    uint32_t stated = own_speed_on(query->request, model);
    if (stated > 0)
        return stated;
    int resource = resource_find(&state->resources, model);
    const struct resource_name *set = resource >= 0 ? &state->resources.items[resource] : NULL;
    uint32_t own = !set ? 0 : work == WORK_TRAINING ? set->training_milli : set->inference_milli;

    return own > 0 ? own : speed_published(model, work);
}

/* Thousandths of such a device that one slice takes; 0: it is too small. */
static int64_t milli_of(const struct gpu_ask *ask, const struct device *device)
{
    int64_t milli = ask->kind == SHARE_WHOLE ? GPU_MILLI : ask->milli;

    if (ask->memory_mib > device->memory_mib)
        return 0;
    if (milli == 0)
        milli = (ask->memory_mib * GPU_MILLI + device->memory_mib - 1) / device->memory_mib;
    return milli <= GPU_MILLI ? milli : 0;
}

/* Which typical requests it serves that other models do not: a device that only some can do
 * without costs up to twice its price. */
static int32_t scarcity_of(const struct model_query *query, const struct model_score *models,
                           uint32_t count, uint32_t number)
{
    const struct fragmentation *typical = query->typical;
    uint64_t all = 0, own = 0;

    if (typical->layout != query->layout->version)
        return 0; /* devices came or went since: what is typical is of other kinds */
    for (uint32_t shape = 0; shape < typical->count; shape++) {
        uint32_t serving = 0;
        bool serves = false;
        for (uint32_t i = 0; i < count; i++) {
            bool is_served = false;
            for (size_t k = 0; k < query->layout->kinds.count && !is_served; k++)
                is_served = query->layout->kinds.items[k].model == models[i].model &&
                            typical->needs.items[k * TYPICAL_MAX + shape] > 0;
            serving += is_served;
            serves |= is_served && i == number;
        }
        all += typical->shapes[shape].popularity;
        own += serves ? typical->shapes[shape].popularity * (count - serving) / count : 0;
    }
    return all > 0
               ? log2_of((int64_t)(1024 + (own >> 10) * 1024 / ((all >> 10) + 1))) - 10 * LOG2_ONE
               : 0;
}

static bool is_cheaper(const struct state *state, const struct device *device, uint32_t other)
{
    const struct device *than = &state->devices.items[other];

    return state->node_price_least > 0 && device_is_usable(state, device) &&
           (!device_is_usable(state, than) ||
            state_price(state, device) < state_price(state, than));
}

/* The models, by their number, that such a device serves, each on the node where it is cheapest. */
static uint32_t list_models(const struct model_query *query, struct model_score *ret)
{
    uint32_t count = 0;

    LIST_EACH (const struct layout_kind, kind, &query->layout->kinds) {
        const struct device *device = &query->state->devices.items[kind->device];
        bool is_new = device_is_asked_for(query->ask, device) && milli_of(query->ask, device) > 0 &&
                      !device->mig_enabled;
        for (uint32_t i = 0; i < count && is_new; i++) {
            is_new = ret[i].model != kind->model;
            if (!is_new && is_cheaper(query->state, device, ret[i].device))
                ret[i].device = kind->device;
        }
        if (is_new && count == SPEED_MODELS)
            return 0;
        if (is_new)
            ret[count++] = (struct model_score){ .model = kind->model, .device = kind->device };
    }
    return count;
}

static bool is_late(const struct model_query *query, int32_t run)
{
    const struct job *job = query->job;
    usec_t time = log2_power(run) < USEC_NEVER / 2 / tick ? log2_power(run) * tick : USEC_NEVER / 2;

    return (job->max_duration != USEC_NEVER && time > job->max_duration) ||
           (job->deadline > 0 && time > job->deadline - query->state->now);
}

static bool comes_before(const struct model_score *a, const struct model_score *b, bool is_fastest)
{
    if (a->is_late != b->is_late)
        return b->is_late;
    if ((is_fastest || a->is_late) && a->speed != b->speed)
        return a->speed > b->speed;
    return a->score != b->score ? a->score < b->score : a->model < b->model;
}

static void sort(struct model_score *scores, uint32_t count, bool is_fastest)
{
    for (uint32_t i = 1; i < count; i++) {
        struct model_score own = scores[i];
        uint32_t at = i;
        for (; at > 0 && comes_before(&own, &scores[at - 1], is_fastest); at--)
            scores[at] = scores[at - 1];
        scores[at] = own;
    }
}

/* What the job states of its speeds counts as it is, and nothing that was measured; its estimate is
 * the run time at speed 1. */
static void take_stated(const struct model_query *query, struct speed_view *views, uint32_t count)
{
    usec_t estimate = query->job->estimate;

    for (uint32_t i = 0; i < count; i++) {
        views[i].speed = views[i].published;
        views[i].runs = 0;
        if (estimate > 0)
            views[i].run = log2_of(estimate / tick) + log2_of(1000) - views[i].speed;
    }
}

/* No price is set for any of them, and the job states what they are worth to it. */
static bool lack_prices(const struct model_query *query, const struct model_score *scores,
                        uint32_t count)
{
    bool are = query->request->speeds_count > 0;

    for (uint32_t i = 0; i < count && are; i++)
        are = state_price(query->state, &query->state->devices.items[scores[i].device]) <= 0;
    return are;
}

/* Leave out models where the stated run is longer than the time limit, unless it is on all. */
static uint32_t leave_out_hopeless(const struct model_query *query, struct model_score *scores,
                                   uint32_t count)
{
    const struct job *job = query->job;
    usec_t left = job->estimate - job->run->attained;
    struct model_score kept[SPEED_MODELS];
    uint32_t kept_count = 0;

    for (uint32_t i = 0; i < count && left > 0; i++) {
        const char *model = query->state->devices.items[scores[i].device].model;
        if (own_speed_run(left, own_speed_on(query->request, model)) <= job->max_duration)
            kept[kept_count++] = scores[i];
    }
    if (kept_count == 0)
        return count;
    memcpy(scores, kept, kept_count * sizeof(kept[0]));
    return kept_count;
}

uint32_t model_scores(const struct model_query *query, struct model_score *ret,
                      enum model_rule *ret_rule, bool *ret_is_known)
{
    struct speed_view views[SPEED_MODELS];
    struct history_job class;
    enum gpu_work work = model_work(query->job, query->request);
    uint32_t count = list_models(query, ret);
    bool are_equal = true, is_any_late = false, is_stated = query->request->speeds_count > 0;
    bool are_unpriced = lack_prices(query, ret, count);

    for (uint32_t i = 0; i < count; i++) {
        const struct device *device = &query->state->devices.items[ret[i].device];
        uint32_t speed = speed_of(query, device->model, work);
        int64_t price = state_price(query->state, device);
        ret[i].is_unrated = speed == 0;
        if ((speed == 0 || (price <= 0 && !are_unpriced)) && !query->is_listing)
            return 0;
        ret[i].rate = price * milli_of(query->ask, device) / GPU_MILLI * query->ask->count *
                      query->part->members;
        views[i] = (struct speed_view){ .model = device->model,
                                        .published = log2_of(speed > 0 ? speed : 1000) };
    }
    if ((count < 2 ? !query->with_one : query->state->settings.choice == CHOICE_PLACE) &&
        !query->is_listing)
        return 0;
    *ret_is_known = is_stated && query->job->estimate > 0;
    if (!*ret_is_known) {
        job_describe(query->job, query->request, &class);
        *ret_is_known = speed_look(&query->state->speeds, &class, views, count);
    }
    if (is_stated)
        take_stated(query, views, count);
    for (uint32_t i = 0; i < count; i++) {
        ret[i].runs = views[i].runs;
        ret[i].speed = views[i].speed;
        ret[i].run = views[i].run;
        ret[i].score = -views[i].speed;
        if (!are_unpriced)
            ret[i].score += log2_of(ret[i].rate) + scarcity_of(query, ret, count, i);
        ret[i].is_late = *ret_is_known && is_late(query, views[i].run);
        are_equal &= ret[i].score == ret[0].score;
        is_any_late |= ret[i].is_late;
    }
    bool is_fastest = are_unpriced || query->state->settings.choice == CHOICE_FASTEST ||
                      query->job->priority > 0 || (query->job->deadline > 0 && !*ret_is_known);
    if (count > 1 && are_equal && !is_fastest && !is_any_late && !query->is_listing)
        return 0;
    sort(ret, count, is_fastest);
    *ret_rule =
        are_unpriced || query->job->priority > 0 || query->state->settings.choice == CHOICE_FASTEST
            ? MODEL_RULE_FASTEST
        : is_fastest || is_any_late ? MODEL_RULE_DEADLINE
                                    : MODEL_RULE_CHEAPEST;
    return is_stated && query->job->estimate > 0 && !query->is_listing
               ? leave_out_hopeless(query, ret, count)
               : count;
}

DEFINE_NAMES(model_rule_name, uint8_t, "none", "cheapest", "next", "fastest", "deadline")
