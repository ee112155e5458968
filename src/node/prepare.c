/* SPDX-License-Identifier: Apache-2.0 */
#include "node/prepare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cluster/mig.h"
#include "device/mps.h"
#include "io/file.h"
#include "io/workers.h"

enum { KEPT_MAX = 16 };

/* What one slice needs. */
struct task {
    uint32_t place;  /* in the lease */
    uint32_t device; /* of the probe */
    char uuid[PROBE_UUID_SIZE];
    bool wants_mig, wants_mps;
    uint32_t compute; /* slices of the device */
    struct probe_instance instance;
    struct probe_instance kept[KEPT_MAX]; /* that other jobs hold, on this device */
    uint32_t kept_count;
};

struct work {
    struct work_item item;
    struct preparer *preparer;
    struct work *next;
    struct task *tasks;
    uint32_t task_count;
    struct prepared prepared;
    void *user;
    prepared_fn *done;
    bool is_cancelled, is_running;
    uint32_t stops; /* without a job: a device whose server is to end, plus one */
    bool is_reset;  /* of stops: only its compute mode */
    int mode;       /* to this one */
    int code;
    struct error err;
};

struct preparer {
    struct prepare_options options;
    char *folder;       /* of the MPS servers' folders */
    bool has_mps;       /* the program is there */
    struct work *first; /* in the order in which they came */
    void *user;
    void (*told)(void *user, uint32_t device); /* it is as it is without a job; NULL: not wanted */
    bool is_ending;
};

static int64_t find_device(const struct preparer *preparer, const char *uuid)
{
    for (uint32_t i = 0; i < preparer->options.devices->count; i++) {
        if (strcmp(preparer->options.devices->items[i].uuid, uuid) == 0)
            return i;
    }
    return -1;
}

/* What other nodes need is their engine's. */
static bool is_here(const struct preparer *preparer, const struct state *state,
                    const struct device *device)
{
    return strcmp(state->nodes.items[device->node].name, preparer->options.machine_name) == 0;
}

/* It was granted, and is not there any more: a job must not be named something else instead. */
static bool is_missing(const struct preparer *preparer, const struct state *state,
                       const struct device *device)
{
    uint32_t number;

    return is_here(preparer, state, device) && find_device(preparer, device->uuid) < 0 &&
           !state_device_type(state, device->uuid, &number);
}

static bool wants_mig(const struct preparer *preparer, const struct slice *slice)
{
    return slice->kind == SHARE_MIG && preparer->options.probe &&
           preparer->options.probe->ops->mig_create;
}

/* A fraction is served by MPS where that is installed, and by time slices else. */
static bool wants_mps(const struct preparer *preparer, const struct device *device,
                      const struct slice *slice)
{
    return (slice->kind == SHARE_MPS || slice->kind == SHARE_FRACTION) && preparer->has_mps &&
           !device->is_synthetic && strcmp(device->vendor, "nvidia") == 0;
}

bool preparer_is_needed(const struct preparer *preparer, const struct state *state,
                        const struct job *job)
{
    const struct lease *lease = job->run->lease;
    bool is_needed = false;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct device *device = &state->devices.items[lease->slices[i].device];
        if (is_here(preparer, state, device))
            is_needed |= is_missing(preparer, state, device) ||
                         wants_mig(preparer, &lease->slices[i]) ||
                         wants_mps(preparer, device, &lease->slices[i]);
    }
    return is_needed;
}

/* ---- in the worker ---- */

static bool overlap(const struct probe_instance *a, const struct probe_instance *b)
{
    return a->start < b->start + b->size && b->start < a->start + a->size;
}

static bool is_kept(const struct task *task, const struct probe_instance *instance)
{
    for (uint32_t i = 0; i < task->kept_count; i++) {
        if (task->kept[i].start == instance->start && task->kept[i].size == instance->size)
            return true;
    }
    return false;
}

static bool is_it(const struct task *task, const struct probe_instance *found)
{
    const struct probe_instance *wanted = &task->instance;

    return found->start == wanted->start && found->size == wanted->size &&
           found->compute == wanted->compute && found->media == wanted->media && found->uuid[0];
}

