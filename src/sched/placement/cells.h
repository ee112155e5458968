/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_CELLS_H
#define SCHED_PLACEMENT_CELLS_H

/* cells - guaranteed cells: whole nodes, NVLink islands, racks and pairs of GPUs for a queue
 *
 * A cell of a kind (level, model, number of GPUs) is whole if no job holds a part of it, except
 * jobs that may be stopped at once. It is open for a queue if all that others hold of it could be
 * stopped. A queue with all below it is owed the cells that it is guaranteed and that are not open
 * for it. For every kind, the whole cells must suffice for all that is owed:
 *
 *   slack = whole - owed - owed of larger kinds x cells of this kind in one of those  >=  0
 *
 * A job that is never stopped is not placed where the slack would fall below both its present
 * value and 0. A queue that takes what it is owed changes nothing: whole and owed both fall by
 * one. So a cell is there for it, after others were stopped. No cell counts twice: what
 * lies in a cell that is open for its owner is not counted for smaller kinds. This is HiveD's
 * safety without binding cells: which cell it will be is left open.
 *
 * Preemptible jobs go elsewhere first, as long as there is room (cells_is_kept).
 *
 * Not counted: devices of static pools, MIG devices, and faulty, drained or down nodes.
 */

#include "core/job/why.h"
#include "sched/capacity/layout.h"

enum { CELLS_KINDS_MAX = 32 }; /* different kinds, of all queues */
#define CELLS_NONE UINT32_MAX

struct cell {
    uint32_t slot;  /* its first slot */
    uint32_t slots; /* usable slots */
    /* Held by jobs that are never stopped: milli-GPUs; the sum of these times the owner's number,
     * and times its square. One owner holds all of it if by x by = firm x squares. */
    int64_t firm, by, squares;
    int64_t held; /* by any job */
};

struct cells_owner {
    uint32_t queue;
    int64_t guaranteed, open;
};

struct cells_kind {
    struct cell_quota of; /* count: the sum over all queues */
    uint32_t model;       /* index of the resource */
    LIST(struct cell) cells;
    LIST(uint32_t) cell_of; /* by slot; CELLS_NONE */
    LIST(struct cells_owner) owners;
    int64_t whole, idle;              /* idle: no job at all holds a part */
    uint32_t inside[CELLS_KINDS_MAX]; /* the most cells of that (smaller) kind in one of these */
    bool is_within; /* of a larger kind there are some as well: counts leave out what is open there
                     */
};

struct cells {
    LIST(struct cells_kind) kinds; /* larger kinds first */
    LIST(uint32_t) owner_of; /* by queue: the nearest queue at or above it with cells; 0: none */
    uint64_t layout;
};

/* The owner of a job that is placed. */
struct cells_guest {
    uint32_t owner; /* cells.owner_of its queue */
    bool is_firm;   /* is never stopped */
};

/* Build the cells, with nothing held. */
void cells_make(struct cells *cells, const struct layout *layout, const struct state *state);
void cells_release(struct cells *cells);

static inline bool cells_is_any(const struct cells *cells)
{
    return cells->kinds.count > 0;
}

struct cells_guest cells_guest_of(const struct cells *cells, uint32_t queue, bool is_preemptible);

/* A lease is held (sign 1), or no longer (-1). */
void cells_take(struct cells *cells, const struct layout *layout, const struct lease *lease,
                struct cells_guest guest, int sign);
void cells_take_member(struct cells *cells, const struct layout *layout, const struct lease *lease,
                       uint32_t rank, struct cells_guest guest, int sign);

/* Slack by kind. */
void cells_slacks(const struct cells *cells, int64_t *ret_slacks);
/* The first kind with a slack that fell and is negative; -1: none. */
int cells_broken(const struct cells *cells, const int64_t *before);
/* Taking a part of this slot would break a kept cell. For preemptible jobs: it would use an idle
 * cell when no more cells are left than are owed. slacks: the present ones. */
bool cells_is_kept(const struct cells *cells, const int64_t *slacks, struct cells_guest guest,
                   uint32_t slot);

/* The number of cells of a kind that the queue is owed. */
int64_t cells_owed(const struct cells *cells, size_t kind, uint32_t owner);
/* The smallest kind of which the queue is owed enough cells for this request; CELLS_NONE. */
uint32_t cells_own_kind(const struct cells *cells, uint32_t owner, const struct request *request);
/* Name the other queue that is owed most cells of a kind. */
void cells_explain(const struct cells *cells, size_t kind, struct cells_guest guest,
                   struct why *ret_why);

/* The cells that a queue is to be guaranteed. */
struct cells_wanted {
    const char *queue;
    const struct cell_quota *cells;
    size_t count;
};

/* Check that an idle cluster holds all these cells at once, without devices of static pools and
 * devices that cannot be used now. Fails with -EINVAL, or -E2BIG for too many kinds. */
int cells_check(const struct state *state, const struct cells_wanted *wanted, size_t count,
                struct error *err);

#endif
