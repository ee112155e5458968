/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_SCENARIO_H
#define CONTROL_SCENARIO_H

/* scenario - what a what-if supposes is done to a copy of the state
 *
 * By what would change it in the daemon: what is refused here would be refused there, in the same
 * words.
 */

#include "control/control.h"

struct whatif;

int scenario_apply(const struct control *copy, const struct whatif *whatif,
                   const struct identity *who, struct error *err);

#endif
