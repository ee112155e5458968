/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_DCGM_H
#define EXPORT_DCGM_H

/* dcgm - readings under the names, labels and units of dcgm-exporter
 *
 * So that dashboards and rules that people have work without DCGM. Added are hpc_job, user, queue
 * and pool of the job that holds a device alone; of a shared device what each job does is in our
 * own metrics (metrics.h): here one device is one series, so that sums over devices stay right.
 */

#include "base/text.h"
#include "core/device_watch.h"
#include "core/state/state.h"

struct dcgm_options {
    bool old_hostname; /* "Hostname", as before May 2026; else "hostname" */
    bool new_names;    /* DCGM 4.6's names, where they differ */
};

void dcgm_export(const struct state *state, const struct watch *watch,
                 const struct dcgm_options *options, struct text *out);

#endif
