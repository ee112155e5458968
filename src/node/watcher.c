/* SPDX-License-Identifier: Apache-2.0 */
#include "node/watcher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/log.h"
#include "node/kubelet_devices.h"
#include "node/prepare.h"
#include "node/slurm_process.h"
#include "node/watcher_inside.h"

enum {
    EVERY_MS = 1000,
    GAP_MS_MAX = 5000, /* a longer gap between readings counts for no job */
};

/* Readings have the time of CLOCK_BOOTTIME, events that of the journal. */
static usec_t journal_time(const struct watcher *watcher, usec_t boot_time)
{
    return node_port_now(&watcher->options.port) - (sampler_now() - boot_time);
}

/* ---- the processes on a device ---- */

/* Those that are gone need not be known any more. */
static void forget_owners(struct watched *watched)
{
    for (size_t i = watched->known.count; i-- > 0;) {
        bool is_there = false;
        for (uint32_t k = 0; k < watched->process_count; k++)
            is_there |= watched->processes[k].pid == watched->known.items[i].pid;
        if (!is_there)
            list_remove(&watched->known, i);
    }
}

static int64_t mib_of(const struct probe_process *process)
{
    return process->memory_bytes > 0 ? process->memory_bytes >> 20 : 0;
}

/* What a part's own processes do there. */
static void fill_part(struct watcher *watcher, struct watched *watched, struct tally_part *part)
{
    bool is_any = false, has_use = true, has_memory = true;

    if (!watched->has_processes)
        return;
    part->use = part->memory_mib = 0;
    for (uint32_t i = 0; i < watched->process_count; i++) {
        const struct probe_process *process = &watched->processes[i];
        const struct known_process *known = watcher_owner(watcher, watched, process->pid);
        if (!known->is_ours || known->id.job != part->job || known->id.rank != part->rank)
            continue;
        is_any = true;
        has_use &= process->use >= 0;
        has_memory &= process->memory_bytes >= 0;
        part->use += process->use >= 0 ? process->use : 0;
        part->memory_mib += mib_of(process);
    }
    if (is_any && !has_use)
        part->use = -1;
    if (is_any && !has_memory)
        part->memory_mib = -1;
}

/* Without it, no process is foreign and each device may be in use. */
static bool knows_owners(const struct watcher *watcher)
{
    return watcher->options.engine->ops->owner != NULL;
}

/* Processes that tarn did not start, without displays. */
static bool is_foreign(const struct known_process *known, const struct probe_process *process)
{
    return !known->is_ours && !known->is_server && !process->is_graphics;
}

static void measure_foreign(struct watcher *watcher, struct watched *watched)
{
    watched->foreign_mib = 0;
    for (uint32_t i = 0; knows_owners(watcher) && i < watched->process_count; i++) {
        const struct probe_process *process = &watched->processes[i];
        if (is_foreign(watcher_owner(watcher, watched, process->pid), process))
            watched->foreign_mib += mib_of(process);
    }
}

/* ---- what jobs did ---- */

typedef LIST(struct tally_part) part_list;

static bool holds(const struct job *job, uint32_t device, uint32_t place)
{
    const struct lease *lease = job->run->lease;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (lease->slices[i].device == device && lease->slices[i].rank == place)
            return true;
    }
    return false;
}

static void list_parts(struct watcher *watcher, struct watched *watched, part_list *parts)
{
    size_t count;
    const struct holder *holders = watcher_holders(watcher, watched->device, &count);

    for (size_t i = 0; i < count; i++) {
        const struct job *job = state_job(watcher_state(watcher), holders[i].job);
        if (!job || !job_is_active(job) || !job->run->lease)
            continue;
        for (uint32_t place = 0; place < job->run->lease->members_count; place++) {
            struct tally_part part = { .job = job->id,
                                       .attempt = job->run->attempt,
                                       .rank = place + job->run->lease->members[place].gone,
                                       .use = -1,
                                       .memory_mib = -1 };
            if (!holds(job, watched->device, place))
                continue;
            fill_part(watcher, watched, &part);
            list_add(parts, part);
        }
    }
}

static bool is_served_by_mps(const struct watcher *watcher, const struct slice *slice)
{
    return slice->kind == SHARE_MPS || (slice->kind == SHARE_FRACTION && watcher->options.has_mps);
}

