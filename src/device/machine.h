/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_MACHINE_H
#define DEVICE_MACHINE_H

/* machine - how much of this machine is ours to give out
 *
 * CPUs: those that we may run on, and no more than the CPU quotas of our control groups allow.
 * Memory: what is installed, and no more than their memory limits allow.
 */

#include "core/probe.h"

/* Fails when /proc can't be read. */
int probe_machine(struct probe_machine *ret, struct error *err);

/* The same with the files below root: a recorded machine. The CPUs that we may run on still
 * count. */
int probe_machine_below(const char *root, struct probe_machine *ret, struct error *err);

#endif
