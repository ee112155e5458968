/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job has the model of GPU that it has. */
#include <inttypes.h>

#include "api/view/view.h"
#include "sched/placement/model_score.h"

static const char *words_of(uint8_t rule)
{
    switch ((enum model_rule)rule) {
    case MODEL_RULE_CHEAPEST:
        return "the cheapest for its speed";
    case MODEL_RULE_NEXT:
        return "the cheapest for its speed of those that were free";
    case MODEL_RULE_FASTEST:
        return "a fast one, because of its priority";
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
        text_add(&text, "published speeds)");
    return json_pack("{s:s, s:s, s:I, s:s}", "model", device->model, "rule",
                     model_rule_name(lease->model_rule), "runs", (json_int_t)lease->model_runs,
                     "text", text_string(&text));
}
