/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_METRICS_H
#define EXPORT_METRICS_H

/* metrics - tarn's own metrics, in base units: devices, jobs, queues, decisions
 *
 * Facts that do not change stand in metrics that end in _info, to be joined by UUID or job. The
 * set of labels is bounded: no process numbers, no commands. Jobs are those that hold something.
 */

#include "base/text.h"
#include "core/device_watch.h"
#include "core/state/state.h"

/* What the daemon itself did. */
struct metrics_self {
    const char *version;
    usec_t now, started;
    uint64_t plans, decisions; /* since it runs */
    usec_t plan_sum, plan_max; /* how long plans took */
    uint64_t alerts_sent, alerts_failed, alerts_dropped;
    bool is_in_trouble; /* the journal can't be written */
    bool has_no_jobs;   /* only devices: no scheduler runs, and allocations are not known */
};

/* watch may be NULL. */
void metrics_export(const struct state *state, const struct watch *watch,
                    const struct metrics_self *self, struct text *out);

#endif
