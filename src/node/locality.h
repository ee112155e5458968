/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_LOCALITY_H
#define NODE_LOCALITY_H

/* locality - the CPUs and the memory near the devices of a member
 *
 * A member runs on the CPUs of the NUMA nodes of its devices, and allocates memory there first.
 * Conditions: the NUMA node of each of its devices is known, and the CPUs there suffice for it and
 * for all other members on the same NUMA nodes. Otherwise it runs on any CPU.
 */

#include "core/state/state.h"

enum { LOCALITY_CPUS_SIZE = 4096 };

struct locality {
    char cpus[LOCALITY_CPUS_SIZE]; /* "0-15,32-47" */
    int64_t memory_node;           /* -1: several */
};

/* False: any CPU. For tests, the kernel's files are read below $TARN_DEVICE_ROOT. */
bool locality_find(const struct state *state, const struct job *job, uint32_t place,
                   struct locality *ret);

#endif
