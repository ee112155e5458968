/* SPDX-License-Identifier: Apache-2.0 */
/* The shadow's jobs: from their submission to their end, as doc/spec/02-job.md has it. */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/own_speed.h"
#include "core/job/role.h"
#include "worlds/fuzz_shadow.h"

void shadow_release_job(struct shadow_job *job)
{
    if (!job)
        return;
    lease_destroy(job->lease);
    free(job->member_states);
    free(job->ranks);
    list_release(&job->needs);
    free(job->user);
    free(job);
}

/* ---- standing ---- */

static void remove_id(uint64_t *ids, size_t *count, uint64_t id)
{
    for (size_t i = 0; i < *count; i++) {
        if (ids[i] == id) {
            ids[i] = ids[--*count];
            return;
        }
    }
}

static void link_queued(struct shadow *shadow, struct shadow_job *job)
{
    struct shadow_job *before = shadow->last_queued;

    while (before && before->id > job->id)
        before = before->previous;
    job->previous = before;
    job->next = before ? before->next : shadow->first_queued;
    *(before ? &before->next : &shadow->first_queued) = job;
    *(job->next ? &job->next->previous : &shadow->last_queued) = job;
}

static void unlink_queued(struct shadow *shadow, struct shadow_job *job)
{
    *(job->previous ? &job->previous->next : &shadow->first_queued) = job->next;
    *(job->next ? &job->next->previous : &shadow->last_queued) = job->previous;
    job->next = job->previous = NULL;
}

static void become(struct shadow *shadow, struct shadow_job *job, enum job_state to)
{
    if (job->state == to)
        return;
    if (job->state == JOB_QUEUED)
        unlink_queued(shadow, job);
    if (job->state == JOB_WAITING)
        remove_id(shadow->waiting.items, &shadow->waiting.count, job->id);
    shadow->job_counts[job->state]--;
    shadow->job_counts[to]++;
    job->state = (uint8_t)to;
    if (to == JOB_QUEUED) {
        job->queued = shadow->now;
        job->promised = 0;
        link_queued(shadow, job);
        shadow->more_room++; /* a new job to look at */
    }
    if (to == JOB_WAITING)
        list_add(&shadow->waiting, job->id);
}

static void settle(struct shadow *shadow, struct shadow_job *job)
{
    bool waits = job->needs_left > 0 || job->needs_expected > 0 || job->begin > shadow->now;

    shadow_claim_payers(shadow, job);
    become(shadow, job, job->is_held ? JOB_HELD : waits ? JOB_WAITING : JOB_QUEUED);
}

/* ---- needs ---- */

static enum need_answer answer(bool is_over, bool is_bad, bool has_started, uint8_t kind)
{
    if (kind == NEED_STARTED)
        return has_started || is_over ? NEED_MET : NEED_OPEN;
    if (!is_over)
        return NEED_OPEN;
    if (kind == NEED_ENDED)
        return NEED_MET;
    return (kind == NEED_FAILED) == is_bad ? NEED_MET : NEED_BROKEN;
}

static enum need_answer ask(const struct shadow *shadow, uint64_t on, uint8_t kind)
{
    const struct shadow_job *job = shadow_job(shadow, on);
    const struct shadow_group *group = shadow_group(shadow, on);

    if (job)
        return answer(job->state == JOB_ENDED, job->result != RESULT_OK,
                      job->state == JOB_RUNNING || job->started > 0, kind);
    if (group)
        return answer(group->ended >= group->jobs, group->bad > 0, group->started >= group->jobs,
                      kind);
    return NEED_BROKEN;
}

typedef LIST(uint64_t) id_list;

/* A job that is cancelled because of it is put on the list. */
static void decide_job(struct shadow *shadow, struct shadow_job *job, uint64_t on, id_list *broken)
{
    for (size_t i = 0; i < job->needs.count;) {
        enum need_answer what =
            job->needs.items[i].on == on ? ask(shadow, on, job->needs.items[i].kind) : NEED_OPEN;
        if (what == NEED_OPEN) {
            i++;
            continue;
        }
        job->needs.items[i] = job->needs.items[--job->needs.count];
        if (what == NEED_BROKEN && job->state != JOB_ENDED) {
            list_add(broken, job->id);
            continue;
        }
        job->needs_left--;
        if (job->state != JOB_ENDED && !shadow_is_active(job))
            settle(shadow, job);
    }
}

