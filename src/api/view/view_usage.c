/* SPDX-License-Identifier: Apache-2.0 */
/* GPU usage of a job and its diagnosis. */
#include <string.h>

#include "api/view/view.h"
#include "core/device_watch.h"
#include "core/state/job_diagnosis.h"

enum { DIAGNOSES_SHOWN = 3 };

static const char *const kind_names[USAGE_KINDS] = {
    [USAGE_GPU] = "gpu",     [USAGE_SM] = "sm",       [USAGE_TENSOR] = "tensor",
    [USAGE_FP32] = "fp32",   [USAGE_DRAM] = "dram",   [USAGE_MEMORY] = "memory",
    [USAGE_LINKS] = "links", [USAGE_POWER] = "power",
};

/* Ratios 0 to 1, memory in MiB, links in MiB a second, power in watts. */
static double scaled(enum usage_kind kind, int64_t value)
{
    if (kind == USAGE_MEMORY || kind == USAGE_LINKS)
        return (double)value;
    return (double)value / (kind == USAGE_POWER ? 1000 : READING_RATIO_ONE);
}

static json_t *view_sums(const struct usage *usage)
{
    json_t *view = json_object();

    for (enum usage_kind i = 0; i < USAGE_KINDS; i++) {
        int64_t mean = usage_mean(usage, i);
        json_object_set_new(view, kind_names[i],
                            mean < 0 ? json_null()
                                     : json_pack("{s:f, s:f}", "mean", scaled(i, mean), "peak",
                                                 scaled(i, usage_peak(usage, i))));
    }
    return view;
}

static json_t *view_each(const struct api *api, const struct usage *usage)
{
    const struct state *state = api_state(api);
    json_t *gpus = json_array();

    for (uint32_t i = 0; i < usage->gpus_count; i++) {
        const struct usage_gpu *gpu = &usage->gpus[i];
        if (gpu->device >= state->devices.count)
            continue;
        json_array_append_new(
            gpus, json_pack("{s:i, s:i, s:f, s:I, s:o}", "index",
                            (int)state->devices.items[gpu->device].index, "rank", (int)gpu->rank,
                            "use", (double)gpu->use / READING_RATIO_ONE, "memory",
                            (json_int_t)gpu->memory_mib, "clock", number_or_null(gpu->clock_mhz)));
    }
    return gpus;
}

static const struct usage *find_usage(const struct api *api, const struct job *job)
{
    const struct watch *watch = api->ports.devices.watch;
    const struct usage *live = NULL;

    if (watch && job_is_active(job))
        live = watch->ops->usage(watch, job->id, job->run->attempt);
    return live ? live : job->run->usage;
}

static json_t *view_diagnoses(const struct api *api, const struct job *job,
                              const struct usage *usage)
{
    struct diagnosis_ask ask = diagnosis_ask_of(api_state(api), job, usage);
    struct diagnosis found[DIAGNOSES_SHOWN];
    json_t *view = json_array();

    size_t count = diagnose(&ask, found, DIAGNOSES_SHOWN);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            view, json_pack("{s:s, s:s, s:s, s:s}", "name", diagnosis_name(found[i].id), "seen",
                            diagnosis_seen(found[i].id), "evidence", found[i].evidence, "advice",
                            diagnosis_advice(found[i].id)));
    return view;
}

json_t *view_usage(const struct api *api, const struct job *job)
{
    const struct usage *usage = find_usage(api, job);

    if (!usage || usage->watched_ms == 0)
        return json_null();
    json_t *view = view_sums(usage);
    json_object_set_new(view, "watched_seconds", json_real((double)usage->watched_ms / 1000));
    json_object_set_new(view, "energy_joules", json_real((double)usage->energy_mj / 1000));
    json_object_set_new(view, "idle_seconds", json_real((double)usage->idle_ms / 1000));
    json_object_set_new(view, "device_memory", number_or_null(usage->device_mib));
    json_object_set_new(view, "gpus", view_each(api, usage));
    json_object_set_new(view, "diagnoses", view_diagnoses(api, job, usage));
    return view;
}
