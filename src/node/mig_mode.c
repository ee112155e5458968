/* SPDX-License-Identifier: Apache-2.0 */
#include "node/mig_mode.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/log.h"
#include "io/workers.h"

enum { EVERY_MS = 1000, AGAIN_S = 60 };

struct mode_change {
    struct work_item item;
    struct mig_modes *modes;
    uint32_t device; /* of the probe */
    bool is_on, is_running;
    struct change news;
    bool is_telling, is_untold; /* untold: it could not be recorded */
    bool is_held;               /* nothing is put there */
    usec_t not_before;          /* journal time: it was refused */
    int code;
    struct error err;
};

struct mig_modes {
    struct mig_modes_options options;
    uv_timer_t timer;
    struct mode_change *changes; /* one a device */
    uint32_t running;
    bool is_ending, is_closed;
};

/* ---- in the worker ---- */

static int remove_instances(struct probe *probe, uint32_t device, struct error *err)
{
    AUTO_FREE struct probe_instance *found = NULL;
    uint32_t count = 0;

    int code = probe->ops->mig_list(probe, device, &found, &count, err);
    for (uint32_t i = 0; code == 0 && i < count; i++)
        code = probe->ops->mig_remove(probe, device, found[i].gpu_instance, err);
    return code;
}

static void on_work(struct work_item *item)
{
    struct mode_change *change = CONTAINER_OF(item, struct mode_change, item);
    struct probe *probe = change->modes->options.probe;

    change->code = change->is_on ? 0 : remove_instances(probe, change->device, &change->err);
    if (change->code == 0)
        change->code = probe->ops->mig_mode(probe, change->device, change->is_on, &change->err);
}

/* ---- in the loop ---- */

static const struct device *find(const struct mig_modes *modes, uint32_t number)
{
    const struct state *state = node_port_state(&modes->options.port);
    int64_t found = state_find_device(state, modes->options.devices->items[number].uuid);

    return found >= 0 ? &state->devices.items[found] : NULL;
}

static void free_when_over(struct mig_modes *modes)
{
    if (!modes->is_closed || modes->running > 0)
        return;
    free(modes->changes);
    free(modes);
}

static void hold(struct mode_change *change, const struct device *device, bool is_held)
{
    const struct mig_modes *modes = change->modes;

    change->is_held = is_held;
    watcher_keep_off(modes->options.watcher,
                     (uint32_t)(device - node_port_state(&modes->options.port)->devices.items),
                     is_held);
}

static void release(struct mode_change *change)
{
    const struct device *device = find(change->modes, change->device);

    if (device)
        hold(change, device, false);
}

/* That a device has another mode, told when all else that was reported of it is known. */
static int run_news(struct change *news, struct error *err)
{
    const struct mode_change *change = CONTAINER_OF(news, const struct mode_change, news);
    const struct mig_modes *modes = change->modes;
    const struct device *device = modes->is_ending ? NULL : find(modes, change->device);
    struct event event = { .kind = EVENT_DEVICE };

    (void)err;
    if (!device)
        return 0;
    state_describe_device(node_port_state(&modes->options.port), device, &event.device);
    event.device.mig_enabled = change->is_on;
    modes->options.port.emit(modes->options.port.user, &event);
    return 0;
}

/* Until it is recorded, for example because the disk is full, nothing is put there: it would be
 * placed by the mode before. */
static void done_news(struct change *news, int code, const struct error *err)
{
    struct mode_change *change = CONTAINER_OF(news, struct mode_change, news);
    struct mig_modes *modes = change->modes;

    (void)err;
    change->is_telling = false;
    change->is_untold = code < 0;
    modes->running--;
    if (code == 0 && !modes->is_ending)
        release(change);
    free_when_over(modes);
}

static void tell(struct mode_change *change)
{
    struct mig_modes *modes = change->modes;

    change->is_telling = true;
    modes->running++;
    change->news = (struct change){ .run = run_news, .done = done_news };
    modes->options.port.enqueue(modes->options.port.user, &change->news);
}

