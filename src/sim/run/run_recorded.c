/* SPDX-License-Identifier: Apache-2.0 */
/* What happened, on the same meters as what the scheduler would have done. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sim/run/run.h"

enum { STARTS = 1, ENDS = 2 }; /* in place of the attempts of a due */

static void start(struct run *run, uint32_t number)
{
    const struct sim_job *job = &run->workload->jobs.items[number];
    struct outcome *outcome = &run->outcomes[number];

    outcome->start = outcome->began = run->now;
    outcome->fate = FATE_RUNS;
    outcome->speed = 1;
    outcome->used_milli = sim_job_milli(job);
    meter_wait(&run->meter, outcome->queue, outcome->demand, -1);
    meter_use(&run->meter, outcome->queue, outcome->used_milli);
    due_add(&run->dues, (struct due){ run->now + job->run, number, ENDS });
}

static void submit(struct run *run, uint32_t number)
{
    const struct sim_job *job = &run->workload->jobs.items[number];
    struct outcome *outcome = &run->outcomes[number];

    outcome->contention = run->meter.contention;
    meter_wait(&run->meter, outcome->queue, outcome->demand, 1);
    run->arrived_milli += sim_job_milli(job);
    due_add(&run->dues, (struct due){ run->now + job->waited, number, STARTS });
}

static void take_dues(struct run *run)
{
    struct due due;

    while (due_take(&run->dues, run->now, &due)) {
        if (due.attempt == STARTS) {
            start(run, due.job);
            continue;
        }
        run_give_back(run, due.job);
        run_job_over(run, due.job, FATE_DONE);
    }
}

/* At an instant, ends and starts come in the order of their jobs: after all of them, what is held
 * must be there. */
static int check_capacity(const struct run *run, int64_t most, usec_t at, struct error *err)
{
    if (most <= run->meter.capacity_milli)
        return 0;
    return error_set(err, -ERANGE,
                     "schedule: recorded: jobs held %" PRId64 " GPUs at once, %" PRId64
                     " hours after the first submission, and the cluster has %" PRId64
                     "; expected the cluster on which they ran",
                     most / GPU_MILLI, (at - run->origin) / USEC_PER_HOUR,
                     run->meter.capacity_milli / GPU_MILLI);
}

/* Models of the cluster, each once, with '|' around them; "": its GPUs have none in particular. */
static void list_models(const struct run *run, struct text *ret)
{
    text_add(ret, "|");
    LIST_EACH (const struct device, device, &run->state->devices) {
        AUTO_FREE char *model = mem_printf("|%s|", device->model);
        if (strcmp(device->model, CLUSTER_MODEL_NONE) == 0) {
            text_clear(ret);
            return;
        }
        if (!strstr(text_string(ret), model))
            text_add(ret, model + 1);
    }
}

/* "t4|p100": whether the cluster has one of them. */
static bool has_one_of(const char *known, const char *models)
{
    size_t length;

    for (const char *at = models; *at; at += length + (at[length] == '|')) {
        length = strcspn(at, "|");
        AUTO_FREE char *model = mem_printf("|%.*s|", (int)length, at);
        if (strstr(known, model))
            return true;
    }
    return models[0] == '\0';
}

static int check_models(const struct run *run, struct error *err)
{
    AUTO_RELEASE(text) struct text known = { 0 };

    list_models(run, &known);
    LIST_EACH (const struct sim_job, job, &run->workload->jobs) {
        if (known.length <= 1 || job->gpus == 0 || has_one_of(known.bytes, job->models))
            continue;
        return error_set(err, -ERANGE,
                         "schedule: recorded: job %s ran on %s, and the cluster has %.*s only; "
                         "expected the cluster on which they ran",
                         job->name, job->models, (int)known.length - 2, known.bytes + 1);
    }
    return 0;
}

int run_recorded(struct run *run, struct error *err)
{
    const struct workload *workload = run->workload;
    int64_t most = 0;
    usec_t most_at = 0;

    for (size_t i = 0; i < workload->jobs.count; i++) {
        const struct sim_job *job = &workload->jobs.items[i];
        if (job->waited < 0 || job->run == USEC_NEVER)
            return error_set(err, -EINVAL,
                             "schedule: recorded: job %zu (%s) has no start in the file; expected "
                             "a format with starts, such as sacct or swf",
                             i, job->name);
    }
    int code = check_models(run, err);
    if (code < 0)
        return code;
    while (run->over < workload->jobs.count) {
        usec_t next = due_first(&run->dues);
        if (run->submitted < workload->jobs.count) {
            usec_t at = run->origin + workload->jobs.items[run->submitted].submit;
            next = at < next ? at : next;
        }
        run->now = next;
        meter_advance(&run->meter, run->now);
        take_dues(run);
        while (run->submitted < workload->jobs.count &&
               run->origin + workload->jobs.items[run->submitted].submit <= run->now)
            submit(run, run->submitted++);
        take_dues(run); /* those that did not wait */
        if (run->meter.used_milli > most) {
            most = run->meter.used_milli;
            most_at = run->now;
        }
        meter_settle(&run->meter, run->queue_shares, run->over == workload->jobs.count);
    }
    return check_capacity(run, most, most_at, err);
}
