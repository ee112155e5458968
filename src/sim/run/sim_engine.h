/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_SIM_ENGINE_H
#define SIM_RUN_SIM_ENGINE_H

/* sim_engine - the engine of a simulation: members start at once, and stopped members end at once
 *
 * The caller determines the run time, and reports the end of each attempt. It takes the outcomes
 * one by one, after the operation that causes them.
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
/* All members of an attempt have ended. */
void sim_engine_end(struct sim_engine *engine, struct member_id first, uint32_t count);
/* False: there is no outcome. */
bool sim_engine_take(struct sim_engine *engine, struct engine_outcome *ret);

#endif