static void decide(struct shadow *shadow, uint64_t on, id_list *broken)
{
    for (size_t i = 0; i < shadow->needers.count;) {
        struct shadow_job *job = shadow_job(shadow, shadow->needers.items[i]);
        if (job)
            decide_job(shadow, job, on, broken);
        if (!job || job->needs.count == 0)
            shadow->needers.items[i] = shadow->needers.items[--shadow->needers.count];
        else
            i++;
    }
}

static void decide_around(struct shadow *shadow, const struct shadow_job *job, id_list *broken)
{
    decide(shadow, job->id, broken);
    for (const struct shadow_group *group = shadow_group(shadow, job->group); group;
         group = shadow_group(shadow, group->parent))
        decide(shadow, group->id, broken);
}

static void count_end(struct shadow *shadow, const struct shadow_job *job, int sign)
{
    for (struct shadow_group *group = shadow_group(shadow, job->group); group;
         group = shadow_group(shadow, group->parent)) {
        group->ended += (uint32_t)sign;
        group->bad += job->result != RESULT_OK ? (uint32_t)sign : 0;
    }
}

static void end_job(struct shadow *shadow, struct shadow_job *job, enum job_result result)
{
    id_list ends = { 0 };

    become(shadow, job, JOB_ENDED);
    job->result = (uint8_t)result;
    shadow->work -= job->work;
    count_end(shadow, job, 1);
    decide_around(shadow, job, &ends);
    for (size_t i = 0; i < ends.count; i++) {
        struct shadow_job *next = shadow_job(shadow, ends.items[i]);
        next->needs_left--;
        if (next->state == JOB_ENDED || shadow_is_active(next))
            continue;
        become(shadow, next, JOB_ENDED);
        next->result = RESULT_CANCELLED;
        count_end(shadow, next, 1);
        decide_around(shadow, next, &ends);
    }
    list_release(&ends);
}

/* ---- what people say ---- */

static bool are_same_requests(const struct request *a, const struct request *b)
{
    return memcmp(a, b, offsetof(struct request, roles)) == 0 &&
           (a->roles_count == 0 ||
            memcmp(a->roles, b->roles, a->roles_count * sizeof(struct role)) == 0) &&
           a->where_count == b->where_count &&
           (a->where_count == 0 ||
            memcmp(a->where, b->where, a->where_count * sizeof(struct where_term)) == 0) &&
           a->speeds_count == b->speeds_count &&
           (a->speeds_count == 0 ||
            memcmp(a->speeds, b->speeds, a->speeds_count * sizeof(struct own_speed)) == 0);
}

static uint32_t claim_request(struct shadow *shadow, const struct request *request)
{
    struct request shape = *request;
    size_t roles_size = request->roles_count * sizeof(struct role);
    size_t where_size = request->where_count * sizeof(struct where_term);
    size_t speeds_size = request->speeds_count * sizeof(struct own_speed);
    uint64_t found = 0;

    shape.max_duration = USEC_NEVER;
    uint64_t hash = map_hash(&shape, offsetof(struct request, roles));
    if (roles_size > 0)
        hash ^= map_hash(shape.roles, roles_size) << 1;
    if (where_size > 0)
        hash ^= map_hash(shape.where, where_size) << 2;
    if (speeds_size > 0)
        hash ^= map_hash(shape.speeds, speeds_size) << 3;
    if (map_get(&shadow->request_numbers, hash, &found) &&
        are_same_requests(&shadow->requests.items[found - 1], &shape))
        return (uint32_t)found - 1;
    if (roles_size > 0)
        shape.roles = memcpy(arena_take(&shadow->roles, shape.roles_count, sizeof(struct role)),
                             request->roles, roles_size);
    if (where_size > 0)
        shape.where =
            memcpy(arena_take(&shadow->roles, shape.where_count, sizeof(struct where_term)),
                   request->where, where_size);
    if (speeds_size > 0)
        shape.speeds =
            memcpy(arena_take(&shadow->roles, shape.speeds_count, sizeof(struct own_speed)),
                   request->speeds, speeds_size);
    list_add(&shadow->requests, shape);
    map_set(&shadow->request_numbers, hash, shadow->requests.count);
    return (uint32_t)shadow->requests.count - 1;
}

