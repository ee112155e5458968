/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_DEPENDS_H
#define CONTROL_DEPENDS_H

/* depends - which jobs a submitted job waits for: the numbers, and what singleton comes to */

#include "control/control.h"

struct job_draft;

/* Every entry of depends gets the number of a job or a group, or one for each task (task: own).
 * With singleton, the sender's jobs of that name that have not ended are added. Fails with a
 * refusal. */
int depends_settle(const struct control *control, const struct identity *who,
                   struct job_draft *draft, struct error *err);

/* What the task at that place of the draft's array (0: it is no array) waits for. */
uint64_t depends_on(const struct job_draft *draft, size_t number, uint32_t place);

#endif
