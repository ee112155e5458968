/* SPDX-License-Identifier: Apache-2.0 */
/* Devices between two jobs: what was left there, and what the health commands say. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/log.h"
#include "node/prepare.h"
#include "node/watcher_inside.h"

enum { LOOK_MS = 100 }; /* what a job left is looked for again so soon */

static const struct watch_rules *rules_of(const struct watcher *watcher)
{
    return &watcher_state(watcher)->settings.watch;
}

/* ---- the health commands ---- */

static void on_checked(void *user, uint64_t tag, enum check_end end, const char *words)
{
    struct watcher *watcher = user;
    struct watched *watched = &watcher->devices[tag];

    watched->checks--;
    if (end == CHECK_NOT_RUN)
        log_line(LOG_WARNING, "a health command cannot be run device=%s reason='%s'", watched->uuid,
                 words);
    if (end == CHECK_SICK) {
        snprintf(watched->checked, sizeof(watched->checked), "its health check failed: %s", words);
        health_check_failed(&watched->health, sampler_now());
        if (watched->device != UINT32_MAX)
            watcher_report(watcher, watched);
    }
    watcher->options.looked(watcher->options.user);
}

static void check(struct watcher *watcher, struct watched *watched, uint64_t job, const char *when)
{
    const struct watch_rules *rules = rules_of(watcher);
    uint64_t place = (uint64_t)(watched - watcher->devices);
    usec_t timeout = rules->health_timeout;
    bool is_before = strcmp(when, "before") == 0;

    watched->checks++;
    health_command_start(
        watcher->commands,
        &(struct check){ .command = is_before ? rules->health_before : rules->health_after,
                         .timeout = timeout,
                         .device = &watcher->options.devices[place],
                         .index = watcher_state(watcher)->devices.items[watched->device].index,
                         .job = job,
                         .when = when,
                         .done = on_checked,
                         .user = watcher,
                         .tag = place });
}

/* Each of its devices once, whatever it has of it. */
static bool is_first(const struct lease *lease, uint32_t place)
{
    for (uint32_t i = 0; i < place; i++) {
        if (lease->slices[i].device == lease->slices[place].device)
            return false;
    }
    return true;
}

bool watcher_check_before(struct watcher *watcher, const struct job *job)
{
    const struct lease *lease = job->run->lease;
    bool is_any = false;

    for (uint32_t i = 0; rules_of(watcher)->health_before[0] && i < lease->slices_count; i++) {
        struct watched *watched = watcher_find(watcher, lease->slices[i].device);
        if (!watched || watched->is_remote || !is_first(lease, i))
            continue;
        check(watcher, watched, job->id, "before");
        is_any = true;
    }
    return is_any;
}

/* ---- what jobs hold, and give back ---- */

static void begin(struct watcher *watcher, uint32_t device, uint64_t job, bool has_run)
{
    struct watched *watched = watcher_find(watcher, device);

    if (!watched || watched->is_remote)
        return;
    watched->was_reset = false;
    handover_begin(&watched->handover, job, sampler_now());
    watcher_ask(watcher, watched);
    if (has_run && rules_of(watcher)->health_after[0])
        check(watcher, watched, job, "after");
}

static bool has_same_devices(const struct held_job *held, const struct lease *lease)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (!is_first(lease, i))
            continue;
        if (count == held->count || held->devices[count] != lease->slices[i].device)
            return false;
        count++;
    }
    return count == held->count;
}

static void note_devices(struct watcher *watcher, struct held_job *held, const struct lease *lease)
{
    watcher->is_indexed = false;
    free(held->devices);
    held->devices = mem_zero(lease->slices_count + 1, sizeof(held->devices[0]));
    held->count = 0;
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (is_first(lease, i))
            held->devices[held->count++] = lease->slices[i].device;
    }
}

void watcher_hold(struct watcher *watcher, const struct job *job)
{
    struct held_job held = { .id = job->id, .attempt = job->run->attempt };

    note_devices(watcher, &held, job->run->lease);
    list_add(&watcher->held, held);
    if (job->run->usage && job->run->usage_attempt == job->run->attempt)
        tally_restore(&watcher->tally, job->id, job->run->attempt, job->run->usage);
}

