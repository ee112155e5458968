/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/diagnosis.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"

enum {
    PERCENT = READING_RATIO_ONE / 100,
    HANG_MS = 15 * 60 * 1000,
    UNUSED_BELOW = 1 * PERCENT,
    IDLE_BELOW = 5 * PERCENT,
    INPUT_LOW_LEAST = 20, /* percent of the time below a tenth */
    INPUT_LOW_MOST = 80,  /* */
    INPUT_PERIOD_MS = 60000,
    CPU_FULL = 90, /* percent of what was given */
    CPU_GPU_MOST = 60 * PERCENT,
    LAUNCH_GPU = 90 * PERCENT,
    LAUNCH_SM = 40 * PERCENT,
    LINKS_BUSY_MIB = 8000, /* a second and device: about half of what PCIe 4 x16 carries */
    LINKS_SM = 50 * PERCENT,
    DRAM_BUSY = 60 * PERCENT,
    DRAM_TENSOR = 20 * PERCENT,
    TENSOR_NONE = 5 * PERCENT,
    TENSOR_SM = 50 * PERCENT,
    TENSOR_FP32 = 30 * PERCENT,
    MEMORY_FULL = 95, /* percent of the device's */
    MEMORY_UNUSED = 25,
};

/* Means, -1 where there is none. */
struct means {
    const struct diagnosis_ask *ask;
    const struct usage *usage;
    int64_t gpu, sm, tensor, fp32, dram, links, memory_peak;
};

static int64_t percent(int64_t ratio)
{
    return ratio / PERCENT;
}

typedef bool rule_fn(const struct means *means, char *ret, size_t size);

static bool is_hanging(const struct means *means, char *ret, size_t size)
{
    const struct usage *usage = means->usage;

    if (usage->idle_ms < HANG_MS || means->gpu < IDLE_BELOW || means->memory_peak <= 0)
        return false;
    snprintf(ret, size, "0 %% for the last %" PRId64 " min, %" PRId64 " %% before",
             usage->idle_ms / 60000, percent(means->gpu));
    return true;
}

static bool has_unused(const struct means *means, char *ret, size_t size)
{
    const struct usage *usage = means->usage;
    uint32_t unused = 0;

    for (uint32_t i = 0; i < usage->gpus_count; i++)
        unused += usage->gpus[i].use < UNUSED_BELOW;
    if (unused == 0 || unused == usage->gpus_count)
        return false;
    snprintf(ret, size, "%" PRIu32 " of %" PRIu32 " GPUs: 0 %%", unused, usage->gpus_count);
    return true;
}

static bool is_idle(const struct means *means, char *ret, size_t size)
{
    if (means->gpu < 0 || means->gpu >= IDLE_BELOW)
        return false;
    snprintf(ret, size, "use %" PRId64 " %%", percent(means->gpu));
    return true;
}

static bool is_input_bound(const struct means *means, char *ret, size_t size)
{
    const struct usage *usage = means->usage;
    int64_t low = usage->watched_ms > 0 ? usage->low_ms * 100 / usage->watched_ms : 0;
    bool is_often = usage->swings > 0 && usage->watched_ms / usage->swings <= INPUT_PERIOD_MS;

    if (low < INPUT_LOW_LEAST || low > INPUT_LOW_MOST || !is_often)
        return false;
    snprintf(ret, size, "below 10 %% for %" PRId64 " %% of the time, every %" PRId64 " s", low,
             usage->watched_ms / usage->swings / 1000);
    return true;
}

static bool is_cpu_starved(const struct means *means, char *ret, size_t size)
{
    const struct diagnosis_ask *ask = means->ask;

    if (ask->cpu_ms < 0 || ask->cpu_milli <= 0 || ask->run_ms <= 0 || means->gpu < 0 ||
        means->gpu >= CPU_GPU_MOST)
        return false;
    int64_t used = ask->cpu_ms * 1000 / ask->run_ms * 100 / ask->cpu_milli;
    if (used < CPU_FULL)
        return false;
    snprintf(ret, size, "CPUs %" PRId64 " %%, GPUs %" PRId64 " %%", used, percent(means->gpu));
    return true;
}

