/* SPDX-License-Identifier: Apache-2.0 */
#include "export/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/health/diagnosis.h"
#include "export/exposition.h"

struct exporting {
    const struct state *state;
    const struct watch *watch;
    const struct metrics_self *self;
    struct exposition exposition;
    struct watch_device *watched; /* by device */
    bool *is_watched;
    LIST(const struct job *) active; /* those that hold something */
};

static void label_device(struct exporting *exporting, uint32_t number)
{
    const struct state *state = exporting->state;
    const struct device *device = &state->devices.items[number];

    exposition_label(&exporting->exposition, "uuid", device->uuid);
    exposition_label_number(&exporting->exposition, "gpu", device->index);
    exposition_label(&exporting->exposition, "node", state->nodes.items[device->node].name);
}

/* ---- the daemon ---- */

static double seconds(usec_t time)
{
    return (double)time / (double)USEC_PER_SEC;
}

static void export_alerts(struct exposition *exposition, const struct metrics_self *self)
{
    const struct {
        const char *name;
        uint64_t count;
    } results[] = { { "sent", self->alerts_sent },
                    { "failed", self->alerts_failed },
                    { "dropped", self->alerts_dropped } };

    exposition_metric(exposition, "tarn_alerts_total", "counter",
                      "alerts that tarn sent, by result");
    for (size_t i = 0; i < COUNT_OF(results); i++) {
        exposition_label(exposition, "result", results[i].name);
        exposition_sample(exposition, (double)results[i].count);
    }
}

static void export_self(struct exporting *exporting)
{
    struct exposition *exposition = &exporting->exposition;
    const struct metrics_self *self = exporting->self;

    exposition_metric(exposition, "tarn_build_info", "gauge", "1, with the version");
    exposition_label(exposition, "version", self->version);
    exposition_sample(exposition, 1);
    exposition_metric(exposition, "tarn_up_seconds", "gauge", "time since the daemon started");
    exposition_sample(exposition, seconds(self->now - self->started));
    if (self->has_no_jobs)
        return;
    exposition_metric(exposition, "tarn_journal_trouble", "gauge",
                      "1: the journal cannot be written, and requests are refused");
    exposition_sample(exposition, self->is_in_trouble);
    export_alerts(exposition, self);
    exposition_metric(exposition, "tarn_plans_total", "counter", "plans that the scheduler made");
    exposition_sample(exposition, (double)self->plans);
    exposition_metric(exposition, "tarn_decisions_total", "counter",
                      "starts and stops that the scheduler decided");
    exposition_sample(exposition, (double)self->decisions);
    exposition_metric(exposition, "tarn_plan_seconds_total", "counter", "time spent on plans");
    exposition_sample(exposition, seconds(self->plan_sum));
    exposition_metric(exposition, "tarn_plan_seconds_max", "gauge", "duration of the longest plan");
    exposition_sample(exposition, seconds(self->plan_max));
}

/* ---- devices ---- */

static void export_device_facts(struct exporting *exporting)
{
    const struct state *state = exporting->state;
    struct exposition *exposition = &exporting->exposition;

    exposition_metric(exposition, "tarn_gpu_info", "gauge",
                      "1 for each device, with its description as labels");
    for (uint32_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        label_device(exporting, i);
        exposition_label(exposition, "model", device->model);
        exposition_label(exposition, "product", device->product);
        exposition_label(exposition, "vendor", device->vendor);
        exposition_label(exposition, "pci_bus_id", device->address);
        exposition_label(exposition, "pool", state->pools.items[device->pool].name);
        exposition_sample(exposition, 1);
    }
    exposition_metric(exposition, "tarn_gpu_usable", "gauge", "1: the device can be allocated");
    for (uint32_t i = 0; i < state->devices.count; i++) {
        label_device(exporting, i);
        exposition_sample(exposition, device_is_usable(state, &state->devices.items[i]));
    }
    exposition_metric(exposition, "tarn_gpu_given_ratio", "gauge",
                      "part of the device that is allocated to jobs, 0 to 1");
    for (uint32_t i = 0; !exporting->self->has_no_jobs && i < state->devices.count; i++) {
        label_device(exporting, i);
        exposition_sample(exposition,
                          (double)(GPU_MILLI - state->room.devices.items[i].milli) / GPU_MILLI);
    }
}

