/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/tally.h"

#include <assert.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/wide.h"

enum {
    IDLE_BELOW = READING_RATIO_ONE / 100,
    BUSY_FROM = READING_RATIO_ONE / 2,
    LATELY_MS = 30000, /* what is older counts for little */
    /* A crash loses a fifth of a short time, and five minutes of a long one. */
    DUE_MS_MIN = 1000,
    DUE_MS_MAX = 300000,
    DUE_PART = 4,
};

/* Sums behind a usage_gpu's means. */
struct tally_gpu {
    int64_t use_sum, clock_sum, clock_ms, idle_ms;
    bool was_low;
};

struct tally_job {
    uint64_t id;
    uint32_t attempt;
    struct usage usage;
    struct usage_gpu gpus[USAGE_GPUS_MAX];
    struct tally_gpu sums[USAGE_GPUS_MAX];
    int64_t reported_ms; /* of usage.watched_ms, a device */
};

static struct tally_job *find(const struct tally *tally, uint64_t id)
{
    uint64_t place;

    return map_get(&tally->by_id, id, &place) ? tally->jobs.items[place - 1] : NULL;
}

static struct tally_job *claim(struct tally *tally, uint64_t id, uint32_t attempt)
{
    struct tally_job *job = find(tally, id);

    if (!job) {
        job = mem_zero(1, sizeof(*job));
        list_add(&tally->jobs, job);
        map_set(&tally->by_id, id, tally->jobs.count);
    } else if (job->attempt == attempt)
        return job;
    *job = (struct tally_job){ .id = id, .attempt = attempt };
    job->usage.sums_count = USAGE_KINDS;
    job->usage.gpus = job->gpus;
    return job;
}

/* UINT32_MAX: it has more than are kept apart. */
static uint32_t claim_gpu(struct tally_job *job, uint32_t device, uint32_t rank)
{
    struct usage *usage = &job->usage;

    for (uint32_t i = 0; i < usage->gpus_count; i++) {
        if (job->gpus[i].device == device && job->gpus[i].rank == rank)
            return i;
    }
    if (usage->gpus_count == USAGE_GPUS_MAX)
        return UINT32_MAX;
    job->gpus[usage->gpus_count] = (struct usage_gpu){ .device = device, .rank = rank };
    return usage->gpus_count++;
}

/* ---- the parts of the holders ---- */

/* The part of the i-th holder; all parts sum up to value. */
static int64_t part_of(int64_t value, const struct tally_ask *ask, uint32_t i)
{
    assert(i < ask->count);

    int64_t sum = 0, before = 0;
    bool is_known = true;

    for (uint32_t k = 0; k < ask->count; k++) {
        is_known &= ask->parts[k].use >= 0;
        sum += ask->parts[k].use > 0 ? ask->parts[k].use : 0;
    }
    if (!is_known || sum == 0)
        return value * (i + 1) / ask->count - value * i / ask->count;
    for (uint32_t k = 0; k < i; k++)
        before += ask->parts[k].use;
    return (int64_t)wide_scale((uint64_t)value, (uint64_t)(before + ask->parts[i].use),
                               (uint64_t)sum) -
           (int64_t)wide_scale((uint64_t)value, (uint64_t)before, (uint64_t)sum);
}

static const struct {
    enum usage_kind kind;
    enum reading_id id;
} ratios[] = {
    { USAGE_GPU, READING_GPU_USE },          { USAGE_SM, READING_SM_ACTIVE },
    { USAGE_TENSOR, READING_TENSOR_ACTIVE }, { USAGE_FP32, READING_FP32_ACTIVE },
    { USAGE_DRAM, READING_DRAM_ACTIVE },     { USAGE_POWER, READING_POWER },
};

