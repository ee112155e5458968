/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_HOST_H
#define DEVICE_HOST_H

/* host - the CPUs and the memory of this machine that tarn may allocate
 *
 * CPUs: the affinity mask of the daemon, bounded by the CPU quotas of its control groups.
 * Memory: what is installed, bounded by their memory limits.
 */

#include "core/probe.h"

enum { MACHINE_CPUS_SIZE = 1024 };

/* The CPUs of a memory node that the daemon may run on, "0-15,32-47", and how many; 0: it has none,
 * or they are not known. */
uint32_t probe_node_cpus(const char *root, uint32_t node, char ret[MACHINE_CPUS_SIZE]);

/* Fails when /proc can't be read. */
int probe_machine(struct probe_machine *ret, struct error *err);

/* The same with the files below root: a recorded machine. The CPUs that we may run on still
 * count. */
int probe_machine_below(const char *root, struct probe_machine *ret, struct error *err);

#endif
