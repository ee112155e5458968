/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ALERT_JOB_NOTES_H
#define DAEMON_ALERT_JOB_NOTES_H

/* job_notes - messages about starts and ends of jobs that ask for them (`mail`, `notify`)
 *
 * They are made when the change is durable, and delivered as alerts are: to the job's address, or
 * to its owner. Of an array or a pipeline there is one for all its jobs. What a crash of the daemon
 * interrupts is not told.
 *
 * Order of calls:  init, (changed | send)*, release
 * Limits:          NOTES_MAX wait to be sent; more are dropped, with a line in the log
 */

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/units.h"
#include "daemon/alert/alert_send.h"
#include "daemon/hub.h"

enum { NOTES_MAX = 1000 };

struct job_note {
    char *owner, *to; /* to: addresses; NULL: the owner */
    char *sentence, *json;
};

struct job_notes {
    struct hub *hub;
    usec_t seen;          /* what happened later is news */
    uint64_t silent;      /* the last launch that wants no message; most jobs are alike */
    uint64_t over;        /* the last group that was told to be over */
    LIST(uint64_t) begun; /* groups of which the first start was told */
    LIST(struct job_note) waiting;
};

void job_notes_init(struct job_notes *notes, struct hub *hub);
void job_notes_release(struct job_notes *notes);
void job_notes_changed(struct job_notes *notes, const uint64_t *jobs, size_t count);
/* As many as are taken. */
void job_notes_send(struct job_notes *notes, struct alert_sender *sender);

#endif
