/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_LOCALITY_H
#define NODE_LOCALITY_H

/* locality - which CPUs and memory are near to the devices of a member
 *
 * A member runs on the CPUs of the NUMA nodes that its devices are attached to, and takes its
 * memory there first. Conditions: the topology knows the node of each of its devices, and the CPUs
 * there are enough for it and for all other members at the same nodes. Otherwise it runs on any
 * CPU.
 */

#include "core/state/state.h"

enum { LOCALITY_CPUS_SIZE = 4096 };

struct locality {
    char cpus[LOCALITY_CPUS_SIZE]; /* "0-15,32-47" */
    int64_t memory_node;           /* -1: of several */
};

/* False: anywhere. The kernel's files are looked for below $TARN_DEVICE_ROOT, for tests. */
bool locality_find(const struct state *state, const struct job *job, uint32_t place,
                   struct locality *ret);

#endif
