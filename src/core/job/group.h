/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_GROUP_H
#define CORE_JOB_GROUP_H

/* group - an array, a stage or a pipeline: jobs that are counted together
 *
 * A group has the number id; its parts, groups and jobs, have the numbers from there to last,
 * without gaps. Jobs and groups share one numbering, so that anything can wait for anything
 * (need.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

enum group_kind { GROUP_ARRAY, GROUP_STAGE, GROUP_PIPELINE };

/* All jobs of a stage need this group. It is kept when the jobs no longer need it (need.h): it
 * shows the order of the stages, and counts again when a pipeline runs again from a stage on. */
struct group_need {
    uint64_t on;
    uint8_t kind; /* enum need_kind */
};

struct group {
    uint64_t id, last;
    uint64_t parent;               /* 0: none */
    uint64_t document;             /* reserved */
    struct group *next, *previous; /* of all groups, by id */
    char *name;
    uint32_t user;
    uint32_t max_running; /* 0: no limit */
    uint32_t job_count;   /* at any depth */
    /* Counted over its jobs, at any depth. */
    uint32_t started_count; /* ran at least once */
    uint32_t active_count;  /* hold resources now */
    uint32_t ended_count;
    uint32_t bad_count; /* ended with a result other than ok */
    usec_t submitted, ended;
    uint8_t kind;
    struct group_need *needs; /* of a stage */
    uint32_t needs_count;
};

static inline bool group_is_over(const struct group *group)
{
    return group->ended_count >= group->job_count;
}

/* Remember that its jobs need the group `on`; it is remembered once. */
void group_note_need(struct group *group, uint64_t on, uint8_t kind);
void group_destroy(struct group *group); /* NULL is fine */

const char *group_kind_name(enum group_kind kind);

#endif