/* Use the existing instance, or create it in place of instances that no job holds. */
static int prepare_mig(struct probe *probe, struct task *task, struct error *err)
{
    AUTO_FREE struct probe_instance *found = NULL;
    uint32_t count = 0, compute = 0;

    int code = probe->ops->mig_list(probe, task->device, &found, &count, err);
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        if (is_it(task, &found[i])) {
            task->instance = found[i];
            return 0;
        }
        compute += found[i].compute;
    }
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        /* Also where it stands elsewhere, when the compute slices are used up. */
        bool is_in_way =
            overlap(&found[i], &task->instance) || compute + task->instance.compute > task->compute;
        if (!is_in_way || is_kept(task, &found[i]))
            continue;
        code = probe->ops->mig_remove(probe, task->device, found[i].gpu_instance, err);
        compute -= found[i].compute;
    }
    return code < 0 ? code : probe->ops->mig_create(probe, task->device, &task->instance, err);
}

static char *mps_folder(const struct preparer *preparer, const char *uuid)
{
    return mem_printf("%s/%s", preparer->folder, uuid);
}

bool preparer_is_server(const struct preparer *preparer, uint32_t device, uint32_t pid)
{
    if (!preparer || !preparer->has_mps)
        return false;
    AUTO_FREE char *folder = mps_folder(preparer, preparer->options.devices->items[device].uuid);
    return mps_is_server(folder, pid);
}

static int prepare_mps(struct preparer *preparer, const struct task *task, struct error *err)
{
    AUTO_FREE char *folder = mps_folder(preparer, task->uuid);
    struct mps_device mps = { preparer->options.probe, task->device, task->uuid, folder };

    return mps_start(&mps, err);
}

static void stop_server(struct preparer *preparer, uint32_t device)
{
    const char *uuid = preparer->options.devices->items[device].uuid;
    AUTO_FREE char *folder = mps_folder(preparer, uuid);

    mps_stop(&(struct mps_device){ preparer->options.probe, device, uuid, folder });
}

static void on_work(struct work_item *item)
{
    struct work *work = CONTAINER_OF(item, struct work, item);
    struct preparer *preparer = work->preparer;
    struct probe *probe = preparer->options.probe;

    if (work->is_reset && probe && probe->ops->compute_mode)
        probe->ops->compute_mode(probe, work->stops - 1, (enum probe_compute)work->mode, NULL);
    else if (work->stops > 0)
        stop_server(preparer, work->stops - 1);
    for (uint32_t i = 0; i < work->task_count && work->code == 0; i++) {
        struct task *task = &work->tasks[i];
        if (task->wants_mig)
            work->code = prepare_mig(preparer->options.probe, task, &work->err);
        if (work->code == 0 && task->wants_mps)
            work->code = prepare_mps(preparer, task, &work->err);
    }
}

/* ---- in the loop ---- */

static void prepared_release(struct prepared *prepared)
{
    for (uint32_t i = 0; i < prepared->count; i++)
        free(prepared->mps[i]);
    free(prepared->mps);
    free(prepared->visible);
}

static void work_destroy(struct work *work)
{
    prepared_release(&work->prepared);
    free(work->tasks);
    free(work);
}

static void after_work(struct work_item *item);

static bool is_about(const struct work *work, uint32_t device)
{
    bool is_found = work->stops == device + 1;

    for (uint32_t i = 0; i < work->task_count; i++)
        is_found |= work->tasks[i].device == device;
    return is_found;
}

/* Whether an earlier one is about a device of this one. */
static bool has_to_wait(const struct preparer *preparer, const struct work *work)
{
    for (const struct work *other = preparer->first; other != work; other = other->next) {
        if (work->stops > 0 && is_about(other, work->stops - 1))
            return true;
        for (uint32_t i = 0; i < work->task_count; i++) {
            if (is_about(other, work->tasks[i].device))
                return true;
        }
    }
    return false;
}

