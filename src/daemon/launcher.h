/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_LAUNCHER_H
#define DAEMON_LAUNCHER_H

/* launcher - executes decisions: prepares folders and environment, calls the engine
 *
 * A job's folders below the state directory:
 *   logs/UID/ID[.RANK].out   its output, unless the job names other files
 *   data/UID/ID/NAME         its outputs (TARN_OUT is data/UID/ID)
 *   data/UID/ID.sealed       what its outputs were like when it had ended (node/job_outputs.h)
 *   data/UID/ID.attempts/N   the outputs that attempt N left, where a later one began anew
 *   data/UID/ID.in/NAME      links to the outputs that it reads (TARN_IN)
 *   data/UID/ID.checkpoint   kept between attempts (TARN_CHECKPOINT)
 *   scripts/ID               its batch script
 *   gangs/ID.ATTEMPT         the port at which the members of a running gang meet
 */

#include "core/engine.h"
#include "daemon/hub.h"

struct launcher_options {
    uv_loop_t *loop;
    struct hub *hub;
    struct engine *engine;
    const char *state_dir;
    const char *socket;      /* passed to jobs */
    const char *slurm_dir;   /* directory of srun and the other front ends; NULL: none */
    bool is_root;            /* jobs run as their users */
    struct machine *machine; /* this machine */
    const struct inventory *inventory;
    struct shortage *shortage; /* of this machine */
};

struct launcher;

int launcher_create(const struct launcher_options *options, struct launcher **ret,
                    struct error *err);
void launcher_destroy(struct launcher *launcher);

void launcher_decided(struct launcher *launcher, const struct event *decision);
void launcher_ended(struct launcher *launcher, struct member_id id);

/* Something that jobs on this machine wait for may be ready. */
void launcher_look(void *launcher);

/* After a restart: find running jobs, and start jobs that were granted but never started; with an
 * engine that has its own nodes, when it has reported them. */
void launcher_recover(struct launcher *launcher);
/* Kill the running members of a job; the engine reports their end. */
void launcher_kill(void *launcher, uint64_t job);
/* Signal the running members of a job. Only if the engine supports it. */
void launcher_signal(void *launcher, uint64_t job, int number);
/* Connect to the supervisor of a member. Only if the engine supports it. */
int launcher_enter(void *launcher, uint64_t job, uint32_t rank, int *ret_fd, struct error *err);
/* Stop all jobs that hold resources. */
void launcher_kill_all(struct launcher *launcher);

/* engine_ops.trouble, for a job. */
const char *launcher_trouble(void *launcher, const struct job *job);
char *launcher_spell(void *launcher, const char *words); /* if the engine has this operation */
int launcher_output_path(void *launcher, const struct job *job, uint32_t rank, bool is_error,
                         struct text *ret, struct error *err);

#endif
