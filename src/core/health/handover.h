/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_HANDOVER_H
#define CORE_HEALTH_HANDOVER_H

/* handover - a device between two jobs
 *
 * When a job gave a device back, or its part of one, the device is looked at before another job
 * starts there: nothing of the old one runs on it; and, when nobody else has any of it, its memory
 * and its compute mode are as they were without jobs. All well, the first look says so. A mode that
 * can't be set back harms less than a device that nobody gets: after a while it stays.
 *
 * Order of calls:  begin, judge* until is_open is not set; judge at any other time keeps it up
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/health/reading.h"

enum { HANDOVER_WORDS_SIZE = 112, HANDOVER_RESET_S = 3 };

struct handover {
    bool is_open;      /* nobody starts there now */
    bool is_after;     /* what is found is of the last job; until all is well */
    usec_t since;      /* looks that began earlier say nothing */
    uint64_t job;      /* who gave it back */
    int64_t usual_mib; /* the least without a job that no process has, plus one; 0: not known */
    int usual_mode;    /* compute mode, as it was last without a job, plus one; 0: not known */
    bool was_shared;   /* whoever serves shares makes it exclusive, and is a little late to end */
    usec_t reset;      /* since when another is to be set back; 0: none */
    bool is_mode_kept; /* that did not help */
    char words[HANDOVER_WORDS_SIZE]; /* what is left; "": nothing */
};

struct handover_look {
    usec_t began;                  /* when the device was asked */
    const struct reading *reading; /* what it said */
    bool is_used;                  /* a job that runs has some of it */
    bool is_shared;                /* it is given out in parts, to whomever */
    int64_t unowned_mib;           /* used, and no process has it; -1: not known */
    uint32_t left_pid;             /* a process of a job that is over; 0: none */
    const char *left_name;         /* its program's */
    uint64_t left_job;
};

void handover_begin(struct handover *handover, uint64_t job, usec_t now);

/* Whether anything is left there; words say what. A look of before its beginning changes nothing.
 */
bool handover_judge(struct handover *handover, const struct handover_look *look);

/* The compute mode is to be set back to the usual one. */
bool handover_needs_reset(const struct handover *handover, const struct handover_look *look);

#endif
