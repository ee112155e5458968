/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_SCENARIO_H
#define CONTROL_SCENARIO_H

/* scenario - apply the changes of a what-if to a copy of the state
 *
 * It runs the same use cases as the daemon, so refusals are the same.
 */

#include "control/control.h"

struct whatif;

/* What the nodes cost that it adds, per hour, in millionths of the currency: as their type
 * (`node_types`), as a node like them, or as their GPUs; 0: not known. */
int64_t scenario_rate(const struct state *state, const struct whatif *whatif);

int scenario_apply(const struct control *copy, const struct whatif *whatif,
                   const struct identity *who, struct error *err);

#endif
