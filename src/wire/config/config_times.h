/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_TIMES_H
#define WIRE_CONFIG_CONFIG_TIMES_H

/* config_times - what of a configuration hangs on the time, or on money
 *
 *   timezone: Europe/Berlin                     "": the machine's
 *   windows: {nights: "22:00-06:00"}            names for calendars (calendar.h)
 *   tariffs: {nights: 0.6, peak: {during: "mon-fri 09:00-17:00", factor: 1.5}}
 *   reservations:
 *     course:  {for: {queue: teaching}, when: "mon 14:00-16:00", gpus: 4, model: h100}
 *     service: {for: maintenance, when: service-hours, nodes: [n3]}
 *   queues: {research: {during: {nights: {limit: 32, borrow: none}},
 *                       budget: {amount: 5000, per: month, hard: false},
 *                       gpu_hours: {amount: 2000, per: week}}}
 *   pools: {inference: {during: {nights: {min: 1, max: 2}}}}
 *
 * Where a calendar is expected the name of a window will do. `hard` is false, true or "kill".
 *
 * Part of config.h. Limits: AGENDA_TARIFFS_MAX, AGENDA_RESERVATIONS_MAX, CONFIG_WINDOWS_MAX
 */

#include <jansson.h>

#include "base/text.h"
#include "core/cluster/queue.h"
#include "core/state/agenda.h"
#include "core/state/event.h"
#include "time/period.h"
#include "wire/reader.h"

enum { CONFIG_WINDOWS_MAX = 128, CONFIG_TIMES_KEYS = 4 };

struct config;
struct config_queue;
struct config_pool;

struct config_window {
    char *name;
    char *words; /* in normal form */
};

/* A calendar: the name of a window, or words of its own. */
struct config_when {
    char *window, *words; /* one of the two */
};

struct config_tariff {
    char *name;
    struct config_when when;
    uint32_t factor_milli;
};

struct config_reservation {
    char *name, *owner, *model;
    char **nodes; /* NULL-terminated, or NULL */
    struct config_when when;
    uint32_t gpus;
    uint8_t kind; /* enum reservation_kind */
};

struct config_during {
    char *window;
    char resource[REQUEST_MODEL_SIZE];
    struct quota quota; /* ABSENT: as otherwise */
};

struct config_pool_during {
    char *window;
    int64_t min, max; /* -1: not said */
};

struct config_budget {
    int64_t most; /* ACCOUNT_NO_BUDGET: none */
    enum period period;
    uint8_t firmness;
};

extern const char *const config_times_keys[CONFIG_TIMES_KEYS];

void config_times_release(struct config *config);
void config_times_release_queue(struct config_queue *queue);
void config_times_release_pool(struct config_pool *pool);
void config_reservation_release(struct config_reservation *reservation);

/* timezone and windows; before queues and pools. */
int config_times_read_windows(struct config *config, const struct reader *reader,
                              const json_t *document);
/* tariffs and reservations; after queues. */
int config_times_read(struct config *config, const struct reader *reader, const json_t *document);
int config_times_read_queue(const struct config *config, struct config_queue *queue,
                            const struct reader *reader, const json_t *object);
int config_times_read_pool(const struct config *config, struct config_pool *pool,
                           const struct reader *reader, const json_t *object);
/* One of them alone, as `tarn reserve` asks for it. */
int config_reservation_read(const struct config *config, const struct reader *reader,
                            const json_t *object, struct config_reservation *ret);

void config_times_to_json(const struct config *config, json_t *document);
void config_times_queue_to_json(const struct config_queue *queue, json_t *object);
void config_times_pool_to_json(const struct config_pool *pool, json_t *object);
json_t *config_reservation_to_json(const struct config_reservation *reservation);

/* In words, for people and for what changes: "queue teaching, mon 14:00-16:00, 4 h100". */
void config_reservation_say(const struct config_reservation *reservation, struct text *text);

/* "nights" or "22:00-06:00" */
const char *config_when_words(const struct config_when *when);

#endif
