/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/pending.h"

#include <assert.h>
#include <stdlib.h>

static uint64_t bounding_array(const struct state *state, const struct job *job)
{
    for (const struct group *group = state_group(state, job->group); group;
         group = state_group(state, group->parent)) {
        if (group->max_running > 0)
            return group->id;
    }
    return 0;
}

static uint64_t hash_of(const struct pending_bucket *bucket)
{
    uint64_t key[] = { (uint64_t)bucket->queue << 32 | bucket->class,
                       (uint64_t)(uint32_t)bucket->priority << 32 | bucket->user,
                       bucket->array,
                       bucket->name,
                       (uint64_t)bucket->max_duration,
                       (uint64_t)bucket->deadline,
                       (uint64_t)bucket->estimate * 2 + bucket->is_preemptible,
                       (uint64_t)bucket->tariff_most << 32 | bucket->reserved,
                       (uint64_t)bucket->stay,
                       bucket->limited };

    return map_hash_words(key, COUNT_OF(key));
}

static bool are_alike(const struct pending_bucket *a, const struct pending_bucket *b)
{
    return a->queue == b->queue && a->class == b->class && a->priority == b->priority &&
           a->array == b->array && a->max_duration == b->max_duration &&
           a->estimate == b->estimate && a->deadline == b->deadline && a->user == b->user &&
           a->name == b->name && a->is_preemptible == b->is_preemptible &&
           a->tariff_most == b->tariff_most && a->reserved == b->reserved && a->stay == b->stay &&
           a->limited == b->limited && a->has_speeds == b->has_speeds;
}

static uint32_t reserved_for(const struct state *state, uint32_t user)
{
    LIST_EACH (const struct reservation, reservation, &state->agenda.reservations) {
        if (reservation->kind == RESERVATION_USER && reservation->user == user)
            return user + 1;
    }
    return 0;
}

/* Limits or budgets of users or groups apply to jobs of this queue. */
static bool is_limited(const struct state *state, uint32_t queue)
{
    for (; queue != QUEUE_NONE; queue = queue_above(state->queues.items, queue)) {
        if (queue_bounds_users(&state->queues.items[queue]))
            return true;
    }
    return false;
}

/* The bucket that the job belongs into. One that was stopped for others has a bucket with those
 * that have as much left of their estimate. */
static struct pending_bucket bucket_for(const struct state *state, const struct job *job)
{
    bool is_learned = state->settings.predict && job->estimate == 0;

    return (struct pending_bucket){
        .queue = job->queue,
        .class = job->class,
        .max_duration = job->max_duration,
        .estimate = job->estimate > 0 || job->run->attained > 0
                        ? job->estimate - job->run->attained +
                              (job->run->attained > 0 ? job->restart_cost : 0)
                        : 0,
        .deadline = job->deadline,
        .is_preemptible = job->is_preemptible,
        .tariff_most = job->tariff_most,
        .reserved = reserved_for(state, job->user),
        .stay = job->is_preemptible && state->agenda.windows.count > 0 ? job_stay(job) : 0,
        .limited = is_limited(state, job->queue) ? ((uint64_t)job->user + 1) << 32 | job->gid : 0,
        .user = is_learned ? job->user : 0,
        .name = is_learned ? history_name(job->name) : 0,
        .priority = job->priority,
        .array = bounding_array(state, job),
        .has_speeds = job->estimate > 0 && state_request(state, job)->speeds_count > 0,
        .why = { .kind = WHY_NEW },
    };
}

static struct pending_bucket *claim_bucket(struct pending *pending,
                                           const struct pending_bucket *wanted)
{
    uint64_t hash = hash_of(wanted);
    uint64_t first = 0;

    map_get(&pending->by_hash, hash, &first);
    for (struct pending_bucket *at = (void *)(uintptr_t)first; at; at = at->next_alike) {
        if (are_alike(at, wanted))
            return at;
    }

    struct pending_bucket *bucket = mem_zero(1, sizeof(*bucket));
    *bucket = *wanted;
    bucket->next_alike = (void *)(uintptr_t)first;
    map_set(&pending->by_hash, hash, (uintptr_t)bucket);
    while (pending->queues.count <= wanted->queue)
        list_add(&pending->queues, (struct pending_queue){ 0 });
    struct pending_queue *queue = &pending->queues.items[wanted->queue];
    bucket->place = (uint32_t)queue->buckets.count;
    list_add(&queue->buckets, bucket);
    return bucket;
}

