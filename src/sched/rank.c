/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/rank.h"

struct rank_entry rank_of_bucket(const struct ranker *ranker, struct pending_bucket *bucket)
{
    (void)ranker;
    return (struct rank_entry){ .bucket = bucket,
                                .priority = bucket->priority,
                                .id = bucket->first->id };
}

bool rank_is_before(const struct rank_entry *a, const struct rank_entry *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->band != b->band)
        return a->band < b->band;
    return a->key != b->key ? a->key < b->key : a->id < b->id;
}
