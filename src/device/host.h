/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_HOST_H
#define DEVICE_HOST_H

/* machine - how much of this machine is ours to give out
 *
 * CPUs: those that we may run on, and no more than the CPU quotas of our control groups allow.
 * Memory: what is installed, and no more than their memory limits allow.
 */

#include "core/probe.h"

enum { MACHINE_CPUS_SIZE = 1024 };

/* The CPUs of a memory node that we may run on, "0-15,32-47", and how many; 0: it has none, or
 * nobody knows. */
uint32_t probe_node_cpus(const char *root, uint32_t node, char ret[MACHINE_CPUS_SIZE]);

/* Fails when /proc can't be read. */
int probe_machine(struct probe_machine *ret, struct error *err);

/* The same with the files below root: a recorded machine. The CPUs that we may run on still
 * count. */
int probe_machine_below(const char *root, struct probe_machine *ret, struct error *err);

#endif
