/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_WORLD_H
#define CLI_TOP_TOP_WORLD_H

/* top_world - what tarn top knows: the GPUs, the jobs, and how the GPUs did a while ago
 *
 * It is given the replies of GET /v1/gpus and GET /v1/jobs, and arranges what passes a choice into
 * three lists. It reads no clock and asks nobody.
 *
 * Order of calls:  zeroed, take, recall*, (arrange+, take)*, release
 * Owner:           whoever declared it; the lists point into the replies, until the next take
 * Limits:          HISTORY_MAX readings of each GPU are kept
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/text.h"

enum top_reading { TOP_USE, TOP_MEMORY, TOP_POWER, TOP_TEMPERATURE, TOP_READINGS };

enum { HISTORY_MAX = 240 };

/* How one GPU did, as parts of the most it could; NAN where it could not be had. */
struct top_history {
    char *uuid;
    size_t count;
    float parts[TOP_READINGS][HISTORY_MAX]; /* the oldest first */
};

struct top_gpu {
    const json_t *view;
    size_t node;                 /* as they come */
    double values[TOP_READINGS]; /* 0 to 1, MiB, W, °C; NAN: not known */
    double mosts[TOP_READINGS];  /* what a whole bar is; NAN: not known */
    double parts[TOP_READINGS];  /* value of most; NAN: not known */
};

/* Neighbours in the list that are on one machine. */
struct top_node {
    const char *name;
    size_t first, count;
};

enum top_order_gpus {
    GPUS_BY_PLACE,
    GPUS_BY_USE,
    GPUS_BY_MEMORY,
    GPUS_BY_POWER,
    GPUS_BY_TEMPERATURE,
    GPUS_ORDERS
};
enum top_order_jobs { JOBS_BY_ID, JOBS_BY_USER, JOBS_BY_GPUS, JOBS_BY_TIME, JOBS_ORDERS };

extern const char *const top_order_gpus_names[GPUS_ORDERS];
extern const char *const top_order_jobs_names[JOBS_ORDERS];

struct top_choice {
    const char *pool;  /* NULL: all */
    const char *words; /* only what has them in it; "": all */
    enum top_order_gpus gpus;
    enum top_order_jobs jobs;
};

enum top_list { TOP_GPUS, TOP_RUNNING, TOP_WAITING, TOP_LISTS };

struct top_world {
    json_t *gpus_reply, *jobs_reply; /* NULL: nothing came yet */
    LIST(struct top_history) histories;
    LIST(struct top_gpu) gpus;
    LIST(struct top_node) nodes;  /* of the GPUs that pass, when they are in order of place */
    LIST(const json_t *) running; /* those that have GPUs or are about to */
    LIST(const json_t *) waiting;
    size_t index_width, node_width; /* columns of the longest */
};

/* The replies are taken over; jobs may be NULL: they are as they were. */
void world_take(struct top_world *world, json_t *gpus, json_t *jobs);
/* What one GPU did before the first take, as GET /v1/gpus/UUID/history?keys=TOP_HISTORY_KEYS has
 * it, in steps of step_s seconds until now_s. */
#define TOP_HISTORY_KEYS "gpu_use,memory_used,power,temperature"
void world_recall(struct top_world *world, const json_t *gpu, const json_t *reply, int64_t now_s,
                  int64_t step_s);
void world_arrange(struct top_world *world, const struct top_choice *choice);
void world_release(struct top_world *world);

size_t world_count(const struct top_world *world, enum top_list list);
/* Where it is in that list: its UUID, or what the job is called. Points into the replies. */
const char *world_key(const struct top_world *world, enum top_list list, size_t place);
const struct top_history *world_history(const struct top_world *world, const char *uuid);

#endif
