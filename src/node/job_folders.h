/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_JOB_FOLDERS_H
#define NODE_JOB_FOLDERS_H

/* job_folders - the folders and files of a job (launcher.h lists them) */

#include "core/state/state.h"
#include "wire/job/job_launch.h"

struct job_folders {
    char *out, *in, *checkpoint; /* NULL: not made */
    char *script;                /* path of the batch script, or NULL */
    char *steps;                 /* path of the file that srun counts in, or NULL */
};

/* Make the folders of the state directory; once, at the start. */
int job_folders_prepare(const char *state_dir, struct error *err);

/* Make all folders and files that the job needs; can be called again for the next attempt. With
 * is_root, folders belong to the job's user. launch_of returns the launch of another job (NULL: it
 * is forgotten). */
struct job_folders_query {
    const char *state_dir;
    const struct state *state;
    const struct job *job;
    const struct launch *launch;
    bool is_root;
    struct launch *(*launch_of)(void *user, const struct job *job);
    void *user;
};
int job_folders_make(const struct job_folders_query *query, struct job_folders *ret,
                     struct error *err);
void job_folders_release(struct job_folders *folders);

/* Path of the output: the expanded pattern, or the default in logs/, whose folder is made. */
int job_folders_output(const struct job_folders_query *query, uint32_t rank, bool is_error,
                       struct text *ret, struct error *err);

/* Of a job that has a file for its standard input: the expanded pattern. */
int job_folders_input(const struct job_folders_query *query, uint32_t rank, struct text *ret,
                      struct error *err);

#endif