static void add_links(struct usage *usage, const struct tally_ask *ask, uint32_t i)
{
    static const enum reading_id ids[] = { READING_NVLINK_TX, READING_NVLINK_RX, READING_PCIE_TX,
                                           READING_PCIE_RX };
    int64_t bytes = 0;
    bool has = false;

    for (size_t k = 0; k < COUNT_OF(ids); k++) {
        if (!reading_has(ask->now, ids[k]))
            continue;
        has = true;
        bytes += ask->now->values[ids[k]];
    }
    if (has)
        usage_add(&usage->sums[USAGE_LINKS], part_of(bytes >> 20, ask, i), ask->ms);
}

/* ---- one device of one job ---- */

/* Towards what is, the further the more time has gone by. */
static int64_t follow(int64_t lately, int64_t now, int64_t ms)
{
    return lately + (now - lately) * (ms < LATELY_MS ? ms : LATELY_MS) / LATELY_MS;
}

static void add_lately(struct usage_gpu *gpu, const struct tally_ask *ask, int64_t use,
                       bool is_first)
{
    bool is_known = !is_first && gpu->use_lately >= 0 && use >= 0;
    bool has_clock = use >= BUSY_FROM && reading_has(ask->now, READING_SM_CLOCK);
    int64_t mhz = has_clock ? ask->now->values[READING_SM_CLOCK] / 1000000 : 0;

    gpu->use_lately = is_known ? follow(gpu->use_lately, use, ask->ms) : use;
    gpu->clock_lately_mhz =
        has_clock && gpu->clock_lately_mhz > 0 ? follow(gpu->clock_lately_mhz, mhz, ask->ms) : mhz;
}

static void add_gpu(struct tally_job *job, const struct tally_ask *ask, uint32_t i, int64_t use)
{
    const struct reading *now = ask->now;
    uint32_t place = claim_gpu(job, ask->device, ask->parts[i].rank);

    if (place == UINT32_MAX)
        return;
    struct usage_gpu *gpu = &job->gpus[place];
    struct tally_gpu *sums = &job->sums[place];
    add_lately(gpu, ask, use, gpu->watched_ms == 0);
    gpu->watched_ms += ask->ms;
    if (ask->parts[i].memory_mib > gpu->memory_mib)
        gpu->memory_mib = ask->parts[i].memory_mib;
    if (use < 0)
        return;
    sums->use_sum += use * ask->ms;
    gpu->use = sums->use_sum / gpu->watched_ms;
    sums->idle_ms = use < IDLE_BELOW ? sums->idle_ms + ask->ms : 0;
    bool is_low = use < USAGE_LOW;
    job->usage.low_ms += is_low ? ask->ms : 0;
    job->usage.swings += sums->was_low && !is_low;
    sums->was_low = is_low;
    if (use < BUSY_FROM || !reading_has(now, READING_SM_CLOCK))
        return;
    sums->clock_sum += now->values[READING_SM_CLOCK] / 1000000 * ask->ms;
    sums->clock_ms += ask->ms;
    gpu->clock_mhz = sums->clock_sum / sums->clock_ms;
}

static int64_t least_idle(const struct tally_job *job)
{
    int64_t idle = INT64_MAX;

    for (uint32_t i = 0; i < job->usage.gpus_count; i++)
        idle = job->sums[i].idle_ms < idle ? job->sums[i].idle_ms : idle;
    return job->usage.gpus_count > 0 ? idle : 0;
}

/* The counter's, unless it is missing, was reset or jumped; then what the power adds up to. */
static int64_t energy_of(const struct tally_ask *ask)
{
    int64_t grown = reading_grown(ask->now, ask->before, READING_ENERGY);

    if (grown > 0 && grown <= READING_POWER_MAX / 1000 * ask->ms)
        return grown;
    return reading_has(ask->now, READING_POWER) ? ask->now->values[READING_POWER] * ask->ms / 1000
                                                : 0;
}

