/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/node_report.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/text.h"
#include "core/health/health.h"
#include "daemon/log.h"
#include "device/drm/amd.h"
#include "device/drm/intel.h"
#include "device/host.h"
#include "device/nvml/nvml.h"
#include "device/recorded.h"
#include "device/several.h"
#include "device/synthetic.h"
#include "io/file.h"

enum { FIND_MS = 30000, LOOK_MS = 1000 };

enum { BOOT_BYTES_MAX = 64 };

/* Who was found, for one port. */
struct makers {
    struct probe *probes[SEVERAL_MAX];
    uint32_t count;
    struct text name; /* "nvml+amd" */
};

static void add_maker(struct makers *makers, struct probe *probe)
{
    text_printf(&makers->name, "%s%s", makers->count > 0 ? "+" : "", probe->ops->name);
    makers->probes[makers->count++] = probe;
}

/* A probe of files is there on every machine: it counts when it finds something. */
static void add_if_any(struct makers *makers, struct probe *probe)
{
    AUTO_FREE struct probe_device *devices = NULL;
    uint32_t count = 0;

    if (probe->ops->devices(probe, &devices, &count, NULL) == 0 && count > 0)
        add_maker(makers, probe);
    else
        probe->ops->destroy(probe);
}

static const char *device_root(void)
{
    const char *root = secure_getenv("TARN_DEVICE_ROOT");

    return root ? root : "";
}

static void join_makers(struct makers *makers, struct probe **ret_probe, char **ret_name)
{
    *ret_probe = NULL;
    if (makers->count == 1)
        *ret_probe = makers->probes[0];
    else if (makers->count > 1)
        *ret_probe = probe_several_create(makers->probes, makers->count);
    *ret_name = makers->count > 0 ? text_take(&makers->name) : mem_string("none");
}

/* Made up GPUs stand in only where there is no driver and no device at all: one that does not work
 * is a fault to be seen, not to be played over. */
static int probe_auto(struct probe **ret_probe, char **ret_name, struct error *err)
{
    struct makers makers = { 0 };
    struct probe *nvml = NULL;
    struct error why;

    enum nvml_answer answer = probe_nvml_create(NULL, &nvml, &why);
    if (answer == NVML_READY)
        add_maker(&makers, nvml);
    add_if_any(&makers, probe_amd_create(device_root(), NULL));
    add_if_any(&makers, probe_intel_create(device_root(), NULL));
    if (makers.count == 0 && answer == NVML_NO_LIBRARY) {
        log_line(LOG_NOTICE, "GPUs are made up devices=%s reason='%s'", MACHINE_SYNTHETIC,
                 why.text);
        *ret_name = mem_string(MACHINE_SYNTHETIC);
        return probe_synthetic_create(MACHINE_SYNTHETIC, ret_probe, err);
    }
    if (answer != NVML_READY && answer != NVML_NO_LIBRARY)
        log_line(LOG_WARNING, "no %sGPU is given out reason='%s'",
                 makers.count > 0 ? "NVIDIA " : "", why.text);
    join_makers(&makers, ret_probe, ret_name);
    return 0;
}

static int probe_nvml(struct probe **ret_probe, struct error *err)
{
    struct error why;

    if (probe_nvml_create(NULL, ret_probe, &why) != NVML_READY)
        return error_set(err, -ENODEV, "devices nvml: %s", why.text);
    return 0;
}

/* One that is asked for by name must be there. */
static int probe_files(struct probe *probe, struct probe **ret_probe, struct error *err)
{
    struct makers makers = { 0 };
    const char *name = probe->ops->name;

    add_if_any(&makers, probe);
    text_release(&makers.name);
    if (makers.count == 0)
        return error_set(err, -ENODEV, "devices %s: there is none in %s/sys/bus/pci/devices", name,
                         device_root());
    *ret_probe = makers.probes[0];
    return 0;
}