static void conclude(struct mode_change *change)
{
    const struct mig_modes *modes = change->modes;
    const char *uuid = modes->options.devices->items[change->device].uuid;

    change->not_before = node_port_now(&modes->options.port) + (usec_t)AGAIN_S * USEC_PER_SEC;
    if (change->code == 0) {
        log_line(LOG_NOTICE, "the MIG mode is changed device=%s on=%d", uuid, change->is_on);
        tell(change);
        return;
    }
    log_line(LOG_WARNING, "the MIG mode cannot be changed device=%s on=%d reason='%s'", uuid,
             change->is_on, change->err.text);
    release(change);
}

static void after_work(struct work_item *item)
{
    struct mode_change *change = CONTAINER_OF(item, struct mode_change, item);
    struct mig_modes *modes = change->modes;

    change->is_running = false;
    modes->running--;
    if (!modes->is_ending)
        conclude(change);
    free_when_over(modes);
}

static bool is_leased(const struct state *state, uint32_t device)
{
    for (const struct job *job = state->first_active; job; job = job->run->active_next) {
        if (lease_slice_on(job->run->lease, device))
            return true;
    }
    return false;
}

/* No process uses it, as far as can be seen; the driver refuses while an unseen one does. */
static bool is_idle(const struct mig_modes *modes, const struct device *device)
{
    const struct state *state = node_port_state(&modes->options.port);
    const struct watch *watch = watcher_watch(modes->options.watcher);
    uint32_t number = (uint32_t)(device - state->devices.items);
    struct watch_device seen;

    return !is_leased(state, number) && watch->ops->device(watch, number, &seen) &&
           watch_is_fresh(&seen) && seen.has_processes && seen.process_count == 0;
}

static bool is_due(const struct mode_change *change, const struct device *device)
{
    usec_t now = node_port_now(&change->modes->options.port);

    return device->mig_now != device->mig_enabled &&
           (device->mig_enabled != change->is_on || now >= change->not_before) &&
           is_idle(change->modes, device);
}

/* First it is held; once that is durable and it is still unused, it is changed. */
static void look(struct mig_modes *modes, struct mode_change *change)
{
    const struct device *device = find(modes, change->device);

    if (!device || change->is_running || change->is_telling)
        return;
    if (change->is_untold) {
        tell(change);
        return;
    }
    bool is_known = device->sick && strcmp(device->sick, fault_words(FAULT_CHANGING)) == 0;
    bool can_be = is_due(change, device) && (!device->sick || is_known);
    if (can_be != change->is_held) {
        hold(change, device, can_be);
        return;
    }
    if (!can_be || !is_known)
        return;
    change->is_on = device->mig_enabled;
    change->is_running = true;
    change->item = (struct work_item){
        .run = on_work, .done = after_work, .kind = WORK_DRIVER, .number = change->device
    };
    modes->running++;
    workers_add(modes->options.workers, &change->item);
}

static void on_timer(uv_timer_t *timer)
{
    struct mig_modes *modes = timer->data;

    for (uint32_t i = 0; i < modes->options.devices->count; i++)
        look(modes, &modes->changes[i]);
}

struct mig_modes *mig_modes_create(const struct mig_modes_options *options)
{
    struct mig_modes *modes = mem_zero(1, sizeof(*modes));
    const struct probe *probe = options->probe;

    modes->options = *options;
    modes->changes = mem_zero(options->devices->count + 1, sizeof(modes->changes[0]));
    for (uint32_t i = 0; i < options->devices->count; i++)
        modes->changes[i] = (struct mode_change){ .modes = modes, .device = i };
    uv_timer_init(options->loop, &modes->timer);
    modes->timer.data = modes;
    if (probe && probe->ops->mig_mode && probe->ops->mig_list && probe->ops->mig_remove)
        uv_timer_start(&modes->timer, on_timer, EVERY_MS, EVERY_MS);
    return modes;
}

static void on_closed(uv_handle_t *handle)
{
    struct mig_modes *modes = handle->data;

    modes->is_closed = true;
    free_when_over(modes);
}

void mig_modes_destroy(struct mig_modes *modes)
{
    if (!modes)
        return;
    modes->is_ending = true;
    uv_close((uv_handle_t *)&modes->timer, on_closed);
}
