/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_STATUS_FILE_H
#define ENGINE_LOCAL_STATUS_FILE_H

/* status_file - what a shim wrote about its member
 *
 * A status file exists from before the member's first process until it is
 * forgotten. While its lock is held the shim lives, and F_GETLK names it.
 * A record counts only when it is whole; a torn one is as if it were not there.
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
    bool same_boot; /* its processes may still be there */
    pid_t shim_pid; /* the process that holds the lock; 0: none, the shim has ended */
    bool has_started;
    bool has_end; /* end is set: ENGINE_ENDED or ENGINE_FAILED */
    struct engine_isolation isolation;
    struct engine_outcome end;
    pid_t pid;      /* the job's first process, 0: not known; also its session and group */
    uint64_t ticks; /* when that one was started, as in /proc/PID/stat; 0: not known */
    char kill[STATUS_PATH_SIZE]; /* its control group, "": none */
    char dirs[STATUS_DIRS_MAX][STATUS_PATH_SIZE];
    unsigned dir_count;
};

/* One record, without its newline. What is unknown or torn is passed over. */
void status_apply(struct status *status, const char *boot, const char *record, size_t length);

/* A file that cannot be read counts as not there, except that it exists. */
void status_read(const char *path, const char *boot, struct status *ret);

/* The pid that holds the lock on path now; 0: none. */
pid_t status_holder(const char *path);

/* The note that start() has the shim write first. */
void status_note_isolation(const struct engine_isolation *isolation, char text[8]);

#endif
