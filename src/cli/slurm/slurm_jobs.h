/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SLURM_JOBS_H
#define CLI_SLURM_SLURM_JOBS_H

/* slurm_jobs - jobs as Slurm's commands name and choose them */

#include <jansson.h>
#include <time.h>

#include "cli/session.h"
#include "cli/slurm/slurm_listing.h"

/* Letters are those of squeue, names those of sacct and scontrol. */
extern const struct slurm_field slurm_job_fields[];

/* Which jobs; NULL: whatever. Lists have commas. */
struct slurm_choice {
    const char *users, *names, *states, *queues, *pools;
    const char *ids;     /* 7, 7_3; 7 also of an array */
    time_t since, until; /* in some state within; 0: whenever */
    bool has_ended;      /* also those that have ended */
};

/* "PD", "PENDING" of a job of the API. */
const char *slurm_state(const json_t *job, bool is_short);
/* Fails with the first word that is no state. */
int slurm_states_check(const char *states, struct error *err);

/* An array of jobs, new; each with "node" where the name of its one node is known. */
int slurm_jobs_find(struct session *session, const struct slurm_choice *choice, bool has_details,
                    json_t **ret, struct error *err);

/* The name of the user who calls. */
const char *slurm_own_name(void);

void slurm_time_add(time_t when, const char *unknown, struct text *text); /* 2026-01-31T08:00:00 */

#endif
