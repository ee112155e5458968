/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_JOB_CHANGE_H
#define CONTROL_JOB_CHANGE_H

/* job_change - cancel, hold, release, requeue, checkpoint, update, signal: of one job or of a group
 *
 * Of a group, all jobs that can take it are changed, or none. A group with jobs that ended badly is
 * requeued from there: these run again, with those that were cancelled because of them. Owner and
 * administrators may; a checkpoint is its owner's to report. A signal is no event: the caller sends
 * it to the jobs in `changed`.
 */

#include "base/mem.h"
#include "control/control.h"

struct job_change {
    const struct identity *who;
    uint64_t id;          /* a job or a group */
    enum event_kind kind; /* CANCEL, HOLD, RELEASE, REQUEUE, CHECKPOINT, UPDATE; NONE: a signal */
    const char *verb;     /* for refusals */
    /* The changes of an update. */
    bool has_priority, has_begin;
    int32_t priority;
    char queue[REQUEST_NAME_SIZE]; /* "": stays */
    usec_t max_duration;           /* 0: stays */
    usec_t begin;
    bool resumes; /* a requeue of a group that goes on; set by job_change() */
    /* What was changed, the caller's to release. */
    LIST(uint64_t) changed;
};

/* Inside a change. */
int job_change(const struct control *control, struct job_change *wish, struct error *err);

#endif
