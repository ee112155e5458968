/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_MACHINE_H
#define NODE_MACHINE_H

/* machine - the machine that the daemon runs on, and all that looks after it
 *
 * It owns the probe, the fence, the preparer, the watcher, the MIG modes and the HPC job files.
 * Where the engine has nodes of its own, this machine runs no jobs and has no devices; then only
 * the readings that the engine reports are watched.
 *
 * Order of calls:  create, watch, the others in any order, stop, destroy when the loop has ended.
 *                  Before watch no job with devices is ready
 * Owner:           strings of the options belong to the caller and live as long
 */

#include "core/device_watch.h"
#include "core/engine.h"
#include "core/node_port.h"
#include "core/state/state.h"
#include "node/locality.h"
#include "node/prepare.h"
#include "node/user_account.h"

struct machine;

struct machine_options {
    uv_loop_t *loop;
    struct node_port port;
    struct engine *engine;
    const char *devices; /* which to use (node/probe_choice.h) */
    const char *state_dir;
    const char *hpc_job_dir; /* node/hpc_job_files.h; NULL: none */
};

int machine_create(const struct machine_options *options, struct machine **ret, struct error *err);
/* Begin to watch the devices. looked: what a job waits for here may be ready. */
int machine_watch(struct machine *machine, void *user, void (*looked)(void *user),
                  struct error *err);
void machine_stop(struct machine *machine);    /* before the engine and the port's objects go */
void machine_destroy(struct machine *machine); /* NULL is fine */

/* This machine as a node; false: the engine has nodes of its own, and it is none. */
bool machine_describe(const struct machine *machine, struct engine_node *ret);
/* "nvml+amd", "none": which devices are used. */
const char *machine_devices(const struct machine *machine);
/* Whether that node is this machine. */
bool machine_is(const struct machine *machine, const struct node *node);

/* ---- jobs that start here ---- */

/* A granted job is to start: find out what is not known yet, how the devices are that other jobs
 * gave back and which groups its user is in. */
void machine_expect(struct machine *machine, const struct job *job);
/* Whether all that it needs is known to be well. Until then looked() is called now and again. */
bool machine_is_ready(const struct machine *machine, const struct job *job);
/* Run the health command on its devices, which are ready again when it has succeeded. False: there
 * is no command. */
bool machine_check(struct machine *machine, const struct job *job);
/* Prepare its devices; done is called later. False: there is nothing to prepare. */
bool machine_prepare(struct machine *machine, const struct job *job, void *user, prepared_fn *done);
/* True: it was being prepared, and done will not be called. */
bool machine_cancel(struct machine *machine, const struct job *job);
/* A job is over. */
void machine_release(struct machine *machine);

/* The account of its user; NULL: the system was not asked, as it does not start here. */
const struct user_account *machine_account(const struct machine *machine, const struct job *job);

/* What one member gets of this machine: the device files kept from it, the CPUs near by. */
struct machine_bounds {
    struct engine_device *denied;
    struct locality locality;
};
void machine_bound(const struct machine *machine, const struct job *job, uint32_t place,
                   struct machine_bounds *ret, struct engine_launch *launch);
void machine_bounds_release(struct machine_bounds *bounds);

/* ---- devices ---- */

/* These jobs changed, durably. */
void machine_changed(struct machine *machine, const uint64_t *jobs, size_t count);
/* A device of another node reports this; its `at` is a time of sampler_now(). */
void machine_reading(struct machine *machine, const char *uuid, const struct reading *reading);
/* An administrator says that a device (its number in the state) is healthy. For a change's run.
 * Fails with -ENOENT (it is not watched) or -EBUSY (the fault is still present). */
int machine_clear(void *machine, uint32_t device, struct error *err);
/* How the devices do; NULL before watch. */
const struct watch *machine_devices_watch(const struct machine *machine);

#endif
