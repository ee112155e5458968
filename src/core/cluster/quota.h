/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_QUOTA_H
#define CORE_CLUSTER_QUOTA_H

/* quota - the amounts of each resource that a queue may hold, and the accounting against them
 *
 * Resources have numbers: GPUs of any model (thousandths), CPUs (thousandths), memory (MiB), then
 * one for each model, and one for each kind of device other than GPUs, that a quota or a price
 * names. A number stays with its name. A GPU counts towards the GPUs and towards its model, any
 * other device towards its kind and towards its model.
 *
 *   guarantee   obtained before queues that are above their guarantee, and reclaimed on demand
 *   limit       never exceeded, even if more is free
 *   borrow      the most above the guarantee
 *   lend        the part of the unused guarantee that others may use; the rest stays free
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
    bool is_placed; /* the devices are chosen, so their prices are known */
};

/* The amounts in configuration, events, state and simulator. In the amounts for an open window,
 * each of the four may be ABSENT (record.h): it is then unchanged. */
struct quota {
    int64_t guarantee;
    int64_t limit, borrow, lend; /* QUOTA_NONE: no bound */
};

enum quota_bound { BOUND_GUARANTEE, BOUND_LIMIT, BOUND_BORROW, BOUND_LEND, BOUNDS };

/* No guarantee and no bound; all amounts absent. */
#define QUOTA_OPEN   ((struct quota){ 0, QUOTA_NONE, QUOTA_NONE, QUOTA_NONE })
#define QUOTA_ABSENT ((struct quota){ ABSENT, ABSENT, ABSENT, ABSENT })

int64_t *quota_part(struct quota *quota, enum quota_bound bound);
int64_t quota_part_of(const struct quota *quota, enum quota_bound bound);

/* Replace the amounts that are not ABSENT in `said`. */
void quota_override(struct quota *quota, const struct quota *said);

/* Whole cells of GPUs that are guaranteed to a queue (sched/placement/cells.h). A cell is two
 * adjacent GPUs (pair), or all GPUs of a model in one NVLink island, one node or one rack, if their
 * number is `gpus`. */
enum cell_level { CELL_PAIR, CELL_ISLAND, CELL_NODE, CELL_RACK, CELL_LEVELS };
enum { QUEUE_CELLS_MAX = 16, CELL_MODEL_SIZE = 32 }; /* kinds of cells of a queue */

struct cell_quota {
    char model[CELL_MODEL_SIZE]; /* as in struct device */
    uint32_t gpus, count;
    uint8_t level; /* enum cell_level */
};

const char *cell_level_name(enum cell_level level); /* "node" */

/* A limit for users: for each user of a queue, for one user by name, or for a Unix group. */
enum subject_kind { SUBJECT_EACH_USER, SUBJECT_USER, SUBJECT_GROUP };
enum { SUBJECTS_MAX = 256 }; /* of a queue */

struct subject_limit {
    uint8_t kind;     /* enum subject_kind */
    uint8_t resource; /* number of the resource */
    uint32_t id;      /* number of the user in the state, gid of the group; 0 for each user */
    int64_t limit;
};

struct resource_name {
    char *name;
    int64_t price_micro; /* per unit and hour, in millionths of the currency; 0: not set */
    uint32_t kind; /* of a model other than a GPU: number of its kind; of a kind: its own; 0 */
    bool is_other; /* a kind other than GPUs, or a model of one */
    uint32_t training_milli, inference_milli; /* of a model: relative speeds; 0: as published */
};

typedef LIST(struct resource_name) resource_list;

void amounts_add(struct amounts *to, const struct amounts *more, int sign);

/* The guarantee including owned static pools; and the bound in force: the limit, or guarantee plus
 * borrow. QUOTA_NONE: none. */
int64_t quota_owed(const struct quota *quota, int64_t owned);
int64_t quota_most(const struct quota *quota, int64_t owned);

/* Whether it has neither a guarantee nor a bound. */
static inline bool quota_is_empty(const struct quota *quota)
{
    return quota->guarantee == 0 && quota->limit == QUOTA_NONE && quota->borrow == QUOTA_NONE &&
           quota->lend == QUOTA_NONE;
}

/* The number of "gpus", "cpus", "memory", "h100"; -1: no resource has this name. */
int resource_find(const resource_list *resources, const char *name);
/* The same; a new model gets a new number; -1: there are too many. */
int resource_claim(resource_list *resources, const char *name);
void resources_release(resource_list *resources);

/* Holdings of each user and each Unix group in each queue, with the queues below it
 *
 * They are counted for all, so that a limit can be set later. They follow from the leases and are
 * not saved.
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
/* NULL: the user or group never held anything. */
const struct amounts *holding_of(const struct holdings *holdings, uint32_t queue,
                                 enum subject_kind kind, uint32_t id);
void holdings_release(struct holdings *holdings);

#endif
