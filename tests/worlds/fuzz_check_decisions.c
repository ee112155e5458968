/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of single decisions: grants, and stops with their reasons. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/job/gang_size.h"
#include "core/job/role.h"
#include "worlds/fuzz_check.h"
#include "worlds/fuzz_leave.h"

/* ---- before it counts ---- */

bool check_granted_when_ready(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow_job *job = shadow_job(run->shadow, event->grant.job);

    if (!job)
        return NOT_HELD(found, "job %" PRIu64 ": granted, but there is none", event->grant.job);
    if (job->state != JOB_QUEUED)
        return NOT_HELD(found, "job %" PRIu64 ": granted, expected queued, found %s", job->id,
                        job_state_name((enum job_state)job->state));
    if (event->grant.attempt != job->attempt + 1)
        return NOT_HELD(found, "job %" PRIu64 ": attempt %u, expected %u", job->id,
                        event->grant.attempt, job->attempt + 1);
    if (job->begin > event->at)
        return NOT_HELD(found, "job %" PRIu64 ": granted %" PRId64 " us before its begin time",
                        job->id, job->begin - event->at);
    return true;
}

/* What the member at that place must be: ranks go from role to role. */
static const struct request *part_of(const struct request *request, uint32_t rank,
                                     uint32_t *ret_role)
{
    *ret_role = 0;
    if (request->roles_count == 0)
        return request;
    while (*ret_role + 1 < request->roles_count &&
           rank >= request->roles[*ret_role].request.members)
        rank -= request->roles[(*ret_role)++].request.members;
    return &request->roles[*ret_role].request;
}

static const struct gpu_ask *ask_of(const struct request *request, const struct lease *lease,
                                    uint32_t rank)
{
    uint32_t role;
    const struct request *part = part_of(request, rank, &role);
    uint32_t alternative =
        role < lease->roles_count ? lease->roles[role].alternative : lease->alternative;

    return alternative < part->gpu_alternatives ? &part->gpus[alternative] : NULL;
}

static bool check_members(const struct shadow_job *job, const struct request *request,
                          const struct lease *lease, struct error *found)
{
    for (uint32_t i = 0, role; i < lease->members_count; i++) {
        const struct request *part = part_of(request, i, &role);
        if (lease->roles_count != request->roles_count || lease->members[i].role != role ||
            lease_cpu_milli(lease, i) != part->cpu_milli ||
            lease_memory_mib(lease, i) != part->memory_mib ||
            (ask_of(request, lease, i) == NULL) != (part->gpu_alternatives == 0))
            return NOT_HELD(found, "job %" PRIu64 ": member %u: other CPUs, memory or role",
                            job->id, i);
    }
    return true;
}

static bool is_linked(const struct shadow *shadow, const struct lease *lease, uint32_t rank)
{
    uint32_t island = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        uint32_t here = shadow->devices.items[lease->slices[i].device].island;
        if (lease->slices[i].rank != rank)
            continue;
        if (here == 0 || (island != 0 && here != island))
            return false;
        island = here;
    }
    return true;
}

/* Instances may share a device with those of the same member. */
static bool has_device_twice(const struct lease *lease, uint32_t slice)
{
    for (uint32_t i = 0; i < slice; i++) {
        if (lease->slices[i].device == lease->slices[slice].device &&
            lease->slices[i].rank == lease->slices[slice].rank)
            return true;
    }
    return false;
}

static bool check_slice(const struct shadow *shadow, const struct gpu_ask *ask, uint64_t job,
                        const struct lease *lease, uint32_t number, struct error *found)
{
    const struct slice *slice = &lease->slices[number];

    if (slice->device >= shadow->devices.count || slice->rank >= lease->members_count)
        return NOT_HELD(found, "job %" PRIu64 ": slice %u of a device that is not there", job,
                        number);
    const struct shadow_device *device = &shadow->devices.items[slice->device];
    if (device->node != lease->members[slice->rank].node)
        return NOT_HELD(found, "job %" PRIu64 ": member %u has device %s of another machine", job,
                        slice->rank, device->uuid);
    if (ask->kind != SHARE_MIG && has_device_twice(lease, number))
        return NOT_HELD(found, "job %" PRIu64 ": member %u has device %s twice", job, slice->rank,
                        device->uuid);
    const char *misfit = shadow_misfit(ask, device, slice);
    if (misfit)
        return NOT_HELD(found, "job %" PRIu64 ": device %s: %s", job, device->uuid, misfit);
    return true;
}

