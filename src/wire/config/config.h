/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_H
#define WIRE_CONFIG_CONFIG_H

/* config - pools, queues and policy settings, as `tarn apply -f` reads them
 *
 * A configuration is the whole of it: what a new one leaves out is gone, a setting that it leaves
 * out is back at its default. It is checked here as far as it stands for itself; whether nodes
 * and models exist is the caller's business.
 *
 * Owner:       the caller of config_parse
 * On failure:  "SOURCE:LINE: queue NAME: words"; no ret_ parameter was written
 * Limits:      CONFIG_QUEUES_MAX queues, CONFIG_DEPTH_MAX deep, CONFIG_POOLS_MAX pools
 * Spec:        doc/spec/04-jobfile.md, "Configuration"
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "core/state/state.h"
#include "wire/config/config_devices.h"
#include "wire/config/config_quota.h"
#include "wire/config/config_times.h"
#include "wire/config/config_types.h"
#include "wire/reader.h"
#include "wire/yaml.h"

enum {
    CONFIG_QUEUES_MAX = 1000,
    CONFIG_POOLS_MAX = 256,
    CONFIG_DEPTH_MAX = 8,
    CONFIG_NODES_MAX = 4096,   /* names in one pool */
    CONFIG_DEVICES_MAX = 1024, /* indices in one pool */
    CONFIG_WEIGHT_MAX = 1000000,
    CONFIG_GPUS_MAX = 1000000, /* whole GPUs of a guarantee, limit, pool size */
};

#define CONFIG_NONE ((int64_t)-1) /* not given: no bound */

struct config_pool {
    char name[REQUEST_NAME_SIZE];
    char queue[REQUEST_NAME_SIZE];   /* who owns a static pool; "" for a dynamic one */
    char model[REQUEST_MODEL_SIZE];  /* which devices; "": any */
    char labels[DEVICE_LABELS_SIZE]; /* that they have, with commas between; "": any */
    char **nodes;                    /* NULL-terminated, NULL: any */
    uint32_t *devices;               /* indices on each node, ascending; NULL: any */
    size_t device_count;
    bool is_static;
    uint8_t mig;  /* enum pool_mig */
    int64_t gpus; /* how many of those that match; CONFIG_NONE: all (same as min and max equal) */
    int64_t min, max; /* of a dynamic pool; CONFIG_NONE */
    struct config_pool_during *during;
    size_t during_count;
};

struct config_queue {
    char name[REQUEST_NAME_SIZE];
    int32_t parent;              /* index of a queue before it; -1: the root */
    uint32_t weight;             /* 1 unless given */
    struct config_quota *quotas; /* the first is that of the GPUs */
    size_t quota_count;
    struct config_subject *subjects; /* limits of users and groups */
    size_t subject_count;
    struct cell_quota *cells; /* whole cells that it can always have */
    size_t cell_count;
    usec_t min_runtime; /* 0 unless given */
    bool firm_within;   /* above its guarantee only jobs that may be stopped */
    struct config_during *during;
    size_t during_count;
    struct config_budget budgets[ACCOUNTS];
};

/* What one of a resource costs for an hour. */
struct config_price {
    char resource[REQUEST_MODEL_SIZE];
    int64_t price_micro;
};

/* What holds where nothing is said: the one place where the defaults stand. */
#define CONFIG_PLACEMENT PLACEMENT_SFG
#define CONFIG_ORDER     ORDER_DEFAULT
/* The default order goes by predicted run times, the others by what was asked for. */
#define CONFIG_PREDICT(order) ((order) == ORDER_DEFAULT)
enum { CONFIG_BACKFILL_DEPTH_MAX = 10000, CONFIG_BACKFILL_DEPTH = 1 /* EASY */ };
enum { CONFIG_DEFRAG_HOURS_MAX = 1000000 };
#define CONFIG_HALF_LIFE (7 * USEC_PER_DAY)

struct config {
    struct config_pool *pools; /* in the file's order */
    size_t pool_count;
    struct config_queue *queues; /* a parent before its children */
    size_t queue_count;
    struct node_type *node_types;
    size_t node_type_count;
    struct device_type *device_types;
    size_t device_type_count;
    struct config_price *prices;
    size_t price_count;
    char *timezone; /* NULL: the machine's */
    struct config_window *windows;
    size_t window_count;
    struct config_tariff *tariffs;
    size_t tariff_count;
    struct config_reservation *reservations;
    size_t reservation_count;
    /* Given; the values hold either way. */
    bool has_half_life, has_placement, has_backfill, has_order, has_predict, has_defrag;
    usec_t half_life;         /* CONFIG_HALF_LIFE */
    enum placement placement; /* CONFIG_PLACEMENT */
    enum ordering order;      /* CONFIG_ORDER */
    bool predict;             /* CONFIG_PREDICT: learn run times from jobs that ended */
    uint32_t backfill_depth;  /* reservations kept: 0 no backfill, 1 EASY */
    struct watch_rules watch;
    int64_t defrag_most; /* GPU-time in microseconds that moves may lose in an hour; 0: none */
};

/* An empty or null document gives the defaults. lines and source may be NULL. */
int config_parse(const json_t *document, const struct yaml_lines *lines, const char *source,
                 struct config **ret, struct error *err);
/* The same, for a document that has keys of others, too: they are not looked at. */
int config_read(const json_t *document, const struct yaml_lines *lines, const char *source,
                struct config **ret, struct error *err);
/* Take fair_share, placement, backfill, order, predict and defrag, those that are there. */
int config_read_policy(struct config *config, const struct reader *reader, const json_t *object);
/* The keys that config_parse takes, and those that config_read_policy takes; NULL-terminated. */
extern const char *const config_keys[], *const config_policy_keys[];

/* The words of a configuration, by enum placement and enum ordering; NULL-terminated. */
extern const char *const config_placement_words[], *const config_order_words[];

struct config *config_create(void);         /* the defaults: no pools, no queues */
void config_destroy(struct config *config); /* NULL is fine */
DEFINE_AUTO(config)

/* The same as a document that config_parse reads back to an equal configuration; new reference. */
json_t *config_to_json(const struct config *config);

/* Lines of what changes from old to new, each ended with a newline:
 * "queue research   guarantee 8 -> 12 gpus", "queue vision     new, weight 2". Returns how many. */
size_t config_diff(const struct config *from, const struct config *to, struct text *text);

/* "36h": exactly, so that it reads back the same. Buffer of UNITS_TEXT_SIZE. */
const char *config_duration_spell(char *buffer, usec_t duration);

/* The index of a queue or pool, or -1. */
int32_t config_find_queue(const struct config *config, const char *name);
int32_t config_find_pool(const struct config *config, const char *name);

#endif