static void set_queue(struct shadow *shadow, struct shadow_job *job, const char *queue)
{
    uint64_t found = shadow->kind_numbers.count;

    job->queue = (uint32_t)shadow_find_queue(shadow, queue);
    uint64_t key = (uint64_t)job->request << 32 | job->queue;
    if (!map_get(&shadow->kind_numbers, key, &found))
        map_set(&shadow->kind_numbers, key, found);
    job->kind = (uint32_t)found;
}

static void apply_group(struct shadow *shadow, const struct event_group *event)
{
    struct shadow_group *group = mem_zero(1, sizeof(*group));

    *group = (struct shadow_group){ .id = event->id,
                                    .last = event->last,
                                    .parent = event->parent,
                                    .max_running = event->max_running,
                                    .jobs = event->job_count };
    while (shadow->groups.count <= event->id)
        list_add(&shadow->groups, NULL);
    shadow->groups.items[event->id] = group;
    shadow->next_id = event->id + 1;
}

/* The largest of its shares of the cluster, for as long as it may run. Only asked for in worlds
 * where machines stay as they are and no job runs without a limit. */
static int64_t work_of(const struct shadow *shadow, const struct request *request)
{
    int64_t milli = request_milli(request, 0, 0), gpus = 0, cpu = 0, memory = 0, share = 0;

    for (size_t i = 0; i < shadow->devices.count; i++)
        gpus += shadow_is_usable(shadow, &shadow->devices.items[i]) ? GPU_MILLI : 0;
    for (size_t i = 0; i < shadow->nodes.count; i++) {
        cpu += shadow->nodes.items[i].cpu_milli;
        memory += shadow->nodes.items[i].memory_mib;
    }
    int64_t parts[][2] = { { milli, gpus },
                           { request_cpus(request), cpu },
                           { request_memory(request), memory } };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        int64_t part = parts[i][1] > 0 ? parts[i][0] * 1000000 / parts[i][1] : 0;
        share = part > share ? part : share;
    }
    return share * (request->max_duration / USEC_PER_SEC % USEC_PER_DAY);
}

static void apply_submit(struct shadow *shadow, const struct event_submit *event)
{
    struct shadow_job *job = mem_zero(1, sizeof(*job));

    *job = (struct shadow_job){
        .id = event->id,
        .group = event->group,
        .request = claim_request(shadow, &event->request),
        .priority = event->priority,
        .user = mem_string(event->user ? event->user : ""),
        .gid = event->gid,
        .begin = event->begin,
        .max_duration = event->request.max_duration,
        .estimate = event->estimate,
        .deadline = event->deadline,
        .restart_cost = event->restart_cost,
        .grace = event->grace,
        .checkpoint_every = event->checkpoint_every,
        .tariff_most = event->tariff_most,
        .submitted = shadow->now,
        .retry_max = event->retry,
        .needs_expected = event->need_count,
        .is_held = event->held,
        .is_preemptible = event->preemptible,
        .no_requeue = event->no_requeue,
        .goes_on = event->goes_on,
        .state = JOB_ENDED,
    };
    while (shadow->jobs.count <= event->id)
        list_add(&shadow->jobs, NULL);
    set_queue(shadow, job, event->queue);
    shadow->jobs.items[event->id] = job;
    shadow->next_id = event->id + 1;
    shadow->job_counts[JOB_ENDED]++;
    job->work = work_of(shadow, &event->request);
    shadow->work += job->work;
    shadow->work_most = shadow->work > shadow->work_most ? shadow->work : shadow->work_most;
    settle(shadow, job);
}

