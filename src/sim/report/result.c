/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/report/spread.h"

enum { QUEUES_SHOWN_MAX = 64 };

static double seconds(usec_t time)
{
    return (double)time / 1e6;
}

static const struct sim_job *job_at(const struct run *run, size_t i)
{
    return &run->workload->jobs.items[i];
}

/* From its submission; of those that got so far. */
static usec_t submit_of(const struct run *run, size_t i)
{
    return run->origin + job_at(run, i)->submit;
}

static bool is_done(const struct outcome *outcome)
{
    return outcome->fate == FATE_DONE || outcome->fate == FATE_TIMEOUT;
}

/* Those that came while it is measured. */
static bool is_inside(const struct run *run, size_t i)
{
    usec_t submit = submit_of(run, i);

    return submit >= run->meter.from && submit <= run->meter.to;
}

typedef bool value_fn(const struct run *run, size_t i, double *ret);

static bool wait_of(const struct run *run, size_t i, double *ret)
{
    *ret = seconds(run->outcomes[i].start - submit_of(run, i));
    return run->outcomes[i].start >= 0 && is_inside(run, i);
}

static bool jct_of(const struct run *run, size_t i, double *ret)
{
    *ret = seconds(run->outcomes[i].end - submit_of(run, i));
    return is_done(&run->outcomes[i]) && is_inside(run, i);
}

static bool slowdown_of(const struct run *run, size_t i, double *ret)
{
    double tau = seconds(run->experiment->wanted.tau), jct;

    if (!jct_of(run, i, &jct))
        return false;
    double value = jct / fmax(seconds(job_at(run, i)->run), tau);
    *ret = value > 1 ? value : 1;
    return true;
}

static bool per_processor_slowdown_of(const struct run *run, size_t i, double *ret)
{
    double tau = seconds(run->experiment->wanted.tau), jct;
    double gpus = (double)sim_job_milli(job_at(run, i)) / GPU_MILLI;

    if (!jct_of(run, i, &jct))
        return false;
    double value = jct / (fmax(seconds(job_at(run, i)->run), tau) * fmax(gpus, 1e-3));
    *ret = value > 1 ? value : 1;
    return true;
}

static bool fairness_of(const struct run *run, size_t i, double *ret)
{
    const struct wanted *wanted = &run->experiment->wanted;
    const struct sim_job *job = job_at(run, i);
    double jct, ideal = seconds(job->ideal > 0 ? job->ideal : job->run);

    if (!jct_of(run, i, &jct) || ideal <= 0)
        return false;
    if (wanted->ideal == IDEAL_SHARE && jct > 0)
        ideal *= run->outcomes[i].contention / 1e6 / jct;
    *ret = jct / (ideal * wanted->factor);
    return true;
}

static struct spread collect(const struct run *run, value_fn *value_of)
{
    struct spread spread = { 0 };
    double value;

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        if (value_of(run, i, &value))
            spread_add(&spread, value);
    }
    return spread;
}

/* All, by queue (when there are several) and by size. */
static json_t *told_apart(const struct run *run, value_fn *value_of)
{
    struct spread all = { 0 }, bands[BAND_COUNT] = { 0 };
    AUTO_FREE struct spread *queues = mem_zero(run->queue_count, sizeof(queues[0]));
    double value;

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        if (!value_of(run, i, &value))
            continue;
        spread_add(&all, value);
        spread_add(&bands[band_of(sim_job_milli(job_at(run, i)))], value);
        spread_add(&queues[run->outcomes[i].queue], value);
    }
    json_t *object = spread_to_json(&all), *by_gpus = json_object(), *by_queue = json_object();
    for (int i = 0; i < BAND_COUNT; i++) {
        if (bands[i].values.count > 0)
            json_object_set_new(by_gpus, band_name((enum band)i), spread_to_json(&bands[i]));
        spread_release(&bands[i]);
    }
    for (size_t i = 0; i < run->queue_count; i++) {
        if (queues[i].values.count > 0 && json_object_size(by_queue) < QUEUES_SHOWN_MAX)
            json_object_set_new(by_queue, run->queue_names[i], spread_to_json(&queues[i]));
        spread_release(&queues[i]);
    }
    json_object_set_new(object, "by_gpus", by_gpus);
    if (json_object_size(by_queue) > 1)
        json_object_set_new(object, "by_queue", by_queue);
    else
        json_decref(by_queue);
    spread_release(&all);
    return object;
}

