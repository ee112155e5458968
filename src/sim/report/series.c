/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/result.h"

#include "sim/report/spread.h"

enum { QUANTILES = 40, QUEUES_SHOWN_MAX = 40 };

/* {at, used, waiting, fragment}: lists of one length; hours, percent, jobs, percent. */
static json_t *over_time(const struct run *run)
{
    json_t *at = json_array(), *used = json_array(), *waiting = json_array();
    json_t *fragment = json_array();
    double capacity = (double)run->meter.capacity_milli;

    for (size_t i = 0; i < run->meter.samples.count; i++) {
        const struct sample *sample = &run->meter.samples.items[i];
        double hours = (double)(sample->at - run->origin) / (double)USEC_PER_HOUR;
        json_array_append_new(at, json_real(hours));
        json_array_append_new(used,
                              json_real(capacity > 0 ? 100 * sample->used_milli / capacity : 0));
        json_array_append_new(waiting, json_real(sample->waiting_jobs));
        json_array_append_new(fragment, json_real(sample->fragment_pct));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "at", at, "used", used, "waiting", waiting, "fragment",
                     fragment);
}

/* 1/40, 2/40 ... 1; nothing of none. Releases the spread. */
static void add_quantiles(struct spread *spread, const char *name, json_t *object)
{
    json_t *list = json_array();

    for (int k = 1; k <= QUANTILES && spread->values.count > 0; k++)
        json_array_append_new(list, json_real(spread_quantile(spread, k / 40.0)));
    if (spread->values.count > 0)
        json_object_set(object, name, list);
    json_decref(list);
    spread_release(spread);
}

/* Quantiles of all jobs, and by size. */
static json_t *quantiles(const struct run *run, bool is_jct)
{
    struct spread bands[BAND_COUNT] = { 0 }, all = { 0 };
    json_t *object = json_object();

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        const struct sim_job *job = &run->workload->jobs.items[i];
        const struct outcome *outcome = &run->outcomes[i];
        usec_t until = is_jct ? outcome->end : outcome->start;
        if (until < 0 || outcome->fate == FATE_DROPPED)
            continue;
        const double seconds = (double)(until - run->origin - job->submit) / 1e6;
        spread_add(&bands[band_of(sim_job_milli(job))], seconds);
        spread_add(&all, seconds);
    }
    add_quantiles(&all, "all", object);
    for (int i = 0; i < BAND_COUNT; i++)
        add_quantiles(&bands[i], band_name((enum band)i), object);
    return object;
}

/* [{name, entitled, got}], percent of the cluster. */
static json_t *queues(const struct run *run)
{
    json_t *list = json_array();
    double all = (double)run->meter.capacity_milli * (double)meter_time(&run->meter);

    for (size_t i = 0; i < run->queue_count && json_array_size(list) < QUEUES_SHOWN_MAX; i++) {
        if (run->queue_shares[i] <= 0)
            continue;
        double got = all > 0 ? 100 * run->meter.queues.items[i].sum / all : 0;
        json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "name", run->queue_names[i],
                                              "entitled", 100 * run->queue_shares[i], "got", got));
    }
    return list;
}

/* What restarts have cost. */
static double lost_gpu_hours(const struct run *run)
{
    double lost = 0;

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        const struct sim_job *job = &run->workload->jobs.items[i];
        if (job->run != USEC_NEVER)
            lost += (double)sim_job_milli(job) * (double)run->outcomes[i].paid;
    }
    return lost / 1000 / (double)USEC_PER_HOUR;
}

json_t *series_of(const struct run *run)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:f}", "time", over_time(run), "wait",
                     quantiles(run, false), "jct", quantiles(run, true), "queues", queues(run),
                     "lost_gpu_hours", lost_gpu_hours(run));
}