static void export_readings(struct exporting *exporting)
{
    const struct state *state = exporting->state;

    for (enum reading_id id = 0; id < READINGS; id++) {
        const struct reading_about *about = &reading_about[id];
        const char *unit = reading_base_unit(about->unit);
        char name[96];
        snprintf(name, sizeof(name), "tarn_gpu_%s%s%s%s", about->name, unit[0] ? "_" : "", unit,
                 about->kind == READING_COUNTER ? "_total" : "");
        exposition_metric(&exporting->exposition, name,
                          about->kind == READING_COUNTER ? "counter" : "gauge", about->meaning);
        for (uint32_t i = 0; i < state->devices.count; i++) {
            const struct reading *reading = &exporting->watched[i].reading;
            if (!exporting->is_watched[i] || !watch_is_fresh(&exporting->watched[i]) ||
                !reading_has(reading, id))
                continue;
            label_device(exporting, i);
            exposition_sample(&exporting->exposition, reading_in_base(id, reading->values[id]));
        }
    }
}

static void export_health(struct exporting *exporting)
{
    static const char *const severities[] = { "info", "warning", "critical" };
    const struct state *state = exporting->state;
    struct exposition *exposition = &exporting->exposition;

    exposition_metric(exposition, "tarn_gpu_fault", "gauge",
                      "1 for each current fault of a device");
    for (uint32_t i = 0; i < state->devices.count; i++) {
        for (enum health_fault k = 0; exporting->is_watched[i] && k < FAULTS; k++) {
            if ((exporting->watched[i].health->faults >> k & 1) == 0)
                continue;
            label_device(exporting, i);
            exposition_label(exposition, "fault", fault_name(k));
            exposition_label(exposition, "severity", severities[fault_severity(k)]);
            if (health_is_of_xid(exporting->watched[i].health, k))
                exposition_label_number(exposition, "xid", exporting->watched[i].health->xid);
            exposition_sample(exposition, 1);
        }
    }
    exposition_metric(exposition, "tarn_gpu_xid_total", "counter",
                      "XID errors that the driver reported, by number and required action");
    for (uint32_t i = 0; i < state->devices.count; i++) {
        for (uint32_t k = 0; exporting->is_watched[i] && k < exporting->watched[i].xid_count; k++) {
            const struct watch_xid *xid = &exporting->watched[i].xids[k];
            label_device(exporting, i);
            exposition_label_number(exposition, "xid", xid->xid);
            exposition_label(exposition, "action", xid_action_name(xid_action(xid->xid)));
            exposition_sample(exposition, (double)xid->count);
        }
    }
    exposition_metric(exposition, "tarn_gpu_foreign_memory_bytes", "gauge",
                      "device memory that foreign processes use");
    for (uint32_t i = 0; i < state->devices.count; i++) {
        if (!exporting->is_watched[i] || !exporting->watched[i].has_owners)
            continue;
        label_device(exporting, i);
        exposition_sample(exposition, (double)exporting->watched[i].foreign_mib * 1048576);
    }
}

/* What the processes of one step of a Slurm job use on a device. */
struct slurm_use {
    struct watch_slurm slurm;
    int64_t memory_bytes;
};

typedef LIST(struct slurm_use) slurm_uses;

static void add_slurm_use(slurm_uses *uses, const struct watch_slurm *slurm, int64_t memory_bytes)
{
    struct slurm_use made = { *slurm, memory_bytes };

    for (size_t i = 0; i < uses->count; i++) {
        struct slurm_use *use = &uses->items[i];
        if (use->slurm.job != slurm->job || strcmp(use->slurm.step, slurm->step) != 0)
            continue;
        use->memory_bytes += memory_bytes;
        return;
    }
    list_add(uses, made);
}

