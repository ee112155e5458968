/* SPDX-License-Identifier: Apache-2.0 */
#include "node/probe_choice.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "device/drm/amd.h"
#include "device/drm/intel.h"
#include "device/nvml/nvml.h"
#include "device/recorded.h"
#include "device/several.h"
#include "device/synthetic.h"
#include "io/log.h"

enum { FIND_MS = 30000, LOOK_MS = 1000 };

/* The probes that found devices, behind one port. */
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
        log_line(LOG_NOTICE, "GPUs are synthetic devices=%s reason='%s'", PROBE_CHOICE_SYNTHETIC,
                 why.text);
        *ret_name = mem_string(PROBE_CHOICE_SYNTHETIC);
        return probe_synthetic_create(PROBE_CHOICE_SYNTHETIC, ret_probe, err);
    }
    if (answer != NVML_READY && answer != NVML_NO_LIBRARY)
        log_line(LOG_WARNING, "no %sGPU can be allocated reason='%s'",
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

int probe_choice_open(const char *devices, struct probe **ret_probe, char **ret_name,
                      struct error *err)
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

/* A search for devices in a thread of its own; the side that leaves second frees it. */
struct search {
    struct probe *probe;
    struct probe_devices found;
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

int probe_choice_find(struct probe **probe, struct probe_devices *ret, struct error *err)
{
    struct search *search = NULL;
    struct pollfd over = { .events = POLLIN };
    pthread_t thread;

    *ret = (struct probe_devices){ 0 };
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
                         "devices: the driver (%s) has not answered for %d s; a device may hang "
                         "(--devices none starts without devices)",
                         name, FIND_MS / 1000);
    }
    int code = search->code;
    *ret = search->found;
    *err = search->err;
    search->found = (struct probe_devices){ 0 };
    if (atomic_exchange(&search->is_left, true))
        search_release(search);
    return code;
}