static void apply_need(struct shadow *shadow, struct shadow_job *job,
                       const struct event_need *event)
{
    job->needs_expected--;
    if (job->state == JOB_ENDED)
        return;
    switch (ask(shadow, event->on, event->kind)) {
    case NEED_OPEN:
        if (job->needs.count == 0)
            list_add(&shadow->needers, job->id);
        list_add(&job->needs, (struct shadow_need){ event->on, event->kind });
        job->needs_left++;
        break;
    case NEED_BROKEN:
        end_job(shadow, job, RESULT_CANCELLED);
        return;
    case NEED_MET:
        break;
    }
    settle(shadow, job);
}

static void apply_cancel(struct shadow *shadow, struct shadow_job *job)
{
    if (job->state == JOB_ENDED)
        return;
    job->is_cancel_wanted = true;
    job->is_requeue_wanted = false;
    if (job->stop_cause == STOP_REQUEUE)
        job->stop_cause = STOP_CANCEL;
    if (!shadow_is_active(job))
        end_job(shadow, job, RESULT_CANCELLED);
}

static void clear_end(struct shadow_job *job)
{
    job->end = (struct job_end){ 0 };
    job->stop_cause = STOP_NONE;
    job->is_cancel_wanted = job->is_requeue_wanted = false;
    job->stopped_for = job->stopped_in = 0;
}

static void apply_requeue(struct shadow *shadow, struct shadow_job *job)
{
    if (shadow_is_active(job)) {
        job->is_requeue_wanted = !job->is_cancel_wanted;
        return;
    }
    if (job->state != JOB_ENDED)
        return;
    count_end(shadow, job, -1);
    clear_end(job);
    job->result = RESULT_NONE;
    job->retries = 0;
    job->is_held = false;
    settle(shadow, job);
}

static void apply_update(struct shadow *shadow, struct shadow_job *job,
                         const struct event_update *event)
{
    bool is_active = shadow_is_active(job);

    if (event->queue[0] && !is_active)
        set_queue(shadow, job, event->queue);
    if (event->has_priority)
        job->priority = event->priority;
    if (event->max_duration > 0)
        job->max_duration = event->max_duration;
    if (event->has_begin && !is_active)
        job->begin = event->begin;
    job->promised = 0;
    job->awaited_under = 0;
    shadow->more_room++;
    if (!is_active && job->state != JOB_ENDED)
        settle(shadow, job);
}

/* ---- decisions ---- */

static void apply_grant(struct shadow *shadow, struct shadow_job *job,
                        const struct event_grant *event)
{
    clear_end(job);
    job->lease = lease_copy(&event->lease);
    job->member_states = mem_zero(event->lease.members_count, 1);
    job->ranks = mem_resize(job->ranks, event->lease.members_count, sizeof(uint32_t));
    for (uint32_t i = 0; i < event->lease.members_count; i++)
        job->ranks[i] = i;
    job->members_started = job->members_ended = 0;
    job->attempt = event->attempt;
    job->granted = shadow->now;
    job->granted_for = job->max_duration;
    job->moved_under = job->awaited_under = 0;
    job->rate = shadow_rate_of(shadow, job->lease);
    job->is_awaited = false;
    list_add(&shadow->active, job->id);
    become(shadow, job, JOB_GRANTED);
    shadow_hold(shadow, job, 1);
}

static void note_move(struct shadow *shadow, struct shadow_job *job, const struct event_stop *event)
{
    struct shadow_job *other = shadow_job(shadow, event->other);

    if (shadow->moved.from == 0 || shadow->now >= shadow->moved.from + USEC_PER_HOUR)
        shadow->moved = (struct moves){ .from = shadow->now };
    shadow->moved.lost += event->lost / GPU_MILLI * job->lease->milli;
    job->moved = shadow->now;
    job->moved_under = shadow->changes;
    other->awaited_under = shadow->changes;
}

