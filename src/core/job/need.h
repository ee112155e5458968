/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_NEED_H
#define CORE_JOB_NEED_H

/* need - a job waits for another job, or for a whole group
 *
 * A need is kept until it is met. A need that can no longer be met is broken: the job that has it
 * has ended, and the need counts again if both jobs are requeued together. The same mechanism
 * serves stages of a pipeline, clean-up stages and Slurm's --dependency.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"

enum need_kind {
    NEED_OK,      /* succeeded; of a group: every job */
    NEED_ENDED,   /* ended, with any result */
    NEED_FAILED,  /* did not succeed; of a group: any job, once all have ended */
    NEED_STARTED, /* runs or ran; of a group: every job */
};

/* The needs of a job that is requeued. */
enum requeue_resume {
    RESUME_ALONE, /* it runs without those that were broken */
    RESUME_GROUP, /* with its group: those that were broken are open again */
    RESUME_AGAIN, /* with a stage that its stage follows: those that were met, too */
};

enum need_answer { NEED_OPEN, NEED_MET, NEED_BROKEN };

struct need {
    uint64_t job; /* the job that waits; 0: unused entry */
    uint64_t on;
    uint32_t next;        /* number of the next need with the same target, plus one; 0: last */
    uint32_t next_of_job; /* number of the next need of the same job, plus one; 0: last */
    uint8_t kind;         /* enum need_kind */
    bool is_broken;       /* not counted in the job's needs_left */
};

struct need_table {
    LIST(struct need) needs;
    LIST(uint32_t) unused;
    struct map by_target; /* on -> number of the first, plus one */
    struct map by_job;    /* job -> number of the first, plus one */
};

void need_add(struct need_table *table, uint64_t job, uint64_t on, enum need_kind kind);
/* Numbers plus one, for iteration: this one, then needs.items[n - 1].next. */
uint32_t need_first(const struct need_table *table, uint64_t on);
/* The needs of a job, newest first; continue with next_of_job. */
uint32_t need_first_of(const struct need_table *table, uint64_t job);
/* Remove one; false: it was not there. */
bool need_remove(struct need_table *table, uint32_t number_plus_one);
/* Remove all needs of this job. */
void need_remove_of(struct need_table *table, uint64_t job);
void need_table_release(struct need_table *table);

const char *need_kind_name(enum need_kind kind);

#endif
