/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_JOB_FILTER_H
#define API_JOB_FILTER_H

/* job_filter - which jobs a list has, and where its rows and pages begin
 *
 * Jobs are listed by number. Neighbouring tasks of an array that wait alike may share a row.
 */

#include "core/state/state.h"

struct job_filter {
    const char *queue, *user, *name;
    uint64_t group, group_last; /* numbers of its jobs; 0: any */
    uint32_t states;            /* bit i: state i */
    uint32_t results;           /* of those that ended; bit i: result i */
    usec_t since, until;        /* there between these times */
    uint64_t after;
    uint64_t limit;
    bool is_newest; /* the last ones instead of the first */
    bool is_rows;   /* only what a table shows; tasks of an array that wait alike are one */
};

bool job_filter_passes(const struct state *state, const struct job_filter *filter,
                       const struct job *job);
/* The first job after this number that passes; NULL: none. */
const struct job *job_filter_next(const struct state *state, const struct job_filter *filter,
                                  uint64_t after);
/* The last job of the row that begins with this one. */
const struct job *job_filter_row_end(const struct state *state, const struct job_filter *filter,
                                     const struct job *job);
/* The number after which the newest rows begin, as many as the limit; 0: none is left out. */
uint64_t job_filter_newest(const struct state *state, const struct job_filter *filter);

#endif
