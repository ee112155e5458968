/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_LAUNCHER_H
#define DAEMON_LAUNCHER_H

/* launcher - makes decisions happen: folders, environment, the engine; and tells what came of it
 *
 * A job's folders below the state directory:
 *   logs/UID/ID[.RANK].out   its output, unless it names files of its own
 *   data/UID/ID/NAME         its outputs (TARN_OUT is data/UID/ID)
 *   data/UID/ID.in/NAME      links to the outputs that it takes (TARN_IN)
 *   data/UID/ID.checkpoint   kept from attempt to attempt (TARN_CHECKPOINT)
 *   scripts/ID               its batch script
 *   gangs/ID.ATTEMPT         the port that the members of a gang meet at, while it runs
 */

#include "core/engine.h"
#include "daemon/hub.h"

struct launcher_options {
    uv_loop_t *loop;
    struct hub *hub;
    struct engine *engine;
    const char *state_dir;
    const char *socket;      /* told to jobs */
    const char *slurm_dir;   /* of srun and the like, for their PATH; NULL: none */
    bool is_root;            /* jobs run as their users */
    struct machine *machine; /* this one */
};

struct launcher;

int launcher_create(const struct launcher_options *options, struct launcher **ret,
                    struct error *err);
void launcher_destroy(struct launcher *launcher);

void launcher_decided(struct launcher *launcher, const struct event *decision);
void launcher_ended(struct launcher *launcher, struct member_id id);

/* What jobs wait for on this machine may be ready. */
void launcher_look(void *launcher);

/* After a restart: find what runs, start what was granted and never started. */
void launcher_recover(struct launcher *launcher);
/* Kill what runs of a job; its end is reported. */
void launcher_kill(void *launcher, uint64_t job);
/* Send a signal to what runs of a job; the engine can. */
void launcher_signal(void *launcher, uint64_t job, int number);
/* A connection to the supervisor of a member; the engine has one. */
int launcher_enter(void *launcher, uint64_t job, uint32_t rank, int *ret_fd, struct error *err);
/* Stop all jobs that hold resources. */
void launcher_kill_all(struct launcher *launcher);

int launcher_output_path(void *launcher, const struct job *job, uint32_t rank, bool is_error,
                         struct text *ret, struct error *err);

#endif
