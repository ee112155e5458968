/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_quota.h"

#include <stdlib.h>
#include <string.h>

#include "core/job/role.h"
#include "worlds/fuzz_shadow.h"

void shadow_quota_init(struct shadow_queue *queue)
{
    for (size_t i = 0; i < SHADOW_RESOURCES; i++)
        queue->quota[i] = queue->base[i] = QUOTA_OPEN;
}

static void drop_subjects(struct shadow_queue *queue)
{
    for (size_t i = 0; i < queue->subjects.count; i++)
        free(queue->subjects.items[i].user);
    queue->subjects.count = 0;
}

void shadow_quota_release(struct shadow_queue *queue)
{
    drop_subjects(queue);
    list_release(&queue->subjects);
    list_release(&queue->during);
    list_release(&queue->budgets);
}

static uint32_t find_resource(const struct shadow *shadow, const char *name)
{
    for (uint32_t i = 0; i < shadow->resources.count; i++) {
        if (strcmp(shadow->resources.items[i], name) == 0)
            return i;
    }
    return SHADOW_RESOURCES;
}

uint32_t shadow_resource(struct shadow *shadow, const char *name)
{
    uint32_t found = find_resource(shadow, name);

    if (found == SHADOW_RESOURCES) {
        found = (uint32_t)shadow->resources.count;
        list_add(&shadow->resources, mem_string(name));
    }
    return found;
}

static void set_during(struct shadow *shadow, struct shadow_queue *queue,
                       const struct event_queue *event)
{
    queue->during.count = 0;
    for (uint32_t i = 0; i < event->during_count; i++) {
        const struct event_during *said = &event->during[i];
        uint32_t resource = shadow_resource(shadow, said->resource);
        list_add(&queue->during,
                 (struct shadow_during){ .window = shadow_times_claim(&shadow->times, said->window),
                                         .resource = resource,
                                         .quota = said->quota });
    }
}

struct quota shadow_quota_at(const struct shadow *shadow, uint32_t queue, uint32_t resource,
                             usec_t at)
{
    const struct shadow_queue *of = &shadow->queues.items[queue];
    struct quota quota = of->base[resource];

    for (size_t i = 0; i < of->during.count; i++) {
        const struct shadow_during *during = &of->during.items[i];
        if (during->resource != resource || !shadow_is_open(&shadow->times, during->window, at))
            continue;
        quota.guarantee =
            during->quota.guarantee != ABSENT ? during->quota.guarantee : quota.guarantee;
        quota.limit = during->quota.limit != ABSENT ? during->quota.limit : quota.limit;
        quota.borrow = during->quota.borrow != ABSENT ? during->quota.borrow : quota.borrow;
        quota.lend = during->quota.lend != ABSENT ? during->quota.lend : quota.lend;
    }
    return quota;
}

void shadow_quota_set(struct shadow *shadow, struct shadow_queue *queue,
                      const struct event_queue *event)
{
    for (size_t i = 0; i < SHADOW_RESOURCES; i++)
        queue->base[i] = QUOTA_OPEN;
    drop_subjects(queue);
    queue->min_runtime = event->min_runtime;
    queue->firm_within = event->firm_within;
    queue->base[SHADOW_GPUS] = event->gpus;
    for (uint32_t i = 0; i < event->quotas_count; i++) {
        const struct event_quota *quota = &event->quotas[i];
        queue->base[shadow_resource(shadow, quota->resource)] = quota->quota;
    }
    set_during(shadow, queue, event);
    shadow_budgets_set(shadow, queue, event);
    for (uint32_t i = 0; i < event->subjects_count; i++) {
        const struct event_subject *subject = &event->subjects[i];
        uint32_t resource = shadow_resource(shadow, subject->resource);
        list_add(&queue->subjects,
                 (struct shadow_subject){ .kind = subject->kind,
                                          .resource = resource,
                                          .user = mem_string(subject->name ? subject->name : ""),
                                          .gid = subject->gid,
                                          .limit = subject->limit });
    }
}

/* ---- what is held ---- */

static void add(struct shadow_amounts *to, const struct shadow_amounts *more, int sign)
{
    for (size_t i = 0; i < SHADOW_RESOURCES; i++)
        to->of[i] += sign * more->of[i];
}

struct shadow_amounts shadow_amounts_of(const struct shadow *shadow, const struct lease *lease)
{
    struct shadow_amounts amounts = { .of = {
                                          [SHADOW_CPUS] = lease_cpus(lease),
                                          [SHADOW_MEMORY] = lease_memory(lease),
                                      } };

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        uint32_t model =
            find_resource(shadow, shadow->devices.items[lease->slices[i].device].model);
        amounts.of[SHADOW_GPUS] += lease->slices[i].milli;
        if (model >= SHADOW_MODELS && model < SHADOW_RESOURCES)
            amounts.of[model] += lease->slices[i].milli;
    }
    return amounts;
}

