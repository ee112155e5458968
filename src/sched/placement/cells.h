/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_CELLS_H
#define SCHED_PLACEMENT_CELLS_H

/* cells - whole machines, NVLink islands, racks and pairs of GPUs that a queue can always have
 *
 * A cell of a kind (level, model, number of GPUs) is whole when nobody holds a part of it, except
 * jobs that may be stopped at once; it is open for a queue when all that others hold of it could be
 * stopped. A queue with all below it is owed the cells that it is guaranteed and that are not open
 * for it. For every kind, what is whole must suffice for all that is owed:
 *
 *   slack = whole - owed - owed of larger kinds x cells of this kind in one of those  >=  0
 *
 * A job that may not be stopped is not put where that would become less than it is and below 0.
 * A queue that takes what it is owed changes nothing: one less is whole, and one less is owed. So
 * it always finds its cell, after others were stopped for it. No cell counts twice: what lies in a
 * cell that is open for the queue it is kept for is not counted for smaller kinds. HiveD's safety
 * (policies 2.7) without binding cells: which one it will be is left open.
 *
 * Jobs that may be stopped go elsewhere first, as long as there is room (cells_is_kept).
 *
 * Out of all this: devices of static pools, MIG, and what is sick, drained or down.
 */

#include "core/job/why.h"
#include "sched/placement/layout.h"

enum { CELLS_KINDS_MAX = 32 }; /* different ones, of all queues */
#define CELLS_NONE UINT32_MAX

struct cell {
    uint32_t slot;  /* its first */
    uint32_t slots; /* of them that can be used */
    /* Held for good: milli-GPUs; the same times the owner's number, and times its square. One
     * owner holds it all when by x by = firm x squares. */
    int64_t firm, by, squares;
    int64_t held; /* by anybody */
};

struct cells_owner {
    uint32_t queue;
    int64_t guaranteed, open;
};

struct cells_kind {
    struct cell_quota of; /* its count: of all queues */
    uint32_t model;       /* number of the resource */
    LIST(struct cell) cells;
    LIST(uint32_t) cell_of; /* by slot; CELLS_NONE */
    LIST(struct cells_owner) owners;
    int64_t whole, idle;              /* idle: nobody at all holds a part */
    uint32_t inside[CELLS_KINDS_MAX]; /* the most cells of that (smaller) kind in one of these */
    bool is_within; /* of a larger kind there are some as well: counts leave out what is open there
                     */
};

struct cells {
    LIST(struct cells_kind) kinds; /* the larger before the smaller */
    LIST(uint32_t) owner_of;       /* by queue: itself or the one above that has cells; 0: none */
    uint64_t layout;
};

/* Whose job it is that is put somewhere. */
struct cells_guest {
    uint32_t owner; /* cells.owner_of its queue */
    bool is_firm;   /* may not be stopped */
};

/* Anew, with nothing held. */
void cells_make(struct cells *cells, const struct layout *layout, const struct state *state);
void cells_release(struct cells *cells);

static inline bool cells_is_any(const struct cells *cells)
{
    return cells->kinds.count > 0;
}

struct cells_guest cells_guest_of(const struct cells *cells, uint32_t queue, bool is_preemptible);

/* A lease is held (sign 1), or no more (-1). */
void cells_take(struct cells *cells, const struct layout *layout, const struct lease *lease,
                struct cells_guest guest, int sign);
void cells_take_member(struct cells *cells, const struct layout *layout, const struct lease *lease,
                       uint32_t rank, struct cells_guest guest, int sign);

/* By kind; as many as there are. */
void cells_slacks(const struct cells *cells, int64_t *ret_slacks);
/* Which kind has less than before, and less than is owed; -1: none. */
int cells_broken(const struct cells *cells, const int64_t *before);
/* Would a part of this slot break one that is kept? For those that may be stopped: overlap one that
 * nobody uses, where no more than what is owed is left. slacks: as they are. */
bool cells_is_kept(const struct cells *cells, const int64_t *slacks, struct cells_guest guest,
                   uint32_t slot);

/* How many cells the queue is owed of a kind. */
int64_t cells_owed(const struct cells *cells, size_t kind, uint32_t owner);
/* The smallest kind of which the queue is owed as many as hold this request; CELLS_NONE. */
uint32_t cells_own_kind(const struct cells *cells, uint32_t owner, const struct request *request);
/* A queue other than the guest's that is owed some of a kind, the one that is owed most. */
void cells_explain(const struct cells *cells, size_t kind, struct cells_guest guest,
                   struct why *ret_why);

/* What a queue shall be guaranteed. */
struct cells_wanted {
    const char *queue;
    const struct cell_quota *cells;
    size_t count;
};

/* Are all these there at once, as if nobody used anything? Devices of static pools are not, nor
 * are those that can't be used now. Fails with -EINVAL, or -E2BIG for too many kinds. */
int cells_check(const struct state *state, const struct cells_wanted *wanted, size_t count,
                struct error *err);

#endif
