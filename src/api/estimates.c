/* SPDX-License-Identifier: Apache-2.0 */
#include "api/estimates.h"

bool api_forecast_is_fresh(const struct api *api, bool is_of_waiting,
                           struct forecast_waiter *waiter)
{
    const struct api_forecasts *forecasts = &api->ports.forecasts;

    return !forecasts->is_fresh || forecasts->is_fresh(forecasts->user, is_of_waiting, waiter);
}

static bool waits(const struct api *api, const struct job *job)
{
    return (job->state == JOB_QUEUED || job->state == JOB_WAITING) &&
           job_can_start(api_state(api), job);
}

/* What is guaranteed bounds what is expected. */
static void bound(struct start_estimate *start, usec_t guaranteed)
{
    if (guaranteed == USEC_NEVER)
        return;
    start->limits_only = guaranteed;
    start->is_open = false;
    start->high = start->high < guaranteed ? start->high : guaranteed;
    start->median = start->median < start->high ? start->median : start->high;
    start->low = start->low < start->median ? start->low : start->median;
}

bool api_start(const struct api *api, const struct job *job, struct start_estimate *ret)
{
    const struct api_forecasts *forecasts = &api->ports.forecasts;
    struct start_estimate listed;

    if (!waits(api, job))
        return false;
    if (!forecasts->start || !forecasts->start(forecasts->user, job, ret))
        return sched_estimate_start(api_brain(api), api->inquiry, job, ret);
    if (ret->limits_only < 0) { /* as far as it came */
        bool is_known = sched_estimate_start(api_brain(api), api->inquiry, job, &listed);
        ret->limits_only = is_known ? listed.limits_only : USEC_NEVER;
    }
    ret->is_open = ret->limits_only == USEC_NEVER;
    bound(ret, sched_guaranteed_start(api_brain(api), job));
    return true;
}

bool api_end(const struct api *api, uint64_t id, struct end_estimate *ret)
{
    const struct api_forecasts *forecasts = &api->ports.forecasts;

    return forecasts->end && forecasts->end(forecasts->user, id, ret);
}