static bool is_launch_bound(const struct means *means, char *ret, size_t size)
{
    if (means->gpu < LAUNCH_GPU || means->sm < 0 || means->sm >= LAUNCH_SM)
        return false;
    snprintf(ret, size, "a kernel runs %" PRId64 " %% of the time, on %" PRId64 " %% of the SMs",
             percent(means->gpu), percent(means->sm));
    return true;
}

static bool is_communication_bound(const struct means *means, char *ret, size_t size)
{
    if (means->usage->gpus_count < 2 || means->links < LINKS_BUSY_MIB || means->sm < 0 ||
        means->sm >= LINKS_SM)
        return false;
    snprintf(ret, size, "links %" PRId64 " GiB/s, SMs %" PRId64 " %%", means->links / 1024,
             percent(means->sm));
    return true;
}

static bool is_memory_bound(const struct means *means, char *ret, size_t size)
{
    if (means->dram < DRAM_BUSY || means->tensor < 0 || means->tensor >= DRAM_TENSOR)
        return false;
    snprintf(ret, size, "memory bandwidth %" PRId64 " %%, tensor cores %" PRId64 " %%",
             percent(means->dram), percent(means->tensor));
    return true;
}

static bool has_no_tensor(const struct means *means, char *ret, size_t size)
{
    if (means->sm < TENSOR_SM || means->tensor < 0 || means->tensor >= TENSOR_NONE ||
        means->fp32 < TENSOR_FP32)
        return false;
    snprintf(ret, size, "FP32 %" PRId64 " %%, tensor cores %" PRId64 " %%", percent(means->fp32),
             percent(means->tensor));
    return true;
}

static bool has_straggler(const struct means *means, char *ret, size_t size)
{
    struct straggler found = straggler_find(&(struct straggler_ask){
        .usage = means->usage, .are_alike = !means->ask->is_share && !means->ask->has_roles });

    switch (found.of) {
    case STRAGGLER_OF_CLOCK:
        snprintf(ret, size, "rank %" PRIu32 ": %" PRId64 " MHz, the others %" PRId64,
                 found.gpu->rank, found.its, found.others);
        return true;
    case STRAGGLER_OF_USE: /* one that did nothing at all is unused */
        snprintf(ret, size,
                 "rank %" PRIu32 ": busy %" PRId64 " %% of the time, the others at least %" PRId64
                 " %%",
                 found.gpu->rank, percent(found.its), percent(found.others));
        return found.its >= UNUSED_BELOW;
    case STRAGGLER_OF_NONE:
        break;
    }
    return false;
}

static bool is_memory_full(const struct means *means, char *ret, size_t size)
{
    int64_t all = means->usage->device_mib;

    if (means->ask->is_share || all <= 0 || means->memory_peak * 100 < all * MEMORY_FULL)
        return false;
    snprintf(ret, size, "%" PRId64 " of %" PRId64 " MiB", means->memory_peak, all);
    return true;
}

static bool is_memory_unused(const struct means *means, char *ret, size_t size)
{
    int64_t all = means->usage->device_mib;

    if (means->ask->is_share || all <= 0 || means->memory_peak < 0 ||
        means->memory_peak * 100 >= all * MEMORY_UNUSED || means->gpu >= LAUNCH_GPU)
        return false;
    snprintf(ret, size, "%" PRId64 " of %" PRId64 " MiB at most", means->memory_peak, all);
    return true;
}

static rule_fn *const rules[DIAGNOSES] = {
    [DIAGNOSIS_HANG] = is_hanging,
    [DIAGNOSIS_UNUSED] = has_unused,
    [DIAGNOSIS_IDLE] = is_idle,
    [DIAGNOSIS_INPUT] = is_input_bound,
    [DIAGNOSIS_CPU] = is_cpu_starved,
    [DIAGNOSIS_LAUNCH] = is_launch_bound,
    [DIAGNOSIS_COMMUNICATION] = is_communication_bound,
    [DIAGNOSIS_MEMORY_BOUND] = is_memory_bound,
    [DIAGNOSIS_NO_TENSOR] = has_no_tensor,
    [DIAGNOSIS_STRAGGLER] = has_straggler,
    [DIAGNOSIS_MEMORY_FULL] = is_memory_full,
    [DIAGNOSIS_MEMORY_UNUSED] = is_memory_unused,
};