static json_t *slowdown(const struct run *run, value_fn *value_of)
{
    struct spread spread = collect(run, value_of);
    double logs = 0;

    for (size_t i = 0; i < spread.values.count; i++)
        logs += log(spread.values.items[i]);
    json_t *object = spread_to_json(&spread);
    if (spread.values.count > 0)
        logs = exp(logs / (double)spread.values.count);
    json_object_set_new(object, "geometric_mean", json_real(logs));
    json_object_set_new(object, "tau", json_real(seconds(run->experiment->wanted.tau)));
    spread_release(&spread);
    return object;
}

/* From the first submission to the last end. */
static double makespan(const struct run *run)
{
    usec_t last = run->origin;

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        if (is_done(&run->outcomes[i]) && run->outcomes[i].end > last)
            last = run->outcomes[i].end;
    }
    return seconds(last - run->origin);
}

static double capacity_time(const struct run *run)
{
    return (double)run->meter.capacity_milli * (double)meter_time(&run->meter);
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static json_t *at_percents(const struct run *run, const struct percents *percents,
                           bool is_fragmentation)
{
    json_t *object = json_object();
    char key[16];

    for (uint32_t i = 0; i < percents->count; i++) {
        for (size_t k = 0; k < run->at_count; k++) {
            const struct snapshot_at *at = &run->at[k];
            if (at->percent != percents->items[i] || !at->is_taken)
                continue;
            snprintf(key, sizeof(key), "%u", at->percent);
            json_object_set_new(object, key,
                                json_real(is_fragmentation ? at->fragment_pct : at->allocated_pct));
        }
    }
    return object;
}

static json_t *arrived(const struct run *run)
{
    json_t *object = json_object();
    char key[16];

    for (size_t k = 0; k < run->at_count; k++) {
        snprintf(key, sizeof(key), "%u", run->at[k].percent);
        if (run->at[k].is_taken)
            json_object_set_new(object, key, json_integer(run->at[k].arrived_milli));
    }
    return object;
}

struct means {
    double fragment, fragment_of_idle, largest_node, free_whole;
};

/* Over time, each sample until the next. */
static struct means mean_over_time(const struct run *run)
{
    struct means means = { 0 };
    double time = 0;

    for (size_t i = 0; i + 1 < run->meter.samples.count; i++) {
        const struct sample *sample = &run->meter.samples.items[i];
        double elapsed = (double)(sample[1].at - sample->at);
        double of_idle = sample->idle_pct > 0 ? 100 * sample->fragment_pct / sample->idle_pct : 0;
        means.fragment += elapsed * sample->fragment_pct;
        means.fragment_of_idle += elapsed * of_idle;
        means.largest_node += elapsed * sample->largest_node;
        means.free_whole += elapsed * sample->free_whole;
        time += elapsed;
    }
    if (time <= 0)
        return (struct means){ 0 };
    return (struct means){ means.fragment / time, means.fragment_of_idle / time,
                           means.largest_node / time, means.free_whole / time };
}

static json_t *fairness(const struct run *run)
{
    struct spread spread = collect(run, fairness_of);
    double limits[] = { run->experiment->wanted.unfair, 1, 2 };
    double above[3] = { 0 };

    for (size_t i = 0; i < spread.values.count; i++) {
        for (int k = 0; k < 3; k++)
            above[k] += spread.values.items[i] > limits[k];
    }
    json_t *object = spread_to_json(&spread);
    double count = (double)spread.values.count;
    json_object_set_new(object, "worst", json_real(spread_quantile(&spread, 1)));
    json_object_set_new(object, "unfair_percent", json_real(percent(above[0], count)));
    json_object_set_new(object, "above_1_percent", json_real(percent(above[1], count)));
    json_object_set_new(object, "above_2_percent", json_real(percent(above[2], count)));
    spread_release(&spread);
    return object;
}

/* Of queues that have jobs: what each got, over what it asked for or is entitled to. */
static double jain(const struct run *run)
{
    AUTO_FREE double *asked = mem_zero(run->queue_count, sizeof(double));
    double sum = 0, squares = 0, count = 0;

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        const struct sim_job *job = job_at(run, i);
        if (job->run != USEC_NEVER)
            asked[run->outcomes[i].queue] += (double)sim_job_milli(job) * (double)job->run;
    }
    for (size_t i = 0; i < run->queue_count; i++) {
        double entitled = run->queue_shares[i] * capacity_time(run);
        double of = asked[i] < entitled ? asked[i] : entitled;
        if (of <= 0)
            continue;
        double x = run->meter.queues.items[i].sum / of;
        sum += x;
        squares += x * x;
        count++;
    }
    return squares > 0 ? sum * sum / (count * squares) : 1;
}