static void export_slurm(struct exporting *exporting)
{
    struct exposition *exposition = &exporting->exposition;
    const struct watch *watch = exporting->watch;
    slurm_uses uses = { 0 };

    exposition_metric(exposition, "tarn_gpu_slurm_memory_bytes", "gauge",
                      "device memory that the processes of a Slurm job use, by step");
    for (uint32_t i = 0; watch && watch->ops->slurm && i < exporting->state->devices.count; i++) {
        const struct watch_device *watched = &exporting->watched[i];
        uses.count = 0;
        for (uint32_t k = 0; exporting->is_watched[i] && k < watched->process_count; k++) {
            struct watch_slurm slurm;
            int64_t memory_bytes = watched->processes[k].memory_bytes;
            if (memory_bytes >= 0 && watch->ops->slurm(watch, watched->processes[k].pid, &slurm))
                add_slurm_use(&uses, &slurm, memory_bytes);
        }
        for (size_t k = 0; k < uses.count; k++) {
            label_device(exporting, i);
            exposition_label_number(exposition, "slurm_job", uses.items[k].slurm.job);
            exposition_label(exposition, "slurm_step", uses.items[k].slurm.step);
            exposition_sample(exposition, (double)uses.items[k].memory_bytes);
        }
    }
    list_release(&uses);
}

static void export_sampler(struct exporting *exporting)
{
    const struct state *state = exporting->state;
    struct exposition *exposition = &exporting->exposition;

    exposition_metric(exposition, "tarn_gpu_reading_age_seconds", "gauge",
                      "age of the readings of a device");
    for (uint32_t i = 0; i < state->devices.count; i++) {
        if (!exporting->is_watched[i] || exporting->watched[i].reading.at == 0)
            continue;
        label_device(exporting, i);
        exposition_sample(exposition, seconds(exporting->watched[i].age));
    }
    exposition_metric(exposition, "tarn_gpu_read_errors_total", "counter",
                      "failed attempts to read a device");
    for (uint32_t i = 0; i < state->devices.count; i++) {
        if (!exporting->is_watched[i])
            continue;
        label_device(exporting, i);
        exposition_sample(exposition, (double)exporting->watched[i].failures);
    }
    exposition_metric(exposition, "tarn_gpu_read_seconds", "gauge",
                      "time that the last reading took in the driver");
    for (uint32_t i = 0; i < state->devices.count; i++) {
        if (!exporting->is_watched[i] || exporting->watched[i].reading.at == 0)
            continue;
        label_device(exporting, i);
        exposition_sample(exposition, seconds(exporting->watched[i].took));
    }
}

/* ---- jobs ---- */

static void label_job(struct exporting *exporting, const struct job *job)
{
    const struct state *state = exporting->state;

    exposition_label_number(&exporting->exposition, "hpc_job", job->id);
    exposition_label(&exporting->exposition, "user", state_user(state, job->user));
    exposition_label(&exporting->exposition, "queue", state->queues.items[job->queue].name);
}

static const struct usage *usage_of(const struct exporting *exporting, const struct job *job)
{
    return exporting->watch
               ? exporting->watch->ops->usage(exporting->watch, job->id, job->run->attempt)
               : NULL;
}

static void export_job_devices(struct exporting *exporting)
{
    struct exposition *exposition = &exporting->exposition;

    exposition_metric(exposition, "tarn_job_gpu_given_ratio", "gauge",
                      "part of a device that a job holds, 0 to 1");
    for (size_t j = 0; j < exporting->active.count; j++) {
        const struct job *job = exporting->active.items[j];
        const struct lease *lease = job->run->lease;
        for (uint32_t i = 0; i < lease->slices_count; i++) {
            bool is_first = true; /* members may share one */
            double milli = 0;
            for (uint32_t k = 0; k < lease->slices_count; k++) {
                if (lease->slices[k].device != lease->slices[i].device)
                    continue;
                is_first &= k >= i;
                milli += lease->slices[k].milli;
            }
            if (!is_first)
                continue;
            label_job(exporting, job);
            label_device(exporting, lease->slices[i].device);
            exposition_sample(exposition, milli / GPU_MILLI);
        }
    }
}