void shadow_quota_hold(struct shadow *shadow, const struct shadow_job *job, int sign)
{
    struct shadow_amounts amounts = shadow_amounts_of(shadow, job->lease);

    for (uint32_t at = job->queue;; at = shadow->queues.items[at].parent) {
        add(&shadow->queues.items[at].used, &amounts, sign);
        if (!job->is_preemptible)
            add(&shadow->queues.items[at].firm, &amounts, sign);
        if (at == QUEUE_ROOT)
            return;
    }
}

static void count_owned(struct shadow *shadow, const struct shadow_device *device)
{
    int64_t queue = shadow_find_queue(shadow, shadow->pools.items[device->owner].queue);
    uint32_t model = find_resource(shadow, device->model);

    for (; queue > QUEUE_ROOT; queue = shadow->queues.items[queue].parent) {
        shadow->queues.items[queue].owned.of[SHADOW_GPUS] += GPU_MILLI;
        if (model >= SHADOW_MODELS && model < SHADOW_RESOURCES)
            shadow->queues.items[queue].owned.of[model] += GPU_MILLI;
    }
}

void shadow_recount(struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->queues.count; i++) {
        struct shadow_queue *queue = &shadow->queues.items[i];
        queue->owned = queue->used = queue->firm = (struct shadow_amounts){ 0 };
    }
    for (size_t i = 0; i < shadow->devices.count; i++) {
        const struct shadow_device *device = &shadow->devices.items[i];
        if (device->owner != 0 && shadow_is_usable(shadow, device))
            count_owned(shadow, device);
    }
    for (size_t i = 0; i < shadow->active.count; i++)
        shadow_quota_hold(shadow, shadow_job(shadow, shadow->active.items[i]), 1);
}

int64_t shadow_capacity(const struct shadow *shadow, uint32_t resource)
{
    int64_t sum = 0;

    for (size_t i = 0; i < shadow->nodes.count; i++) {
        const struct shadow_node *node = &shadow->nodes.items[i];
        if (node->state != NODE_UP)
            continue;
        sum += resource == SHADOW_CPUS     ? node->cpu_milli
               : resource == SHADOW_MEMORY ? node->memory_mib
                                           : 0;
    }
    for (size_t i = 0; i < shadow->devices.count; i++) {
        const struct shadow_device *device = &shadow->devices.items[i];
        bool is_it = resource == SHADOW_GPUS || (resource >= SHADOW_MODELS &&
                                                 find_resource(shadow, device->model) == resource);
        sum += is_it && shadow_is_usable(shadow, device) ? GPU_MILLI : 0;
    }
    return sum;
}

/* ---- what may be held ---- */

bool shadow_is_firm_bound(const struct shadow_queue *queue, uint32_t resource, bool is_preemptible)
{
    return queue->firm_within && !is_preemptible &&
           (resource == SHADOW_GPUS || queue->quota[resource].guarantee > 0);
}

int64_t shadow_bound_by(const struct quota *quota, int64_t owned)
{
    int64_t borrowing = quota->borrow >= 0 ? quota->guarantee + owned + quota->borrow : -1;

    if (quota->limit < 0 || borrowing < 0)
        return quota->limit < 0 ? borrowing : quota->limit;
    return quota->limit < borrowing ? quota->limit : borrowing;
}

int64_t shadow_bound_of(const struct shadow_queue *queue, uint32_t resource, bool is_firm)
{
    const struct quota *quota = &queue->quota[resource];
    int64_t owned = queue->owned.of[resource];

    return is_firm ? quota->guarantee + owned : shadow_bound_by(quota, owned);
}

int64_t shadow_held_of(const struct shadow_queue *queue, uint32_t resource, bool is_firm)
{
    return is_firm ? queue->firm.of[resource] : queue->used.of[resource];
}

bool shadow_subject_is_for(const struct shadow_queue *queue, const struct shadow_subject *subject,
                           const struct shadow_job *job)
{
    if (subject->kind == SUBJECT_GROUP)
        return subject->gid == job->gid;
    if (subject->kind == SUBJECT_USER)
        return strcmp(subject->user, job->user) == 0;
    for (size_t i = 0; i < queue->subjects.count; i++) {
        const struct shadow_subject *other = &queue->subjects.items[i];
        if (other->kind == SUBJECT_USER && other->resource == subject->resource &&
            strcmp(other->user, job->user) == 0)
            return false; /* a named user has a limit of their own */
    }
    return true;
}

int64_t shadow_subject_holds(const struct shadow *shadow, uint32_t queue,
                             const struct shadow_subject *subject, const struct shadow_job *job)
{
    int64_t sum = 0;

    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *other = shadow_job(shadow, shadow->active.items[i]);
        bool is_counted = subject->kind == SUBJECT_GROUP ? other->gid == job->gid
                                                         : strcmp(other->user, job->user) == 0;
        if (is_counted && shadow_is_below(shadow, other->queue, queue))
            sum += shadow_amounts_of(shadow, other->lease).of[subject->resource];
    }
    return sum;
}

