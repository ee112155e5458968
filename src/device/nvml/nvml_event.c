/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver reports by itself: XIDs. */
#include <time.h>

#include "device/nvml/nvml_inside.h"

static void sleep_ms(uint32_t ms)
{
    struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

    nanosleep(&time, NULL);
}

/* One set for all devices; those that can't report are left out. */
static bool open_events(struct nvml *nvml)
{
    const struct nvml_calls *call = &nvml->call;
    uint32_t registered = 0;

    if (nvml->events || nvml->has_no_events)
        return nvml->events != NULL;
    nvml->has_no_events = true;
    if (!call->event_set || !call->event_wait || !call->event_register || !call->event_set_free ||
        call->event_set(&nvml->events) != NVML_SUCCESS)
        return false;
    for (uint32_t i = 0; i < nvml->gpu_count; i++) {
        unsigned long long types = NVML_EVENT_XID;
        if (!nvml->gpus[i].handle)
            continue;
        if (call->event_types && (call->event_types(nvml->gpus[i].handle, &types) != NVML_SUCCESS ||
                                  (types & NVML_EVENT_XID) == 0))
            continue;
        registered += call->event_register(nvml->gpus[i].handle, NVML_EVENT_XID, nvml->events) ==
                      NVML_SUCCESS;
    }
    if (registered == 0) {
        call->event_set_free(nvml->events);
        nvml->events = NULL;
        return false;
    }
    nvml->has_no_events = false;
    return true;
}

static bool find_device(const struct nvml *nvml, nvml_device_t handle, uint32_t *ret)
{
    for (uint32_t i = 0; i < nvml->gpu_count; i++) {
        if (nvml->gpus[i].handle == handle) {
            *ret = i;
            return true;
        }
    }
    return false;
}

int nvml_wait(struct probe *probe, uint32_t timeout_ms, struct probe_event *ret, struct error *err)
{
    struct nvml *nvml = nvml_of(probe);
    struct nvml_event event = { 0 };
    uint32_t device = 0;

    if (!open_events(nvml)) {
        sleep_ms(timeout_ms);
        return 0;
    }
    int result = nvml->call.event_wait(nvml->events, &event, timeout_ms);
    if (result == NVML_TIMEOUT)
        return 0;
    if (result != NVML_SUCCESS) {
        sleep_ms(timeout_ms); /* it may say so at once, again and again */
        return nvml_fail(result, "events", err);
    }
    if (event.type != NVML_EVENT_XID || event.data > UINT32_MAX - 1 ||
        !find_device(nvml, event.device, &device))
        return 0;
    atomic_store(&nvml->gpus[device].last_xid, (uint32_t)event.data + 1);
    *ret = (struct probe_event){
        .device = device,
        .xid = (uint32_t)event.data,
        .instance =
            event.gpu_instance == NVML_NO_INSTANCE ? INT64_C(-1) : (int64_t)event.gpu_instance,
    };
    return 1;
}