static void apply_stop(struct shadow *shadow, struct shadow_job *job,
                       const struct event_stop *event)
{
    job->stop_cause = event->cause;
    struct shadow_job *other = shadow_job(shadow, event->other);
    bool is_of_others = event->cause == STOP_PREEMPT && event->rule != STOP_IN_QUEUE &&
                        !stop_rule_is_of_time(event->rule);

    if (other && is_of_others)
        other->is_awaited = true;
    if (event->cause == STOP_RESCUE)
        job->rescued_harm = shadow->devices.items[event->device - 1].harm;
    job->stopped_for = event->other;
    job->stopped_in =
        event->rule != STOP_IN_QUEUE && event->cause == STOP_PREEMPT ? shadow->plans : 0;
    if (event->cause == STOP_MOVE)
        note_move(shadow, job, event);
    become(shadow, job, JOB_STOPPING);
}

/* ---- what the engine says ---- */

/* Those that are left stand in the order of their ranks. */
static bool find_member(const struct shadow_job *job, uint32_t attempt, uint32_t rank,
                        uint32_t *ret_place)
{
    if (!shadow_is_active(job) || job->attempt != attempt)
        return false;
    for (uint32_t i = 0; i < job->lease->members_count; i++) {
        *ret_place = i;
        if (job->ranks[i] == rank)
            return true;
    }
    return false;
}

static void apply_started(struct shadow *shadow, struct shadow_job *job,
                          const struct event_started *event)
{
    uint32_t place;

    if (!find_member(job, event->attempt, event->rank, &place) ||
        job->member_states[place] != MEMBER_GRANTED)
        return;
    job->member_states[place] = MEMBER_STARTED;
    if (++job->members_started < job->lease->members_count)
        return;
    bool is_first = job->started == 0;
    job->started = shadow->now;
    if (job->state == JOB_GRANTED)
        become(shadow, job, JOB_RUNNING);
    if (!is_first)
        return;
    id_list broken = { 0 };
    for (struct shadow_group *group = shadow_group(shadow, job->group); group;
         group = shadow_group(shadow, group->parent))
        group->started++;
    decide_around(shadow, job, &broken);
    list_release(&broken);
}

static void exchange(struct shadow *shadow, struct shadow_job *job, uint32_t from, uint32_t to)
{
    struct lease *lease = job->lease;

    shadow_hold(shadow, job, -1);
    job->lease = lease_copy(lease);
    lease_destroy(lease);
    for (uint32_t i = 0; i < job->lease->slices_count; i++) {
        struct slice *slice = (struct slice *)(uintptr_t)&job->lease->slices[i];
        slice->device = slice->device == from ? to : slice->device == to ? from : slice->device;
    }
    shadow_hold(shadow, job, 1);
}

static const struct slice *held_on(const struct shadow_job *job, uint32_t device)
{
    for (uint32_t i = 0; i < job->lease->slices_count; i++) {
        if (job->lease->slices[i].device == device)
            return &job->lease->slices[i];
    }
    return NULL;
}

/* Does it, and takes it back if a device would be overcommitted, or an instance would move. */
static bool try_exchange(struct shadow *shadow, const id_list *jobs, uint32_t from, uint32_t to)
{
    const struct shadow_device *devices = shadow->devices.items;
    bool has_instance = false;

    for (size_t i = 0; i < jobs->count; i++) {
        struct shadow_job *job = shadow_job(shadow, jobs->items[i]);
        for (uint32_t k = 0; k < job->lease->slices_count; k++) {
            const struct slice *slice = &job->lease->slices[k];
            has_instance |=
                slice->kind == SHARE_MIG && (slice->device == from || slice->device == to);
        }
    }
    if (has_instance)
        return false;
    for (size_t i = 0; i < jobs->count; i++)
        exchange(shadow, shadow_job(shadow, jobs->items[i]), from, to);
    if (devices[from].milli_free >= 0 && devices[from].memory_free >= 0 &&
        devices[to].milli_free >= 0 && devices[to].memory_free >= 0) {
        shadow->changes++; /* a share may now be where room was made */
        return true;
    }
    for (size_t i = 0; i < jobs->count; i++)
        exchange(shadow, shadow_job(shadow, jobs->items[i]), from, to);
    return false;
}

