/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/run_time.h"

#include "base/log2.h"
#include "core/job/own_speed.h"
#include "core/state/job_speed.h"

enum {
    HUNDRED = 100,
    TAIL_OCTAVES = 4, /* beyond the shortest and the longest of comparable runs */
    WIDER = 4,        /* octaves, where only runs of other kinds are known */
    SHORT_OCTAVES = 8,
    SHORT = 20, /* percent of the draws */
    QUARTER = 25,
    RUNS_MOST = HISTORY_RUNS,
};

/* Multiples of the golden ratio are evenly spread. Returns 0 to 99. */
static uint32_t spread(uint64_t start, uint32_t sample)
{
    uint32_t point = (uint32_t)(start >> 32) + sample * UINT32_C(0x9e3779b9);

    return (uint32_t)((uint64_t)point * HUNDRED >> 32);
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

static int32_t octaves_between(usec_t low, usec_t high)
{
    return log2_of(high / USEC_PER_MS + 1) - log2_of(low / USEC_PER_MS + 1);
}

/* In the logarithm: so many of `parts` of the way from one to the other. */
static usec_t between(usec_t low, usec_t high, uint32_t part, uint32_t parts)
{
    return low < high ? scaled(low, (int32_t)((int64_t)octaves_between(low, high) * part / parts))
                      : high;
}

/* Nothing is known but that it still runs: half of all such jobs run for as long again. */
static usec_t outlived(usec_t ran, usec_t limit, uint32_t percent)
{
    usec_t most = USEC_NEVER / HUNDRED;

    return ran < most ? bounded(ran * HUNDRED / (HUNDRED - percent), ran, limit) : limit;
}

/* Most within PRIOR_OCTAVES below the limit, SHORT of them shorter: they end at once. What has run
 * longer is as if it had been drawn from the rest. */
static usec_t of_limit(usec_t limit, usec_t ran, uint32_t percent)
{
    const int32_t one = LOG2_ONE;
    usec_t known = scaled(limit, -PRIOR_OCTAVES * one);
    usec_t least = scaled(known, -SHORT_OCTAVES * one);

    if (ran >= limit)
        return limit;
    if (ran >= known)
        return bounded(between(ran, limit, percent + 1, HUNDRED), ran, limit);
    uint32_t is_past =
        ran <= least
            ? 0
            : (uint32_t)(octaves_between(least, ran) * SHORT / octaves_between(least, known));
    percent = is_past + (HUNDRED - is_past) * percent / HUNDRED;
    return bounded(percent < SHORT ? between(least, known, percent, SHORT)
                                   : between(known, limit, percent + 1 - SHORT, HUNDRED - SHORT),
                   ran, limit);
}

/* Half of the draws are the estimate itself; the shorter ones are longer than it has run. */
static usec_t of_estimate(usec_t work, usec_t ran, usec_t limit, uint32_t percent)
{
    usec_t twice = usec_after(work, work), most = limit < twice ? limit : twice;
    usec_t least = work / 2 > ran ? work / 2 : ran;

    if (percent < QUARTER)
        work = least + (work - least) / QUARTER * percent;
    else if (percent >= HUNDRED - QUARTER && most > work)
        work += (most - work) / QUARTER * (percent - (HUNDRED - QUARTER) + 1);
    return bounded(work, ran, limit);
}

/* Of n comparable runs, the next one is equally likely in each of the n + 1 gaps between them, also
 * in those below and above all (Hill's A(n)). */
static usec_t of_runs(const struct history *history, const struct history_job *described,
                      usec_t ran, usec_t limit, uint32_t n, uint32_t percent)
{
    const int32_t tail_octaves = TAIL_OCTAVES * LOG2_ONE;
    uint32_t tail = HUNDRED / (n + 1);
    usec_t shortest = history_quantile(history, described, ran, 0);
    usec_t longest = history_quantile(history, described, ran, HUNDRED);

    if (ran > 0 && shortest == longest && longest >= usec_after(ran, ran))
        return outlived(ran, limit, percent);
    if (percent < tail) {
        usec_t least = scaled(shortest, -tail_octaves);
        return bounded(between(least > ran ? least : ran, shortest, percent, tail), ran, limit);
    }
    if (percent >= HUNDRED - tail) {
        usec_t most = scaled(longest, tail_octaves);
        return bounded(
            between(longest, most < limit ? most : limit, percent - (HUNDRED - tail), tail), ran,
            limit);
    }
    uint32_t inner = (percent - tail) * HUNDRED / (HUNDRED - 2 * tail);
    return bounded(history_quantile(history, described, ran, inner), ran, limit);
}

/* Runs of other kinds, from a part of what it has left to a multiple. */
static usec_t of_others(usec_t usual, usec_t ran, uint32_t percent)
{
    int32_t wider = (int32_t)percent * 2 * WIDER * LOG2_ONE / HUNDRED - WIDER * LOG2_ONE;

    return usec_after(ran, scaled(usual > ran ? usual - ran : 0, wider));
}

/* A job of which a run time is drawn. */
struct drawing {
    const struct history *history;
    const struct history_job *described;
    usec_t ran, limit, estimate;
    uint32_t runs; /* comparable ones, at most RUNS_MOST */
};

static usec_t of_comparable(const struct drawing *drawing, uint32_t percent)
{
    return of_runs(drawing->history, drawing->described, drawing->ran, drawing->limit,
                   drawing->runs, percent);
}

/* USEC_NEVER: nothing is known. */
static usec_t of_prior(const struct drawing *drawing, uint32_t percent)
{
    usec_t ran = drawing->ran, limit = drawing->limit;

    if (drawing->estimate > 0)
        return outlived(ran, limit, percent);
    if (limit != USEC_NEVER)
        return of_limit(limit, ran, percent);
    usec_t usual = history_quantile(drawing->history, drawing->described, ran, percent);
    return usual == USEC_NEVER ? usual : bounded(of_others(usual, ran, percent), ran, limit);
}

/* The quantile of what comes from comparable runs with a weight (percent), else from the prior: at
 * that time, the quantiles of both have that mean. */
static usec_t of_both(const struct drawing *drawing, uint32_t weight, uint32_t percent)
{
    uint32_t whole = percent * HUNDRED, rest = HUNDRED - weight, last = HUNDRED - 1;
    uint32_t low = whole > rest * last ? (whole - rest * last) / weight : 0;
    uint32_t high = whole / weight < last ? whole / weight : last;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (of_comparable(drawing, middle) >= of_prior(drawing, (whole - weight * middle) / rest))
            high = middle;
        else
            low = middle + 1;
    }
    usec_t run = of_comparable(drawing, low);
    usec_t prior = of_prior(drawing, (whole - weight * low) / rest);
    /* All of the prior, or all comparable runs, may be longer. */
    return run < prior && low < last ? run : prior;
}