static void note_hold(struct watcher *watcher, struct watched *watched,
                      const struct tally_part *part)
{
    const struct job *job = state_job(watcher_state(watcher), part->job);
    const struct lease *lease = job->run->lease;
    struct limit_hold hold = { .job = part->job,
                               .attempt = part->attempt,
                               .device = watched->device,
                               .memory_mib = part->memory_mib };

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct slice *slice = &lease->slices[i];
        if (slice->device != watched->device ||
            slice->rank + lease->members[slice->rank].gone != part->rank)
            continue;
        hold.given_mib += slice->memory_mib;
        hold.is_enforced |= slice->kind == SHARE_WHOLE || slice->kind == SHARE_MIG ||
                            is_served_by_mps(watcher, slice);
    }
    list_add(&watched->holds, hold);
}

static void report_usage(struct watcher *watcher, const struct job *job, uint32_t attempt)
{
    const struct usage *usage = tally_look(&watcher->tally, job->id, attempt);

    if (!usage || usage->watched_ms == 0)
        return;
    struct event event = { .kind = EVENT_USAGE,
                           .usage = { .job = job->id, .attempt = attempt, .usage = *usage } };
    node_port_report(&watcher->options.port, &event);
}

static void add_up(struct watcher *watcher, struct watched *watched, const part_list *parts)
{
    usec_t since = watched->reading.at - watched->before.at;

    if (watched->before.at == 0 || since > GAP_MS_MAX * USEC_PER_MS)
        return;
    tally_add(&watcher->tally, &(struct tally_ask){ .device = watched->device,
                                                    .now = &watched->reading,
                                                    .before = &watched->before,
                                                    .ms = since / USEC_PER_MS,
                                                    .parts = parts->items,
                                                    .count = (uint32_t)parts->count });
    for (size_t i = 0; i < parts->count; i++) {
        const struct job *job = state_job(watcher_state(watcher), parts->items[i].job);
        if (job && tally_is_due(&watcher->tally, job->id))
            report_usage(watcher, job, parts->items[i].attempt);
    }
}

static bool is_held(const struct watcher *watcher, uint64_t id, size_t *ret_place)
{
    for (size_t i = 0; i < watcher->held.count; i++) {
        if (watcher->held.items[i].id == id) {
            *ret_place = i;
            return true;
        }
    }
    return false;
}

void watcher_changed(struct watcher *watcher, const uint64_t *jobs, size_t count)
{
    watcher_settle(watcher);
    for (size_t i = 0; i < count && watcher->device_count > 0; i++) {
        const struct job *job = state_job(watcher_state(watcher), jobs[i]);
        bool is_active = job && job_is_active(job) && job->run->lease->slices_count > 0;
        size_t place = 0;
        bool was_active = is_held(watcher, jobs[i], &place);
        if (is_active && !was_active)
            watcher_hold(watcher, job);
        if (is_active || !was_active)
            continue;
        if (job)
            report_usage(watcher, job, job->run->attempt);
        tally_forget(&watcher->tally, jobs[i]);
        free(watcher->held.items[place].devices);
        list_remove(&watcher->held, place);
        watcher->is_indexed = false;
    }
}

/* ---- whether a device is well ---- */

/* A remote device is silent when its last reading was older than two periods as its node last
 * answered. If the node does not answer, that is not known. */
static usec_t silence_of(const struct watcher *watcher, const struct watched *watched)
{
    usec_t age = watched->told_at - watched->reading.at;

    if (watched->is_silent_node || (watched->is_remote && watched->code < 0))
        return 0;
    if (!watched->is_remote)
        return sampler_silent(watcher->sampler, (uint32_t)(watched - watcher->devices));
    return age > 2 * (usec_t)EVERY_MS * USEC_PER_MS ? age : 0;
}

static void judge(struct watcher *watcher, struct watched *watched, bool is_leased)
{
    watcher_examine(watcher, watched);
    struct health_ask ask = {
        .now = sampler_now(),
        .reading = watched->reading.at > 0 && watched->code == 0 ? &watched->reading : NULL,
        .code = watched->code,
        .silent = silence_of(watcher, watched),
        .is_leased = is_leased,
        .foreign_mib = watched->foreign_mib,
        .unowned_mib = watcher_unowned(watched),
        .has_left = watched->has_left,
    };

    uint32_t fresh = health_judge(&watched->health, &ask);
    for (enum health_fault i = 0; i < FAULTS; i++) {
        if ((fresh >> i & 1) != 0 && !fault_drains(i))
            log_line(fault_severity(i) == HEALTH_INFO ? LOG_NOTICE : LOG_WARNING,
                     "a device has a fault device=%s fault=%s reason='%s'", watched->uuid,
                     fault_name(i), fault_words(i));
    }
    watcher_report(watcher, watched);
}