/* The first device that the member has and not leased, for the first that it leased and has not.
 * (The engine of the fuzzer reports one device.) */
static void apply_assigned(struct shadow *shadow, struct shadow_job *job,
                           const struct event_assigned *event)
{
    const struct shadow_device *devices = shadow->devices.items;
    uint32_t place;

    if (!find_member(job, event->attempt, event->rank, &place))
        return;
    uint32_t to = event->devices[0].device;
    const struct slice *slice = held_on(job, to);
    if (slice && slice->rank == place)
        return;
    slice = NULL;
    for (uint32_t i = 0; i < job->lease->slices_count && !slice; i++) {
        if (job->lease->slices[i].rank == place)
            slice = &job->lease->slices[i];
    }
    if (!slice || devices[slice->device].node != devices[to].node ||
        devices[slice->device].memory_mib != devices[to].memory_mib ||
        strcmp(devices[slice->device].model, devices[to].model) != 0)
        return;
    uint32_t from = slice->device;
    id_list movers = { 0 };
    list_add(&movers, job->id);
    if (!try_exchange(shadow, &movers, from, to)) {
        for (size_t i = 0; i < shadow->active.count; i++) {
            uint64_t id = shadow->active.items[i];
            if (id != job->id && held_on(shadow_job(shadow, id), to))
                list_add(&movers, id);
        }
        try_exchange(shadow, &movers, from, to);
    }
    list_release(&movers);
}

static bool is_good(const struct job_end *end)
{
    return end->kind == ENGINE_ENDED && end->exit_code == 0 && end->signal == 0;
}

/* The first member that did not end well speaks for the job; but one that fell by itself before one
 * that was only stopped. */
static void note_end(struct shadow_job *job, const struct event_ended *event)
{
    struct job_end *end = &job->end;
    struct job_end now = { .kind = event->kind,
                           .exit_code = event->exit_code,
                           .signal = event->signal,
                           .was_stopped = event->was_stopped };
    bool is_open = end->kind == 0 || is_good(end) ||
                   (end->was_stopped && !event->was_stopped && !is_good(&now));

    now.was_oom = end->was_oom || event->was_oom;
    if (is_open)
        *end = now;
    else
        end->was_oom = now.was_oom;
}

static enum job_result result_of(const struct shadow_job *job)
{
    const struct job_end *end = &job->end;
    bool is_by_itself = !end->was_stopped && is_good(end);

    if (job->stop_cause == STOP_CANCEL && !is_by_itself)
        return RESULT_CANCELLED;
    if (job->is_cancel_wanted && (end->was_stopped || end->kind == ENGINE_LOST))
        return RESULT_CANCELLED;
    if (job->stop_cause == STOP_TIMEOUT && !is_by_itself)
        return RESULT_TIMEOUT;
    if (is_good(end))
        return RESULT_OK;
    if (end->was_oom)
        return RESULT_OUT_OF_MEMORY;
    return end->kind == ENGINE_LOST ? RESULT_LOST : RESULT_FAILED;
}

static bool is_tried_again(const struct shadow_job *job, enum job_result result)
{
    bool is_failure =
        result == RESULT_FAILED || result == RESULT_OUT_OF_MEMORY || result == RESULT_LOST;

    return is_failure && !(result == RESULT_LOST && job->no_requeue) &&
           job->end.kind != ENGINE_FAILED && job->retries < job->retry_max &&
           !job->is_cancel_wanted;
}

/* Granted, and none of its members has been heard of. */
static bool has_not_begun(const struct shadow_job *job)
{
    return job->state == JOB_GRANTED && job->members_started == 0 && job->members_ended == 0;
}

uint8_t shadow_harm(const struct shadow *shadow, const struct shadow_job *job)
{
    uint8_t worst = HARM_NONE;

    for (uint32_t i = 0; job->lease && i < job->lease->slices_count; i++) {
        const struct shadow_device *device = &shadow->devices.items[job->lease->slices[i].device];
        uint8_t harm = device->harm;
        if (device->is_sick && harm == HARM_NONE && has_not_begun(job))
            harm = HARM_LEAVE;
        worst = harm > worst ? harm : worst;
    }
    return worst;
}