static void drop_bucket(struct pending *pending, struct pending_bucket *bucket)
{
    uint64_t hash = hash_of(bucket);
    uint64_t first = 0;

    assert(bucket->count == 0);
    map_get(&pending->by_hash, hash, &first);
    struct pending_bucket *at = (void *)(uintptr_t)first;
    if (at == bucket && bucket->next_alike)
        map_set(&pending->by_hash, hash, (uintptr_t)bucket->next_alike);
    else if (at == bucket)
        map_remove(&pending->by_hash, hash);
    else {
        while (at->next_alike != bucket)
            at = at->next_alike;
        at->next_alike = bucket->next_alike;
    }

    struct pending_queue *queue = &pending->queues.items[bucket->queue];
    struct pending_bucket *moved = queue->buckets.items[--queue->buckets.count];
    queue->buckets.items[bucket->place] = moved;
    moved->place = bucket->place;
    free(bucket);
}

/* By id; new jobs are nearly always the last, those that come back nearly always the first. */
static void link_job(struct pending_bucket *bucket, struct job *job)
{
    struct job *before = bucket->last;

    if (bucket->first && bucket->first->id > job->id)
        before = NULL;
    while (before && before->id > job->id)
        before = before->pending_previous;
    job->pending_previous = before;
    job->pending_next = before ? before->pending_next : bucket->first;
    *(before ? &before->pending_next : &bucket->first) = job;
    *(job->pending_next ? &job->pending_next->pending_previous : &bucket->last) = job;
    job->pending_bucket = bucket;
    bucket->count++;
}

static void join_line(struct pending_queue *queue, struct job *job)
{
    struct job *before = queue->last;

    if (queue->first && queue->first->id > job->id)
        before = NULL;
    while (before && before->id > job->id)
        before = before->line_previous;
    job->line_previous = before;
    job->line_next = before ? before->line_next : queue->first;
    *(before ? &before->line_next : &queue->first) = job;
    *(job->line_next ? &job->line_next->line_previous : &queue->last) = job;
}

static void leave_line(struct pending_queue *queue, struct job *job)
{
    *(job->line_previous ? &job->line_previous->line_next : &queue->first) = job->line_next;
    *(job->line_next ? &job->line_next->line_previous : &queue->last) = job->line_previous;
    job->line_next = job->line_previous = NULL;
}

void pending_remove(struct pending *pending, struct job *job)
{
    struct pending_bucket *bucket = job->pending_bucket;

    if (!bucket)
        return;
    *(job->pending_previous ? &job->pending_previous->pending_next : &bucket->first) =
        job->pending_next;
    *(job->pending_next ? &job->pending_next->pending_previous : &bucket->last) =
        job->pending_previous;
    job->pending_next = job->pending_previous = NULL;
    job->pending_bucket = NULL;
    leave_line(&pending->queues.items[bucket->queue], job);
    pending->count--;
    if (--bucket->count == 0)
        drop_bucket(pending, bucket);
}

void pending_update(struct pending *pending, const struct state *state, struct job *job)
{
    if (job->state != JOB_QUEUED) {
        pending_remove(pending, job);
        return;
    }
    struct pending_bucket wanted = bucket_for(state, job);
    if (job->pending_bucket) {
        if (are_alike(job->pending_bucket, &wanted))
            return;
        pending_remove(pending, job);
    }
    link_job(claim_bucket(pending, &wanted), job);
    join_line(&pending->queues.items[job->queue], job);
    pending->count++;
}

void pending_list_heads(const struct pending *pending, job_list *ret)
{
    LIST_EACH (const struct pending_queue, queue, &pending->queues) {
        for (size_t k = 0; k < queue->buckets.count; k++)
            list_add(ret, queue->buckets.items[k]->first);
    }
    list_sort(ret, job_compare_priority);
}

void pending_release(struct pending *pending)
{
    LIST_EACH (struct pending_queue, queue, &pending->queues) {
        for (size_t k = 0; k < queue->buckets.count; k++)
            free(queue->buckets.items[k]);
        list_release(&queue->buckets);
    }
    list_release(&pending->queues);
    map_release(&pending->by_hash);
}