bool check_lease_as_asked(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_job *job = shadow_job(shadow, event->grant.job);
    const struct request *request = &shadow->requests.items[job->request];
    const struct lease *lease = &event->grant.lease;
    int64_t milli = 0;

    if (!check_members(job, request, lease, found))
        return false;
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct gpu_ask *ask = ask_of(request, lease, lease->slices[i].rank);
        if (!ask)
            return NOT_HELD(found, "job %" PRIu64 ": slice %u of a member without", job->id, i);
        if (!check_slice(shadow, ask, job->id, lease, i, found))
            return false;
        milli += lease->slices[i].milli;
    }
    if (lease->milli != milli)
        return NOT_HELD(found, "job %" PRIu64 ": counts as %" PRId64 " milli-GPUs, has %" PRId64,
                        job->id, lease->milli, milli);
    for (uint32_t rank = 0; rank < lease->members_count; rank++) {
        const struct gpu_ask *ask = ask_of(request, lease, rank);
        if (ask && ask->nvlink && ask->count > 1 && !is_linked(shadow, lease, rank))
            return NOT_HELD(found, "job %" PRIu64 ": member %u: GPUs that are not linked", job->id,
                            rank);
    }
    return true;
}

static uint32_t count_machines(const struct lease *lease)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < lease->members_count; i++) {
        bool is_first = true;
        for (uint32_t k = 0; k < i; k++)
            is_first &= lease->members[k].node != lease->members[i].node;
        count += is_first;
    }
    return count;
}

bool check_gang_together(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_job *job = shadow_job(shadow, event->grant.job);
    const struct request *request = &shadow->requests.items[job->request];
    const struct lease *lease = &event->grant.lease;
    uint32_t machines = count_machines(lease);

    if (!request_allows(request, lease->members_count))
        return NOT_HELD(found, "job %" PRIu64 ": %u members, expected %u", job->id,
                        lease->members_count, request->members);
    for (uint32_t rank = 0; rank < lease->members_count; rank++) {
        const struct gpu_ask *ask = ask_of(request, lease, rank);
        uint32_t count = 0, wanted = ask ? ask->count : 0;
        for (uint32_t i = 0; i < lease->slices_count; i++)
            count += lease->slices[i].rank == rank;
        if (count != wanted)
            return NOT_HELD(found, "job %" PRIu64 ": member %u has %u slices, expected %u", job->id,
                            rank, count, wanted);
    }
    if (machines < request->nodes_min)
        return NOT_HELD(found, "job %" PRIu64 ": on %u machines, expected at least %u", job->id,
                        machines, request->nodes_min);
    if (request->nodes_max > 1 && machines > request->nodes_max)
        return NOT_HELD(found, "job %" PRIu64 ": on %u machines, expected at most %u", job->id,
                        machines, request->nodes_max);
    return true;
}

bool check_only_the_well(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct lease *lease = &event->grant.lease;

    for (uint32_t i = 0; i < lease->members_count; i++) {
        const struct shadow_node *node = &shadow->nodes.items[lease->members[i].node];
        if (node->state != NODE_UP)
            return NOT_HELD(found, "job %" PRIu64 ": machine %s is %s, expected up",
                            event->grant.job, node->name,
                            node_state_name((enum node_state)node->state));
    }
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct shadow_device *device = &shadow->devices.items[lease->slices[i].device];
        if (device->is_sick)
            return NOT_HELD(found, "job %" PRIu64 ": device %s is sick", event->grant.job,
                            device->uuid);
    }
    return true;
}

