/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ALERT_ALERTER_H
#define DAEMON_ALERT_ALERTER_H

/* alerter - collects problems once a second, and sends the alerts that core/health/alert.h decides
 *
 * Device faults with severity warning or higher, budgets that are nearly or completely spent, and a
 * journal that cannot be written are reported to the recipients in the configuration; a problem of
 * a job is reported to its owner. Messages about starts and ends of jobs (job_notes.h) use the same
 * channels. The configuration is read each time: a new recipient gets an open alert at its next
 * repetition.
 *
 * Order of calls:  create, watch, destroy before the hub and the watcher
 */

#include <uv.h>

#include "core/device_watch.h"
#include "daemon/alert/alert_send.h"
#include "daemon/hub.h"

struct alerter;

/* From here on, messages about jobs are sent. */
int alerter_create(uv_loop_t *loop, struct hub *hub, const char *state_dir, struct alerter **ret,
                   struct error *err);
/* Begin to send alerts; watch may be NULL. */
void alerter_watch(struct alerter *alerter, const struct watch *watch);
void alerter_destroy(struct alerter *alerter); /* NULL is fine */

/* These jobs have changed durably: send the messages that they request. */
void alerter_changed(struct alerter *alerter, const uint64_t *jobs, size_t count);

/* The current problems and silences; valid until the next turn of the loop. */
const struct alerts *alerter_look(const void *alerter, const struct alert_silence **ret_silences,
                                  size_t *ret_count);
/* As in alert_memory.h. */
int alerter_silence(void *alerter, const struct alert_silence *silence, struct error *err);
int alerter_unsilence(void *alerter, const char *name, const char *subject, unsigned *ret_count,
                      struct error *err);

struct alert_counts alerter_counts(const void *alerter);

#endif
