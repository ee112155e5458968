/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_STAGES_H
#define CLI_FOLLOW_STAGES_H

/* stages - the known jobs of an array or a pipeline, and their sums
 *
 * Order of calls:  read, hear*, sum*, release
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"

struct stage {
    char *name;
    char *needs;  /* "train, evaluate"; "" */
    char *last;   /* the last line of a running job's output; NULL */
    size_t *jobs; /* indexes into struct stages.jobs */
    size_t job_count;
};

struct stage_sum {
    size_t ok, bad, running, waiting;
    int64_t gpu_milli; /* of the running jobs */
    double cpus;       /* of the running jobs */
    usec_t gpu_time;
    usec_t wait_max;
    usec_t began, ended;                         /* wall time; 0: not yet */
    const json_t *a_running, *a_waiting, *a_bad; /* the first of each; NULL: none */
};

struct stages {
    char *name, *kind;
    uint64_t id;
    struct stage *items;
    size_t count;
    json_t **jobs; /* last known state of each */
    size_t job_count;
    struct map by_id; /* id of a job -> index in jobs */
    size_t *stage_of; /* for each job, its stage */
    char *result;     /* "ok", "failed"; "" until it has ended */
    usec_t submitted;
    bool is_synthetic; /* some of its GPUs are synthetic */
};

/* From the reply of GET /v1/jobs/ID. */
void stages_read(struct stages *stages, const json_t *group);
void stages_release(struct stages *stages);

/* Take over a changed job or group. Returns the job's stage if its state changed, else NULL. */
const struct stage *stages_hear(struct stages *stages, json_t *change, bool is_group);

void stage_sum(const struct stages *stages, const struct stage *stage, struct stage_sum *ret);

#endif
