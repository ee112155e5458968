/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/pending.h"

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
                       (uint64_t)(uint32_t)bucket->priority, bucket->array,
                       (uint64_t)bucket->max_duration };

    return map_hash(key, sizeof(key));
}

static bool is_of(const struct pending_bucket *bucket, const struct job *job, uint64_t array)
{
    return bucket->queue == job->queue && bucket->class == job->class &&
           bucket->priority == job->priority && bucket->array == array &&
           bucket->max_duration == job->max_duration;
}

static struct pending_bucket *claim_bucket(struct pending *pending, const struct job *job,
                                           uint64_t array)
{
    const struct pending_bucket wanted = {
        .queue = job->queue,
        .class = job->class,
        .max_duration = job->max_duration,
        .priority = job->priority,
        .array = array,
        .why = { .kind = WHY_NEW },
    };
    uint64_t hash = hash_of(&wanted);
    uint64_t first = 0;

    map_get(&pending->by_hash, hash, &first);
    for (struct pending_bucket *at = (void *)(uintptr_t)first; at; at = at->next_alike) {
        if (is_of(at, job, array))
            return at;
    }

    struct pending_bucket *bucket = mem_zero(1, sizeof(*bucket));
    *bucket = wanted;
    bucket->next_alike = (void *)(uintptr_t)first;
    map_set(&pending->by_hash, hash, (uintptr_t)bucket);
    while (pending->queues.count <= job->queue)
        list_add(&pending->queues, (struct pending_queue){ 0 });
    struct pending_queue *queue = &pending->queues.items[job->queue];
    bucket->place = (uint32_t)queue->buckets.count;
    list_add(&queue->buckets, bucket);
    return bucket;
}

static void drop_bucket(struct pending *pending, struct pending_bucket *bucket)
{
    uint64_t hash = hash_of(bucket);
    uint64_t first = 0;

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
    uint64_t array = bounding_array(state, job);
    if (job->pending_bucket) {
        if (is_of(job->pending_bucket, job, array))
            return;
        pending_remove(pending, job);
    }
    link_job(claim_bucket(pending, job, array), job);
    pending->count++;
}

void pending_release(struct pending *pending)
{
    for (size_t i = 0; i < pending->queues.count; i++) {
        struct pending_queue *queue = &pending->queues.items[i];
        for (size_t k = 0; k < queue->buckets.count; k++)
            free(queue->buckets.items[k]);
        list_release(&queue->buckets);
    }
    list_release(&pending->queues);
    map_release(&pending->by_hash);
}