static void add_part(struct tally *tally, const struct tally_ask *ask, uint32_t i)
{
    const struct tally_part *part = &ask->parts[i];
    const struct reading *now = ask->now;
    struct tally_job *job = claim(tally, part->job, part->attempt);
    struct usage *usage = &job->usage;
    int64_t use = -1;

    usage->watched_ms += ask->ms;
    for (size_t k = 0; k < COUNT_OF(ratios); k++) {
        if (!reading_has(now, ratios[k].id))
            continue;
        int64_t value = part_of(now->values[ratios[k].id], ask, i);
        usage_add(&usage->sums[ratios[k].kind], value, ask->ms);
        use = ratios[k].kind == USAGE_GPU ? value : use;
    }
    if (part->memory_mib >= 0)
        usage_add(&usage->sums[USAGE_MEMORY], part->memory_mib, ask->ms);
    add_links(usage, ask, i);
    usage->energy_mj += part_of(energy_of(ask), ask, i);
    if (reading_has(now, READING_MEMORY_TOTAL) &&
        now->values[READING_MEMORY_TOTAL] >> 20 > usage->device_mib)
        usage->device_mib = now->values[READING_MEMORY_TOTAL] >> 20;
    add_gpu(job, ask, i, use);
    usage->idle_ms = least_idle(job);
}

void tally_add(struct tally *tally, const struct tally_ask *ask)
{
    for (uint32_t i = 0; ask->ms > 0 && i < ask->count; i++)
        add_part(tally, ask, i);
}

void tally_restore(struct tally *tally, uint64_t id, uint32_t attempt, const struct usage *usage)
{
    struct tally_job *job = claim(tally, id, attempt);

    job->usage = *usage;
    job->usage.gpus = job->gpus;
    for (uint32_t i = 0; i < usage->gpus_count; i++) {
        struct usage_gpu *gpu = &job->gpus[i];
        *gpu = usage->gpus[i];
        gpu->use_lately = -1;
        job->sums[i] = (struct tally_gpu){ .use_sum = gpu->use * gpu->watched_ms,
                                           .clock_sum = gpu->clock_mhz * gpu->watched_ms,
                                           .clock_ms = gpu->clock_mhz > 0 ? gpu->watched_ms : 0,
                                           .idle_ms = usage->idle_ms };
    }
    tally_is_due(tally, id);
}

bool tally_is_due(struct tally *tally, uint64_t id)
{
    struct tally_job *job = find(tally, id);
    uint32_t devices = job && job->usage.gpus_count > 0 ? job->usage.gpus_count : 1;
    int64_t watched = job ? job->usage.watched_ms / devices : 0;
    int64_t least = job ? job->reported_ms / DUE_PART : 0;

    least = least < DUE_MS_MIN ? DUE_MS_MIN : least > DUE_MS_MAX ? DUE_MS_MAX : least;
    if (!job || watched - job->reported_ms < least)
        return false;
    job->reported_ms = watched;
    return true;
}

const struct usage *tally_look(const struct tally *tally, uint64_t job, uint32_t attempt)
{
    const struct tally_job *found = find(tally, job);

    return found && found->attempt == attempt ? &found->usage : NULL;
}

int64_t tally_idle_ms(const struct tally *tally, uint64_t job)
{
    const struct tally_job *found = find(tally, job);

    return found ? found->usage.idle_ms : 0;
}

void tally_forget(struct tally *tally, uint64_t id)
{
    uint64_t place;

    if (!map_get(&tally->by_id, id, &place))
        return;
    assert(place > 0 && place <= tally->jobs.count);
    struct tally_job *last = tally->jobs.items[--tally->jobs.count];
    map_set(&tally->by_id, last->id, place);
    map_remove(&tally->by_id, id);
    free(tally->jobs.items[place - 1]);
    tally->jobs.items[place - 1] = last;
}

void tally_release(struct tally *tally)
{
    for (size_t i = 0; i < tally->jobs.count; i++)
        free(tally->jobs.items[i]);
    list_release(&tally->jobs);
    map_release(&tally->by_id);
}
