/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_HANDOVER_H
#define CORE_HEALTH_HANDOVER_H

/* handover - a device between two jobs
 *
 * After a job has released a device, or its share of one, the device is checked before another job
 * starts on it: no process of the old job runs there; and, if no other job holds a share, its
 * memory and its compute mode are as they were without jobs. If all is well, the first check says
 * so. If the compute mode cannot be restored, it is accepted after a while: that harms less than a
 * device that no job can use.
 *
 * Order of calls:  begin, (renew | judge)* until is_open is not set; judge at other times learns
 *                  usual values
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/health/reading.h"

enum { HANDOVER_WORDS_SIZE = 112, HANDOVER_RESET_S = 3 };

struct handover {
    bool is_open;  /* no job may start there now */
    bool is_after; /* findings belong to the last job; until all is well */
    usec_t since;  /* checks that began earlier do not count */
    uint64_t job;  /* the job that released it */
    int64_t
        usual_mib;   /* the least memory in use by no process without jobs, plus one; 0: unknown */
    int usual_mode;  /* the last compute mode without a job, plus one; 0: unknown */
    bool was_shared; /* the MPS server made it exclusive, and ends a little later */
    usec_t reset;    /* when restoring the mode began; 0: it is not being restored */
    bool is_mode_kept;               /* the mode could not be restored and is accepted */
    char words[HANDOVER_WORDS_SIZE]; /* what is left on the device; "": nothing */
};

struct handover_look {
    usec_t began;                  /* when the device was asked */
    const struct reading *reading; /* its reading */
    bool is_used;                  /* a running job holds a share of it */
    bool is_shared;                /* it is allocated in shares */
    int64_t unowned_mib;           /* memory in use by no process; -1: not known */
    uint32_t left_pid;             /* a process of an ended job; 0: none */
    const char *left_name;         /* its program's */
    uint64_t left_job;
};

void handover_begin(struct handover *handover, uint64_t job, usec_t now);

/* What tarn itself had on the device has ended: checks that began earlier do not count. */
void handover_renew(struct handover *handover, usec_t now);

/* Whether anything is left there; words say what. A look from before begin changes nothing. */
bool handover_judge(struct handover *handover, const struct handover_look *look);

/* Whether the compute mode has to be set back to the usual one. */
bool handover_needs_reset(const struct handover *handover, const struct handover_look *look);

#endif
