/* SPDX-License-Identifier: Apache-2.0 */
#include "node/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "device/host.h"
#include "device/mps.h"
#include "io/file.h"
#include "node/fence.h"
#include "node/hpc_job_files.h"
#include "node/mig_mode.h"
#include "node/probe_choice.h"
#include "node/watcher.h"

enum { BOOT_BYTES_MAX = 64 };

struct machine {
    struct machine_options options;
    char *devices; /* the name of the choice */
    struct probe *probe;
    struct probe_devices found;
    struct probe_machine host; /* name "": the engine has nodes of its own */
    struct text boot;
    struct fence *fence;
    struct user_accounts *accounts;
    struct preparer *preparer;
    struct watcher *watcher;
    struct mig_modes *mig_modes;
    struct hpc_job_files *job_files;
    bool is_probe_held; /* a thread hangs in the driver */
};

static const struct state *state_of(const struct machine *machine)
{
    return node_port_state(&machine->options.port);
}

/* Which run of the machine this is; "" when the kernel does not say. */
static void read_boot(struct text *ret)
{
    AUTO_RELEASE(text) struct text line = { 0 };

    if (file_read("/proc/sys/kernel/random/boot_id", BOOT_BYTES_MAX, &line, NULL) == 0)
        text_add_bytes(ret, text_string(&line), strcspn(text_string(&line), "\n"));
}

int machine_create(const struct machine_options *options, struct machine **ret, struct error *err)
{
    struct machine *machine = mem_zero(1, sizeof(*machine));
    bool is_node = !options->engine->abilities.has_own_nodes;

    machine->options = *options;
    *ret = machine;
    read_boot(&machine->boot);
    int code = probe_choice_open(is_node ? options->devices : "none", &machine->probe,
                                 &machine->devices, err);
    if (code == 0)
        code = probe_choice_find(&machine->probe, &machine->found, err);
    if (code == 0 && is_node)
        code = probe_machine(&machine->host, err);
    if (code < 0)
        return code;
    if (is_node)
        machine->fence = fence_create(machine->found.items, machine->found.count);
    machine->accounts = user_accounts_create(options->loop, options->workers);
    machine->preparer =
        preparer_create(&(struct prepare_options){ .workers = options->workers,
                                                   .state_dir = options->state_dir,
                                                   .machine_name = machine->host.name,
                                                   .probe = machine->probe,
                                                   .devices = &machine->found });
    return 0;
}

int machine_watch(struct machine *machine, void *user, void (*looked)(void *user),
                  struct error *err)
{
    const struct machine_options *options = &machine->options;
    struct watcher_options watcher = { .loop = options->loop,
                                       .port = options->port,
                                       .engine = options->engine,
                                       .probe = machine->probe,
                                       .boot = text_string(&machine->boot),
                                       .devices = machine->found.items,
                                       .device_count = machine->found.count,
                                       .has_mps = mps_is_there(),
                                       .user = user,
                                       .looked = looked,
                                       .preparer = machine->preparer };

    user_accounts_listen(machine->accounts, user, looked);
    int code = watcher_create(&watcher, &machine->watcher, err);
    if (code < 0)
        return code;
    machine->mig_modes = mig_modes_create(&(struct mig_modes_options){
        .loop = options->loop,
        .workers = options->workers,
        .port = options->port,
        .probe = machine->probe,
        .devices = &machine->found,
        .watcher = machine->watcher,
    });
    return options->hpc_job_dir
               ? hpc_job_files_create(options->loop, &options->port, machine->host.name,
                                      options->hpc_job_dir, &machine->job_files, err)
               : 0;
}

void machine_stop(struct machine *machine)
{
    if (!machine)
        return;
    mig_modes_destroy(machine->mig_modes);
    hpc_job_files_destroy(machine->job_files);
    machine->job_files = NULL;
    machine->is_probe_held = !watcher_destroy(machine->watcher);
    machine->watcher = NULL;
    preparer_destroy(machine->preparer);
    machine->preparer = NULL;
    user_accounts_destroy(machine->accounts);
    machine->accounts = NULL;
}