static int compare_holders(const void *left, const void *right)
{
    const struct holder *a = left, *b = right;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->job > b->job) - (a->job < b->job);
}

/* Thousands of devices are read each second, and jobs change less often. */
static void index_holders(struct watcher *watcher)
{
    watcher->holders.count = 0;
    LIST_EACH (const struct held_job, held, &watcher->held) {
        for (uint32_t i = 0; i < held->count; i++) {
            struct holder holder = { .device = held->devices[i], .job = held->id };
            list_add(&watcher->holders, holder);
        }
    }
    list_sort(&watcher->holders, compare_holders);
    watcher->is_indexed = true;
}

const struct holder *watcher_holders(struct watcher *watcher, uint32_t device, size_t *ret_count)
{
    if (!watcher->is_indexed)
        index_holders(watcher);
    size_t first = 0, last = watcher->holders.count;
    while (first < last) {
        size_t middle = (first + last) / 2;
        if (watcher->holders.items[middle].device < device)
            first = middle + 1;
        else
            last = middle;
    }
    for (last = first; last < watcher->holders.count; last++) {
        if (watcher->holders.items[last].device != device)
            break;
    }
    *ret_count = last - first;
    return watcher->holders.items + first;
}

void watcher_settle(struct watcher *watcher)
{
    for (size_t i = 0; i < watcher->held.count; i++) {
        struct held_job *held = &watcher->held.items[i];
        const struct job *job = state_job(watcher_state(watcher), held->id);
        bool is_active = job && job_is_active(job);
        bool is_same = job && job->run->attempt == held->attempt;
        bool has_run = !is_same || job->run->members_started > 0 || job->run->members_lost > 0;
        const struct lease *now = is_active && is_same ? job->run->lease : NULL;
        if (now && has_same_devices(held, now))
            continue;
        watcher->is_indexed = false;
        for (uint32_t k = 0; k < held->count; k++) {
            if (!now || !lease_slice_on(now, held->devices[k]))
                begin(watcher, held->devices[k], held->id, has_run);
        }
        held->count = 0;
        if (!is_active)
            continue;
        held->attempt = job->run->attempt;
        note_devices(watcher, held, job->run->lease);
    }
}

/* ---- looks ---- */

/* Of a job that is over, or of an earlier attempt. Numbers are used again: asked anew. */
static bool is_left(struct watcher *watcher, struct known_process *known)
{
    struct member_id now;

    if (!known->is_ours)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct job *job = state_job(watcher_state(watcher), known->id.job);
        if (job && job_is_active(job) && job->run->attempt == known->id.attempt)
            return false;
        if (!watcher_member(watcher, known->pid, &now))
            return true; /* it ends, and the driver has not seen it yet */
        known->id = now;
    }
    return true;
}

bool watcher_name(uint32_t pid, char *ret)
{
    AUTO_FREE char *path = mem_printf("/proc/%" PRIu32 "/comm", pid);
    AUTO_RELEASE(text) struct text comm = { 0 };
    bool is_there = file_read(path, WATCH_NAME_SIZE, &comm, NULL) == 0;
    const char *name = text_string(&comm);
    size_t length = strlen(name);

    string_clean(ret, WATCH_NAME_SIZE, name,
                 length > 0 && name[length - 1] == '\n' ? length - 1 : length);
    return is_there;
}

static void find_left(struct watcher *watcher, struct watched *watched, struct handover_look *look,
                      char *name)
{
    for (uint32_t i = 0; watched->has_processes && i < watched->process_count; i++) {
        uint32_t pid = watched->processes[i].pid;
        watcher_owner(watcher, watched, pid);
        for (size_t k = 0; k < watched->known.count && look->left_pid == 0; k++) {
            struct known_process *known = &watched->known.items[k];
            if (known->pid != pid || !is_left(watcher, known))
                continue;
            look->left_pid = pid;
            look->left_job = known->id.job;
        }
    }
    if (look->left_pid == 0)
        return;
    look->left_name = watcher_name(look->left_pid, name) ? name : "ended";
}

