/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_PREPARE_H
#define NODE_PREPARE_H

/* prepare - what has to be there on its devices before a job can start
 *
 * MIG instances, made where the scheduler planned them; MPS servers. A worker asks the driver for
 * both, one job after the other on each device, so the loop goes on. Instances that no job holds
 * stay until another one is wanted in their place; instances that jobs hold are never touched. An
 * MPS server ends with the last job that uses it.
 *
 * Order of calls:  create, (start | cancel | release)*, destroy
 */

#include <uv.h>

#include "core/state/state.h"
#include "node/probe_choice.h"

struct preparer;

/* How a slice of a job is named to its programs; by its place in the lease. */
struct prepared {
    uint64_t job;
    uint32_t attempt;
    uint32_t count;
    char (*visible)[PROBE_UUID_SIZE]; /* for CUDA_VISIBLE_DEVICES */
    char **mps;                       /* folder of the server; NULL: none */
};

struct prepare_options {
    uv_loop_t *loop;
    const char *state_dir;
    struct probe *probe;      /* may be NULL */
    const char *machine_name; /* the node whose devices these are */
    const struct probe_devices *devices;
};

/* code 0: all is there. Else err says why not. From the loop. */
typedef void prepared_fn(void *user, struct prepared *prepared, int code, const struct error *err);

struct preparer *preparer_create(const struct prepare_options *options);
/* Those under way are waited for; done is not called any more. NULL is fine. */
void preparer_destroy(struct preparer *preparer);

/* Whether anything has to be done for it. */
bool preparer_is_needed(const struct preparer *preparer, const struct state *state,
                        const struct job *job);
void preparer_start(struct preparer *preparer, const struct state *state, const struct job *job,
                    void *user, prepared_fn *done);
/* True: it was under way, and done will not be called. */
bool preparer_cancel(struct preparer *preparer, uint64_t job, uint32_t attempt);
/* No job holds a part of this device: set its compute mode. */
void preparer_reset(struct preparer *preparer, uint32_t device, int mode);
/* A job is over; state: what the other jobs still hold. */
void preparer_release(struct preparer *preparer, const struct state *state);

#endif
