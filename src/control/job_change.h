/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_JOB_CHANGE_H
#define CONTROL_JOB_CHANGE_H

/* job_change - cancel, hold, release, requeue, checkpoint, update and signal a job or a group
 *
 * In a group, either all jobs to which the action applies are changed, or none. Requeueing a group
 * in which jobs failed continues from there: these jobs run again, and with them the jobs that were
 * cancelled because of them. A stage may be requeued with all stages that
 * follow it, whatever their results are. The owner and administrators may change a job; only the
 * owner may report a checkpoint. A signal is not an event: the caller sends it to the jobs in
 * `changed`.
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
    char queue[REQUEST_NAME_SIZE]; /* "": unchanged */
    usec_t max_duration;           /* 0: unchanged */
    usec_t begin;
    bool begin_is_wall;          /* a date or a time of day */
    bool follows;                /* requeue a stage and all stages that follow it */
    enum requeue_resume resumes; /* of a requeue; set by job_change() */
    /* The changed jobs; the caller releases the list. */
    LIST(uint64_t) changed;
};

/* Call it inside a change. */
int job_change(const struct control *control, struct job_change *wish, struct error *err);

#endif
