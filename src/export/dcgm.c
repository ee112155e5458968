/* SPDX-License-Identifier: Apache-2.0 */
#include "export/dcgm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/exposition.h"

/* What DCGM 4.6 calls them, where that differs; the factor goes from the old unit to the new one.
 */
static const struct {
    const char *old, *new;
    double factor;
} aliases[] = {
    { "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", 1 },
    { "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS", 1 },
    { "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO", 0.01 },
    { "DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR", 1 },
    { "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO", 1 },
};

static const char *name_of(const char *dcgm, bool new_names, double *ret_factor)
{
    *ret_factor = 1;
    for (size_t i = 0; new_names && i < COUNT_OF(aliases); i++) {
        if (strcmp(aliases[i].old, dcgm) != 0)
            continue;
        *ret_factor = aliases[i].factor;
        return aliases[i].new;
    }
    return dcgm;
}

static void dcgm_device_labels(struct exposition *exposition, const struct state *state,
                               uint32_t number, const struct dcgm_options *options)
{
    const struct device *device = &state->devices.items[number];
    char name[32];

    snprintf(name, sizeof(name), "%s%" PRIu32,
             strcmp(device->vendor, "nvidia") == 0 ? "nvidia" : "gpu", device->index);
    exposition_label_number(exposition, "gpu", device->index);
    exposition_label(exposition, "UUID", device->uuid);
    exposition_label(exposition, "pci_bus_id", device->address);
    exposition_label(exposition, "device", name);
    exposition_label(exposition, "modelName", device->product);
    exposition_label(exposition, options->old_hostname ? "Hostname" : "hostname",
                     state->nodes.items[device->node].name);
}

/* The one job that holds all of each device; NULL: none, or several. */
static const struct job **find_holders(const struct state *state)
{
    size_t count = state->devices.count;
    const struct job **holders = mem_zero(count + 1, sizeof(holders[0]));

    for (const struct job *job = state->first_active; job; job = job->run->active_next) {
        const struct lease *lease = job->run->lease;
        for (uint32_t i = 0; i < lease->slices_count; i++) {
            if (lease->slices[i].kind == SHARE_WHOLE && lease->slices[i].device < count)
                holders[lease->slices[i].device] = job;
        }
    }
    return holders;
}

/* The one Slurm job whose processes are on the device; 0: none, or several. */
static uint32_t slurm_job_of(const struct watch *watch, const struct watch_device *watched)
{
    uint32_t found = 0;

    for (uint32_t i = 0; watch->ops->slurm && i < watched->process_count; i++) {
        struct watch_slurm slurm;
        if (!watch->ops->slurm(watch, watched->processes[i].pid, &slurm))
            continue;
        if (found != 0 && found != slurm.job)
            return 0;
        found = slurm.job;
    }
    return found;
}

static void add_labels(const struct state *state, uint32_t number, const struct job *holder,
                       uint32_t slurm_job, const struct dcgm_options *options,
                       struct exposition *exposition)
{
    dcgm_device_labels(exposition, state, number, options);
    exposition_label(exposition, "pool",
                     state->pools.items[state->devices.items[number].pool].name);
    if (!holder && slurm_job != 0)
        exposition_label_number(exposition, "hpc_job", slurm_job);
    if (!holder)
        return;
    exposition_label_number(exposition, "hpc_job", holder->id);
    exposition_label(exposition, "user", state_user(state, holder->user));
    exposition_label(exposition, "queue", state->queues.items[holder->queue].name);
}

/* The labels of a device are the same for all metrics: they are written once. */
struct source {
    struct watch_device watched;
    struct text labels;
    bool is_there;
};

static struct source *find_sources(const struct state *state, const struct watch *watch,
                                   const struct dcgm_options *options)
{
    struct source *sources = mem_zero(state->devices.count + 1, sizeof(sources[0]));
    AUTO_FREE const struct job **holders = find_holders(state);

    for (uint32_t i = 0; i < state->devices.count; i++) {
        struct source *source = &sources[i];
        struct exposition labels = { .out = NULL };
        source->is_there =
            watch->ops->device(watch, i, &source->watched) && watch_is_fresh(&source->watched);
        if (!source->is_there)
            continue;
        add_labels(state, i, holders[i], slurm_job_of(watch, &source->watched), options, &labels);
        source->labels = labels.labels;
    }
    return sources;
}

void dcgm_export(const struct state *state, const struct watch *watch,
                 const struct dcgm_options *options, struct text *out)
{
    struct exposition exposition = { .out = out };
    AUTO_FREE struct source *sources = find_sources(state, watch, options);

    for (enum reading_id id = 0; id < READINGS; id++) {
        const struct reading_about *about = &reading_about[id];
        double factor = 1;
        if (!about->dcgm)
            continue;
        const char *name = name_of(about->dcgm, options->new_names, &factor);
        exposition_metric(&exposition, name, about->kind == READING_COUNTER ? "counter" : "gauge",
                          about->meaning);
        for (uint32_t i = 0; i < state->devices.count; i++) {
            const struct reading *reading = &sources[i].watched.reading;
            if (!sources[i].is_there || !reading_has(reading, id))
                continue;
            exposition_labels(&exposition, &sources[i].labels);
            exposition_sample(&exposition,
                              (double)reading->values[id] * about->dcgm_factor * factor);
        }
    }
    for (uint32_t i = 0; i < state->devices.count; i++)
        text_release(&sources[i].labels);
    text_release(&exposition.labels);
}
