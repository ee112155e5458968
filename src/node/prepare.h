/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_PREPARE_H
#define NODE_PREPARE_H

/* prepare - prepares the devices of a job before its start
 *
 * It creates the MIG instances that the scheduler planned, and starts MPS servers. A worker does
 * both, one job after another on each device, so that the loop is not blocked. An instance that no
 * job holds is kept until another one needs its place; instances that jobs hold are never touched.
 * An MPS server ends with the last job that uses it.
 *
 * Order of calls:  create, (start | cancel | release)*, destroy
 */

#include "core/state/state.h"
#include "node/probe_choice.h"

struct preparer;
struct workers;

/* The names of a job's slices for its programs; by place in the lease. */
struct prepared {
    uint64_t job;
    uint32_t attempt;
    uint32_t count;
    char (*visible)[PROBE_UUID_SIZE]; /* for CUDA_VISIBLE_DEVICES */
    char **mps;                       /* folder of the MPS server; NULL: none */
};

struct prepare_options {
    struct workers *workers;
    const char *state_dir;
    struct probe *probe;      /* may be NULL */
    const char *machine_name; /* the node whose devices these are */
    const struct probe_devices *devices;
};

/* Called from the loop. code 0: all is ready; else err has the reason. */
typedef void prepared_fn(void *user, struct prepared *prepared, int code, const struct error *err);

struct preparer *preparer_create(const struct prepare_options *options);
/* Preparations in progress still refer to it: before the workers are stopped. done is no longer
 * called. NULL is fine. */
void preparer_destroy(struct preparer *preparer);

/* Whether anything has to be prepared for the job. */
bool preparer_is_needed(const struct preparer *preparer, const struct state *state,
                        const struct job *job);
void preparer_start(struct preparer *preparer, const struct state *state, const struct job *job,
                    void *user, prepared_fn *done);
/* True: the preparation is cancelled, and done will not be called. */
bool preparer_cancel(struct preparer *preparer, uint64_t job, uint32_t attempt);
/* Set the compute mode of a device of which no job holds a part. */
void preparer_reset(struct preparer *preparer, uint32_t device, int mode);
/* told is called from the loop when the MPS server of a device has ended, or its compute mode was
 * set; NULL: no longer. */
void preparer_tell(struct preparer *preparer, void *user,
                   void (*told)(void *user, uint32_t device));
/* Whether the process is the MPS server of a device of this node (its place in the options).
 * NULL has none. */
bool preparer_is_server(const struct preparer *preparer, uint32_t device, uint32_t pid);
/* A job has ended; state: what the other jobs still hold. */
void preparer_release(struct preparer *preparer, const struct state *state);

#endif