static double share_error(const struct run *run)
{
    double most = 0;

    for (size_t i = 0; i < run->meter.queues.count; i++)
        most = fmax(most, run->meter.queues.items[i].lack);
    return 100 * most;
}

static json_t *preemptions(const struct run *run)
{
    struct spread spread = { 0 };
    json_int_t jobs = 0;

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        if (run->outcomes[i].start < 0)
            continue;
        spread_add(&spread, run->outcomes[i].preemptions);
        jobs += run->outcomes[i].preemptions > 0;
    }
    json_t *object = json_pack("{s:f, s:I, s:f, s:f, s:f}", "count", spread.sum, "jobs", jobs,
                               "mean", spread_mean(&spread), "p99", spread_quantile(&spread, 0.99),
                               "max", spread_quantile(&spread, 1));
    spread_release(&spread);
    return object;
}

static double preemption_waste(const struct run *run)
{
    double lost = 0, work = 0;

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        double milli = (double)sim_job_milli(job_at(run, i));
        if (job_at(run, i)->run == USEC_NEVER)
            continue;
        lost += milli * (double)run->outcomes[i].paid;
        work += milli * (double)job_at(run, i)->run;
    }
    return percent(lost, work);
}

static json_t *backfill(const struct run *run)
{
    struct spread slip = { 0 };

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        const struct outcome *outcome = &run->outcomes[i];
        if (outcome->promised > 0 && outcome->start >= 0)
            spread_add(&slip, seconds(outcome->start > outcome->promised
                                          ? outcome->start - outcome->promised
                                          : 0));
    }
    json_t *object =
        json_pack("{s:f, s:o}", "percent", percent((double)run->backfills, (double)run->grants),
                  "slip", spread_to_json(&slip));
    spread_release(&slip);
    return object;
}

static json_t *deadlines(const struct run *run)
{
    struct spread wait = { 0 }, jct = { 0 };
    json_int_t strict = 0, met = 0;
    double value;

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        const struct sim_job *job = job_at(run, i);
        if (job->deadline > 0) {
            strict++;
            met += run->outcomes[i].fate == FATE_DONE &&
                   run->outcomes[i].end <= run->origin + job->deadline;
            continue;
        }
        if (wait_of(run, i, &value))
            spread_add(&wait, value);
        if (jct_of(run, i, &value))
            spread_add(&jct, value);
    }
    json_t *best =
        json_pack("{s:o, s:o}", "wait", spread_to_json(&wait), "jct", spread_to_json(&jct));
    spread_release(&wait);
    spread_release(&jct);
    return json_pack("{s:I, s:I, s:I, s:f, s:o}", "strict", strict, "met", met, "missed",
                     strict - met, "met_percent", percent((double)met, (double)strict),
                     "best_effort", best);
}

static int compare_starts(const void *a, const void *b)
{
    const struct outcome *left = *(const struct outcome *const *)a;
    const struct outcome *right = *(const struct outcome *const *)b;

    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return (left > right) - (left < right);
}

/* Starts of jobs in order of time; jobs of one instant by number. */
static json_t *starts(const struct run *run)
{
    size_t count = run->workload->jobs.count, started = 0;
    AUTO_FREE const struct outcome **sorted = mem_zero(count + 1, sizeof(sorted[0]));
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        if (run->outcomes[i].start >= 0)
            sorted[started++] = &run->outcomes[i];
    }
    qsort(sorted, started, sizeof(sorted[0]), compare_starts);
    for (size_t i = 0; i < started; i++) {
        size_t number = (size_t)(sorted[i] - run->outcomes);
        json_array_append_new(list, json_pack("{s:s, s:I, s:f}", "name",
                                              run->workload->jobs.items[number].name, "number",
                                              (json_int_t)number, "start",
                                              seconds(sorted[i]->start - run->origin)));
    }
    return list;
}

