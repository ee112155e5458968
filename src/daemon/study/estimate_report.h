/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STUDY_ESTIMATE_REPORT_H
#define DAEMON_STUDY_ESTIMATE_REPORT_H

/* estimate_report - accuracy of the estimates: in total, by queue, kind of wait and horizon
 *
 * coverage: the part of waits within the 80 % range. Estimates without a range (the time is known)
 * are counted separately, as exact. The error is the distance of the wait from the median.
 *
 * Spec: doc/spec/10-api-reference.md, "Estimates"
 */

#include <jansson.h>

#include "base/mem.h"
#include "store/estimate_store.h"

/* Estimates of one group. */
struct estimate_tally {
    char *by, *name;
    uint32_t ranged, covered, below, above; /* with a range and a start */
    uint32_t exact, exact_right;
    uint32_t unknown;            /* without a time, but with a start */
    uint32_t guaranteed, broken; /* broken: started later than guaranteed */
    uint32_t open, dropped;
    LIST(usec_t) errors;
};

struct estimate_report {
    LIST(struct estimate_tally) tallies;
};

/* user: a struct estimate_report */
void estimate_report_add(void *user, const struct estimate_row *row);
/* {total, queues, kinds, horizons, history}; new. */
json_t *estimate_report_view(struct estimate_report *report);
void estimate_report_release(struct estimate_report *report);

#endif