static void export_job_usage(struct exporting *exporting)
{
    static const struct {
        const char *name, *help;
        enum usage_kind kind;
        bool is_peak;
    } metrics[] = {
        { "tarn_job_gpu_use_ratio", "mean utilization of the devices of a job so far", USAGE_GPU,
          false },
        { "tarn_job_sm_active_ratio", "mean utilization of their multiprocessors so far", USAGE_SM,
          false },
        { "tarn_job_tensor_active_ratio", "mean utilization of their tensor cores so far",
          USAGE_TENSOR, false },
        { "tarn_job_gpu_memory_peak_bytes", "peak memory of a job on its devices", USAGE_MEMORY,
          true },
    };
    struct exposition *exposition = &exporting->exposition;

    for (size_t i = 0; i < COUNT_OF(metrics); i++) {
        exposition_metric(exposition, metrics[i].name, "gauge", metrics[i].help);
        for (size_t j = 0; j < exporting->active.count; j++) {
            const struct job *job = exporting->active.items[j];
            const struct usage *usage = usage_of(exporting, job);
            if (!usage || usage->sums[metrics[i].kind].ms == 0)
                continue;
            label_job(exporting, job);
            if (metrics[i].is_peak)
                exposition_sample(exposition, (double)usage_peak(usage, metrics[i].kind) * 1048576);
            else
                exposition_sample(exposition,
                                  (double)usage_mean(usage, metrics[i].kind) / READING_RATIO_ONE);
        }
    }
    exposition_metric(exposition, "tarn_job_energy_joules_total", "counter",
                      "energy that the devices of a job used so far");
    for (size_t j = 0; j < exporting->active.count; j++) {
        const struct job *job = exporting->active.items[j];
        const struct usage *usage = usage_of(exporting, job);
        if (!usage || usage->energy_mj == 0)
            continue;
        label_job(exporting, job);
        exposition_sample(exposition, (double)usage->energy_mj / 1000);
    }
}

static void export_stragglers(struct exporting *exporting)
{
    struct exposition *exposition = &exporting->exposition;

    exposition_metric(
        exposition, "tarn_job_straggler_ratio", "gauge",
        "clock or utilization of the slowest device of a job, relative to the others");
    for (size_t j = 0; j < exporting->active.count; j++) {
        const struct job *job = exporting->active.items[j];
        const struct request *request = state_request(exporting->state, job);
        const struct usage *usage = usage_of(exporting, job);
        if (!usage)
            continue;
        struct straggler found = straggler_find(&(struct straggler_ask){
            .usage = usage,
            .is_lately = true,
            .are_alike = request->roles_count == 0 && request->gpus[0].kind == SHARE_WHOLE });
        if (found.of == STRAGGLER_OF_NONE || found.gpu->device >= exporting->state->devices.count)
            continue;
        label_job(exporting, job);
        label_device(exporting, found.gpu->device);
        exposition_label_number(exposition, "rank", found.gpu->rank);
        exposition_label(exposition, "of", straggler_of_name(found.of));
        exposition_sample(exposition, (double)found.its / (double)found.others);
    }
}

/* ---- queues ---- */

static void export_jobs(struct exporting *exporting)
{
    const struct state *state = exporting->state;
    struct exposition *exposition = &exporting->exposition;

    exposition_metric(exposition, "tarn_jobs", "gauge", "jobs by state");
    for (enum job_state i = 0; i < JOB_STATE_COUNT; i++) {
        exposition_label(exposition, "state", job_state_name(i));
        exposition_sample(exposition, state->job_counts[i]);
    }
}