static void take_xid(struct watcher *watcher, struct watched *watched, uint32_t xid)
{
    watch_count_xid(watched->xids, &watched->xid_count, xid);
    log_line(xid_action(xid) >= XID_RESET ? LOG_WARNING : LOG_NOTICE,
             "the driver reports xid=%" PRIu32 " device=%s action=%s reason='%s'", xid,
             watched->uuid, xid_action_name(xid_action(xid)), xid_words(xid));
    health_xid(&watched->health, xid, sampler_now());
    if (watched->device != UINT32_MAX)
        watcher_report(watcher, watched);
}

/* ---- once a second ---- */

static void keep_reading(struct watcher *watcher, const struct watched *watched)
{
    const struct node_port *port = &watcher->options.port;

    if (port->readings && watched->uuid[0])
        port->readings_add(port->readings, watched->uuid,
                           node_port_now(port) + port->wall_ahead(port->clock), &watched->reading);
}

static void find_held(struct watcher *watcher);
static void on_timer(uv_timer_t *timer);

static void take(struct watcher *watcher, struct watched *watched, struct sampled *got)
{
    part_list parts = { 0 };

    watched->askings++;
    watched->failures += got->code != 0;
    watched->code = got->code;
    watched->err = got->err;
    watched->took = got->took;
    if (got->code == 0) {
        watched->before = watched->reading;
        watched->reading = got->reading;
        keep_reading(watcher, watched);
    }
    if (got->has_processes) {
        free(watched->processes);
        watched->processes = got->processes;
        watched->process_count = got->process_count;
    } else
        free(got->processes);
    watched->has_processes = got->has_processes;
    if (watched->device == UINT32_MAX)
        return;
    measure_foreign(watcher, watched);
    list_parts(watcher, watched, &parts);
    watched->holds.count = 0;
    for (size_t i = 0; i < parts.count; i++)
        note_hold(watcher, watched, &parts.items[i]);
    if (got->code == 0)
        add_up(watcher, watched, &parts);
    judge(watcher, watched,
          parts.count > 0 || (!knows_owners(watcher) && watched->process_count > 0));
    watcher_hand_over(watcher, watched);
    forget_owners(watched);
    list_release(&parts);
}

static void find_in_state(struct watcher *watcher, struct watched *watched)
{
    int64_t found =
        watched->uuid[0] ? state_find_device(watcher_state(watcher), watched->uuid) : -1;

    watched->device = found >= 0 ? (uint32_t)found : UINT32_MAX;
    if (found >= 0)
        map_set(&watcher->by_device, (uint64_t)found, (uint64_t)(watched - watcher->devices));
}

/* What is known about it from before the daemon started. */
static void remember_faults(struct watcher *watcher, struct watched *watched)
{
    const struct state *state = watcher_state(watcher);

    find_in_state(watcher, watched);
    if (watched->device == UINT32_MAX)
        return;
    const struct device *device = &state->devices.items[watched->device];
    snprintf(watched->said, sizeof(watched->said), "%s", device->sick ? device->sick : "");
    bool is_of_before = !watched->is_remote && strcmp(device->boot, watcher->options.boot) != 0;
    if (device->faults == 0 || is_of_before)
        return;
    watched->health.faults = device->faults;
    watched->health.xid = device->xid;
    if (health_is_seen(&watched->health, FAULT_CHECK))
        snprintf(watched->checked, sizeof(watched->checked), "%s",
                 device->sick ? device->sick : "");
}

/* A failed commit replaces the state, and devices may have other numbers then. */
static void follow_state(struct watcher *watcher)
{
    const struct state *state = watcher_state(watcher);

    if (watcher->seen == state)
        return;
    watcher->seen = state;
    map_release(&watcher->by_device);
    for (uint32_t i = 0; i < watcher->device_count; i++)
        find_in_state(watcher, &watcher->devices[i]);
}

/* NULL: it is not in the state, or is a device of this machine. */
static struct watched *claim_remote(struct watcher *watcher, const char *uuid)
{
    follow_state(watcher);
    int64_t found = state_find_device(watcher_state(watcher), uuid);
    struct watched *watched = found >= 0 ? watcher_find(watcher, (uint32_t)found) : NULL;

