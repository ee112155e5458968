/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_NEED_H
#define CORE_JOB_NEED_H

/* need - a job waits for another job, or for a whole group
 *
 * Needs are kept until the one that is waited for has met them. One that can no longer be met is
 * broken: its job has ended, and the need counts again if both are requeued together. One
 * mechanism serves stages of a pipeline, clean-up stages and Slurm's --dependency.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"

enum need_kind {
    NEED_OK,      /* ended well; of a group: every job of it */
    NEED_ENDED,   /* ended, however */
    NEED_FAILED,  /* ended badly; of a group: any job of it, once all ended */
    NEED_STARTED, /* runs or ran; of a group: every job of it */
};

enum need_answer { NEED_OPEN, NEED_MET, NEED_BROKEN };

struct need {
    uint64_t job; /* the job that waits; 0: unused entry */
    uint64_t on;
    uint32_t next;        /* waiting for the same, plus one; 0: last */
    uint32_t next_of_job; /* what the same job waits for, plus one; 0: last */
    uint8_t kind;         /* enum need_kind */
    bool is_broken;       /* not one of the job's needs_left */
};

struct need_table {
    LIST(struct need) needs;
    LIST(uint32_t) unused;
    struct map by_target; /* on -> number plus one of the first */
    struct map by_job;    /* job -> number plus one of the first */
};

void need_add(struct need_table *table, uint64_t job, uint64_t on, enum need_kind kind);
/* Numbers plus one, for walking: first, then needs.items[n - 1].next. */
uint32_t need_first(const struct need_table *table, uint64_t on);
/* What a job waits for, the last added first; on with next_of_job. */
uint32_t need_first_of(const struct need_table *table, uint64_t job);
/* Drop one; true when it was there. */
bool need_remove(struct need_table *table, uint32_t number_plus_one);
/* Drop all that this job waits for. */
void need_remove_of(struct need_table *table, uint64_t job);
void need_table_release(struct need_table *table);

const char *need_kind_name(enum need_kind kind);

#endif
