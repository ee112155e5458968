/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/generate.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "core/job/request.h"
#include "sim/trace/dice.h"

struct generator generator_default(void)
{
    return (struct generator){
        .seed = 1,
        .jobs = 10000,
        .users = 20,
        .burst = 1,
        .diurnal = 0,
        .load = 0.9,
        .run_median = 20 * USEC_PER_MIN,
        .run_sigma = 1.6,
        .tail = 0.02,
        .run_max = 14 * USEC_PER_DAY,
        .sizes = { { 1, 70 }, { 2, 10 }, { 4, 8 }, { 8, 10 }, { 16, 2 } },
        .size_count = 5,
        .limit_factor_max = 10,
    };
}

static double draw_size(const struct generator *generator, struct dice *dice)
{
    double sum = 0;

    for (uint32_t i = 0; i < generator->size_count; i++)
        sum += generator->sizes[i].weight;
    double at = dice_unit(dice) * sum;
    for (uint32_t i = 0; i + 1 < generator->size_count; i++) {
        at -= generator->sizes[i].weight;
        if (at <= 0)
            return generator->sizes[i].gpus;
    }
    return generator->sizes[generator->size_count - 1].gpus;
}

static struct sim_job draw_job(const struct generator *generator, struct dice *dice,
                               struct workload *workload)
{
    struct sim_job job = sim_job_default();
    char user[32];

    double gpus = draw_size(generator, dice);
    job.gpus = gpus < 1 ? gpus > 0 : (uint32_t)gpus;
    job.milli = gpus > 0 && gpus < 1 ? (uint32_t)lrint(gpus * GPU_MILLI) : GPU_MILLI;
    double run = (double)generator->run_median * exp(generator->run_sigma * dice_normal(dice));
    if (dice_unit(dice) <= generator->tail)
        run *= 10;
    job.run = run < (double)generator->run_max ? (usec_t)run + 1 : generator->run_max;
    double factor = 2 * pow(generator->limit_factor_max / 2, dice_unit(dice));
    job.limit = (usec_t)((double)job.run * factor) / USEC_PER_MIN * USEC_PER_MIN + USEC_PER_MIN;
    /* Some submit much more than others: the square makes it so. */
    double who = dice_unit(dice);
    unsigned number = (unsigned)(who * who * generator->users); /* who is at most 1 */
    snprintf(user, sizeof(user), "user%02u",
             number < generator->users ? number : (unsigned)generator->users - 1);
    job.user = workload_string(workload, user);
    return job;
}

int generate(const struct generator *generator, struct workload *workload, struct error *err)
{
    struct dice dice = dice_of(generator->seed);
    double work = 0, now = 0;

    assert(generator->size_count > 0 && generator->users > 0);
    for (uint32_t i = 0; i < generator->jobs; i++) {
        struct sim_job job = draw_job(generator, &dice, workload);
        int code = workload_add(workload, &job, err);
        if (code < 0)
            return code;
        work += (double)sim_job_milli(&job) / GPU_MILLI * (double)job.run;
    }
    double every = (double)generator->every;
    if (every <= 0) {
        if (generator->load <= 0 || generator->capacity_gpus <= 0)
            return error_set(err, -EINVAL, "generate: no arrival rate; expected every or load");
        every = work / generator->capacity_gpus / generator->load / generator->jobs;
    }
    for (uint32_t i = 0; i < generator->jobs; i++) {
        workload->jobs.items[i].submit = (usec_t)now;
        if (generator->burst > 1 && dice_unit(&dice) > 1 / generator->burst)
            continue; /* together with the next */
        double hour = fmod(now / (double)USEC_PER_HOUR, 24);
        double rate = 1 + generator->diurnal * sin((hour - 8) / 24 * 6.283185307179586);
        now += dice_exponential(&dice, every * generator->burst) / (rate > 0.05 ? rate : 0.05);
        if (now > (double)WORKLOAD_TIME_MAX)
            return error_set(err, -ERANGE, "generate: arrivals reach over more than 200 years");
    }
    return 0;
}