/* One branch: the highest queue in it that says what it lends, or owns something, speaks for all
 * below it. */
static int64_t kept_by(const struct shadow *shadow, uint32_t number, uint32_t resource)
{
    const struct shadow_queue *queue = &shadow->queues.items[number];
    const struct quota *quota = &queue->quota[resource];
    int64_t sum = 0;

    if (queue->is_removed)
        return 0;
    if (quota->lend >= 0 || queue->owned.of[resource] > 0) {
        sum = quota->lend >= 0 ? quota->guarantee - quota->lend : 0;
        sum += queue->owned.of[resource] - queue->used.of[resource];
        return sum > 0 ? sum : 0;
    }
    for (uint32_t i = 1; i < shadow->queues.count; i++) {
        if (shadow->queues.items[i].parent == number)
            sum += kept_by(shadow, i, resource);
    }
    return sum;
}

static bool lends_all(const struct shadow *shadow, uint32_t resource)
{
    for (size_t i = 1; i < shadow->queues.count; i++) {
        const struct shadow_queue *queue = &shadow->queues.items[i];
        if (!queue->is_removed && queue->quota[resource].lend >= 0)
            return false;
    }
    return true;
}

int64_t shadow_kept_from(const struct shadow *shadow, uint32_t queue, uint32_t resource)
{
    int64_t sum = 0;

    if (lends_all(shadow, resource))
        return 0; /* static pools keep their own devices */
    for (uint32_t i = 1; i < shadow->queues.count; i++) {
        if (shadow_is_below(shadow, queue, shadow->queues.items[i].parent) &&
            !shadow_is_below(shadow, queue, i))
            sum += kept_by(shadow, i, resource);
    }
    return sum;
}

static bool is_bound(const struct shadow_queue *queue)
{
    bool is = queue->firm_within || queue->subjects.count > 0;

    for (size_t i = 0; i < SHADOW_RESOURCES && !is; i++) {
        const struct quota *quota = &queue->quota[i];
        is = quota->limit >= 0 || quota->borrow >= 0 || quota->lend >= 0;
    }
    return is;
}

bool shadow_has_quotas(const struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->queues.count; i++) {
        if (!shadow->queues.items[i].is_removed && is_bound(&shadow->queues.items[i]))
            return true;
    }
    return false;
}

bool shadow_is_over(const struct shadow *shadow, uint32_t queue)
{
    for (;; queue = shadow->queues.items[queue].parent) {
        const struct shadow_queue *at = &shadow->queues.items[queue];
        int64_t bound = shadow_bound_of(at, SHADOW_GPUS, false);
        if (bound >= 0 && at->used.of[SHADOW_GPUS] > bound)
            return true;
        if (queue == QUEUE_ROOT)
            return false;
    }
}

struct shadow_amounts shadow_most_of(const struct shadow *shadow, const struct request *request,
                                     uint32_t alternative)
{
    struct shadow_amounts amounts = { .of = {
                                          [SHADOW_CPUS] = request_cpus(request),
                                          [SHADOW_MEMORY] = request_memory(request),
                                      } };

    amounts.of[SHADOW_GPUS] = shadow_most_milli(request, alternative);
    for (uint32_t i = SHADOW_MODELS; i < shadow->resources.count; i++)
        amounts.of[i] = amounts.of[SHADOW_GPUS];
    return amounts;
}

static bool queue_is_wide(const struct shadow_queue *queue, const struct shadow_amounts *amounts)
{
    for (uint32_t i = 0; i < SHADOW_RESOURCES; i++) {
        for (int firm = 0; firm < (shadow_is_firm_bound(queue, i, false) ? 2 : 1); firm++) {
            int64_t bound = shadow_bound_of(queue, i, firm);
            if (amounts->of[i] > 0 && bound >= 0 &&
                shadow_held_of(queue, i, firm) + amounts->of[i] > bound)
                return false;
        }
    }
    return queue->subjects.count == 0;
}

bool shadow_quota_is_wide(const struct shadow *shadow, uint32_t queue,
                          const struct shadow_amounts *amounts)
{
    const struct shadow_queue *root = &shadow->queues.items[QUEUE_ROOT];

    for (uint32_t i = 0; i < shadow->resources.count; i++) {
        /* When others have taken all that was kept, a job that was offered before them waits on. */
        bool is_kept = amounts->of[i] > 0 && !lends_all(shadow, i);
        int64_t kept = is_kept ? shadow_kept_from(shadow, queue, i) : 0;
        if (is_kept && shadow_capacity(shadow, i) - root->used.of[i] - kept < amounts->of[i])
            return false;
    }
    for (;; queue = shadow->queues.items[queue].parent) {
        if (!queue_is_wide(&shadow->queues.items[queue], amounts))
            return false;
        if (queue == QUEUE_ROOT)
            return true;
    }
}