size_t diagnose(const struct diagnosis_ask *ask, struct diagnosis *ret, size_t room)
{
    const struct usage *usage = ask->usage;
    struct means means = {
        .ask = ask,
        .usage = usage,
        .gpu = usage_mean(usage, USAGE_GPU),
        .sm = usage_mean(usage, USAGE_SM),
        .tensor = usage_mean(usage, USAGE_TENSOR),
        .fp32 = usage_mean(usage, USAGE_FP32),
        .dram = usage_mean(usage, USAGE_DRAM),
        .links = usage_mean(usage, USAGE_LINKS),
        .memory_peak = usage_peak(usage, USAGE_MEMORY),
    };
    size_t count = 0;
    uint32_t gpus = usage->gpus_count > 0 ? usage->gpus_count : 1;

    if (usage->watched_ms / gpus < DIAGNOSIS_LEAST_MS)
        return 0;
    for (enum diagnosis_id id = 0; id < DIAGNOSES && count < room; id++) {
        ret[count] = (struct diagnosis){ .id = id };
        count += rules[id](&means, ret[count].evidence, sizeof(ret[count].evidence));
    }
    return count;
}

#define DIAGNOSIS(ID, name, seen, advice) [DIAGNOSIS_##ID] = { name, seen, advice },
static const struct {
    const char *name, *seen, *advice;
} words[DIAGNOSES] = {
#include "core/health/diagnosis.def"
};
#undef DIAGNOSIS

const char *diagnosis_name(enum diagnosis_id id)
{
    return words[id].name;
}

const char *diagnosis_seen(enum diagnosis_id id)
{
    return words[id].seen;
}

const char *diagnosis_advice(enum diagnosis_id id)
{
    return words[id].advice;
}

/* The lowest clock against the mean of the others. */
static struct straggler find_slow(const struct straggler_ask *ask)
{
    struct straggler found = { .of = STRAGGLER_OF_CLOCK };
    int64_t sum = 0, count = 0;

    for (uint32_t i = 0; i < ask->usage->gpus_count; i++) {
        const struct usage_gpu *gpu = &ask->usage->gpus[i];
        int64_t clock = ask->is_lately ? gpu->clock_lately_mhz : gpu->clock_mhz;
        if (clock <= 0)
            continue;
        sum += clock;
        count++;
        if (found.gpu && clock >= found.its)
            continue;
        found.gpu = gpu;
        found.its = clock;
    }
    if (count < 2)
        return (struct straggler){ .of = STRAGGLER_OF_NONE };
    found.others = (sum - found.its) / (count - 1);
    if (found.its * 100 >= found.others * STRAGGLER_CLOCK)
        return (struct straggler){ .of = STRAGGLER_OF_NONE };
    return found;
}

/* The least used against the next one: when only one works, the others are no stragglers. */
static struct straggler find_idle(const struct straggler_ask *ask)
{
    struct straggler found = { .of = STRAGGLER_OF_USE, .others = INT64_MAX };

    for (uint32_t i = 0; i < ask->usage->gpus_count; i++) {
        const struct usage_gpu *gpu = &ask->usage->gpus[i];
        int64_t use = ask->is_lately ? gpu->use_lately : gpu->use;
        if (use < 0)
            continue;
        if (!found.gpu || use < found.its) {
            found.others = found.gpu ? found.its : INT64_MAX;
            found.gpu = gpu;
            found.its = use;
        } else if (use < found.others)
            found.others = use;
    }
    if (found.others == INT64_MAX || found.others < STRAGGLER_BUSY ||
        found.its * 100 >= found.others * STRAGGLER_USE)
        return (struct straggler){ .of = STRAGGLER_OF_NONE };
    return found;
}

struct straggler straggler_find(const struct straggler_ask *ask)
{
    struct straggler found = find_slow(ask);

    return found.of == STRAGGLER_OF_NONE && ask->are_alike ? find_idle(ask) : found;
}

DEFINE_NAMES(straggler_of_name, enum straggler_of, "", "clock", "use")
