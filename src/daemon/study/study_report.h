/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STUDY_STUDY_REPORT_H
#define DAEMON_STUDY_STUDY_REPORT_H

/* study_report - reports usage and efficiency of the last days: a program that reads the journal
 *
 * The daemon starts it (daemon/study/study.h) with a question on standard input, and reads the
 * answer from its standard output, as for a rehearsal. Format: doc/spec/05-api.md, "Report".
 */

#include <jansson.h>

#include "core/state/ledger.h"

enum { REPORT_WORST_MAX = 5 };

/* As a step: months of the calendar. */
#define REPORT_MONTHS (-1)

enum report_by {
    REPORT_BY_USER,
    REPORT_BY_QUEUE,
    REPORT_BY_JOB,
    REPORT_BY_MODEL,
    REPORT_BY_STAGE,
    REPORT_BYS
};

struct report_ask {
    enum report_by by;
    size_t shown;      /* maximum number of rows */
    usec_t wall_ahead; /* wall time minus journal time */
    const char
        *hides_from; /* user who does not see the names of unlisted jobs of others; NULL: all */
};

json_t *report_view(const struct ledger *ledger, const struct report_ask *ask); /* new */

/* The answer to a question about changes, {"audit": true, ...} (study_audit.c); new. */
int audit_view(const json_t *question, json_t **ret, struct error *err);

/* The answer to a question about one job, {"job": 7, ...} (study_timeline.c); new. */
int timeline_view(const json_t *question, json_t **ret, struct error *err);

/* tarn --report; returns its exit status. */
int run_report_study(void);

#endif