    if (watched || found < 0)
        return watched && watched->is_remote ? watched : NULL;
    watcher->devices =
        mem_resize(watcher->devices, watcher->device_count + 1, sizeof(watcher->devices[0]));
    watched = &watcher->devices[watcher->device_count++];
    *watched = (struct watched){ .is_remote = true };
    snprintf(watched->uuid, sizeof(watched->uuid), "%s", uuid);
    remember_faults(watcher, watched);
    return watched;
}

/* Its faults stay what they are until its node answers again. */
static void lose_sight(struct watched *watched)
{
    watched->reading = watched->before = (struct reading){ 0 };
    watched->code = 0;
    watched->is_silent_node = true;
}

void watcher_reading(struct watcher *watcher, const struct engine_reading *told)
{
    struct watched *watched = claim_remote(watcher, told->uuid);

    if (!watched)
        return;
    if (!uv_is_active((const uv_handle_t *)&watcher->timer)) {
        find_held(watcher);
        uv_timer_start(&watcher->timer, on_timer, EVERY_MS, EVERY_MS);
    }
    watched->told_at = sampler_now();
    if (!told->reading) {
        lose_sight(watched);
        return;
    }
    struct sampled got = { .code = told->code, .reading = *told->reading };
    if (told->code < 0)
        error_set(&got.err, told->code, "%s", told->trouble);
    watched->is_silent_node = false;
    for (uint32_t i = 0; i < told->xid_count; i++)
        take_xid(watcher, watched, told->xids[i]);
    take(watcher, watched, &got);
}

static void take_all(struct watcher *watcher)
{
    struct probe_event event;

    for (uint32_t i = 0; i < watcher->device_count; i++) {
        struct sampled got;
        find_in_state(watcher, &watcher->devices[i]);
        if (sampler_take(watcher->sampler, i, &got))
            take(watcher, &watcher->devices[i], &got);
    }
    while (sampler_take_event(watcher->sampler, &event)) {
        if (event.device < watcher->device_count)
            take_xid(watcher, &watcher->devices[event.device], event.xid);
    }
}

static void on_wake(uv_async_t *wake)
{
    struct watcher *watcher = wake->data;

    take_all(watcher);
    watcher->options.looked(watcher->options.user);
}

static void look_after_jobs(struct watcher *watcher)
{
    usec_t now = node_port_now(&watcher->options.port);
    LIST(struct limit_hold) holds = { 0 };

    if (node_port_is_stuck(&watcher->options.port))
        return;
    for (size_t i = 0; i < watcher->held.count; i++) {
        const struct job *job = state_job(watcher_state(watcher), watcher->held.items[i].id);
        if (job && job->state == JOB_RUNNING)
            limit_watch_idle(&watcher->limits, job, now);
    }
    for (uint32_t i = 0; i < watcher->device_count; i++) {
        for (size_t k = 0; k < watcher->devices[i].holds.count; k++)
            list_add(&holds, watcher->devices[i].holds.items[k]);
    }
    limit_watch_memory(&watcher->limits, holds.items, holds.count, now);
    list_release(&holds);
}

/* A device that hangs sends no reading: judge it here. */
static void on_timer(uv_timer_t *timer)
{
    struct watcher *watcher = timer->data;

    follow_state(watcher);
    if (watcher->kubelet)
        kubelet_devices_look(watcher->kubelet);
    for (uint32_t i = 0; i < watcher->device_count; i++) {
        struct watched *watched = &watcher->devices[i];
        if (watched->device == UINT32_MAX || silence_of(watcher, watched) <= USEC_PER_SEC)
            continue;
        judge(watcher, watched, true);
        watcher_hand_over(watcher, watched);
    }
    look_after_jobs(watcher);
    watcher->options.looked(watcher->options.user);
    if (watcher->sampler)
        sampler_ask(watcher->sampler);
}

static void notify(void *user)
{
    uv_async_send(&((struct watcher *)user)->wake);
}

/* ---- the watch port ---- */

static const struct watcher *of(const struct watch *watch)
{
    return CONTAINER_OF(watch, const struct watcher, watch);
}

