/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STUDY_PLANNED_H
#define DAEMON_STUDY_PLANNED_H

/* planned - submits the jobs that repeat (cron) in a simulation, at their times
 *
 * Their documents are read in the daemon, before the copy in which the simulation runs: a copy
 * cannot read the journal.
 *
 * Order of calls:  create, (read, then in a copy: (next | come)*)*, destroy
 * Limits:          the first PLANNED_MAX submissions of a simulation
 */

#include "control/control.h"
#include "forecast/forward.h"

enum { PLANNED_MAX = 100 };

struct planned;

/* live: the control of the daemon, which outlives this */
struct planned *planned_create(const struct control *live);
void planned_destroy(struct planned *planned); /* NULL is fine */

/* In the daemon: read the documents that are new. */
void planned_read(struct planned *planned);

/* In a copy: for forward_options, with a struct planned as its user. */
usec_t planned_next(void *planned);
int planned_come(void *planned, struct forward *forward, usec_t now, struct error *err);

#endif