static void drop(struct preparer *preparer, struct work *work)
{
    struct work **at = &preparer->first;

    while (*at != work)
        at = &(*at)->next;
    *at = work->next;
    work_destroy(work);
}

/* One of them: works on the same device follow each other. */
static uint32_t device_of(const struct work *work)
{
    return work->task_count > 0 ? work->tasks[0].device : work->stops - 1;
}

/* One step at a time per device: a device that hangs does not delay the others. */
static void run_next(struct preparer *preparer)
{
    for (struct work *work = preparer->first, *next; work; work = next) {
        next = work->next;
        if (work->is_running)
            continue;
        if (work->is_cancelled) {
            drop(preparer, work);
            continue;
        }
        if (has_to_wait(preparer, work))
            continue;
        work->is_running = true;
        work->item = (struct work_item){
            .run = on_work, .done = after_work, .kind = WORK_DRIVER, .number = device_of(work)
        };
        workers_add(preparer->options.workers, &work->item);
    }
}

/* What the worker found out, as programs are told it. */
static void name_slices(struct work *work)
{
    for (uint32_t i = 0; i < work->task_count; i++) {
        const struct task *task = &work->tasks[i];
        const char *visible = task->wants_mig ? task->instance.uuid : task->uuid;
        memcpy(work->prepared.visible[task->place], visible, PROBE_UUID_SIZE);
        if (task->wants_mps)
            work->prepared.mps[task->place] = mps_folder(work->preparer, task->uuid);
    }
}

static void after_work(struct work_item *item)
{
    struct work *work = CONTAINER_OF(item, struct work, item);
    struct preparer *preparer = work->preparer;

    if (work->code == 0)
        name_slices(work);
    if (!work->is_cancelled && !preparer->is_ending && work->stops == 0)
        work->done(work->user, &work->prepared, work->code, &work->err);
    if (work->stops > 0 && !preparer->is_ending && preparer->told)
        preparer->told(preparer->user, work->stops - 1);
    drop(preparer, work);
    if (preparer->is_ending && !preparer->first) {
        free(preparer->folder);
        free(preparer);
        return;
    }
    run_next(preparer);
}

static void enqueue(struct preparer *preparer, struct work *work)
{
    struct work **end = &preparer->first;

    while (*end)
        end = &(*end)->next;
    *end = work;
    work->preparer = preparer;
    run_next(preparer);
}

/* What other jobs hold of a device, so that it is left alone. */
static void list_kept(const struct state *state, const struct job *job, uint32_t device,
                      struct task *task)
{
    for (const struct job *other = state->first_active; other; other = other->run->active_next) {
        const struct lease *lease = other->run->lease;
        for (uint32_t i = 0; i < lease->slices_count; i++) {
            const struct slice *slice = &lease->slices[i];
            bool is_own = other == job && slice->mig_start == task->instance.start;
            if (slice->device != device || slice->kind != SHARE_MIG || is_own ||
                task->kept_count == KEPT_MAX)
                continue;
            task->kept[task->kept_count++] =
                (struct probe_instance){ .start = slice->mig_start, .size = slice->mig_size };
        }
    }
}

/* A board that is not known is taken for one of the usual kind. */
static uint32_t compute_of(const struct device *device)
{
    const struct mig_board *board = mig_board_of(device->model, device->memory_mib);

    return mig_layout(board ? board->layout : MIG_SEVEN)->compute;
}

