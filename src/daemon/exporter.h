/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_EXPORTER_H
#define DAEMON_EXPORTER_H

/* exporter - the metrics of this machine's devices, for a machine without the daemon
 *
 * What `tarn serve --metrics` gives of devices, in the same words: readings, health, DCGM's names.
 * It knows no jobs and nobody's lease, so there is nothing of these, and no process is foreign. It
 * keeps nothing: what was wrong is forgotten with it.
 */

#include "cli/options.h"

int run_exporter(int argc, char **argv);
extern const struct option_entry options_exporter[];

#endif
