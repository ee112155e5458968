/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/run_time.h"

#include "base/log2.h"

enum { WIDER = 2 /* octaves */, QUARTER = 25 /* percent */ };

/* Multiples of the golden ratio are evenly spread. Returns 0 to 99. */
static uint32_t spread(uint64_t start, uint32_t sample)
{
    uint32_t point = (uint32_t)(start >> 32) + sample * UINT32_C(0x9e3779b9);

    return (uint32_t)((uint64_t)point * 100 >> 32);
}

static uint64_t mix(uint64_t id)
{
    id = (id ^ id >> 31) * UINT64_C(0x7fb5d329728ea185);
    return (id ^ id >> 27) * UINT64_C(0x81dadef4bc2dd44d);
}

/* time * 2^(octaves), octaves in parts of LOG2_ONE */
static usec_t scaled(usec_t time, int32_t octaves)
{
    const usec_t tick = USEC_PER_MS;

    return log2_power(log2_of(time / tick + 1) + octaves) * tick;
}

/* At most the limit, and more than it has run. */
static usec_t bounded(usec_t work, usec_t ran, usec_t limit)
{
    work = work > ran ? work : ran + 1;
    return work < limit ? work : limit;
}

/* Between 1 / 2^PRIOR_OCTAVES of the limit, or what it has run, and the limit. */
static usec_t of_limit(usec_t limit, usec_t ran, uint32_t percent)
{
    const int32_t one = LOG2_ONE;
    usec_t least = scaled(limit, -PRIOR_OCTAVES * one);

    least = ran > least ? ran : least;
    if (least >= limit)
        return limit;
    int32_t octaves = log2_of(limit / USEC_PER_MS + 1) - log2_of(least / USEC_PER_MS + 1);
    return bounded(scaled(least, (int32_t)((int64_t)octaves * (percent + 1) / 100)), ran, limit);
}

/* Half of the draws are the estimate itself. */
static usec_t of_estimate(const struct job *job, usec_t ran, usec_t limit, uint32_t percent)
{
    usec_t twice = usec_after(job->estimate, job->estimate), most = limit < twice ? limit : twice;
    usec_t work = job->estimate;

    if (percent < QUARTER)
        work = work / 2 + work / 2 / QUARTER * percent;
    else if (percent >= 100 - QUARTER && most > work)
        work += (most - work) / QUARTER * (percent - (100 - QUARTER) + 1);
    return bounded(work, ran, limit);
}

/* Quantiles, in percent, of one sample. */
struct point {
    uint32_t own, common;
    uint32_t like; /* below it is the share of the draws that come from comparable runs */
};

static usec_t at_point(const struct state *state, const struct job *job, usec_t ran,
                       const struct point *point)
{
    usec_t limit = usec_after(job->run->attained, job->max_duration);
    struct history_job described;
    struct history_guess guess;

    if (job->estimate > ran)
        return of_estimate(job, ran, limit, point->own);
    state_describe(state, job, &described);
    history_guess(&state->history, &described, &guess);
    uint32_t comparable = history_comparable(&state->history, &described);
    bool is_like = point->like * HISTORY_FEW < comparable * 100;
    if (guess.is_known && is_like)
        return bounded(history_quantile(&state->history, &described, ran, point->own), ran, limit);
    if (limit != USEC_NEVER)
        return of_limit(limit, ran, point->common);
    if (!guess.is_known)
        return USEC_NEVER;
    usec_t usual = history_quantile(&state->history, &described, ran, point->common);
    int32_t wider = (int32_t)point->common * 2 * WIDER * LOG2_ONE / 100 - WIDER * LOG2_ONE;
    return usual == USEC_NEVER ? usual : bounded(scaled(usual, wider), ran, limit);
}

usec_t run_time_draw(const struct state *state, const struct job *job, usec_t ran, uint32_t sample)
{
    struct point point = { .own = spread(mix(job->id), sample),
                           .common = spread(UINT64_C(1) << 63, sample),
                           .like = spread(mix(job->id + 1), sample) };

    return at_point(state, job, ran, &point);
}

usec_t run_time_median(const struct state *state, const struct job *job, usec_t ran)
{
    static const struct point middle = { 50, 50, 50 };

    return at_point(state, job, ran, &middle);
}
