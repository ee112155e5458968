/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STUDY_ESTIMATE_BOOK_H
#define DAEMON_STUDY_ESTIMATE_BOOK_H

/* estimate_book - records every estimate that was shown, and learns from the results
 *
 * An estimate of a job is recorded when it is shown for the first time, and again when the expected
 * wait has halved. When the job starts, the ranges of forecasts are adjusted
 * (forecast/stretch.h). Rows are written once a second (store/estimate_store.h), and the next
 * daemon learns from them again.
 *
 * At most 16,384 estimates of jobs that have not started are kept; others are not recorded.
 *
 * If the file cannot be used (damaged, disk full), it still learns in memory.
 *
 * Order of calls:  create, (range | shown | changed | report)*, destroy
 */

#include <jansson.h>
#include <uv.h>

#include "core/job/job.h"
#include "sched/explain/questions.h"

struct estimate_book;
struct hub;

struct estimate_book *estimate_book_create(uv_loop_t *loop, struct hub *hub, const char *path);
void estimate_book_destroy(struct estimate_book *book); /* NULL is fine; before the loop ends */

/* Adjust a range for this job. */
void estimate_book_range(const struct estimate_book *book, const struct job *job,
                         struct start_estimate *estimate);
/* Record a shown estimate. guaranteed: a time, or USEC_NEVER. is_forecast: it comes from a forecast
 * and was adjusted; else it comes from the list schedule. */
void estimate_book_shown(struct estimate_book *book, const struct job *job,
                         const struct start_estimate *estimate, usec_t guaranteed,
                         bool is_forecast);
/* These jobs have changed. */
void estimate_book_changed(struct estimate_book *book, const uint64_t *jobs, size_t count);

/* {total, queues, kinds, horizons, history} about the estimates shown in the period `last` before
 * now; new. */
int estimate_book_report(struct estimate_book *book, usec_t last, json_t **ret, struct error *err);

#endif
