/* SPDX-License-Identifier: Apache-2.0 */
#include "api/estimates.h"

#include "api/routes.h"
#include "sched/explain/openings.h"

bool api_forecast_is_fresh(const struct api *api, bool is_of_waiting,
                           struct forecast_waiter *waiter)
{
    const struct api_forecasts *forecasts = &api->ports.forecasts;

    return !forecasts->is_fresh || forecasts->is_fresh(forecasts->user, is_of_waiting, waiter);
}

static bool waits(const struct api *api, const struct job *job)
{
    return (job->state == JOB_QUEUED || job->state == JOB_WAITING) &&
           job_can_start(api_state(api), job) &&
           sched_first_opening(api_brain(api), api->inquiry, job, api_now(api), NULL) != USEC_NEVER;
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

/* What no calendar allows is not in the range, and what none is known for is not expected. */
static void bound_by_calendar(const struct api *api, const struct job *job,
                              struct start_estimate *start)
{
    const struct brain *brain = api_brain(api);
    struct inquiry *inquiry = api->inquiry;
    usec_t end = sched_calendar_end(brain, inquiry, job);

    start->low = sched_first_opening(brain, inquiry, job, start->low, NULL);
    start->limits_only = start->limits_only > end ? USEC_NEVER : start->limits_only;
    if (start->median == USEC_NEVER)
        return;
    start->median = sched_first_opening(brain, inquiry, job, start->median, NULL);
    if (start->median > end) {
        start->known_until = end;
        start->median = start->high = USEC_NEVER;
        start->low = start->low < end ? start->low : end;
        return;
    }
    if (start->high != USEC_NEVER && start->high > start->median)
        start->high = sched_last_opening(brain, inquiry, job, start->median, start->high);
    start->low = start->low < start->median ? start->low : start->median;
    start->high = start->high > start->median ? start->high : start->median;
}

static bool from_forecast(const struct api *api, const struct job *job, struct start_estimate *ret)
{
    const struct api_forecasts *forecasts = &api->ports.forecasts;
    struct start_estimate listed;

    if (!forecasts->start || !forecasts->start(forecasts->user, job, ret))
        return false;
    if (ret->limits_only < 0) { /* as far as it came */
        bool is_known = sched_estimate_start(api_brain(api), api->inquiry, job, &listed);
        ret->limits_only = is_known ? listed.limits_only : USEC_NEVER;
    }
    ret->is_open = ret->limits_only == USEC_NEVER;
    return true;
}

bool api_start(const struct api *api, const struct job *job, struct start_estimate *ret)
{
    const struct api_forecasts *forecasts = &api->ports.forecasts;

    if (!waits(api, job))
        return false;
    bool is_forecast = from_forecast(api, job, ret);
    if (!is_forecast && !sched_estimate_start(api_brain(api), api->inquiry, job, ret))
        return false;
    usec_t guaranteed = sched_guaranteed_start(api_brain(api), job);
    bound(ret, guaranteed);
    bound_by_calendar(api, job, ret);
    ret->guaranteed = guaranteed;
    if (forecasts->shown)
        forecasts->shown(forecasts->user, job, ret, guaranteed, is_forecast);
    return true;
}

bool api_start_beside(const struct api *api, const struct job *job, const struct why *why,
                      struct start_estimate *ret)
{
    return !why_is_beyond_budget(why) && api_start(api, job, ret);
}

/* The range of a start is calibrated, that of an end is not: an end is no more certain than the
 * start, no earlier than it, and at most the job's time limit after it. */
static void keep_width(const struct start_estimate *start, usec_t limit, struct end_estimate *end)
{
    if (start->median == USEC_NEVER || end->median == USEC_NEVER)
        return;
    end->median = end->median > start->median ? end->median : start->median;
    usec_t early = end->median - (start->median - start->low);
    usec_t late = start->high == USEC_NEVER ? USEC_NEVER
                                            : usec_after(end->median, start->high - start->median);
    usec_t last = start->high == USEC_NEVER ? USEC_NEVER : usec_after(start->high, limit);
    end->low = early < end->low ? early : end->low;
    end->low = end->low > start->low ? end->low : start->low;
    end->high = late > end->high ? late : end->high;
    end->high = end->high < last ? end->high : last;
    end->median = end->median < end->high ? end->median : end->high;
}

bool api_end(const struct api *api, uint64_t id, struct end_estimate *ret)
{
    const struct api_forecasts *forecasts = &api->ports.forecasts;
    const struct job *job = state_job(api_state(api), id);
    struct start_estimate start;

    if (!forecasts->end || !forecasts->end(forecasts->user, id, ret))
        return false;
    if (job && waits(api, job) && from_forecast(api, job, &start)) {
        bound(&start, sched_guaranteed_start(api_brain(api), job));
        bound_by_calendar(api, job, &start);
        keep_width(&start, job->max_duration, ret);
    }
    return true;
}

/* ---- GET /v1/estimates: how true they were ---- */

enum { DAYS_MAX = 366 };

json_t *handle_estimates(struct call *call)
{
    const struct api_forecasts *forecasts = &call->api->ports.forecasts;
    const char *last = http_query(call->request, "last");
    usec_t span = 7 * USEC_PER_DAY;
    json_t *report = NULL;

    int code = 0;
    if (last && (units_parse_duration(last, &span, NULL) < 0 || span <= 0 ||
                 span > DAYS_MAX * USEC_PER_DAY))
        code = error_set(&call->err, REFUSED_BAD, "last '%.40s': expected up to %d days, like 7d",
                         last, DAYS_MAX);
    if (code == 0 && !forecasts->report)
        code = error_set(&call->err, REFUSED_NOT_FOUND, "estimates: this daemon records none");
    if (code == 0)
        code = forecasts->report(forecasts->user, span, &report, &call->err);
    return code < 0 ? refuse(call, code) : report;
}