static int probe_named(const char *devices, struct probe **ret_probe, struct error *err)
{
    if (strcmp(devices, "nvml") == 0)
        return probe_nvml(ret_probe, err);
    if (strcmp(devices, "amd") == 0)
        return probe_files(probe_amd_create(device_root(), NULL), ret_probe, err);
    if (strcmp(devices, "intel") == 0)
        return probe_files(probe_intel_create(device_root(), NULL), ret_probe, err);
    if (string_starts(devices, "recorded:"))
        return probe_recorded_create(devices, ret_probe, err);
    if (string_starts(devices, "synthetic:"))
        return probe_synthetic_create(devices, ret_probe, err);
    return error_set(err, -EINVAL,
                     "devices '%.60s': expected auto, nvml, amd, intel, none, recorded:FILE or one "
                     "like synthetic:h100:4",
                     devices);
}

int machine_probe(const char *devices, struct probe **ret_probe, char **ret_name, struct error *err)
{
    int code = 0;

    *ret_probe = NULL;
    if (strcmp(devices, "auto") == 0)
        return probe_auto(ret_probe, ret_name, err);
    if (strcmp(devices, "none") != 0)
        code = probe_named(devices, ret_probe, err);
    if (code == 0)
        *ret_name = mem_string(devices);
    return code;
}

static bool is_same(const char *known, const char *found)
{
    return strcmp(known ? known : "", found) == 0;
}

static void report_node(struct hub *hub, const struct probe_machine *machine)
{
    const struct state *state = hub_state(hub);
    int64_t found = state_find_node(state, machine->name);
    const struct node *node = found >= 0 ? &state->nodes.items[found] : NULL;
    struct event event = {
        .kind = EVENT_NODE,
        .node = { .name = machine->name,
                  .cpu_milli = machine->cpu_milli,
                  .memory_mib = machine->memory_mib },
    };

    if (node) { /* what it does not know of itself stays as it was said */
        state_describe_node(node, &event.node);
        event.node.cpu_milli = machine->cpu_milli;
        event.node.memory_mib = machine->memory_mib;
    }
    if (node && node->state == NODE_DOWN) {
        event.node.state = NODE_UP;
        event.node.reason = NULL;
        event.node.going_at = 0;
    }
    if (!node || node->state == NODE_DOWN || node->cpu_milli != machine->cpu_milli ||
        node->memory_mib != machine->memory_mib)
        hub_emit(hub, &event);
}

/* This daemon knows one machine. What the journal knows under other names was this one before it
 * was renamed, or is somewhere else. */
static void report_other_nodes(struct hub *hub, const char *name)
{
    for (size_t i = 0; i < hub_state(hub)->nodes.count; i++) {
        const struct node *other = &hub_state(hub)->nodes.items[i];
        if (other->state == NODE_DOWN || strcmp(other->name, name) == 0)
            continue;
        struct event event = { .kind = EVENT_NODE };
        state_describe_node(other, &event.node);
        event.node.state = NODE_DOWN;
        event.node.reason = "this machine has another name now";
        event.node.going_at = 0;
        hub_emit(hub, &event);
    }
}

static bool is_known_so(const struct state *state, const struct event_device *now)
{
    int64_t found = state_find_device(state, now->uuid);
    const struct device *known = found >= 0 ? &state->devices.items[found] : NULL;

    return known && known->index == now->index && known->numa_node == now->numa_node &&
           known->memory_mib == (now->memory_mib > 0 ? now->memory_mib : 0) &&
           known->mig_now == now->mig_enabled && is_same(known->sick, now->sick) &&
           is_same(known->model, now->model) && is_same(known->product, now->product) &&
           is_same(known->vendor, now->vendor) && is_same(known->address, now->address) &&
           known->island == now->island && known->bridge == now->bridge &&
           is_same(known->labels, now->labels) && known->faults == now->faults &&
           known->foreign_mib == now->foreign_mib &&
           strcmp(state->nodes.items[known->node].name, now->node) == 0;
}

