/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_QUOTA_H
#define CORE_CLUSTER_QUOTA_H

/* quota - what a queue may have of each resource, and what is counted against it
 *
 * Resources have numbers: GPUs of any model (thousandths), CPUs (thousandths), memory (MiB), then
 * devices of one model or of one kind that is no GPU each, for those that a quota or a price names.
 * A number stays with its name. A GPU counts for the GPUs and for its model, another device for its
 * kind and for its model.
 *
 *   guarantee   served before those that are above theirs, and given back when it is wanted
 *   limit       never more, whatever is free
 *   borrow      never more than this above the guarantee
 *   lend        others may use no more of the unused guarantee than this; the rest stays free
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/record.h"

enum resource {
    RESOURCE_GPUS,
    RESOURCE_CPUS,
    RESOURCE_MEMORY,
    RESOURCE_MODELS, /* the first model's number */
    RESOURCES_MAX = 16,
};

#define QUOTA_NONE INT64_C(-1) /* no bound */

struct amounts {
    int64_t of[RESOURCES_MAX];
    int64_t
        rate_more;  /* devices on nodes with prices cost so much more an hour than their models */
    bool is_placed; /* on devices: what they cost is known */
};

/* The one struct of amounts that configuration, events, state and simulator have. In what holds
 * while a window is open each of the four may be ABSENT (record.h): it is as it is otherwise. */
struct quota {
    int64_t guarantee;
    int64_t limit, borrow, lend; /* QUOTA_NONE: no bound */
};

enum quota_bound { BOUND_GUARANTEE, BOUND_LIMIT, BOUND_BORROW, BOUND_LEND, BOUNDS };

/* Nothing guaranteed, no bound; nothing said at all. */
#define QUOTA_OPEN   ((struct quota){ 0, QUOTA_NONE, QUOTA_NONE, QUOTA_NONE })
#define QUOTA_ABSENT ((struct quota){ ABSENT, ABSENT, ABSENT, ABSENT })

int64_t *quota_part(struct quota *quota, enum quota_bound bound);
int64_t quota_part_of(const struct quota *quota, enum quota_bound bound);

/* Put what is not ABSENT in `said` over it. */
void quota_override(struct quota *quota, const struct quota *said);

/* Whole cells of GPUs that a queue can always have (sched/placement/cells.h). A cell is two
 * neighbours (pair), all GPUs of a model that one NVLink links (island), that one machine (node) or
 * one rack has, and as many as gpus says. */
enum cell_level { CELL_PAIR, CELL_ISLAND, CELL_NODE, CELL_RACK, CELL_LEVELS };
enum { QUEUE_CELLS_MAX = 16, CELL_MODEL_SIZE = 32 }; /* kinds of cells of a queue */

struct cell_quota {
    char model[CELL_MODEL_SIZE]; /* as devices have it */
    uint32_t gpus, count;
    uint8_t level; /* enum cell_level */
};

const char *cell_level_name(enum cell_level level); /* "node" */

/* A limit for users: for each user of a queue, for one user by name, or for a Unix group. */
enum subject_kind { SUBJECT_EACH_USER, SUBJECT_USER, SUBJECT_GROUP };
enum { SUBJECTS_MAX = 256 }; /* of a queue */

struct subject_limit {
    uint8_t kind;     /* enum subject_kind */
    uint8_t resource; /* a number */
    uint32_t id;      /* number of the user in the state, gid of the group; 0 for each user */
    int64_t limit;
};

struct resource_name {
    char *name;
    int64_t price_micro; /* of one for an hour, in millionths of the currency; 0: not said */
    uint32_t kind;       /* of a model that is no GPU: number of its kind; of a kind: its own; 0 */
    bool is_other;       /* no GPUs: of a kind, or a model of one */
    uint32_t training_milli, inference_milli; /* of a model: relative speeds; 0: as published */
};

typedef LIST(struct resource_name) resource_list;

void amounts_add(struct amounts *to, const struct amounts *more, int sign);

/* guarantee and what static pools it owns; then the bound that holds: limit, or guarantee and
 * borrow. QUOTA_NONE: none. */
int64_t quota_owed(const struct quota *quota, int64_t owned);
int64_t quota_most(const struct quota *quota, int64_t owned);

/* It says nothing. */
static inline bool quota_is_empty(const struct quota *quota)
{
    return quota->guarantee == 0 && quota->limit == QUOTA_NONE && quota->borrow == QUOTA_NONE &&
           quota->lend == QUOTA_NONE;
}

/* "gpus", "cpus", "memory", "h100": its number; -1: none has that name. */
int resource_find(const resource_list *resources, const char *name);
/* The same, a new number when it is a model not seen before; -1: there are too many. */
int resource_claim(resource_list *resources, const char *name);
void resources_release(resource_list *resources);

/* What each user and each Unix group holds now in each queue, with all below it
 *
 * Kept for all, so that a limit that is set later finds it. Follows from the leases: not saved.
 */

struct holding {
    uint32_t queue, id;
    uint8_t kind; /* SUBJECT_USER or SUBJECT_GROUP */
    struct amounts amounts;
};

struct holdings {
    LIST(struct holding) items;
    struct map places; /* (queue, kind, id) -> place plus one */
};

void holding_add(struct holdings *holdings, uint32_t queue, enum subject_kind kind, uint32_t id,
                 const struct amounts *amounts, int sign);
/* NULL: it never held anything. */
const struct amounts *holding_of(const struct holdings *holdings, uint32_t queue,
                                 enum subject_kind kind, uint32_t id);
void holdings_release(struct holdings *holdings);

#endif