usec_t run_time_estimate(const struct state *state, const struct job *job)
{
    const struct request *request = state_request(state, job);
    const struct lease *lease = job_is_active(job) ? job->run->lease : NULL;

    if (request->speeds_count == 0)
        return job->estimate;
    return own_speed_run(job->estimate, lease ? job_speed_on(state, request, lease)
                                              : job_speeds_of(state, request).mean);
}

/* Quantiles, in percent, of one sample; job: the place of the job among all. */
struct point {
    uint32_t own, common, job;
};

/* With little history, what is not known is the same for all jobs like it: they share a quantile.
 */
static usec_t at_point(const struct state *state, const struct job *job, usec_t ran,
                       const struct point *point)
{
    usec_t limit = usec_after(job->run->attained, job->max_duration);
    struct history_job described;
    struct history_guess guess;

    usec_t estimate = run_time_estimate(state, job);
    if (estimate > ran)
        return of_estimate(estimate, ran, limit, point->own);
    state_describe(state, job, &described);
    history_guess(&state->history, &described, &guess);
    uint32_t comparable = guess.is_known ? history_comparable(&state->history, &described) : 0;
    uint32_t weight = comparable < HISTORY_FEW ? comparable * HUNDRED / HISTORY_FEW : HUNDRED;
    uint32_t percent = point->job < weight ? point->own : point->common;
    struct drawing drawing = { .history = &state->history,
                               .described = &described,
                               .ran = ran,
                               .limit = limit,
                               .estimate = job->estimate,
                               .runs = comparable < RUNS_MOST ? comparable : RUNS_MOST };
    if (!guess.is_known && limit == USEC_NEVER && job->estimate == 0)
        return USEC_NEVER;
    return weight == HUNDRED ? of_comparable(&drawing, percent)
           : weight > 0      ? of_both(&drawing, weight, percent)
                             : of_prior(&drawing, percent);
}

usec_t run_time_draw(const struct state *state, const struct job *job, usec_t ran, uint32_t sample)
{
    struct point point = { .own = spread(mix(job->id), sample),
                           .common = spread(UINT64_C(1) << 63, sample),
                           .job = spread(mix(job->id + 1), 0) };

    return at_point(state, job, ran, &point);
}

usec_t run_time_median(const struct state *state, const struct job *job, usec_t ran)
{
    static const struct point middle = { 50, 50, 50 };

    return at_point(state, job, ran, &middle);
}
