/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_JOB_VIEW_H
#define CLI_JOB_VIEW_H

/* job_view - formats a JOB of the API for people (doc/spec/10-api-reference.md) */

#include <jansson.h>
#include <stdbool.h>

#include "cli/list_view.h"

bool job_is_ended(const json_t *job);
bool job_has_failed(const json_t *job); /* it ended, but neither succeeded nor was cancelled */
bool job_is_placed(const json_t *job);  /* it holds resources, or is about to get them */
/* Its state, such as "queued"; for an ended job its result, such as "ok". Points into the job. */
const char *job_state_word(const json_t *job);
enum table_style job_state_style(const json_t *job);

/* The devices that it holds: "0-3", on several nodes "n1 0-3, n2 0-3", or nothing. True: with
 * nodes. */
bool job_indices_add(const json_t *job, struct text *text);
void job_gpus_add(const json_t *job, struct text *text); /* "4 (0-3)", "1 (3) synthetic", "" */
/* "preempted 2 times after 4m, last for job 7" for a job that will resume, or has; else "" */
void job_preempted_add(const json_t *job, struct text *text);
/* "grew from 2 to 4 (idle GPUs)", "healed 1 time after a member was lost"; "" */
void job_resized_add(const json_t *job, struct text *text);
void job_why_add(const json_t *job, struct text *text); /* "gpus · about 14:20", "" */
void job_expected_add(const json_t *why,
                      struct text *text); /* "about 14:20 (14:05 to 14:50)", "" */

/* "job 7 ended ok · ran 4m12s", "job 7 failed: exit status 3 · ran 2s" */
void job_end_add(const json_t *job, struct text *text);

/* The exit status for the shell: that of the job, 128 plus the signal, 124 for a timeout, else 1.
 */
int job_exit_status(const json_t *job);

/* A table of jobs. */
enum { JOBS_COLUMNS = 9 };
extern const struct list_column jobs_columns[JOBS_COLUMNS];

#endif
