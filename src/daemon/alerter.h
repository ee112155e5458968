/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ALERTER_H
#define DAEMON_ALERTER_H

/* alerter - once a second collects what is wrong, and has told what core/alert.h says
 *
 * Faults of devices from a warning on; and a journal that can't be written. What the configuration
 * says of whom to tell is read each time: who is added later hears of what goes on at its next
 * repeat.
 *
 * Order of calls:  create, destroy before the hub and the watcher go
 */

#include <uv.h>

#include "core/watch.h"
#include "daemon/alert_send.h"
#include "daemon/hub.h"

struct alerter;

/* watch may be NULL. */
struct alerter *alerter_create(uv_loop_t *loop, struct hub *hub, const struct watch *watch,
                               const char *state_dir);
void alerter_destroy(struct alerter *alerter); /* NULL is fine */

struct alert_counts alerter_counts(const struct alerter *alerter);

#endif