static void export_waits(struct exporting *exporting)
{
    const struct state *state = exporting->state;
    struct exposition *exposition = &exporting->exposition;
    size_t count = state->queues.count;
    AUTO_FREE double *waiting = mem_zero(count + 1, sizeof(waiting[0]));
    AUTO_FREE double *gpus = mem_zero(count + 1, sizeof(gpus[0]));
    AUTO_FREE double *oldest = mem_zero(count + 1, sizeof(oldest[0]));
    AUTO_FREE double *given = mem_zero(count + 1, sizeof(given[0]));
    const struct {
        const char *name, *help;
        const double *values;
    } gauges[] = {
        { "tarn_queue_waiting_jobs", "jobs that wait for resources", waiting },
        { "tarn_queue_waiting_gpus", "GPUs that waiting jobs request", gpus },
        { "tarn_queue_oldest_wait_seconds", "time that the first waiting job has waited", oldest },
        { "tarn_queue_given_gpus", "GPUs that its jobs hold", given },
    };

    for (const struct job *job = state->first_job; job; job = job->next) {
        if (job->state != JOB_QUEUED)
            continue;
        double wait = seconds(exporting->self->now - job->queued);
        waiting[job->queue]++;
        gpus[job->queue] += (double)request_milli(state_request(state, job), 0, 0) / GPU_MILLI;
        if (wait > oldest[job->queue])
            oldest[job->queue] = wait;
    }
    for (uint32_t i = 1; i < count; i++)
        given[i] = (double)state->queues.items[i].used.of[RESOURCE_GPUS] / GPU_MILLI;
    for (size_t k = 0; k < COUNT_OF(gauges); k++) {
        exposition_metric(exposition, gauges[k].name, "gauge", gauges[k].help);
        for (uint32_t i = 1; i < count; i++) {
            exposition_label(exposition, "queue", state->queues.items[i].name);
            exposition_sample(exposition, gauges[k].values[i]);
        }
    }
    exposition_metric(exposition, "tarn_queue_spent_total", "counter",
                      "money that the queue and the queues below it spent in this period");
    for (uint32_t i = 1; i < count; i++) {
        struct account accounts[ACCOUNTS];
        state_accounts(state, state->queues.items[i].payer, exporting->self->now, accounts);
        if (accounts[ACCOUNT_MONEY].spent == 0)
            continue;
        exposition_label(exposition, "queue", state->queues.items[i].name);
        exposition_sample(exposition, (double)accounts[ACCOUNT_MONEY].spent / 1e6);
    }
    exposition_metric(exposition, "tarn_user_spent_total", "counter",
                      "money that a user with a budget spent in the queue in this period");
    for (uint32_t i = 0; i < state->payers.items.count; i++) {
        const struct payer *payer = &state->payers.items.items[i];
        struct account accounts[ACCOUNTS];
        state_accounts(state, i, exporting->self->now, accounts);
        if (payer->user == PAYER_ALL || accounts[ACCOUNT_MONEY].spent == 0)
            continue;
        exposition_label(exposition, "queue", state->queues.items[payer->queue].name);
        exposition_label(exposition, "user", state_user(state, payer->user));
        exposition_sample(exposition, (double)accounts[ACCOUNT_MONEY].spent / 1e6);
    }
}

void metrics_export(const struct state *state, const struct watch *watch,
                    const struct metrics_self *self, struct text *out)
{
    struct exporting exporting = {
        .state = state,
        .watch = watch,
        .self = self,
        .exposition = { .out = out },
        .watched = mem_zero(state->devices.count + 1, sizeof(struct watch_device)),
        .is_watched = mem_zero(state->devices.count + 1, sizeof(bool)),
    };

    for (uint32_t i = 0; watch && i < state->devices.count; i++)
        exporting.is_watched[i] = watch->ops->device(watch, i, &exporting.watched[i]);
    for (const struct job *job = state->first_active; job; job = job->run->active_next)
        list_add(&exporting.active, job);
    export_self(&exporting);
    export_device_facts(&exporting);
    export_readings(&exporting);
    export_health(&exporting);
    export_slurm(&exporting);
    export_sampler(&exporting);
    if (!self->has_no_jobs) {
        export_job_devices(&exporting);
        export_job_usage(&exporting);
        export_stragglers(&exporting);
        export_jobs(&exporting);
        export_waits(&exporting);
    }
    text_release(&exporting.exposition.labels);
    list_release(&exporting.active);
    free(exporting.watched);
    free(exporting.is_watched);
}
