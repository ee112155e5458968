/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_WORLD_H
#define CLI_TOP_TOP_WORLD_H

/* top_world - the data of tarn top: the GPUs, their history, and the jobs
 *
 * It takes the replies of GET /v1/gpus and GET /v1/jobs, and sorts the items that pass a filter
 * into three lists. It reads no clock and sends no requests.
 *
 * Order of calls:  zeroed, take, recall*, (arrange+, take)*, release
 * Owner:           the code that declares it; the lists point into the replies, until the next take
 * Limits:          HISTORY_MAX readings of each GPU are kept
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/text.h"

enum top_reading { TOP_USE, TOP_MEMORY, TOP_POWER, TOP_TEMPERATURE, TOP_READINGS };

enum { HISTORY_MAX = 240 };

/* The history of one GPU, as fractions of its maximum; NAN: no reading. */
struct top_history {
    char *uuid;
    size_t count;
    float parts[TOP_READINGS][HISTORY_MAX]; /* the oldest first */
};

struct top_gpu {
    const json_t *view;
    size_t node;                 /* in the order of the reply */
    double values[TOP_READINGS]; /* 0 to 1, MiB, W, °C; NAN: not known */
    double mosts[TOP_READINGS];  /* value of a full bar; NAN: not known */
    double parts[TOP_READINGS];  /* value of most; NAN: not known */
};

/* Consecutive GPUs of the list that are on one node. */
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
    const char *words; /* only items that contain these words; "": all */
    enum top_order_gpus gpus;
    enum top_order_jobs jobs;
};

enum top_list { TOP_GPUS, TOP_RUNNING, TOP_WAITING, TOP_LISTS };

struct top_world {
    json_t *gpus_reply, *jobs_reply; /* NULL: none received yet */
    LIST(struct top_history) histories;
    LIST(struct top_gpu) gpus;
    LIST(struct top_node) nodes; /* of the selected GPUs, if these are in order of place */
    /* TOP_RUNNING: jobs with GPUs, or about to start; TOP_WAITING; TOP_GPUS: nothing */
    LIST(const json_t *) jobs[TOP_LISTS];
    size_t index_width, node_width; /* width of the longest, in columns */
};

/* Takes over the replies; NULL jobs: unchanged. */
void world_take(struct top_world *world, json_t *gpus, json_t *jobs);
/* The history of one GPU before the first take, from GET
 * /v1/gpus/UUID/history?keys=TOP_HISTORY_KEYS, in steps of step_s seconds until now_s. */
#define TOP_HISTORY_KEYS "gpu_use,memory_used,power,temperature"
void world_recall(struct top_world *world, const json_t *gpu, const json_t *reply, int64_t now_s,
                  int64_t step_s);
void world_arrange(struct top_world *world, const struct top_choice *choice);
void world_release(struct top_world *world);

size_t world_count(const struct top_world *world, enum top_list list);
/* The key of an item of that list: its UUID, or the id of the job. Points into the replies. */
const char *world_key(const struct top_world *world, enum top_list list, size_t place);
const struct top_history *world_history(const struct top_world *world, const char *uuid);

#endif