/* As long as the machine runs, what was wrong with a device, and who else was on it, is so still,
 * until somebody looks again: nothing is to be put there before. */
static void keep_what_was_seen(const struct state *state, const char *boot,
                               struct event_device *event)
{
    int64_t found = state_find_device(state, event->uuid);
    const struct device *known = found >= 0 ? &state->devices.items[found] : NULL;

    if (!known || strcmp(known->boot, boot) != 0)
        return;
    event->boot = known->boot;
    event->foreign_mib = known->foreign_mib;
    event->faults = known->faults;
    event->xid = known->xid;
    if (!known->sick || event->sick[0])
        return;
    enum health_fault worst = health_worst(&(struct health){ .faults = known->faults });
    if (strcmp(known->sick, DEVICE_GONE) != 0)
        event->sick = known->sick;
    else if (worst != FAULTS) /* it was sick before it was gone */
        event->sick = fault_words(worst);
}

void machine_device_event(const char *node, const struct probe_device *device, uint32_t index,
                          char *name, struct event *ret)
{
    /* One that was lost before it could be named: shown, never given out. */
    if (device->uuid[0])
        snprintf(name, MACHINE_NAME_SIZE, "%s", device->uuid);
    else
        snprintf(name, MACHINE_NAME_SIZE, "unnamed-%.*s-%u", PROBE_UUID_SIZE, node, index);
    *ret = (struct event){
        .kind = EVENT_DEVICE,
        .device = { .node = node,
                    .uuid = name,
                    .model = device->model,
                    .product = device->product,
                    .address = device->address,
                    .vendor = device->vendor,
                    .index = index,
                    .memory_mib = device->memory_mib,
                    .numa_node = device->numa_node + 1,
                    .is_synthetic = device->is_synthetic,
                    .mig_enabled = device->mig_enabled,
                    .island = device->island,
                    .bridge = device->bridge,
                    .labels = "",
                    .sick = device->sick },
    };
    if (!device->uuid[0] && !device->sick[0])
        ret->device.sick = "its driver gives it no name";
}

static void report_device(struct hub *hub, const char *node, const struct probe_device *device,
                          uint32_t index, const char *boot)
{
    char name[MACHINE_NAME_SIZE];
    struct event event;

    machine_device_event(node, device, index, name, &event);
    keep_what_was_seen(hub_state(hub), boot, &event.device);
    if (!is_known_so(hub_state(hub), &event.device))
        hub_emit(hub, &event);
}

static bool is_among(const char *uuid, const struct probe_device *devices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(devices[i].uuid, uuid) == 0)
            return true;
    }
    return false;
}

static void report_missing(struct hub *hub, const char *node, const struct probe_device *devices,
                           uint32_t count)
{
    for (size_t i = 0; i < hub_state(hub)->devices.count; i++) {
        const struct device *known = &hub_state(hub)->devices.items[i];
        uint32_t number;
        if (is_among(known->uuid, devices, count) ||
            state_device_type(hub_state(hub), known->uuid, &number) ||
            is_same(known->sick, DEVICE_GONE) || string_starts(known->uuid, "unnamed-"))
            continue;
        struct event event = { .kind = EVENT_DEVICE };
        state_describe_device(hub_state(hub), known, &event.device);
        event.device.node = node;
        event.device.sick = DEVICE_GONE;
        hub_emit(hub, &event);
    }
}

/* A look at all devices, in a thread of its own; who leaves second frees it. */
struct search {
    struct probe *probe;
    struct machine_devices found;
    int code;
    struct error err;
    int over; /* an eventfd */
    atomic_bool is_left;
};

static void search_release(struct search *search)
{
    close(search->over);
    free(search->found.items);
    free(search);
}