bool check_static_pools(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_job *job = shadow_job(shadow, event->grant.job);
    const char *named = shadow->requests.items[job->request].pool;
    const struct lease *lease = &event->grant.lease;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct slice *slice = &lease->slices[i];
        const struct shadow_device *device = &shadow->devices.items[slice->device];
        const struct shadow_pool *owner = &shadow->pools.items[device->owner];
        int64_t pool = device->owner ? device->owner
                       : named[0]    ? shadow_find_pool(shadow, named)
                                     : 0;
        if (device->owner && !shadow_owns(shadow, job->queue, owner))
            return NOT_HELD(found, "job %" PRIu64 ": device %s is of pool %s of queue %s", job->id,
                            device->uuid, owner->name, owner->queue);
        if (device->owner && named[0] && strcmp(named, owner->name) != 0)
            return NOT_HELD(found, "job %" PRIu64 ": device %s is of pool %s, expected %s", job->id,
                            device->uuid, owner->name, named);
        if (slice->pool != pool)
            return NOT_HELD(found, "job %" PRIu64 ": counts against pool %u, expected %" PRId64,
                            job->id, slice->pool, pool);
        if (!device->owner && (shadow->pools.items[pool].is_static ||
                               !shadow_pool_has(shadow, &shadow->pools.items[pool], device)))
            return NOT_HELD(found, "job %" PRIu64 ": device %s does not belong to pool %s", job->id,
                            device->uuid, named);
    }
    return true;
}

/* ---- stops ---- */

static bool has_fallen(const struct shadow_job *job)
{
    const struct job_end *end = &job->end;

    return job->members_ended > 0 &&
           (end->kind != ENGINE_ENDED || end->exit_code != 0 || end->signal != 0);
}

bool check_stop_has_cause(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow_job *job = shadow_job(run->shadow, event->stop.job);
    bool is_true = false;

    if (!job || (job->state != JOB_GRANTED && job->state != JOB_RUNNING))
        return NOT_HELD(found, "job %" PRIu64 ": stopped, expected granted or running, found %s",
                        event->stop.job, job ? job_state_name((enum job_state)job->state) : "none");
    switch (event->stop.cause) {
    case STOP_CANCEL:
        is_true = job->is_cancel_wanted || (event->stop.rule == STOP_FOR_BUDGET &&
                                            fuzz_is_to_leave(run, job, event->stop.rule));
        break;
    case STOP_REQUEUE:
        is_true = job->is_requeue_wanted;
        break;
    case STOP_MEMBER:
        is_true = has_fallen(job);
        break;
    case STOP_TIMEOUT:
        is_true = shadow_end_of(job) <= event->at;
        break;
    case STOP_PREEMPT:
        is_true = stop_rule_is_of_time(event->stop.rule)
                      ? fuzz_is_to_leave(run, job, event->stop.rule)
                      : job->is_preemptible && (event->stop.rule != STOP_IN_QUEUE ||
                                                run->shadow->settings.order != ORDER_FIFO);
        break;
    case STOP_MOVE:
        is_true = job->is_preemptible && job->state == JOB_RUNNING && !has_fallen(job) &&
                  run->shadow->settings.defrag_most > 0;
        break;
    case STOP_RESCUE: {
        const struct shadow *shadow = run->shadow;
        uint32_t device = event->stop.device;
        uint8_t harm = shadow_harm(shadow, job);
        is_true = device > 0 && device <= shadow->devices.count && harm > HARM_NONE &&
                  shadow->devices.items[device - 1].is_sick && !has_fallen(job) &&
                  shadow_may_leave(shadow, job, harm);
        break;
    }
    default:
        break;
    }
    return is_true || NOT_HELD(found, "job %" PRIu64 ": stopped for cause %u, which is not so",
                               job->id, event->stop.cause);
}

/* What it has to run at least: inside its queue its restart cost, if it was stopped before; for
 * other queues also what the nearest of its queue and those above says. */
static usec_t least_run(const struct shadow *shadow, const struct shadow_job *job, uint8_t rule)
{
    usec_t least = 0;

    if (rule == STOP_IN_QUEUE)
        return job->preemptions + job->moves > 0 ? job->restart_cost : 0;
    for (uint32_t at = job->queue; least == 0; at = shadow->queues.items[at].parent) {
        least = shadow->queues.items[at].min_runtime;
        if (at == QUEUE_ROOT)
            break;
    }
    return least > job->restart_cost ? least : job->restart_cost;
}

