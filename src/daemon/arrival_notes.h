/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ARRIVAL_NOTES_H
#define DAEMON_ARRIVAL_NOTES_H

/* arrival_notes - tells the engine what becomes of the jobs that were submitted to it
 *
 * For each that waits: the reason and the expected start, some at a time, when they changed, at
 * most twice a minute; and how it ended. An engine that mirrors them is shown each change, some at
 * a time, and all queues.
 *
 * Owner: the daemon; engine and api outlive it
 */

#include <uv.h>

#include "api/api.h"
#include "core/engine.h"
#include "daemon/hub.h"

struct arrival_notes;

struct arrival_notes *arrival_notes_create(uv_loop_t *loop, struct hub *hub, struct engine *engine,
                                           const struct api *api);
void arrival_notes_destroy(struct arrival_notes *notes); /* NULL is fine */

/* An arrival got this number; again is fine, and so are NULL notes. */
void arrival_notes_add(struct arrival_notes *notes, uint64_t job, const char *name);

#endif