/* Those that have most stay, most first. */
static void keep_foreign(struct watch_device *device, struct watch_foreign foreign)
{
    for (uint32_t i = 0; i < WATCH_FOREIGN_MAX; i++) {
        struct watch_foreign other = device->foreign[i];
        if (i < device->foreign_count && other.memory_mib >= foreign.memory_mib)
            continue;
        device->foreign[i] = foreign;
        foreign = other;
        if (i >= device->foreign_count)
            break;
    }
    device->foreign_count++;
}

static void name_foreign(const struct watched *watched, struct watch_device *device)
{
    for (uint32_t i = 0; i < watched->process_count; i++) {
        const struct probe_process *process = &watched->processes[i];
        for (size_t k = 0; k < watched->known.count; k++) {
            const struct known_process *known = &watched->known.items[k];
            if (known->pid == process->pid && is_foreign(known, process))
                keep_foreign(device, (struct watch_foreign){ .pid = process->pid,
                                                             .memory_mib = mib_of(process) });
        }
    }
    for (uint32_t i = 0; i < device->foreign_count && i < WATCH_FOREIGN_MAX; i++)
        watcher_name(device->foreign[i].pid, device->foreign[i].name);
}

static bool watch_device(const struct watch *watch, uint32_t device, struct watch_device *ret)
{
    const struct watcher *watcher = of(watch);
    const struct watched *watched = watcher_find(watcher, device);

    if (!watched)
        return false;
    *ret = (struct watch_device){ .reading = watched->reading,
                                  .trouble = watched->code < 0 ? watched->err.text : NULL,
                                  .health = &watched->health,
                                  .processes = watched->processes,
                                  .process_count = watched->process_count,
                                  .has_processes = watched->has_processes,
                                  .has_owners = watched->has_processes && knows_owners(watcher),
                                  .foreign_mib = watched->foreign_mib,
                                  .askings = watched->askings,
                                  .failures = watched->failures,
                                  .took = watched->took,
                                  .xid_count = watched->xid_count };
    memcpy(ret->xids, watched->xids, sizeof(ret->xids));
    if (watched->foreign_mib > 0)
        name_foreign(watched, ret);
    ret->silent = silence_of(watcher, watched);
    if (watched->reading.at > 0) {
        ret->age = sampler_now() - watched->reading.at;
        ret->reading.at = journal_time(watcher, watched->reading.at);
    }
    return true;
}

static const struct usage *watch_usage(const struct watch *watch, uint64_t job, uint32_t attempt)
{
    return tally_look(&of(watch)->tally, job, attempt);
}

static struct probe_link watch_link(const struct watch *watch, uint32_t a, uint32_t b)
{
    const struct watcher *watcher = of(watch);
    const struct watched *first = watcher_find(watcher, a), *second = watcher_find(watcher, b);

    if (!first || !second || !first->links)
        return (struct probe_link){ .near = a == b ? PROBE_NEAR_SELF : PROBE_NEAR_UNKNOWN };
    return first->links[second - watcher->devices];
}

static bool watch_slurm(const struct watch *watch, uint32_t pid, struct watch_slurm *ret)
{
    (void)watch;
    return slurm_process_find("", pid, ret);
}

static bool watch_pod(const struct watch *watch, uint32_t device, char ret[WATCH_POD_SIZE])
{
    const struct watcher *watcher = of(watch);
    const struct device *found = &watcher_state(watcher)->devices.items[device];

    return watcher->kubelet &&
           kubelet_devices_pod(watcher->kubelet, found->uuid, found->index, ret);
}

static const struct watch_ops watch_ops = {
    .device = watch_device,
    .usage = watch_usage,
    .link = watch_link,
    .slurm = watch_slurm,
    .pod = watch_pod,
};

const struct watch *watcher_watch(const struct watcher *watcher)
{
    return &watcher->watch;
}

void watcher_keep_off(struct watcher *watcher, uint32_t device, bool is_changing)
{
    for (uint32_t i = 0; i < watcher->device_count; i++) {
        struct watched *watched = &watcher->devices[i];
        if (watched->device != device)
            continue;
        health_change(&watched->health, is_changing, sampler_now());
        watcher_report(watcher, watched);
    }
}

