/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NODES_SHORTAGE_H
#define DAEMON_NODES_SHORTAGE_H

/* shortage - pauses this machine while it lacks processes, descriptors, threads, memory or disk
 *
 * A start that failed for this reason is no fault of the job, which is queued again
 * (ENGINE_RETURNED). The node is drained with a reason that begins with NODE_SHORTAGE, so that the
 * next plan does not try the same at once. After SHORTAGE_PAUSE_S the pause ends, and the next job
 * tries; each further failure doubles the pause, up to SHORTAGE_PAUSE_MAX_S. A drain by an
 * administrator stays as it is.
 */

#include <uv.h>

#include "daemon/hub.h"

enum { SHORTAGE_PAUSE_S = 5, SHORTAGE_PAUSE_MAX_S = 60 };

struct shortage;

/* Pauses of an earlier daemon end after SHORTAGE_PAUSE_S. */
struct shortage *shortage_create(uv_loop_t *loop, struct hub *hub);
void shortage_destroy(struct shortage *shortage); /* NULL is fine */

/* A start failed; call it before the end of the attempt is reported. */
void shortage_note(struct shortage *shortage, const char *reason);

#endif