static void add_task(struct preparer *preparer, const struct state *state, const struct job *job,
                     uint32_t place, struct work *work)
{
    const struct slice *slice = &job->run->lease->slices[place];
    const struct device *device = &state->devices.items[slice->device];
    int64_t found = find_device(preparer, device->uuid);
    struct task *task = &work->tasks[work->task_count];

    snprintf(work->prepared.visible[place], PROBE_UUID_SIZE, "%s", device->uuid);
    if (is_missing(preparer, state, device))
        work->code = error_set(&work->err, -ENODEV, "device %s: not found any more", device->uuid);
    if (found < 0)
        return;
    *task = (struct task){ .place = place,
                           .device = (uint32_t)found,
                           .wants_mig = wants_mig(preparer, slice),
                           .compute = compute_of(device),
                           .wants_mps = wants_mps(preparer, device, slice),
                           .instance = { .start = slice->mig_start,
                                         .size = slice->mig_size,
                                         .compute = slice->mig_compute,
                                         .media = slice->mig_media != 0 } };
    if (!task->wants_mig && !task->wants_mps)
        return;
    snprintf(task->uuid, sizeof(task->uuid), "%s", device->uuid);
    list_kept(state, job, slice->device, task);
    work->task_count++;
}

void preparer_start(struct preparer *preparer, const struct state *state, const struct job *job,
                    void *user, prepared_fn *done)
{
    struct work *work = mem_zero(1, sizeof(*work));
    uint32_t count = job->run->lease->slices_count;

    work->user = user;
    work->done = done;
    work->tasks = mem_zero(count + 1, sizeof(work->tasks[0]));
    work->prepared = (struct prepared){
        .job = job->id,
        .attempt = job->run->attempt,
        .count = count,
        .visible = mem_zero(count + 1, sizeof(work->prepared.visible[0])),
        .mps = mem_zero(count + 1, sizeof(work->prepared.mps[0])),
    };
    for (uint32_t i = 0; i < count; i++)
        add_task(preparer, state, job, i, work);
    enqueue(preparer, work);
}

bool preparer_cancel(struct preparer *preparer, uint64_t job, uint32_t attempt)
{
    for (struct work *work = preparer->first; work; work = work->next) {
        if (work->prepared.job != job || work->prepared.attempt != attempt || work->is_cancelled)
            continue;
        work->is_cancelled = true;
        return true;
    }
    return false;
}

static bool is_shared(const struct state *state, uint32_t device)
{
    for (const struct job *job = state->first_active; job; job = job->run->active_next) {
        const struct slice *slice = lease_slice_on(job->run->lease, device);
        if (slice && slice->kind != SHARE_WHOLE)
            return true;
    }
    return false;
}

void preparer_release(struct preparer *preparer, const struct state *state)
{
    for (uint32_t i = 0; preparer->has_mps && i < preparer->options.devices->count; i++) {
        int64_t device = state_find_device(state, preparer->options.devices->items[i].uuid);
        AUTO_FREE char *folder = mps_folder(preparer, preparer->options.devices->items[i].uuid);
        AUTO_FREE char *pipe = mem_printf("%s/control", folder);
        if (device < 0 || is_shared(state, (uint32_t)device) || access(pipe, F_OK) < 0)
            continue;
        struct work *work = mem_zero(1, sizeof(*work));
        work->stops = i + 1;
        enqueue(preparer, work);
    }
}

void preparer_reset(struct preparer *preparer, uint32_t device, int mode)
{
    struct work *work = mem_zero(1, sizeof(*work));

    work->stops = device + 1;
    work->is_reset = true;
    work->mode = mode;
    enqueue(preparer, work);
}

void preparer_tell(struct preparer *preparer, void *user, void (*told)(void *user, uint32_t device))
{
    preparer->user = user;
    preparer->told = told;
}

struct preparer *preparer_create(const struct prepare_options *options)
{
    struct preparer *preparer = mem_zero(1, sizeof(*preparer));

    preparer->options = *options;
    preparer->folder = mem_printf("%s/mps", options->state_dir);
    preparer->has_mps = mps_is_there();
    if (preparer->has_mps && folder_make(preparer->folder, 0755, NULL) < 0)
        preparer->has_mps = false;
    return preparer;
}

void preparer_destroy(struct preparer *preparer)
{
    if (!preparer)
        return;
    preparer->is_ending = true;
    for (struct work *work = preparer->first; work; work = work->next)
        work->is_cancelled = true;
    run_next(preparer);
    if (preparer->first)
        return; /* the one that runs is the last to leave */
    free(preparer->folder);
    free(preparer);
}