void machine_destroy(struct machine *machine)
{
    if (!machine)
        return;
    if (machine->probe && !machine->is_probe_held)
        machine->probe->ops->destroy(machine->probe);
    fence_destroy(machine->fence);
    free(machine->found.items);
    free(machine->devices);
    text_release(&machine->boot);
    free(machine);
}

bool machine_describe(const struct machine *machine, struct engine_node *ret)
{
    *ret = (struct engine_node){ .name = machine->host.name,
                                 .boot = machine->boot.bytes,
                                 .cpu_milli = machine->host.cpu_milli,
                                 .memory_mib = machine->host.memory_mib,
                                 .devices = machine->found.items,
                                 .device_count = machine->found.count };
    return !machine->options.engine->abilities.has_own_nodes;
}

const char *machine_devices(const struct machine *machine)
{
    return machine->devices;
}

bool machine_is(const struct machine *machine, const struct node *node)
{
    return strcmp(node->name, machine->host.name) == 0;
}

/* Whether a part of it starts here. */
static bool is_for_here(const struct machine *machine, const struct job *job)
{
    const struct lease *lease = job->run->lease;

    for (uint32_t i = 0; i < lease->members_count; i++) {
        if (machine_is(machine, &state_of(machine)->nodes.items[lease->members[i].node]))
            return true;
    }
    return false;
}

const struct user_account *machine_account(const struct machine *machine, const struct job *job)
{
    return user_accounts_find(machine->accounts, job->uid, job->gid);
}

void machine_expect(struct machine *machine, const struct job *job)
{
    if (is_for_here(machine, job))
        user_accounts_refresh(machine->accounts, job->uid, job->gid);
    if (machine->watcher && job->run->lease->slices_count > 0)
        watcher_settle(machine->watcher);
}

bool machine_is_ready(const struct machine *machine, const struct job *job)
{
    if (is_for_here(machine, job) && !user_accounts_is_ready(machine->accounts, job->uid, job->gid))
        return false;
    if (job->run->lease->slices_count == 0)
        return true;
    return machine->watcher && watcher_is_ready(machine->watcher, job);
}

bool machine_check(struct machine *machine, const struct job *job)
{
    return machine->watcher && watcher_check_before(machine->watcher, job);
}

bool machine_prepare(struct machine *machine, const struct job *job, void *user, prepared_fn *done)
{
    const struct state *state = state_of(machine);

    if (!preparer_is_needed(machine->preparer, state, job))
        return false;
    preparer_start(machine->preparer, state, job, user, done);
    return true;
}

bool machine_cancel(struct machine *machine, const struct job *job)
{
    return preparer_cancel(machine->preparer, job->id, job->run->attempt);
}

void machine_release(struct machine *machine)
{
    preparer_release(machine->preparer, state_of(machine));
}

void machine_bound(const struct machine *machine, const struct job *job, uint32_t place,
                   struct machine_bounds *ret, struct engine_launch *launch)
{
    const struct state *state = state_of(machine);

    if (machine->fence)
        fence_denied(machine->fence, state, job, place, &ret->denied, &launch->denied_count,
                     &launch->is_fenced);
    launch->denied = ret->denied;
    if (locality_find(state, job, place, &ret->locality)) {
        launch->cpus = ret->locality.cpus;
        launch->memory_node = ret->locality.memory_node;
    }
}

void machine_bounds_release(struct machine_bounds *bounds)
{
    free(bounds->denied);
}

void machine_changed(struct machine *machine, const uint64_t *jobs, size_t count)
{
    if (machine->watcher)
        watcher_changed(machine->watcher, jobs, count);
    hpc_job_files_changed(machine->job_files);
}

void machine_reading(struct machine *machine, const struct engine_reading *reading)
{
    if (machine->watcher)
        watcher_reading(machine->watcher, reading);
}

int machine_clear(void *user, uint32_t device, struct error *err)
{
    return watcher_clear(((struct machine *)user)->watcher, device, err);
}

const struct watch *machine_devices_watch(const struct machine *machine)
{
    return machine->watcher ? watcher_watch(machine->watcher) : NULL;
}
