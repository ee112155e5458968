/* SPDX-License-Identifier: Apache-2.0 */
/* Size, range and resizes of elastic gangs. */

#include <inttypes.h>

#include "api/view/view.h"
#include "core/job/gang_size.h"

/* "grew from 2 to 4 (idle GPUs)" */
static void say_resized(const struct api *api, const struct job *job, struct text *text)
{
    const struct state *state = api_state(api);
    const struct job_run *run = job->run;
    const struct job *taker = run->resized_for ? state_job(state, run->resized_for) : NULL;
    bool is_done = run->members_next == 0 || run->moved > run->resized;

    if (run->resized_for == 0)
        text_add(text, is_done ? "grew" : "grows");
    else
        text_add(text, is_done ? "shrunk" : "shrinks");
    text_printf(text, " from %" PRIu32 " to %" PRIu32, run->resized_from, run->resized_to);
    if (run->resized_for == 0) {
        text_add(text, " (idle GPUs)");
        return;
    }
    text_printf(text, " for job %" PRIu64, run->resized_for);
    if (taker && taker->queue != job->queue)
        text_printf(text, " of queue %s", state->queues.items[taker->queue].name);
    text_printf(text, " (%s)", stop_rule_meaning(run->resize_rule));
}

json_t *view_resized(const struct api *api, const struct job *job)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    const struct job_run *run = job->run;

    if (run->resized == 0)
        return json_null();
    say_resized(api, job, &text);
    return json_pack("{s:i, s:i, s:o, s:o, s:s, s:s}", "from", (int)run->resized_from, "to",
                     (int)run->resized_to, "at", view_time(api, run->resized), "for",
                     number_or_null((int64_t)run->resized_for), "rule",
                     run->resized_for ? stop_rule_name(run->resize_rule) : "idle", "text",
                     text_string(&text));
}

json_t *view_elastic(const struct api *api, const struct job *job)
{
    const struct request *request = state_request(api_state(api), job);

    if (!request_is_elastic(request))
        return json_null();
    return json_pack("{s:i, s:i, s:o, s:i, s:s, s:s, s:i}", "least", (int)request->members, "most",
                     (int)request_most(request), "now",
                     job->run->lease ? json_integer(job->run->lease->members_count) : json_null(),
                     "lost", (int)(job->run->lease ? job->run->members_lost : 0), "sizes",
                     request->sizes == SIZES_ANY || request->per_node ? "any" : "powers", "resize",
                     job->resize == RESIZE_NEVER ? "never" : "restart", "resizes",
                     (int)job->run->resizes);
}
