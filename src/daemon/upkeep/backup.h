/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_UPKEEP_BACKUP_H
#define DAEMON_UPKEEP_BACKUP_H

/* backup - a copy of a state directory, made while its daemon may run
 *
 * A backup is a folder with the files of state_files.h and backup.json, which is written last: a
 * folder without it is no backup. Restoring replaces these files of a state directory whose daemon
 * and jobs have ended; what was there is moved into a folder beside them.
 *
 * backup.json: {"format": 1, "tarn": VERSION, "time": RFC 3339, "records": N, "files": [NAME...]}
 */

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "daemon/upkeep/state_files.h"

enum { BACKUP_FORMAT = 1 };

/* Fails with -EEXIST (`to` exists and is not empty) or as the copies do; a folder that it made is
 * removed then. */
int backup_make(const char *state_dir, const char *to, struct state_summary *ret,
                struct error *err);

/* ret_aside: the folder with what was there, to be freed; NULL: nothing was. Fails with -ENOENT (no
 * backup), -EPROTONOSUPPORT (of a newer version), -EBADMSG (damaged), -EBUSY (a daemon or a job
 * runs in state_dir). Nothing has changed then. */
int backup_restore(const char *from, const char *state_dir, struct state_summary *ret,
                   char **ret_aside, struct error *err);

/* Rename the folder with the files of attempts: a journal that goes on without records, or
 * with older ones, gives numbers of jobs again. Fails with -EBUSY (a job runs). */
int attempts_put_aside(const char *state_dir, const char *aside, struct error *err);

#endif
