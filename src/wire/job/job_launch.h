/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_JOB_LAUNCH_H
#define WIRE_JOB_JOB_LAUNCH_H

/* job_launch - what the brain does not read of a job: command, environment, files
 *
 * Kept as a blob of JSON in the journal, shared by all jobs that have the same. The environment
 * is a blob of its own, because a thousand jobs of one person have a thousand commands and one
 * environment.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/error.h"
#include "core/engine.h"
#include "wire/job/submission.h"

struct launch_input {
    char *name;
    uint64_t from; /* the group of the stage that makes it */
};

/* What the members of a role have instead. */
struct launch_role {
    char **argv; /* NULL-terminated; NULL: that of the launch */
    char **env;  /* NULL-terminated "NAME=value": over the environment */
};

struct launch {
    char **argv;  /* NULL-terminated */
    char *script; /* text of a batch script, or NULL */
    size_t script_at;
    uint64_t environment;         /* blob */
    char *cwd;                    /* absolute */
    char *output, *error, *input; /* absolute patterns, or NULL */
    char *directory;              /* its name below TARN_IN of others; NULL: it is the only one */
    char **outputs;               /* NULL-terminated */
    struct launch_input *inputs;
    size_t input_count;
    struct launch_role *roles; /* as the request has them */
    size_t role_count;
    char *script_path;           /* the file that the script was read from, or NULL */
    char **own;                  /* names of the variables that the job itself sets */
    char **slurm;                /* SLURM_* of what Slurm's options request; NULL: it has none */
    bool has_umask;              /* else that of the daemon counts */
    mode_t umask;                /* of the submitter */
    struct engine_limit *limits; /* the same */
    uint32_t limit_count;
    uint32_t tasks, task_gpus; /* that srun starts in it (submission.h) */
    int stop_signal;           /* that asks it to save its work; 0: SIGTERM */
    int warn_signal;           /* before its time limit; 0: none */
    uint8_t warn_to;           /* enum engine_warned */
    usec_t warn_before;
    char *mail;     /* addresses, or NULL */
    uint8_t notify; /* of NOTIFY_... (submission.h) */
    bool append;
    uint8_t attach; /* enum engine_attach */
};

/* input_groups has the group of each of draft->inputs. home: where to start without a cwd. */
json_t *launch_to_json(const struct job_draft *draft, const uint64_t *input_groups,
                       uint64_t environment, const char *home);
int launch_from_json(const char *bytes, size_t length, struct launch **ret, struct error *err);
void launch_destroy(struct launch *launch);
DEFINE_AUTO(launch)

/* "NAME=value" strings as one blob, and back (malloc'd, NULL-terminated). */
void environment_pack(char *const *env, struct text *out);
char **environment_unpack(const char *bytes, size_t length);
/* With those of `over` (NULL: none) instead of others of the same name; env is taken. */
char **environment_over(char **env, char *const *over);

#endif
