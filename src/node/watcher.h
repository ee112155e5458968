/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_WATCHER_H
#define NODE_WATCHER_H

/* watcher - reads the devices once a second, and reacts to the readings
 *
 * A device that is not healthy is reported as faulty (`sick`), and no new job is placed on it until
 * it is healthy again (core/health/health.h). A device that a job releases is read at once. The
 * next job starts there when nothing of the previous one is left (core/health/handover.h) and the
 * health commands of the configuration have succeeded. The usage of jobs is summed up, and becomes
 * an event at the end of the attempt. Links between devices are queried once.
 *
 * Order of calls:  create, (changed)*, destroy before the probe and the port's objects
 */

#include <uv.h>

#include "core/device_watch.h"
#include "core/engine.h"
#include "core/node_port.h"
#include "core/state/state.h"

struct preparer;
struct watcher;

struct watcher_options {
    uv_loop_t *loop;
    struct node_port port;
    struct engine *engine;
    struct probe *probe; /* NULL: no devices to watch */
    const char *boot;    /* boot ID of this machine; "": not known */
    const struct probe_device *devices;
    uint32_t device_count;
    const char *kubelet; /* checkpoint of the devices of this machine's kubelet; NULL: none */
    bool has_mps;        /* MPS serves shares and limits their memory */
    void *user;
    void (*looked)(void *user); /* called when devices that jobs wait for may be ready */
    struct preparer *preparer;  /* resets compute modes */
};

int watcher_create(const struct watcher_options *options, struct watcher **ret, struct error *err);
/* False: a thread hangs in the driver, so the probe must not be destroyed. NULL is fine. */
bool watcher_destroy(struct watcher *watcher);

/* Read the devices that jobs have released. */
void watcher_settle(struct watcher *watcher);
/* Whether the job may start: its devices are healthy, and were read since other jobs used them. */
bool watcher_is_ready(const struct watcher *watcher, const struct job *job);
/* Run the health command on its devices, which are ready again when it has succeeded. False: no
 * command is configured. */
bool watcher_check_before(struct watcher *watcher, const struct job *job);

/* These jobs have changed durably. */
void watcher_changed(struct watcher *watcher, const uint64_t *jobs, size_t count);

/* What another node reports about one of its devices. Devices that are not in the state are
 * ignored. */
void watcher_reading(struct watcher *watcher, const struct engine_reading *reading);

/* An administrator marks a device (its number in the state) as healthy. Only inside a change.
 * Fails with -ENOENT (it is not watched) or -EBUSY (the fault is still present). */
int watcher_clear(void *watcher, uint32_t device, struct error *err);

/* Place nothing on a device (its number in the state) while its MIG mode is changed. */
void watcher_keep_off(struct watcher *watcher, uint32_t device, bool is_changing);

const struct watch *watcher_watch(const struct watcher *watcher);

#endif
