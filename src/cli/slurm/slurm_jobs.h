/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SLURM_JOBS_H
#define CLI_SLURM_SLURM_JOBS_H

/* slurm_jobs - selects jobs and formats their fields as Slurm's commands do */

#include <jansson.h>
#include <time.h>

#include "cli/session.h"
#include "cli/slurm/slurm_listing.h"

/* The letters of squeue, and the names of sacct and scontrol. */
extern const struct slurm_field slurm_job_fields[];

/* The jobs to select; NULL: any. Lists are comma-separated. */
struct slurm_choice {
    const char *users, *names, *states, *queues, *pools;
    const char *ids;     /* 7, 7_3; 7 may be an array */
    time_t since, until; /* existed between these times; 0: any */
    bool has_ended;      /* include ended jobs */
};

/* The state of a job of the API, in Slurm's notation: "PD", "PENDING". */
const char *slurm_state(const json_t *job, bool is_short);
/* Fails at the first word that is not a state. */
int slurm_states_check(const char *states, struct error *err);

/* An array of jobs, new; each has "node" if it runs on one node whose name is known. */
int slurm_jobs_find(struct session *session, const struct slurm_choice *choice, bool has_details,
                    json_t **ret, struct error *err);

/* The name of the calling user. */
const char *slurm_own_name(void);

#endif
