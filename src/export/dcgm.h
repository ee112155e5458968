/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_DCGM_H
#define EXPORT_DCGM_H

/* dcgm - readings under the names, labels and units of dcgm-exporter
 *
 * Existing dashboards and rules work without DCGM. Labels hpc_job, user, queue and pool name the
 * job that holds a device alone. Each device is one series, so that sums over devices stay correct;
 * tarn's own metrics (metrics.h) have the jobs of a shared device. On a device that no job of tarn
 * holds, hpc_job is the one Slurm job whose processes are there.
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