bool check_no_ping_pong(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow_job *job = shadow_job(run->shadow, event->stop.job);
    usec_t from = job->state == JOB_RUNNING ? job->started : job->granted;
    usec_t least = least_run(run->shadow, job, event->stop.rule);

    if ((event->stop.cause != STOP_PREEMPT && event->stop.cause != STOP_MOVE) ||
        stop_rule_is_of_time(event->stop.rule) || event->at - from >= least)
        return true;
    return NOT_HELD(found,
                    "job %" PRIu64 ": preempted after %" PRId64 " us, expected at least %" PRId64,
                    job->id, event->at - from, least);
}

/* The branches by which two queues part; false: one is above the other. */
static bool find_branches(const struct shadow *shadow, uint32_t queue, uint32_t other,
                          uint32_t *ret_a, uint32_t *ret_b)
{
    if (shadow_is_below(shadow, queue, other) || shadow_is_below(shadow, other, queue))
        return false;
    while (!shadow_is_below(shadow, other, shadow->queues.items[queue].parent))
        queue = shadow->queues.items[queue].parent;
    while (shadow->queues.items[other].parent != shadow->queues.items[queue].parent)
        other = shadow->queues.items[other].parent;
    *ret_a = queue;
    *ret_b = other;
    return true;
}

/* What was made room for in other queues counts as if it were there. */
static void add_awaited(const struct shadow *shadow, uint32_t branch, struct shadow_amounts *used)
{
    for (const struct shadow_job *job = shadow->first_queued; job; job = job->next) {
        if (!job->is_awaited || !shadow_is_below(shadow, job->queue, branch))
            continue;
        const struct request *request = &shadow->requests.items[job->request];
        int64_t milli = 0;
        for (uint32_t i = 0; i < request->gpu_alternatives; i++)
            milli = shadow_most_milli(request, i) > milli ? shadow_most_milli(request, i) : milli;
        used->of[SHADOW_GPUS] += milli;
        for (uint32_t i = SHADOW_MODELS; i < SHADOW_RESOURCES; i++)
            used->of[i] += milli;
    }
}

/* Does the branch hold more than it is owed of anything, but for what earlier plans stopped? */
static bool is_borrowing(const struct shadow *shadow, uint32_t branch)
{
    struct shadow_queue queue = shadow->queues.items[branch];

    add_awaited(shadow, branch, &queue.used);
    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *job = shadow_job(shadow, shadow->active.items[i]);
        bool is_going =
            job->state == JOB_STOPPING && job->stopped_in > 0 && job->stopped_in < shadow->plans;
        if (!is_going || !shadow_is_below(shadow, job->queue, branch))
            continue;
        struct shadow_amounts held = shadow_amounts_of(shadow, job->lease);
        for (size_t k = 0; k < SHADOW_RESOURCES; k++)
            queue.used.of[k] -= held.of[k];
    }
    for (uint32_t i = 0; i < shadow->resources.count; i++) {
        bool is_gpu = i == SHADOW_GPUS || i >= SHADOW_MODELS;
        if (is_gpu && queue.used.of[i] > queue.quota[i].guarantee + queue.owned.of[i])
            return true;
    }
    return false;
}

static bool check_reclaimed(const struct shadow *shadow, const struct shadow_job *job,
                            const struct shadow_job *other, struct error *found)
{
    uint32_t a, b;

    if (!find_branches(shadow, other->queue, job->queue, &a, &b))
        return NOT_HELD(found,
                        "job %" PRIu64 ": reclaimed for job %" PRIu64 " of queue %u on its way",
                        job->id, other->id, other->queue);
    if (!is_borrowing(shadow, b))
        return NOT_HELD(found,
                        "job %" PRIu64 ": reclaimed for job %" PRIu64
                        ", but queue %s is within its "
                        "guarantee",
                        job->id, other->id, shadow->queues.items[b].name);
    return true;
}

