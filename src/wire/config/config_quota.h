/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_QUOTA_H
#define WIRE_CONFIG_CONFIG_QUOTA_H

/* config_quota - the amounts of a queue in a configuration
 *
 *   guarantee, limit, borrow, lend   a number (GPUs of any model), or a map: {gpus: 8, h100: 4,
 *                                    cpus: 64, memory: 512G}
 *   users                            {each: 4, ana: {h100: 2}}
 *   groups                           {students: 2}: Unix groups, by name or number
 *   min_runtime                      how long its jobs run before another queue gets them stopped
 *   shape                            whole cells that it can always have: a list of
 *                                    {cell: node, model: h100, gpus: 8, count: 2}; a pair has 2
 * GPUs above_guarantee                  "preemptible": only jobs that may be stopped; "any"
 *
 * Who is guaranteed GPUs of some models is guaranteed at least as many GPUs in all; the GPUs of a
 * shape are guaranteed as well.
 *
 * Part of config.h; the first quota of a queue is always that of its GPUs.
 */

#include "core/cluster/quota.h"
#include "core/job/request.h"
#include "wire/reader.h"

struct config_queue;

struct config_quota {
    char resource[REQUEST_MODEL_SIZE]; /* "gpus", "cpus", "memory", or a model */
    struct quota quota;
};

struct config_subject {
    char name[REQUEST_NAME_SIZE]; /* of the user or Unix group; "" for each user */
    char resource[REQUEST_MODEL_SIZE];
    int64_t limit;
    uint32_t gid; /* of a group: for who looked it up */
    uint8_t kind; /* enum subject_kind */
};

enum { CONFIG_QUOTA_KEYS = 9 };
extern const char *const config_quota_keys[CONFIG_QUOTA_KEYS];

/* A queue that has no more than its GPUs. */
void config_quota_init(struct config_queue *queue);
void config_quota_release(struct config_queue *queue);
int config_quota_read(struct config_queue *queue, const struct reader *reader,
                      const json_t *object);
void config_quota_to_json(const struct config_queue *queue, json_t *object);

/* A key as the name of a resource, lower case; ret of REQUEST_MODEL_SIZE. */
int config_resource_read(const struct reader *reader, const json_t *object, const char *key,
                         char *ret);

/* A number of GPUs, or a map from resource to amount. Nothing is set for a key that is absent. */
typedef void config_amount_fn(void *user, const char *resource, int64_t amount);
int config_amounts_read(const struct reader *reader, const json_t *object, const char *key,
                        config_amount_fn *set, void *user);

/* "4", "512G": as it is read. Buffer of UNITS_TEXT_SIZE. */
const char *config_amount_spell(char *buffer, const char *resource, int64_t amount);

/* The quota of a resource; adds one that says nothing. */
struct quota *config_quota_of(struct config_queue *queue, const char *resource);

#endif