bool shadow_may_leave(const struct shadow *shadow, const struct shadow_job *job, uint8_t harm)
{
    if (harm == HARM_NONE || job->is_cancel_wanted)
        return false;
    if (has_not_begun(job))
        return true;
    if (job->rescues >= RESCUES_MOST || shadow->settings.watch.sick_jobs == SICK_STAY)
        return false;
    if (job->is_preemptible || job->checkpoint_every > 0)
        return true;
    if (harm != HARM_DIE || job->no_requeue)
        return false;
    return shadow->settings.watch.sick_jobs == SICK_ALL || job->retries < job->retry_max;
}

/* It was stopped to leave a sick device, or fell with a dead one. */
static bool is_to_leave(const struct shadow *shadow, const struct shadow_job *job,
                        enum job_result result, uint8_t harm)
{
    if (job->is_cancel_wanted)
        return false;
    if (job->stop_cause == STOP_RESCUE)
        return job->end.was_stopped || !is_good(&job->end);
    return harm == HARM_DIE && (result == RESULT_FAILED || result == RESULT_LOST) &&
           job->end.kind != ENGINE_FAILED && shadow_may_leave(shadow, job, harm);
}

static void end_attempt(struct shadow *shadow, struct shadow_job *job)
{
    enum job_result result = result_of(job);
    uint8_t harm = shadow_harm(shadow, job);

    shadow_hold(shadow, job, -1);
    shadow->more_room++;
    remove_id(shadow->active.items, &shadow->active.count, job->id);
    lease_destroy(TAKE(job->lease));
    free(TAKE(job->member_states));
    if (job->is_requeue_wanted) {
        job->is_requeue_wanted = false;
        job->stop_cause = STOP_NONE;
        settle(shadow, job);
    } else if (job->stop_cause == STOP_PREEMPT && !job->is_cancel_wanted &&
               (job->end.was_stopped || job->end.kind == ENGINE_LOST)) {
        job->preemptions++;
        job->stop_cause = STOP_NONE;
        settle(shadow, job);
    } else if (job->stop_cause == STOP_MOVE && !job->is_cancel_wanted &&
               (job->end.was_stopped || job->end.kind == ENGINE_LOST)) {
        job->moves++;
        job->stop_cause = STOP_NONE;
        settle(shadow, job);
    } else if (is_to_leave(shadow, job, result, harm)) {
        job->rescues += job->members_started > 0;
        job->stop_cause = STOP_NONE;
        settle(shadow, job);
        job->is_awaited = job->state == JOB_QUEUED;
    } else if (is_tried_again(job, result)) {
        job->retries++;
        settle(shadow, job);
    } else
        end_job(shadow, job, result);
}

static bool goes_on_without(const struct shadow *shadow, const struct shadow_job *job,
                            const struct event_ended *event)
{
    struct job_end now = { .kind = event->kind,
                           .exit_code = event->exit_code,
                           .signal = event->signal };

    return job->goes_on && !is_good(&now) && job->state == JOB_RUNNING &&
           job->members_started == job->lease->members_count && !job->is_cancel_wanted &&
           !job->is_requeue_wanted && (job->end.kind == 0 || is_good(&job->end)) &&
           job->lease->members_count > shadow->requests.items[job->request].members;
}