int watcher_clear(void *user, uint32_t device, struct error *err)
{
    struct watcher *watcher = user;
    char sick[WATCHER_WORDS_SIZE];
    struct event event;

    for (uint32_t i = 0; i < watcher->device_count; i++) {
        struct watched *watched = &watcher->devices[i];
        if (watched->device != device)
            continue;
        struct health cleared = watched->health;
        health_clear(&cleared);
        enum health_fault worst = health_worst(&cleared);
        if (worst != FAULTS)
            return error_set(err, -EBUSY, "%s: %s", watched->uuid, fault_words(worst));
        watched->health = cleared;
        if (watcher_news(watcher, watched, sick, &event))
            watcher->options.port.emit(watcher->options.port.user, &event);
        return 0;
    }
    return error_set(err, -ENOENT, "device %" PRIu32 ": not watched", device);
}

/* ---- begin and end ---- */

static void make_devices(struct watcher *watcher)
{
    const struct watcher_options *options = &watcher->options;

    watcher->device_count = options->device_count;
    watcher->devices = mem_zero(options->device_count + 1, sizeof(watcher->devices[0]));
    for (uint32_t i = 0; i < options->device_count; i++) {
        struct watched *watched = &watcher->devices[i];
        snprintf(watched->uuid, sizeof(watched->uuid), "%s", options->devices[i].uuid);
        remember_faults(watcher, watched);
        if (!options->probe->ops->link)
            continue;
        watched->links = mem_zero(options->device_count, sizeof(watched->links[0]));
        for (uint32_t k = 0; k < options->device_count; k++)
            watched->links[k] = options->probe->ops->link(options->probe, i, k);
    }
}

static void find_held(struct watcher *watcher)
{
    for (const struct job *job = watcher_state(watcher)->first_active; job;
         job = job->run->active_next) {
        if (job->run->lease->slices_count > 0)
            watcher_hold(watcher, job);
    }
}

int watcher_create(const struct watcher_options *options, struct watcher **ret, struct error *err)
{
    struct watcher *watcher = mem_zero(1, sizeof(*watcher));

    watcher->watch.ops = &watch_ops;
    watcher->options = *options;
    watcher->limits =
        (struct limit_watch){ .port = &watcher->options.port, .tally = &watcher->tally };
    watcher->commands = health_commands_create(options->loop);
    watcher->kubelet = options->kubelet ? kubelet_devices_create(options->kubelet) : NULL;
    uv_timer_init(options->loop, &watcher->timer);
    uv_timer_init(options->loop, &watcher->soon);
    uv_async_init(options->loop, &watcher->wake, on_wake);
    watcher->timer.data = watcher->soon.data = watcher->wake.data = watcher;
    *ret = watcher;
    if (!options->probe || !options->probe->ops->sample || options->device_count == 0)
        return 0;
    make_devices(watcher);
    find_held(watcher);
    struct sampler_options sampler = { .probe = options->probe,
                                       .device_count = options->device_count,
                                       .notify = notify,
                                       .user = watcher };
    int code = sampler_create(&sampler, &watcher->sampler, err);
    if (options->preparer)
        preparer_tell(options->preparer, watcher, watcher_look_again);
    if (code == 0)
        uv_timer_start(&watcher->timer, on_timer, 0, EVERY_MS);
    return code;
}

static void on_closed(uv_handle_t *handle)
{
    struct watcher *watcher = handle->data;

    if (++watcher->closing == 3)
        free(watcher);
}

bool watcher_destroy(struct watcher *watcher)
{
    if (!watcher)
        return true;
    if (watcher->options.preparer)
        preparer_tell(watcher->options.preparer, NULL, NULL);
    uv_timer_stop(&watcher->timer);
    uv_timer_stop(&watcher->soon);
    health_commands_destroy(watcher->commands);
    kubelet_devices_destroy(watcher->kubelet);
    bool are_all_back = sampler_destroy(watcher->sampler);
    for (uint32_t i = 0; i < watcher->device_count; i++) {
        free(watcher->devices[i].processes);
        free(watcher->devices[i].links);
        list_release(&watcher->devices[i].known);
        list_release(&watcher->devices[i].holds);
    }
    free(watcher->devices);
    map_release(&watcher->by_device);
    tally_release(&watcher->tally);
    limit_watch_release(&watcher->limits);
    for (size_t i = 0; i < watcher->held.count; i++)
        free(watcher->held.items[i].devices);
    list_release(&watcher->held);
    list_release(&watcher->holders);
    if (!are_all_back) /* a thread may still wake us: what it wakes stays */
        return false;
    uv_close((uv_handle_t *)&watcher->timer, on_closed);
    uv_close((uv_handle_t *)&watcher->soon, on_closed);
    uv_close((uv_handle_t *)&watcher->wake, on_closed);
    return true;
}
