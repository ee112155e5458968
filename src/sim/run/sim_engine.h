/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_SIM_ENGINE_H
#define SIM_RUN_SIM_ENGINE_H

/* sim_engine - the engine of a simulation: members start at once, and a stopped one ends at once
 *
 * How long a program runs is the caller's: it says when an attempt has come to its end. Outcomes
 * are taken one by one, after the operation that they follow from.
 */

#include "base/mem.h"
#include "core/engine.h"

struct sim_engine {
    struct engine port; /* start and stop only */
    LIST(struct engine_outcome) outcomes;
    size_t taken;
};

void sim_engine_init(struct sim_engine *engine);
void sim_engine_release(struct sim_engine *engine);
/* All members of an attempt have come to their ends. */
void sim_engine_end(struct sim_engine *engine, struct member_id first, uint32_t count);
/* False: there is none. */
bool sim_engine_take(struct sim_engine *engine, struct engine_outcome *ret);

#endif
