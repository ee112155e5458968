/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_ALLOCATION_ENGINE_H
#define ENGINE_SLURM_ALLOCATION_ENGINE_H

/* allocation_engine - the engine slurm in the mode `allocation`
 *
 * tarn holds whole nodes with Slurm jobs (allocation.h) and runs members on them through a relay on
 * each node (relay_main.c), which has the local engine: so devices are exact and shared, and a
 * start takes milliseconds. A node is up while an allocation holds it and its relay is connected.
 *
 * A member is where its relay says. When an allocation ends, for whatever reason, the members that
 * it still has are lost.
 *
 * Order of calls:  as in core/engine.h; there is one in a process
 */

#include "core/engine.h"

int allocation_engine_create(const struct engine_options *options, struct engine **ret,
                             struct error *err);

#endif
