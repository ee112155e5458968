/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_UPKEEP_STATE_FILES_H
#define DAEMON_UPKEEP_STATE_FILES_H

/* state_files - the files of a state directory that tarn backup, restore and check are about
 *
 * A backup contains the databases, each as it was committed last, and the other files of the top
 * level (certificates, keys). It does not contain the files of the running daemon, nor the folders
 * with outputs, scripts and data of jobs, which are plain files.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* ret_names: the names of those files, sorted. */
int state_files_list(const char *dir, json_t **ret_names, struct error *err);
bool state_file_is_database(const char *name);

/* Copy one of the files into a directory that does not have it. */
int state_file_copy(const char *from_dir, const char *to_dir, const char *name, struct error *err);

struct state_summary {
    uint64_t records, blobs, snapshots, snapshots_damaged;
    uint64_t jobs_left; /* jobs that have not ended */
};

/* Check the whole journal of a directory, and that a daemon can start from it. */
int state_summarize(const char *dir, struct state_summary *ret, struct error *err);

/* The value of --state, or the directory of the daemon; to be freed. Fails with -EINVAL. */
int state_dir_find(const char *given, char **ret, struct error *err);

#endif
