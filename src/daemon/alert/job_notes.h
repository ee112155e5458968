/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ALERT_JOB_NOTES_H
#define DAEMON_ALERT_JOB_NOTES_H

/* job_notes - messages about starts and ends of jobs that ask for them (`mail`, `notify`)
 *
 * They are made when the change is durable, and delivered as alerts are: to the job's address, or
 * to its owner. Of an array or a pipeline there is one for all its jobs. A restart of the daemon
 * makes those again that were not delivered: job_notes_told_until() says from when on.
 *
 * Order of calls:  init, (changed | send | told_until)*, release
 * Limits:          NOTES_MAX wait to be sent; NOTES_CHANGES_MAX changes wait to become messages,
 *                  later ones are dropped, with a line in the log. NOTES_READS_MAX launches are
 *                  read from the journal at a time
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
    usec_t seen;       /* what happened later is news */
    struct map silent; /* launches that want no message */
    struct map told;   /* groups of which one of the changes became a message, by event */
    LIST(struct note_change) changes;
    LIST(struct job_note) waiting;
    bool is_dropping; /* said in the log */
};

/* seen: what happened later is news; of the jobs that there are, too. */
void job_notes_init(struct job_notes *notes, struct hub *hub, usec_t seen);
void job_notes_release(struct job_notes *notes);
void job_notes_changed(struct job_notes *notes, const uint64_t *jobs, size_t count);
/* As many as are taken. */
void job_notes_send(struct job_notes *notes, struct alert_sender *sender);
/* All messages about what happened until then were delivered, or given up. */
usec_t job_notes_told_until(const struct job_notes *notes, struct alert_sender *sender);

#endif
