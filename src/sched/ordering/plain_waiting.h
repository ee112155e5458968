/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_PLAIN_WAITING_H
#define SCHED_ORDERING_PLAIN_WAITING_H

/* plain_waiting - the jobs that wait in the plain schedule of a queue (plain.h)
 *
 * They are sorted by priority, turn and number. They are kept in blocks of at most
 * PLAIN_WAITING_BLOCK, of which the least share and the least limit are known: a search for jobs
 * that fit passes whole blocks.
 *
 * Order of calls:  a pointer to a job is valid until the next add or take
 * Owner:           the queue
 */

#include "sched/ordering/plain_running.h"

enum { PLAIN_WAITING_BLOCK = 128 };

struct plain_waiting_block {
    uint32_t count;
    uint32_t share, limit; /* the least of them */
    struct plain_job jobs[PLAIN_WAITING_BLOCK];
};

struct plain_waiting {
    LIST(struct plain_waiting_block *) blocks; /* none is empty */
};

/* A place in their order; past the last one, it is that of no job. */
struct plain_place {
    size_t block;
    uint32_t index;
};

static inline bool plain_waiting_is_empty(const struct plain_waiting *waiting)
{
    return waiting->blocks.count == 0;
}

/* NULL: past the last one. */
static inline const struct plain_job *plain_waiting_at(const struct plain_waiting *waiting,
                                                       struct plain_place place)
{
    return place.block < waiting->blocks.count
               ? &waiting->blocks.items[place.block]->jobs[place.index]
               : NULL;
}

static inline struct plain_place plain_waiting_after(const struct plain_waiting *waiting,
                                                     struct plain_place place)
{
    bool is_last = place.index + 1 == waiting->blocks.items[place.block]->count;

    return (struct plain_place){ place.block + is_last, is_last ? 0 : place.index + 1 };
}

void plain_waiting_add(struct plain_waiting *waiting, const struct plain_job *job);
/* Remove the job in this place, which is that of the next one then. */
struct plain_job plain_waiting_take(struct plain_waiting *waiting, struct plain_place *place);
/* key: its number and what it is sorted by. False: it does not wait; *ret is undefined. */
bool plain_waiting_find(const struct plain_waiting *waiting, const struct plain_job *key,
                        struct plain_place *ret);
/* From this place on, the first that has at most this share, and either at most this limit or at
 * most the share `extra`. False: there is none. */
bool plain_waiting_fit(const struct plain_waiting *waiting, struct plain_place *place,
                       uint32_t share, uint32_t limit, uint32_t extra);
void plain_waiting_release(struct plain_waiting *waiting);

#endif