static json_t *start_estimates(const struct run *run)
{
    struct spread error = { 0 }, limits = { 0 };
    double held = 0;

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        const struct outcome *outcome = &run->outcomes[i];
        const struct sim_estimate *estimate = &outcome->estimate;
        if (!outcome->has_estimate || outcome->start < 0)
            continue;
        held += outcome->start >= estimate->low && outcome->start <= estimate->high;
        spread_add(&error, fabs(seconds(outcome->start - estimate->median)));
        if (estimate->limits_only > 0 && estimate->limits_only != USEC_NEVER)
            spread_add(&limits, fabs(seconds(outcome->start - estimate->limits_only)));
    }
    json_t *object = json_pack(
        "{s:I, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)error.values.count, "coverage",
        percent(held, (double)error.values.count), "median_error", spread_quantile(&error, 0.5),
        "mean_error", spread_mean(&error), "limits_median_error", spread_quantile(&limits, 0.5),
        "limits_mean_error", spread_mean(&limits));
    spread_release(&error);
    spread_release(&limits);
    return object;
}

static json_t *energy(const struct run *run)
{
    const struct wanted *wanted = &run->experiment->wanted;
    double hours = (double)meter_time(&run->meter) / (double)USEC_PER_HOUR;
    double busy = run->meter.used / GPU_MILLI / (double)USEC_PER_HOUR;
    double gpus = (double)run->experiment->cluster.gpu_count;
    double nodes = (double)run->experiment->cluster.nodes.count;
    double kwh = (nodes * wanted->node_w * hours + busy * wanted->gpu_busy_w +
                  (gpus * hours - busy) * wanted->gpu_idle_w) /
                 1000;

    return json_pack("{s:f, s:f}", "kwh", kwh, "kwh_per_gpu_hour", busy > 0 ? kwh / busy : 0);
}

static json_t *decision_latency(const struct run *run)
{
    const struct latency *latency = &run->latency;
    double mean = latency->count > 0 ? (double)latency->sum / (double)latency->count : 0;

    return json_pack("{s:I, s:f, s:I, s:I, s:I, s:I}", "count", (json_int_t)latency->count, "mean",
                     mean, "p50", (json_int_t)latency_quantile(latency, 0.5), "p95",
                     (json_int_t)latency_quantile(latency, 0.95), "p99",
                     (json_int_t)latency_quantile(latency, 0.99), "max", (json_int_t)latency->max);
}

static json_t *metric_of(const struct run *run, enum metric metric)
{
    const struct wanted *wanted = &run->experiment->wanted;
    struct means means;

    switch (metric) {
    case METRIC_WAIT:
        return told_apart(run, wait_of);
    case METRIC_BOUNDED_SLOWDOWN:
        return slowdown(run, slowdown_of);
    case METRIC_PER_PROCESSOR_SLOWDOWN:
        return slowdown(run, per_processor_slowdown_of);
    case METRIC_JCT:
        return told_apart(run, jct_of);
    case METRIC_COST:
        return json_real(
            (double)run->state->payers.items.items[run->state->queues.items[QUEUE_ROOT].payer]
                .accounts[ACCOUNT_MONEY]
                .spent /
            1e6);
    case METRIC_MAKESPAN:
        return json_real(makespan(run));
    case METRIC_UTILIZATION:
        return json_real(percent(run->meter.used, capacity_time(run)));
    case METRIC_ALLOCATION_AT:
        return at_percents(run, &wanted->allocation_at, false);
    case METRIC_FRAGMENTATION_AT:
        return at_percents(run, &wanted->fragmentation_at, true);
    case METRIC_FRAGMENTATION:
        means = mean_over_time(run);
        return json_pack("{s:f, s:f}", "of_capacity", means.fragment, "of_idle",
                         means.fragment_of_idle);
    case METRIC_BLOCKED_IDLE:
        return json_real(percent(run->meter.blocked, capacity_time(run)));
    case METRIC_LARGEST_GANG:
        means = mean_over_time(run);
        return json_pack("{s:f, s:f}", "node", means.largest_node, "cluster", means.free_whole);
    case METRIC_FINISH_TIME_FAIRNESS:
        return fairness(run);
    case METRIC_JAIN:
        return json_real(jain(run));
    case METRIC_SHARE_ERROR:
        return json_real(share_error(run));
    case METRIC_PREEMPTIONS:
        return preemptions(run);
    case METRIC_PREEMPTION_WASTE:
        return json_real(preemption_waste(run));
    case METRIC_BACKFILL:
        return backfill(run);
    case METRIC_DEADLINES:
        return deadlines(run);
    case METRIC_START_ESTIMATES:
        return start_estimates(run);
    case METRIC_ENERGY:
        return energy(run);
    case METRIC_STARTS:
        return starts(run);
    case METRIC_DECISION_LATENCY:
        return decision_latency(run);
    case METRIC_COUNT:
        break;
    }
    return json_null();
}