bool check_stopped_for_a_job(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow_job *job = shadow_job(run->shadow, event->stop.job);
    const struct shadow_job *other = shadow_job(run->shadow, event->stop.other);

    if (event->stop.cause != STOP_PREEMPT || stop_rule_is_of_time(event->stop.rule))
        return true;
    if (shadow_is_over(run->shadow, job->queue))
        return true; /* it was lowered: a job has to go */
    if (event->stop.other == 0)
        return NOT_HELD(found, "job %" PRIu64 ": preempted for no job", job->id);
    if (!other || other->state != JOB_QUEUED)
        return NOT_HELD(found, "job %" PRIu64 ": preempted for job %" PRIu64 ", which is %s",
                        job->id, event->stop.other,
                        other ? job_state_name((enum job_state)other->state) : "not there");
    if (event->stop.rule != STOP_IN_QUEUE)
        return check_reclaimed(run->shadow, job, other, found);
    if (other->queue != job->queue || other->priority < job->priority)
        return NOT_HELD(found,
                        "job %" PRIu64 " (queue %u, priority %d): preempted for job %" PRIu64
                        " (queue %u, priority %d)",
                        job->id, job->queue, job->priority, other->id, other->queue,
                        other->priority);
    return true;
}

/* ---- after it counts ---- */

bool check_device_given_once(struct fuzz_run *run, const struct event *event, struct error *found)
{
    for (uint32_t i = 0; i < event->grant.lease.slices_count; i++) {
        const struct shadow_device *device =
            &run->shadow->devices.items[event->grant.lease.slices[i].device];
        if (device->milli_free < 0 || device->memory_free < 0)
            return NOT_HELD(found,
                            "job %" PRIu64 ": device %s gives %" PRId64
                            " of 1000 milli and %" PRId64 " of %" PRId64 " MiB",
                            event->grant.job, device->uuid, GPU_MILLI - device->milli_free,
                            device->memory_mib - device->memory_free, device->memory_mib);
    }
    return true;
}

bool check_instances_apart(struct fuzz_run *run, const struct event *event, struct error *found)
{
    for (uint32_t i = 0; i < event->grant.lease.slices_count; i++) {
        const struct slice *slice = &event->grant.lease.slices[i];
        const struct shadow_device *device = &run->shadow->devices.items[slice->device];
        if (slice->kind != SHARE_MIG || !device->board)
            continue;
        for (unsigned k = 0; k < SHADOW_SLICES; k++) {
            if (device->held[k] > 1)
                return NOT_HELD(found, "job %" PRIu64 ": device %s: memory slice %u is held by %u",
                                event->grant.job, device->uuid, k, device->held[k]);
        }
        if (device->compute > device->board->compute || device->media > 1)
            return NOT_HELD(found,
                            "job %" PRIu64 ": device %s: %u of %u compute slices, media %u times",
                            event->grant.job, device->uuid, device->compute, device->board->compute,
                            device->media);
    }
    return true;
}

bool check_machine_given_once(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct lease *lease = &event->grant.lease;

    for (uint32_t i = 0; i < lease->members_count; i++) {
        const struct shadow_node *node = &run->shadow->nodes.items[lease->members[i].node];
        if ((lease_cpu_milli(lease, i) > 0 && node->cpu_free < 0) ||
            (lease_memory_mib(lease, i) > 0 && node->memory_free < 0))
            return NOT_HELD(found,
                            "job %" PRIu64 ": machine %s has %" PRId64 " milli-CPUs and %" PRId64
                            " MiB left, expected none below 0",
                            event->grant.job, node->name, node->cpu_free, node->memory_free);
    }
    return true;
}

static bool check_bound(const struct shadow_job *job, const struct shadow_queue *queue,
                        uint32_t resource, bool is_firm, struct error *found)
{
    int64_t bound = shadow_bound_of(queue, resource, is_firm);
    int64_t held = shadow_held_of(queue, resource, is_firm);

    if (bound < 0 || held <= bound)
        return true;
    return NOT_HELD(found,
                    "job %" PRIu64 ": queue %s holds %" PRId64
                    " of resource %u%s, expected at most "
                    "%" PRId64,
                    job->id, queue->name, held, resource, is_firm ? " for good" : "", bound);
}

bool check_queue_limit(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_job *job = shadow_job(shadow, event->grant.job);
    struct shadow_amounts taken = shadow_amounts_of(shadow, &event->grant.lease);

    for (uint32_t at = job->queue;; at = shadow->queues.items[at].parent) {
        const struct shadow_queue *queue = &shadow->queues.items[at];
        for (uint32_t i = 0; i < shadow->resources.count; i++) {
            bool is_firm = shadow_is_firm_bound(queue, i, job->is_preemptible);
            if (taken.of[i] > 0 && (!check_bound(job, queue, i, false, found) ||
                                    (is_firm && !check_bound(job, queue, i, true, found))))
                return false;
        }
        if (at == QUEUE_ROOT)
            return true;
    }
}

