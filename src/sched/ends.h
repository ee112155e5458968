/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ENDS_H
#define SCHED_ENDS_H

/* ends - the jobs that hold resources, sorted by their expected ends
 *
 * Sorted blocks of at most ENDS_BLOCK entries keep a start and an end cheap for any number of
 * jobs. Jobs with the same end are sorted by id.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/units.h"
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
    int64_t share;      /* held by jobs with an end, in parts of 2^10 */
    int64_t share_open; /* by jobs without */
    int64_t area;       /* sum of end (ms) x share */
};

/* A walk in the order of ends:
 *     for (struct ends_walk at = ends_first(ends); at.job; ends_next(&at))
 */
struct ends_walk {
    const struct ends *ends;
    size_t block;
    uint32_t entry;
    struct job *job; /* NULL: it is over */
    usec_t end;
};

void ends_add(struct ends *ends, usec_t end, struct job *job);
void ends_remove(struct ends *ends, usec_t end, const struct job *job); /* it must be there */
void ends_release(struct ends *ends);

/* Remaining work of the running jobs, share (2^10) x ms; a job without an end counts an hour. */
int64_t ends_work(const struct ends *ends, usec_t now);

static inline struct ends_walk ends_at(const struct ends *ends, size_t block, uint32_t number)
{
    if (block == ends->blocks.count)
        return (struct ends_walk){ .ends = ends, .block = block, .end = USEC_NEVER };
    const struct ends_entry *entry = &ends->blocks.items[block]->entries[number];
    return (struct ends_walk){ ends, block, number, entry->job, entry->end };
}

static inline struct ends_walk ends_first(const struct ends *ends)
{
    return ends_at(ends, 0, 0);
}

static inline void ends_next(struct ends_walk *walk)
{
    bool is_last = walk->entry + 1 == walk->ends->blocks.items[walk->block]->count;

    *walk = ends_at(walk->ends, walk->block + is_last, is_last ? 0 : walk->entry + 1);
}

/* Time limits of running jobs: a heap, earliest first
 *
 * Entries are not removed when a job ends early: the caller checks whether an entry still applies.
 */

struct time_limit {
    usec_t at;
    uint64_t job;
};

typedef LIST(struct time_limit) time_limit_heap;

void time_limit_add(time_limit_heap *heap, usec_t at, uint64_t job);
usec_t time_limit_first(const time_limit_heap *heap); /* USEC_NEVER: none */
/* Remove and return the earliest entry if it is due. */
bool time_limit_take(time_limit_heap *heap, usec_t now, uint64_t *ret_job);

#endif
