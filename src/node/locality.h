/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_LOCALITY_H
#define NODE_LOCALITY_H

/* locality - which CPUs and memory are near to the devices of a member
 *
 * A member runs on the CPUs of the memory nodes that its devices are at, and takes its memory there
 * first, when the topology knows of all of them and those CPUs suffice for it and for all others
 * that are at the same nodes. Who would find them full runs anywhere.
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
