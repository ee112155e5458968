/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_METRICS_H
#define EXPORT_METRICS_H

/* metrics - tarn's own metrics, in base units: devices, jobs, queues, decisions
 *
 * Facts that do not change are in metrics whose names end in _info, to be joined by UUID or job.
 * The set of labels is bounded: no process numbers, no commands. Only jobs that hold resources
 * appear.
 */

#include "base/text.h"
#include "core/device_watch.h"
#include "core/state/state.h"

/* Values of the daemon itself. */
struct metrics_self {
    const char *version;
    usec_t now, started;
    uint64_t plans, decisions; /* since its start */
    usec_t plan_sum, plan_max; /* durations of plans */
    uint64_t alerts_sent, alerts_failed, alerts_dropped;
    bool is_in_trouble; /* the journal cannot be written */
    bool has_no_jobs;   /* only devices: no scheduler runs, and allocations are not known */
};

/* watch may be NULL. */
void metrics_export(const struct state *state, const struct watch *watch,
                    const struct metrics_self *self, struct text *out);

#endif
