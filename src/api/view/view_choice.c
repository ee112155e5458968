/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job has the model of GPU that it has. */
#include <inttypes.h>

#include "api/view/view.h"
#include "core/job/own_speed.h"
#include "sched/explain/model_offers.h"

static const char *words_of(uint8_t rule)
{
    switch ((enum model_rule)rule) {
    case MODEL_RULE_CHEAPEST:
        return "lowest price per unit of speed";
    case MODEL_RULE_NEXT:
        return "lowest price per unit of speed of the models that were free";
    case MODEL_RULE_FASTEST:
        return "fastest model that was free";
    case MODEL_RULE_DEADLINE:
        return "fast enough for its deadline or time limit";
    default:
        return "";
    }
}

json_t *view_model_choice(const struct api *api, const struct job *job)
{
    const struct lease *lease = job_is_active(job) ? job->run->lease : NULL;
    AUTO_RELEASE(text) struct text text = { 0 };

    if (!lease || lease->model_rule == MODEL_RULE_NONE || lease->slices_count == 0)
        return json_null();
    const struct device *device = &api_state(api)->devices.items[lease->slices[0].device];
    text_printf(&text, "%s: %s (", device->model, words_of(lease->model_rule));
    if (lease->model_runs > 0)
        text_printf(&text, "%" PRIu32 " earlier run%s)", lease->model_runs,
                    lease->model_runs > 1 ? "s" : "");
    else
        text_add(&text, own_speed_on(state_request(api_state(api), job), device->model) > 0
                            ? "its own speeds)"
                            : "published speeds)");
    return json_pack("{s:s, s:s, s:I, s:s}", "model", device->model, "rule",
                     model_rule_name(lease->model_rule), "runs", (json_int_t)lease->model_runs,
                     "text", text_string(&text));
}

/* ---- for a job that is not submitted ---- */

static void say_evidence(const struct model_offer *offer, struct text *text)
{
    if (!offer->fits)
        text_add(text, "does not fit");
    else if (offer->evidence == RUN_OF_CLASS)
        text_printf(text, "%" PRIu32 " run%s", offer->runs, offer->runs > 1 ? "s" : "");
    else if (offer->is_stated)
        text_add(text, "stated");
    else if (offer->speed_milli > 0)
        text_add(text, "published");
    else
        text_add(text, "none");
    if (offer->is_late)
        text_add(text, ", too slow for its limit or deadline");
}

json_t *view_model_offer(const struct model_offer *offer)
{
    AUTO_RELEASE(text) struct text evidence = { 0 };
    bool has_cost = offer->rate_micro > 0 && offer->run != USEC_NEVER;
    double hours = (double)offer->run / (double)USEC_PER_HOUR;

    say_evidence(offer, &evidence);
    return json_pack(
        "{s:s, s:b, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:I, s:s, s:b}", "model", offer->model,
        "fits", offer->fits, "memory", number_or_null(offer->memory_mib), "chosen",
        offer->is_chosen, "run_seconds", view_seconds(offer->run), "wait_seconds",
        view_seconds(offer->wait), "cost",
        has_cost ? json_real((double)offer->rate_micro / 1e6 * hours) : json_null(), "rate",
        offer->rate_micro > 0 ? json_real((double)offer->rate_micro / 1e6) : json_null(), "speed",
        offer->speed_milli > 0 ? json_real((double)offer->speed_milli / 1e3) : json_null(), "runs",
        (json_int_t)offer->runs, "evidence", text_string(&evidence), "late", offer->is_late);
}
