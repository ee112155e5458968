/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/deadlines.h"

#include "sched/claims.h"

typedef LIST(const struct pending_bucket *) bucket_list;

static bool is_earlier(const void *a, const void *b)
{
    const struct pending_bucket *left = *(const struct pending_bucket *const *)a,
                                *right = *(const struct pending_bucket *const *)b;

    return left->deadline != right->deadline ? left->deadline < right->deadline
                                             : left->first->id < right->first->id;
}

/* The last one cannot be met beside the others: the largest goes. Returns its work. */
static uint64_t drop_largest(plain_claim_list *claims, size_t first)
{
    size_t largest = first;

    for (size_t i = first; i < claims->count; i++) {
        if (claims->items[i].work >= claims->items[largest].work)
            largest = i;
    }
    uint64_t work = claims->items[largest].work;
    list_remove(claims, largest);
    return work;
}

/* work: of what is listed. most: so many jobs are looked at. Returns how many were. */
static uint32_t add_jobs(const struct pending_bucket *bucket, usec_t now, size_t first,
                         uint64_t *work, uint32_t most, plain_claim_list *ret)
{
    usec_t longest =
        usec_after(now, bucket->most) <= bucket->deadline ? bucket->most : bucket->usual;
    uint32_t count = 0;

    for (const struct job *job = bucket->first; job && count < most; job = job->pending_next) {
        struct plain_claim claim = { .job = job->id,
                                     .protected = bucket->deadline - longest -
                                                  longest / CLAIMS_SLIP - CLAIMS_LOOK,
                                     .work = plain_work(bucket->share, bucket->usual) };
        list_add(ret, claim);
        *work += claim.work;
        count++;
        if (now + plain_work_time(*work) > bucket->deadline)
            *work -= drop_largest(ret, first);
    }
    return count;
}

uint64_t deadlines_list(const struct pending_queue *queue, usec_t now, plain_claim_list *ret)
{
    bucket_list buckets = { 0 };
    size_t first = ret->count;
    uint64_t work = 0, largest = 0;
    uint32_t left = DEADLINES_MOST;

    for (size_t i = 0; i < queue->buckets.count; i++) {
        const struct pending_bucket *bucket = queue->buckets.items[i];
        uint64_t other = plain_work(bucket->share, bucket->usual);
        if (bucket->is_settled)
            continue;
        if (pending_can_be_met(bucket, now))
            list_add(&buckets, bucket);
        else
            largest = other > largest ? other : largest;
    }
    list_heap(&buckets, is_earlier);
    while (buckets.count > 0 && left > 0) {
        left -= add_jobs(buckets.items[0], now, first, &work, left, ret);
        buckets.items[0] = buckets.items[--buckets.count];
        list_sift(&buckets, 0, is_earlier);
    }
    list_release(&buckets);
    return largest;
}
