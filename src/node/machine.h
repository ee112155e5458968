/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_MACHINE_H
#define NODE_MACHINE_H

/* machine - the machine on which the daemon runs, and the objects that manage it
 *
 * It owns the probe, the fence, the preparer, the watcher, the MIG modes and the HPC job files. If
 * the engine has nodes of its own, this machine runs no jobs and has no devices; only the readings
 * that the engine reports are then watched.
 *
 * Order of calls:  create, watch, the others in any order, stop, destroy when the loop has ended.
 *                  Before watch, no job with devices is ready
 * Owner:           the caller owns the strings of the options, which must outlive the machine
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
    struct workers *workers;
    struct node_port port;
    struct engine *engine;
    const char *devices; /* the devices to use (node/probe_choice.h) */
    const char *state_dir;
    const char *hpc_job_dir; /* node/hpc_job_files.h; NULL: none */
};

int machine_create(const struct machine_options *options, struct machine **ret, struct error *err);
/* Begin to watch the devices. looked: called when something that a job waits for may be ready. */
int machine_watch(struct machine *machine, void *user, void (*looked)(void *user),
                  struct error *err);
void machine_stop(struct machine *machine);    /* before the engine and the port's objects */
void machine_destroy(struct machine *machine); /* NULL is fine */

/* This machine as a node; false: it is none, because the engine has nodes of its own. */
bool machine_describe(const struct machine *machine, struct engine_node *ret);
/* The devices in use: "nvml+amd", "none". */
const char *machine_devices(const struct machine *machine);
/* Whether this node is the daemon's machine. */
bool machine_is(const struct machine *machine, const struct node *node);

/* ---- jobs that start here ---- */

/* A granted job is about to start: obtain missing information, such as the state of devices that
 * other jobs released, and the groups of its user. */
void machine_expect(struct machine *machine, const struct job *job);
/* Whether everything that the job needs is known to be ready. Until then, looked() is called. */
bool machine_is_ready(const struct machine *machine, const struct job *job);
/* Run the health command on its devices, which are ready again when it has succeeded. False: no
 * command is configured. */
bool machine_check(struct machine *machine, const struct job *job);
/* Prepare its devices; done is called later. False: nothing has to be prepared. */
bool machine_prepare(struct machine *machine, const struct job *job, void *user, prepared_fn *done);
/* True: the preparation is cancelled, and done will not be called. */
bool machine_cancel(struct machine *machine, const struct job *job);
/* A job has ended. */
void machine_release(struct machine *machine);

/* The account of its user; NULL: not looked up, because the job does not start here. */
const struct user_account *machine_account(const struct machine *machine, const struct job *job);

/* What bounds a member on this machine: the device files denied to it, and the CPUs near it. */
struct machine_bounds {
    struct engine_device *denied;
    struct locality locality;
};
void machine_bound(const struct machine *machine, const struct job *job, uint32_t place,
                   struct machine_bounds *ret, struct engine_launch *launch);
void machine_bounds_release(struct machine_bounds *bounds);

/* ---- devices ---- */

/* These jobs have changed durably. */
void machine_changed(struct machine *machine, const uint64_t *jobs, size_t count);
/* What another node reports about one of its devices. */
void machine_reading(struct machine *machine, const struct engine_reading *reading);
/* An administrator marks a device (its number in the state) as healthy. Only inside a change.
 * Fails with -ENOENT (it is not watched) or -EBUSY (the fault is still present). */
int machine_clear(void *machine, uint32_t device, struct error *err);
/* Health and readings of the devices; NULL before watch. */
const struct watch *machine_devices_watch(const struct machine *machine);

#endif
