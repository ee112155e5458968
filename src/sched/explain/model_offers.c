/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/explain/model_offers.h"

#include <stdio.h>
#include <string.h>

#include "base/log2.h"
#include "base/wide.h"
#include "core/job/own_speed.h"
#include "sched/explain/advice.h"
#include "sched/explain/inquiry.h"

static const usec_t tick = USEC_PER_SEC / 1000;

static usec_t time_of(int32_t log)
{
    return log2_power(log) < USEC_NEVER / tick ? log2_power(log) * tick : USEC_NEVER;
}

static struct model_offer offer_of(const struct state *state, const struct model_score *score,
                                   bool is_known)
{
    const struct device *device = &state->devices.items[score->device];

    return (struct model_offer){ .model = device->model,
                                 .memory_mib = device->memory_mib,
                                 .fits = true,
                                 .is_late = score->is_late,
                                 .evidence = !is_known         ? RUN_UNKNOWN
                                             : score->runs > 0 ? RUN_OF_CLASS
                                                               : RUN_BY_SPEED,
                                 .runs = score->runs,
                                 .run = is_known ? time_of(score->run) : USEC_NEVER,
                                 .wait = USEC_NEVER,
                                 .rate_micro = score->rate,
                                 .speed_milli = score->is_unrated ? 0 : log2_power(score->speed) };
}

/* The job's own estimate, else what its user's jobs usually take, is the time on the best; on
 * others it goes by their speeds. */
static void guess_runs(const struct state *state, const struct job *like,
                       const struct request *request, struct model_offer *offers, uint32_t count)
{
    struct history_guess guess;
    struct history_job class;
    usec_t run = like->estimate;

    job_describe(like, request, &class);
    history_guess(&state->history, &class, &guess);
    if (run == 0 && guess.is_known)
        run = guess.usual;
    for (uint32_t i = 0; i < count && run > 0 && run != USEC_NEVER; i++) {
        if (offers[0].speed_milli == 0 || offers[i].speed_milli == 0 || !offers[i].fits)
            continue;
        offers[i].run = (usec_t)wide_scale((uint64_t)run, (uint64_t)offers[0].speed_milli,
                                           (uint64_t)offers[i].speed_milli);
        offers[i].evidence = RUN_BY_SPEED;
    }
}

static bool is_listed(const struct model_offer *offers, uint32_t count, const char *model)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(offers[i].model, model) == 0)
            return true;
    }
    return false;
}

/* Models of the kind whose memory is too small, or larger than asked for. */
static uint32_t add_unfit(const struct brain *own, const struct gpu_ask *ask,
                          struct model_offer *offers, uint32_t count)
{
    LIST_EACH (const struct layout_kind, kind, &own->layout.kinds) {
        const struct device *device = &own->state->devices.items[kind->device];
        bool is_of_kind = ask->model[0]
                              ? strcmp(device->model, ask->model) == 0
                              : strcmp(device->kind ? device->kind : "", ask->accelerator) == 0;
        if (count < SPEED_MODELS && is_of_kind && !is_listed(offers, count, device->model))
            offers[count++] = (struct model_offer){ .model = device->model,
                                                    .memory_mib = device->memory_mib,
                                                    .run = USEC_NEVER,
                                                    .wait = USEC_NEVER };
    }
    return count;
}

static void find_wait(const struct brain *brain, struct inquiry *inquiry, const struct job *like,
                      const struct request *request, struct model_offer *offer)
{
    struct request own = *request;
    struct start_estimate start;

    memset(&own.gpus[1], 0, sizeof(own.gpus) - sizeof(own.gpus[0]));
    own.gpu_alternatives = 1;
    memset(own.gpus[0].model, 0, sizeof(own.gpus[0].model));
    snprintf(own.gpus[0].model, sizeof(own.gpus[0].model), "%s", offer->model);
    if (sched_estimate_like(brain, inquiry, like, &own, &start))
        offer->wait = 0;
    else if (start.median != USEC_NEVER)
        offer->wait = start.median - like->submitted > 0 ? start.median - like->submitted : 0;
}

uint32_t sched_model_offers(const struct brain *brain, struct inquiry *inquiry,
                            const struct job *like, const struct request *request,
                            struct model_offer *ret, enum model_rule *ret_rule)
{
    const struct brain *own = inquiry_follow(inquiry, brain);
    struct model_query query = { .state = own->state,
                                 .layout = &own->layout,
                                 .typical = own->scorer.typical,
                                 .job = like,
                                 .request = request,
                                 .part = request,
                                 .ask = &request->gpus[0],
                                 .is_listing = true };
    struct model_score scores[SPEED_MODELS];
    bool is_known = false;

    *ret_rule = MODEL_RULE_NONE;
    uint32_t count = model_scores(&query, scores, ret_rule, &is_known);
    for (uint32_t i = 0; i < count; i++) {
        ret[i] = offer_of(own->state, &scores[i], is_known);
        ret[i].is_stated = own_speed_on(request, ret[i].model) > 0;
    }
    query.is_listing = false;
    if (count > 0)
        ret[0].is_chosen = model_scores(&query, scores, ret_rule, &is_known) > 0;
    if (!is_known)
        guess_runs(own->state, like, request, ret, count);
    uint32_t fitting = count;
    count = add_unfit(own, &request->gpus[0], ret, count);
    for (uint32_t i = 0; i < fitting; i++)
        find_wait(brain, inquiry, like, request, &ret[i]);
    return count;
}
