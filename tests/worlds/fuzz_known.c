/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_known.h"

struct finding {
    const struct shadow *shadow;
    const struct shadow_job *job;
    const struct request *request;
    const struct why *why;
};

static bool has_preemptible(const struct shadow *shadow, uint32_t queue)
{
    bool is_any = false;

    for (size_t i = 0; i < shadow->active.count && !is_any; i++) {
        const struct shadow_job *job = shadow_job(shadow, shadow->active.items[i]);
        is_any = job->queue == queue && job->is_preemptible;
    }
    for (const struct shadow_job *job = shadow->first_queued; job && !is_any; job = job->next)
        is_any = job->queue == queue && job->is_preemptible;
    return is_any;
}

static bool is_about_room(enum why_kind kind)
{
    return kind >= WHY_GPUS && kind <= WHY_POOL_MIN && kind != WHY_QUOTA;
}

/* Where jobs may be stopped for others, one that starts may be meant for a place that is still
 * being cleared, or that a gang takes which finds another place than it was meant for, though there
 * is room elsewhere (sched/preemption/preempt_place.c, sched/preemption/preempt.c). */
static bool waits_for_its_own_place(const struct finding *finding)
{
    const struct shadow *shadow = finding->shadow;
    uint32_t queue = finding->job->queue;
    bool is_taken = false;

    for (size_t i = 0; i < shadow->active.count && !is_taken; i++) {
        const struct shadow_job *job = shadow_job(shadow, shadow->active.items[i]);
        is_taken = job->queue == queue &&
                   (job->state == JOB_STOPPING || shadow->requests.items[job->request].members > 1);
    }
    return is_taken && is_about_room(finding->why->kind) && has_preemptible(shadow, queue);
}

static bool asks_by_memory(const struct shadow *shadow, const struct shadow_job *job)
{
    const struct request *request = &shadow->requests.items[job->request];
    bool is_by_memory = false;

    for (uint32_t i = 0; i < request->gpu_alternatives; i++)
        is_by_memory |= request->gpus[i].memory_mib > 0;
    return is_by_memory;
}

/* What of a job is counted wrong there: a share by memory as if a device had 1000 MiB, as a whole
 * one; of alternatives only the first (sched/preemption/contender.c). */
static bool is_miscounted(const struct shadow *shadow, const struct shadow_job *job)
{
    return shadow->requests.items[job->request].gpu_alternatives > 1 || asks_by_memory(shadow, job);
}

static bool is_claimed_wrongly(const struct finding *finding)
{
    const struct shadow *shadow = finding->shadow;
    uint32_t queue = finding->job->queue;
    bool is_any = false;

    for (const struct shadow_job *job = shadow->first_queued; job && !is_any; job = job->next)
        is_any = job->queue == queue && is_miscounted(shadow, job);
    for (size_t i = 0; i < shadow->active.count && !is_any; i++) {
        const struct shadow_job *job = shadow_job(shadow, shadow->active.items[i]);
        is_any = job->queue == queue && is_miscounted(shadow, job);
    }
    return is_any && finding->why->kind == WHY_GPUS && has_preemptible(shadow, queue);
}

/* What a pool is promised is looked at when the place has been chosen; another is not tried. A gang
 * or linked GPUs go where they are close together, also onto devices that are shared, when their
 * own would do; random placement does so as well (sched/placement/domain.c,
 * sched/placement/score.c, sched/placement/place.c). */
static bool is_refused_by_promises(const struct finding *finding)
{
    const struct request *request = finding->request;
    bool is_near = request->members > 1 || finding->shadow->settings.placement == PLACEMENT_RANDOM;

    for (uint32_t i = 0; i < request->gpu_alternatives; i++)
        is_near |= request->gpus[i].count > 1;
    for (size_t i = 0; is_near && i < finding->shadow->pools.count; i++) {
        const struct shadow_pool *pool = &finding->shadow->pools.items[i];
        if (!pool->is_static && !pool->is_removed && (pool->min > 0 || pool->max > 0))
            return true;
    }
    return false;
}

/* Whole devices are promised by their number. So a promise of linked ones is lost when those that
 * are left are not linked (sched/placement/promise.c). */
static bool is_promised_without_links(const struct finding *finding)
{
    bool is_any = false;

    for (size_t i = 0; i < finding->shadow->requests.count; i++) {
        const struct request *request = &finding->shadow->requests.items[i];
        for (uint32_t k = 0; k < request->gpu_alternatives; k++)
            is_any |= request->gpus[k].nvlink;
    }
    return is_any && finding->why->at > 0;
}

/* A promise is made when there will be room; whether there will be quota is not looked at, and
 * others may take it until then (sched/backfill/promise_search.c). */
static bool is_promised_without_quota(const struct finding *finding)
{
    return finding->why->kind == WHY_NONE && finding->why->at > 0 &&
           shadow_has_quotas(finding->shadow);
}

static bool (*const known[])(const struct finding *finding) = {
    waits_for_its_own_place,   is_claimed_wrongly,        is_refused_by_promises,
    is_promised_without_links, is_promised_without_quota,
};

bool fuzz_is_known(const struct fuzz_run *run, const struct shadow_job *job, const struct why *why)
{
    struct finding finding = { .shadow = run->shadow,
                               .job = job,
                               .request = &run->shadow->requests.items[job->request],
                               .why = why };

    for (size_t i = 0; i < COUNT_OF(known) && !run->look->is_strict; i++) {
        if (known[i](&finding))
            return true;
    }
    return false;
}

bool fuzz_is_known_to_be_refused(const struct fuzz_run *run, const struct request *request)
{
    struct finding finding = { .shadow = run->shadow, .request = request };

    return !run->look->is_strict && is_refused_by_promises(&finding);
}