/* What only a scheduler knows, or needs the places of jobs. */
static bool is_unrecorded(enum metric metric)
{
    static const enum metric metrics[] = {
        METRIC_COST,
        METRIC_ALLOCATION_AT,
        METRIC_FRAGMENTATION_AT,
        METRIC_FRAGMENTATION,
        METRIC_LARGEST_GANG,
        METRIC_PREEMPTIONS,
        METRIC_PREEMPTION_WASTE,
        METRIC_BACKFILL,
        METRIC_START_ESTIMATES,
        METRIC_DECISION_LATENCY,
    };

    for (size_t i = 0; i < COUNT_OF(metrics); i++) {
        if (metrics[i] == metric)
            return true;
    }
    return false;
}

static json_t *job_counts(const struct run *run)
{
    json_int_t fates[FATE_DROPPED + 1] = { 0 }, started = 0;

    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        fates[run->outcomes[i].fate]++;
        started += run->outcomes[i].start >= 0;
    }
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "submitted", (json_int_t)run->workload->jobs.count,
        "started", started, "finished", fates[FATE_DONE], "timed_out", fates[FATE_TIMEOUT],
        "dropped", fates[FATE_DROPPED], "running", fates[FATE_RUNS], "waiting", fates[FATE_WAITS]);
}

/* The first job that waits at the end, or NULL: none does. */
static json_t *first_waiting(const struct run *run)
{
    for (size_t i = 0; i < run->workload->jobs.count; i++) {
        const struct sim_job *job = &run->workload->jobs.items[i];
        if (run->outcomes[i].fate == FATE_WAITS)
            return json_sprintf("'%s': %u GPUs, %u members%s%s", job->name, (unsigned)job->gpus,
                                (unsigned)job->members, job->models[0] ? ", of " : "", job->models);
    }
    return NULL;
}

json_t *result_of(const struct run *run, bool has_series)
{
    json_t *object = json_object();

    json_t *waiting = first_waiting(run);
    if (waiting)
        json_object_set_new(object, "first_waiting", waiting);

    for (int i = 0; i < METRIC_COUNT; i++) {
        bool is_known = !run->experiment->is_recorded || !is_unrecorded((enum metric)i);
        if (run->experiment->wanted.is_on[i] && is_known)
            json_object_set_new(object, metric_name((enum metric)i),
                                metric_of(run, (enum metric)i));
    }
    if (run->at_count > 0 && !run->experiment->is_recorded)
        json_object_set_new(object, "arrived", arrived(run));
    json_object_set_new(object, "jobs", job_counts(run));
    json_object_set_new(object, "plans", json_integer((json_int_t)run->plans));
    json_object_set_new(object, "events", json_integer((json_int_t)run->events));
    json_object_set_new(object, "seconds", json_real(run->seconds));
    json_object_set_new(object, "events_per_second",
                        json_real(run->seconds > 0 ? (double)run->events / run->seconds : 0));
    if (run->narrowed > 0)
        json_object_set_new(object, "narrowed", json_integer((json_int_t)run->narrowed));
    if (has_series)
        json_object_set_new(object, "series", series_of(run));
    return object;
}