bool check_user_limit(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_job *job = shadow_job(shadow, event->grant.job);
    struct shadow_amounts taken = shadow_amounts_of(shadow, &event->grant.lease);

    for (uint32_t at = job->queue;; at = shadow->queues.items[at].parent) {
        const struct shadow_queue *queue = &shadow->queues.items[at];
        for (size_t i = 0; i < queue->subjects.count; i++) {
            const struct shadow_subject *subject = &queue->subjects.items[i];
            if (taken.of[subject->resource] == 0 || !shadow_subject_is_for(queue, subject, job))
                continue;
            int64_t held = shadow_subject_holds(shadow, at, subject, job);
            if (held > subject->limit)
                return NOT_HELD(found,
                                "job %" PRIu64 ": %s of group %u holds %" PRId64
                                " of resource %u in queue %s, expected at most %" PRId64,
                                job->id, job->user, job->gid, held, subject->resource, queue->name,
                                subject->limit);
        }
        if (at == QUEUE_ROOT)
            return true;
    }
}

bool check_what_is_not_lent(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_job *job = shadow_job(shadow, event->grant.job);
    struct shadow_amounts taken = shadow_amounts_of(shadow, &event->grant.lease);

    for (uint32_t i = 0; i < shadow->resources.count; i++) {
        int64_t kept = taken.of[i] > 0 ? shadow_kept_from(shadow, job->queue, i) : 0;
        if (kept == 0)
            continue;
        int64_t left = shadow_capacity(shadow, i) - shadow->queues.items[QUEUE_ROOT].used.of[i];
        if (left < kept)
            return NOT_HELD(found,
                            "job %" PRIu64 ": leaves %" PRId64 " of resource %u, expected %" PRId64
                            " that others do not lend",
                            job->id, left, i, kept);
    }
    return true;
}

bool check_pool_max(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct lease *lease = &event->grant.lease;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct shadow_pool *pool = &run->shadow->pools.items[lease->slices[i].pool];
        if (!pool->is_static && pool->max > 0 && pool->held > pool->max)
            return NOT_HELD(found,
                            "job %" PRIu64 ": pool %s holds %" PRId64 ", its max is %" PRId64,
                            event->grant.job, pool->name, pool->held, pool->max);
    }
    return true;
}

static int64_t free_for(const struct shadow *shadow, const struct shadow_pool *pool)
{
    int64_t milli = 0;

    for (size_t i = 0; i < shadow->devices.count; i++) {
        const struct shadow_device *device = &shadow->devices.items[i];
        if (device->owner == 0 && shadow_is_usable(shadow, device) &&
            shadow_pool_has(shadow, pool, device))
            milli += device->milli_free;
    }
    return milli;
}

static bool takes_from(const struct shadow *shadow, const struct lease *lease, uint32_t number)
{
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct shadow_device *device = &shadow->devices.items[lease->slices[i].device];
        if (device->owner == 0 && lease->slices[i].pool != number &&
            shadow_pool_has(shadow, &shadow->pools.items[number], device))
            return true;
    }
    return false;
}

bool check_pool_min(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;

    for (uint32_t i = 0; i < shadow->pools.count; i++) {
        const struct shadow_pool *pool = &shadow->pools.items[i];
        int64_t missing = pool->min - pool->held;
        if (pool->is_static || pool->is_removed || missing <= 0 ||
            !takes_from(shadow, &event->grant.lease, i))
            continue;
        int64_t left = free_for(shadow, pool);
        if (left < missing)
            return NOT_HELD(found,
                            "job %" PRIu64 ": leaves %" PRId64 " for pool %s, expected %" PRId64,
                            event->grant.job, left, pool->name, missing);
    }
    return true;
}

bool check_array_bound(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow_group *bound =
        shadow_bound(run->shadow, shadow_job(run->shadow, event->grant.job));

    if (!bound || bound->active <= bound->max_running)
        return true;
    return NOT_HELD(found,
                    "job %" PRIu64 ": %u of group %" PRIu64 " at a time, expected at most %u",
                    event->grant.job, bound->active, bound->id, bound->max_running);
}