/* Whether a job runs on it, and whether jobs share it. */
static void find_users(struct watcher *watcher, const struct watched *watched,
                       struct handover_look *look)
{
    size_t count;
    const struct holder *holders = watcher_holders(watcher, watched->device, &count);

    for (size_t i = 0; i < count; i++) {
        const struct job *job = state_job(watcher_state(watcher), holders[i].job);
        const struct lease *lease = job && job_is_active(job) ? job->run->lease : NULL;
        for (uint32_t k = 0; lease && k < lease->slices_count; k++) {
            const struct slice *slice = &lease->slices[k];
            if (slice->device != watched->device)
                continue;
            look->is_used |= job->state != JOB_GRANTED || job->run->members_started > 0;
            look->is_shared |= slice->kind != SHARE_WHOLE;
        }
    }
}

void watcher_examine(struct watcher *watcher, struct watched *watched)
{
    char name[WATCH_NAME_SIZE] = "";
    struct handover_look look = { .began = watched->reading.at - watched->took,
                                  .reading = &watched->reading };

    if (watched->code != 0 || watched->reading.at == 0) {
        watched->has_left = health_is_seen(&watched->health, FAULT_LEFT);
        return;
    }
    look.unowned_mib = watcher_unowned(watched);
    find_left(watcher, watched, &look, name);
    find_users(watcher, watched, &look);
    if (handover_needs_reset(&watched->handover, &look) && !watched->was_reset) {
        watched->was_reset = true;
        preparer_reset(watcher->options.preparer, (uint32_t)(watched - watcher->devices),
                       watched->handover.usual_mode - 1);
    }
    bool was_kept = watched->handover.is_mode_kept;
    watched->has_left = handover_judge(&watched->handover, &look);
    if (watched->handover.is_mode_kept && !was_kept)
        log_line(LOG_WARNING,
                 "a compute mode cannot be set back device=%s job=%" PRIu64 " mode=%" PRId64
                 " before=%d",
                 watched->uuid, watched->handover.job,
                 watched->reading.values[READING_COMPUTE_MODE], watched->handover.usual_mode - 1);
}

/* Those that are looked at until nothing is left there. */
static void on_soon(uv_timer_t *timer)
{
    struct watcher *watcher = timer->data;

    for (uint32_t i = 0; i < watcher->device_count; i++) {
        if (watcher->devices[i].handover.is_open)
            watcher_ask(watcher, &watcher->devices[i]);
    }
}

void watcher_look_again(void *user, uint32_t device)
{
    struct watcher *watcher = user;
    struct watched *watched = &watcher->devices[device];

    if (!watched->handover.is_open)
        return;
    handover_renew(&watched->handover, sampler_now());
    watcher_ask(watcher, watched);
}

void watcher_hand_over(struct watcher *watcher, struct watched *watched)
{
    struct handover *handover = &watched->handover;
    usec_t most = (HEALTH_LEFT_S + 1) * USEC_PER_SEC;

    if (!handover->is_open)
        return;
    if (sampler_now() - handover->since > most || health_worst(&watched->health) != FAULTS)
        handover->is_open = false; /* it is sick, or says nothing: that has a fault of its own */
    else if (watched->reading.at - watched->took < handover->since)
        watcher_ask(watcher, watched);
    else if (!uv_is_active((const uv_handle_t *)&watcher->soon))
        uv_timer_start(&watcher->soon, on_soon, LOOK_MS, 0);
}

bool watcher_is_ready(const struct watcher *watcher, const struct job *job)
{
    const struct lease *lease = job->run->lease;
    bool is_ready = true;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct watched *watched = watcher_find(watcher, lease->slices[i].device);
        is_ready &= !watched || (!watched->handover.is_open && watched->checks == 0 &&
                                 health_worst(&watched->health) == FAULTS);
    }
    return is_ready;
}
