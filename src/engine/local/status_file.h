/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_STATUS_FILE_H
#define ENGINE_LOCAL_STATUS_FILE_H

/* status_file - reads the file that a shim writes about its member
 *
 * The file exists from before the member's first process until the member is forgotten. While its
 * lock is held, the shim lives, and F_GETLK returns its PID. Only complete records count; an
 * incomplete one is ignored.
 *
 * Spec:  doc/spec/06-shim.md
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/engine.h"

enum { STATUS_PATH_SIZE = 640, STATUS_DIRS_MAX = 4 };

struct status {
    bool exists;
    bool same_boot; /* written since the last boot, so its processes may still exist */
    pid_t shim_pid; /* the process that holds the lock; 0: none, the shim has ended */
    bool has_started;
    bool has_end; /* end is set: ENGINE_ENDED or ENGINE_FAILED */
    struct engine_isolation isolation;
    struct engine_outcome end;
    pid_t pid;      /* the job's first process, 0: not known; also its session and group */
    uint64_t ticks; /* start time of that process, as in /proc/PID/stat; 0: not known */
    char kill[STATUS_PATH_SIZE]; /* its control group, "": none */
    char dirs[STATUS_DIRS_MAX][STATUS_PATH_SIZE];
    unsigned dir_count;
};

/* Apply one record, without its newline. Unknown and incomplete records are ignored. */
void status_apply(struct status *status, const char *boot, const char *record, size_t length);

/* If the file cannot be read, only `exists` is set. */
void status_read(const char *path, const char *boot, struct status *ret);

/* The PID that holds the lock on path; 0: none. */
pid_t status_holder(const char *path);

/* The isolation part of the note that the shim writes first. */
void status_note_isolation(const struct engine_isolation *isolation, char text[8]);

#endif