static void *look(void *user)
{
    struct search *search = user;
    uint64_t one = 1;

    search->code = search->probe->ops->devices(search->probe, &search->found.items,
                                               &search->found.count, &search->err);
    if (write(search->over, &one, sizeof(one)) < 0)
        search->code = -errno;
    if (atomic_exchange(&search->is_left, true))
        search_release(search);
    return NULL;
}

int machine_find(struct probe **probe, struct machine_devices *ret, struct error *err)
{
    struct search *search = NULL;
    struct pollfd over = { .events = POLLIN };
    pthread_t thread;

    *ret = (struct machine_devices){ 0 };
    if (!*probe)
        return 0;
    search = mem_zero(1, sizeof(*search));
    search->probe = *probe;
    search->over = over.fd = eventfd(0, EFD_CLOEXEC);
    if (over.fd < 0 || pthread_create(&thread, NULL, look, search) != 0) {
        search_release(search);
        return (*probe)->ops->devices(*probe, &ret->items, &ret->count, err);
    }
    pthread_detach(thread);
    for (int waited = 0; waited < FIND_MS && poll(&over, 1, LOOK_MS) <= 0;)
        waited += LOOK_MS;
    if (!(over.revents & POLLIN)) {
        const char *name = (*probe)->ops->name;
        *probe = NULL;
        if (atomic_exchange(&search->is_left, true))
            search_release(search);
        return error_set(err, -ETIMEDOUT,
                         "devices: the driver (%s) does not answer for %d s; does a device hang? "
                         "(--devices none starts without)",
                         name, FIND_MS / 1000);
    }
    int code = search->code;
    *ret = search->found;
    *err = search->err;
    search->found = (struct machine_devices){ 0 };
    if (atomic_exchange(&search->is_left, true))
        search_release(search);
    return code;
}

int machine_report(struct hub *hub, const struct machine_devices *found, struct error *err)
{
    AUTO_RELEASE(text) struct text boot = { 0 };
    struct probe_machine machine;

    int code = probe_machine(&machine, err);
    if (code < 0)
        return code;
    machine_boot(&boot);
    report_node(hub, &machine);
    report_other_nodes(hub, machine.name);
    for (uint32_t i = 0; i < found->count; i++)
        report_device(hub, machine.name, &found->items[i], i, text_string(&boot));
    machine_describe(hub, found);
    return 0;
}

static void describe_one(struct hub *hub, const char *node, const struct device_type *type,
                         uint32_t number, uint32_t index)
{
    char name[PROBE_UUID_SIZE];

    snprintf(name, sizeof(name), "%s-%" PRIu32, type->name, number);
    struct event event = { .kind = EVENT_DEVICE,
                           .device = { .node = node,
                                       .uuid = name,
                                       .model = type->model,
                                       .product = type->model,
                                       .address = "",
                                       .vendor = type->vendor,
                                       .index = index,
                                       .memory_mib = type->memory_mib,
                                       .labels = type->labels,
                                       .boot = "",
                                       .sick = "" } };
    if (!is_known_so(hub_state(hub), &event.device))
        hub_emit(hub, &event);
}

void machine_describe(struct hub *hub, const struct machine_devices *found)
{
    struct probe_machine machine;
    uint32_t index = found->count;

    if (probe_machine(&machine, NULL) < 0)
        return;
    for (size_t i = 0; i < hub_state(hub)->device_types.count; i++) {
        const struct device_type type = hub_state(hub)->device_types.items[i];
        for (uint32_t k = 0; k < type.count; k++)
            describe_one(hub, machine.name, &type, k, index++);
    }
    report_missing(hub, machine.name, found->items, found->count);
}

void machine_boot(struct text *ret)
{
    AUTO_RELEASE(text) struct text line = { 0 };

    if (file_read("/proc/sys/kernel/random/boot_id", BOOT_BYTES_MAX, &line, NULL) == 0)
        text_add_bytes(ret, text_string(&line), strcspn(text_string(&line), "\n"));
}
