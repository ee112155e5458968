/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_WATCHER_H
#define NODE_WATCHER_H

/* watcher - asks the devices once a second how they are, and acts on the answers
 *
 * A device that is not healthy is reported as sick, so nothing new is placed on it until it is
 * healthy again (core/health/health.h). A device that a job gives back is asked at once. The next
 * job starts there when nothing of the last one is left (core/health/handover.h) and the health
 * commands of the configuration succeed. The usage of jobs is summed up, and becomes an event when
 * an attempt is over. Links between devices are asked for once.
 *
 * Order of calls:  create, (changed)*, destroy before the probe and the port's objects go
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
    struct probe *probe; /* may be NULL: there is nothing to watch */
    const char *boot;    /* which run of the machine this is; "": not known */
    const struct probe_device *devices;
    uint32_t device_count;
    bool has_mps; /* shares are served by MPS, which bounds their memory */
    void *user;
    void (*looked)(void *user); /* devices that jobs wait for may be ready */
    struct preparer *preparer;  /* sets compute modes back */
};

int watcher_create(const struct watcher_options *options, struct watcher **ret, struct error *err);
/* False: a thread hangs in the driver, so the probe must not be destroyed. NULL is fine. */
bool watcher_destroy(struct watcher *watcher);

/* Take note of the devices that jobs gave back, and ask them how they are. */
void watcher_settle(struct watcher *watcher);
/* Whether its devices are healthy, and were asked since others had them: it may start there. */
bool watcher_is_ready(const struct watcher *watcher, const struct job *job);
/* Run the health command on its devices, which are ready again when it has said that they are well.
 * False: there is none. */
bool watcher_check_before(struct watcher *watcher, const struct job *job);

/* These jobs changed, durably. */
void watcher_changed(struct watcher *watcher, const uint64_t *jobs, size_t count);

/* A device of another node reports this; its `at` is a time of sampler_now(). */
void watcher_reading(struct watcher *watcher, const char *uuid, const struct reading *reading);

/* An administrator says that a device (its number in the state) is healthy. For a change's run.
 * Fails with -ENOENT (it is not watched) or -EBUSY (what is wrong is there still). */
int watcher_clear(void *watcher, uint32_t device, struct error *err);

/* Nothing is to be put on a device (its number in the state) while its MIG mode is changed. */
void watcher_keep_off(struct watcher *watcher, uint32_t device, bool is_changing);

const struct watch *watcher_watch(const struct watcher *watcher);

#endif
