/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ESTIMATE_STORE_H
#define STORE_ESTIMATE_STORE_H

/* estimate_store - stores the estimates that were shown to users, and their outcomes
 *
 * It is one table of a small SQLite file beside the journal, written without waiting for the disk:
 * a crash may lose the last second. Beyond ESTIMATE_ROWS_MAX, the oldest rows are deleted.
 *
 * Order of calls:  open, (begin, (add | close_job)*, commit | read)*, close
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/units.h"

struct estimate_store;

enum { ESTIMATE_ROWS_MAX = 1000000, ESTIMATE_READ_MAX = 100000 };

enum estimate_outcome {
    ESTIMATE_OPEN,    /* it still waits */
    ESTIMATE_STARTED, /* it started; `came` is its wait */
    ESTIMATE_DROPPED, /* it ended without a start */
};

/* All times except `shown` are waits from `shown` on. */
struct estimate_row {
    uint64_t job;
    const char *queue, *kind; /* kind of the wait; both valid during the call */
    usec_t shown;             /* wall time, microseconds since 1970 */
    usec_t low, median, high; /* USEC_NEVER: unknown */
    usec_t guaranteed;        /* USEC_NEVER: none */
    usec_t came;
    uint8_t outcome; /* enum estimate_outcome */
    bool is_cold;    /* there was little history of run times */
};

/* Fails with the codes of sql_error() (store/sql.h). */
int estimate_store_open(const char *path, struct estimate_store **ret, struct error *err);
void estimate_store_close(struct estimate_store *store); /* NULL is fine */

/* Everything between begin and commit is one transaction. */
int estimate_store_begin(struct estimate_store *store, struct error *err);
int estimate_store_add(struct estimate_store *store, const struct estimate_row *row,
                       struct error *err);
/* Set the outcome of all open estimates of this job: it started at `at` (wall time), or never. */
int estimate_store_close_job(struct estimate_store *store, uint64_t job, usec_t at,
                             enum estimate_outcome outcome, struct error *err);
int estimate_store_commit(struct estimate_store *store, struct error *err);

typedef void estimate_row_fn(void *user, const struct estimate_row *row);
/* Read the estimates shown at `from` or later (the newest ESTIMATE_READ_MAX), in the order in which
 * they were shown. */
int estimate_store_read(struct estimate_store *store, usec_t from, estimate_row_fn *fn, void *user,
                        struct error *err);

#endif
