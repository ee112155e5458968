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

/* The state directory's own folders; once, at the start. */
int job_folders_prepare(const char *state_dir, struct error *err);

/* Path of a job's folder of outputs, for the job and for the jobs that read them. */
void job_folders_out_path(const char *state_dir, const struct job *job, struct text *ret);

/* Everything this job needs; may be called again for the next attempt. Folders belong to the
 * job's user when is_root. launch_of gives the launch of another job (NULL: gone). */
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

/* Path of the output, a pattern expanded or the default in logs/. Makes the default's folder. */
int job_folders_output(const struct job_folders_query *query, uint32_t rank, bool is_error,
                       struct text *ret, struct error *err);

#endif
