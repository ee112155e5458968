/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ALERT_JOB_NOTES_H
#define DAEMON_ALERT_JOB_NOTES_H

/* job_notes - messages about starts and ends of jobs that ask for them (`mail`, `notify`)
 *
 * A message is made when the change is durable, and delivered like an alert: to the job's address,
 * or to its owner. An array or a pipeline gets one message for all its jobs. After a restart, the
 * daemon makes the undelivered messages again, from the time of job_notes_told_until() on.
 *
 * Order of calls:  init, (changed | send | told_until)*, release
 * Limits:          NOTES_MAX waiting messages; NOTES_CHANGES_MAX changes that wait to become
 *                  messages, later ones are dropped, with a line in the log. NOTES_READS_MAX
 *                  launches are read from the journal at a time
 */

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "daemon/alert/alert_send.h"
#include "daemon/hub.h"

enum { NOTES_MAX = 1000, NOTES_CHANGES_MAX = 100000, NOTES_READS_MAX = 256 };

struct job_note {
    char *owner, *to; /* to: addresses; NULL: the owner */
    char *sentence, *json;
    usec_t at;
};

/* A start or an end that its job may want a message about. */
struct note_change {
    uint64_t job, group; /* group: all that it was submitted with; 0: none */
    usec_t at;
    unsigned event; /* NOTIFY_... */
    bool is_bad;
};

struct job_notes {
    struct hub *hub;
    usec_t seen;       /* only later changes are reported */
    struct map silent; /* launches without messages */
    struct map told;   /* groups for which a change became a message, by event */
    struct map begun;  /* jobs without a group whose start was seen, until they end */
    LIST(struct note_change) changes;
    LIST(struct job_note) waiting;
    bool is_dropping; /* the log has a line about it */
};

/* seen: only later changes are reported, also those of existing jobs. */
void job_notes_init(struct job_notes *notes, struct hub *hub, usec_t seen);
void job_notes_release(struct job_notes *notes);
void job_notes_changed(struct job_notes *notes, const uint64_t *jobs, size_t count);
/* Send as many messages as the sender accepts. */
void job_notes_send(struct job_notes *notes, struct alert_sender *sender);
/* The time up to which all messages were delivered or given up. */
usec_t job_notes_told_until(const struct job_notes *notes, struct alert_sender *sender);

#endif
