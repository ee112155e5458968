/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_ENDS_H
#define SCHED_BACKFILL_ENDS_H

/* ends - the jobs that hold resources, sorted by when they are expected to end
 *
 * Blocks of at most ENDS_BLOCK in order, so that a start and an end cost little however many run.
 * Of the same end the lower id comes first.
 */

#include "base/mem.h"
#include "core/job/job.h"

enum { ENDS_BLOCK = 128 };

struct ends_entry {
    usec_t end;
    struct job *job;
    uint32_t share; /* of the cluster, in parts of 2^20 */
};

struct ends_block {
    uint32_t count;
    struct ends_entry entries[ENDS_BLOCK];
};

struct ends {
    LIST(struct ends_block *) blocks; /* none is empty */
    size_t count;
    int64_t share;      /* held by those with an end, in parts of 2^10 */
    int64_t share_open; /* by those without */
    int64_t area;       /* sum of end (ms) x share */
};

/* Where a walk from the first end on has come to. */
struct ends_walk {
    const struct ends *ends;
    size_t block;
    uint32_t entry;
};

void ends_add(struct ends *ends, usec_t end, struct job *job);
void ends_remove(struct ends *ends, usec_t end, const struct job *job); /* it is there */
void ends_release(struct ends *ends);

/* The work that is left to those that run, share (2^10) x ms; who has no end has an hour. */
int64_t ends_work(const struct ends *ends, usec_t now);

/* The next in order; NULL: that was the last. */
static inline const struct ends_entry *ends_next(struct ends_walk *walk)
{
    if (walk->block == walk->ends->blocks.count)
        return NULL;
    const struct ends_block *block = walk->ends->blocks.items[walk->block];
    const struct ends_entry *entry = &block->entries[walk->entry];
    if (++walk->entry == block->count) {
        walk->block++;
        walk->entry = 0;
    }
    return entry;
}

#endif
