/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_HOST_H
#define DEVICE_HOST_H

/* host - the CPUs and the memory of this machine that tarn may allocate
 *
 * CPUs: the affinity mask of the daemon, limited by the CPU quotas of its control groups.
 * Memory: the installed memory, limited by the memory limits of its control groups.
 */

#include "core/probe.h"

enum { MACHINE_CPUS_SIZE = 1024 };

/* The CPUs of a NUMA node that the daemon may use, such as "0-15,32-47"; returns their number. 0:
 * none, or not known. */
uint32_t probe_node_cpus(const char *root, uint32_t node, char ret[MACHINE_CPUS_SIZE]);

/* Fails if /proc cannot be read. */
int probe_machine(struct probe_machine *ret, struct error *err);

/* The same with the files below root, for a recorded machine. The affinity mask is that of this
 * process. */
int probe_machine_below(const char *root, struct probe_machine *ret, struct error *err);

#endif