/* All that it held is free, and nothing else. */
static void lose_member(struct shadow *shadow, struct shadow_job *job, uint32_t place)
{
    struct lease *lease = job->lease;
    struct lease_member *members = (struct lease_member *)(uintptr_t)lease->members;
    struct slice *slices = (struct slice *)(uintptr_t)lease->slices;
    uint32_t slices_count = 0, left = lease->members_count - place - 1;

    shadow_hold(shadow, job, -1);
    lease->members_count--;
    memmove(&members[place], &members[place + 1], left * sizeof(members[0]));
    memmove(&job->ranks[place], &job->ranks[place + 1], left * sizeof(job->ranks[0]));
    memmove(&job->member_states[place], &job->member_states[place + 1], left);
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (slices[i].rank == place) {
            lease->milli -= slices[i].milli;
            continue;
        }
        slices[slices_count] = slices[i];
        slices[slices_count++].rank -= slices[i].rank > place;
    }
    lease->slices_count = slices_count;
    job->members_started--;
    job->rate = shadow_rate_of(shadow, lease);
    shadow->more_room++;
    shadow_hold(shadow, job, 1);
}

static void apply_ended(struct shadow *shadow, struct shadow_job *job,
                        const struct event_ended *event)
{
    uint32_t place;

    if (!find_member(job, event->attempt, event->rank, &place) ||
        job->member_states[place] == MEMBER_ENDED)
        return;
    if (goes_on_without(shadow, job, event))
        lose_member(shadow, job, place);
    else {
        job->member_states[place] = MEMBER_ENDED;
        job->members_ended++;
        note_end(job, event);
    }
    if (job->members_ended == job->lease->members_count)
        end_attempt(shadow, job);
}

static void apply_forget(struct shadow *shadow, uint64_t id)
{
    struct shadow_job *job = shadow_job(shadow, id);

    if (job) {
        shadow->job_counts[JOB_ENDED]--;
        remove_id(shadow->needers.items, &shadow->needers.count, id);
        shadow->jobs.items[id] = NULL;
        shadow_release_job(job);
        return;
    }
    free(shadow->groups.items[id]);
    shadow->groups.items[id] = NULL;
}

/* Jobs that may begin by now. */
static void apply_plan(struct shadow *shadow)
{
    shadow->plans++;
    shadow->planned = shadow->now;
    shadow->has_predicted |= shadow->settings.predict && shadow->jobs.count > 0;
    for (size_t i = shadow->waiting.count; i-- > 0;)
        settle(shadow, shadow_job(shadow, shadow->waiting.items[i]));
}

static void apply_to_job(struct shadow *shadow, struct shadow_job *job, const struct event *event)
{
    switch (event->kind) {
    case EVENT_NEED:
        apply_need(shadow, job, &event->need);
        break;
    case EVENT_HOLD:
    case EVENT_RELEASE:
        job->is_held = event->kind == EVENT_HOLD;
        if (!shadow_is_active(job) && job->state != JOB_ENDED)
            settle(shadow, job);
        break;
    case EVENT_CANCEL:
        apply_cancel(shadow, job);
        break;
    case EVENT_REQUEUE:
        apply_requeue(shadow, job);
        break;
    case EVENT_UPDATE:
        apply_update(shadow, job, &event->update);
        break;
    case EVENT_STARTED:
        apply_started(shadow, job, &event->started);
        break;
    case EVENT_ASSIGNED:
        apply_assigned(shadow, job, &event->assigned);
        break;
    case EVENT_ENDED:
        apply_ended(shadow, job, &event->ended);
        break;
    case EVENT_GRANT:
        apply_grant(shadow, job, &event->grant);
        break;
    case EVENT_STOP:
        apply_stop(shadow, job, &event->stop);
        break;
    default: /* FORESEE says nothing of where a job stands */
        break;
    }
}

void shadow_apply_job(struct shadow *shadow, const struct event *event)
{
    struct shadow_job *job;

    switch (event->kind) {
    case EVENT_GROUP:
        apply_group(shadow, &event->group);
        break;
    case EVENT_SUBMIT:
        apply_submit(shadow, &event->submit);
        break;
    case EVENT_FORGET:
        apply_forget(shadow, event->forget.id);
        break;
    case EVENT_PLAN:
        apply_plan(shadow);
        break;
    case EVENT_SLACK: /* it bounds no job alone */
        break;
    default:
        job = shadow_job(shadow, event_job(event));
        assert(job); /* shadow_accepts() was asked, or invariants of decisions */
        apply_to_job(shadow, job, event);
    }
}
