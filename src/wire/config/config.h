/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_H
#define WIRE_CONFIG_CONFIG_H

/* config - pools, queues and settings, as `tarn apply -f` reads them
 *
 * A configuration is complete: what a new one leaves out is removed, and a setting that it leaves
 * out is back at its default. It is checked here as far as that needs nothing else; whether nodes
 * and models exist is checked by the caller. Its keys are the rows of core/config.def.
 *
 * It is kept as the events that put it into force: to apply a pool is to emit it. Windows that only
 * one thing uses (times of a tariff or a reservation, the period of a budget) are in the list of
 * windows as they are in the state, with a blank in their names: "tariff peak", "each month".
 *
 * Owner:       the caller of config_parse; all texts and lists are in the arena of the config
 * On failure:  "SOURCE:LINE: queue NAME: words"; no ret_ parameter was written
 * Limits:      CONFIG_QUEUES_MAX queues, CONFIG_DEPTH_MAX deep, CONFIG_POOLS_MAX pools
 * Spec:        doc/spec/04-jobfile.md, "Configuration"; tarn-config(5)
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "core/journal/event.h"
#include "core/state/agenda.h"
#include "core/state/settings.h"
#include "wire/reader.h"
#include "wire/yaml.h"

enum {
    CONFIG_QUEUES_MAX = 1000,
    CONFIG_POOLS_MAX = 256,
    CONFIG_WINDOWS_MAX = 128,
    CONFIG_DEPTH_MAX = 8,
    CONFIG_GPUS_MAX = 1000000, /* whole GPUs of a guarantee or limit */
};

struct config_window {
    const char *name, *words; /* words in normal form */
};

struct setting_ops; /* config_keys.h */

struct config {
    const struct setting_ops *ops; /* how values of each kind are read and written */
    struct arena arena;
    struct event_pool *pools;   /* in the file's order */
    struct event_queue *queues; /* a parent before its children */
    struct node_type *node_types;
    struct device_type *device_types;
    struct node_settings *nodes;
    struct event_price *prices;
    struct config_window *windows;
    struct event_tariff *tariffs;
    struct event_reservation *reservations;
    uint32_t pool_count, queue_count, node_type_count, device_type_count, price_count;
    uint32_t window_count, tariff_count, reservation_count, node_count;
    const char *timezone; /* "": the machine's */
    struct settings settings;
    bool has_predict; /* predict was given; else it follows from the order */
};

/* An empty or null document gives the defaults. lines and source may be NULL. */
int config_parse(const json_t *document, const struct yaml_lines *lines, const char *source,
                 struct config **ret, struct error *err);
/* The same for a document with other keys too, which are not looked at. */
int config_read(const json_t *document, const struct yaml_lines *lines, const char *source,
                struct config **ret, struct error *err);
/* Take the settings of `policy` of an experiment, those that are there. also: a key of the caller,
 * which is not unknown. */
int config_read_policy(struct config *config, const struct reader *reader, const json_t *object,
                       const char *also);

struct config *config_create(void);         /* the defaults: no pools, no queues */
void config_destroy(struct config *config); /* NULL is fine */
DEFINE_AUTO(config)

/* A document that config_parse reads back to an equal configuration; new reference. */
json_t *config_to_json(const struct config *config);

/* Lines of what changes from old to new, each ended with a newline:
 * "queue research   guarantee 8 -> 12 gpus", "queue vision     new, weight 2". Returns how many. */
size_t config_diff(const struct config *from, const struct config *to, struct text *text);

/* Lines of the settings that differ and take effect when the daemon starts: "kube devices: it takes
 * effect when the daemon starts again". */
void config_diff_at_start(const struct config *from, const struct config *to, struct text *text);

/* The index, or -1. */
int32_t config_find_queue(const struct config *config, const char *name);
int32_t config_find_pool(const struct config *config, const char *name);
const struct config_window *config_find_window(const struct config *config, const char *name);

/* A new item of a list, zeroed; the list and its items may move. Texts and lists of a configuration
 * are made with these. */
#define CONFIG_NEW(config, list, count) config_new(config, &(list), &(count), sizeof((list)[0]))
void *config_new(struct config *config, void *list, uint32_t *count, size_t size);
const char *config_text(struct config *config, const char *text);

/* The quota of a resource, "gpus" included; one that says nothing is added. */
struct quota *config_quota(struct config *config, struct event_queue *queue, const char *resource);
void config_add_window(struct config *config, const char *name, const char *words);

/* One reservation as `tarn reserve` asks for it: its name is set. Times of its own become a window
 * of the configuration. */
int config_reservation_read(struct config *config, const struct reader *reader,
                            const json_t *object, struct event_reservation *ret);
json_t *config_reservation_to_json(const struct config *config,
                                   const struct event_reservation *reservation);

#endif
