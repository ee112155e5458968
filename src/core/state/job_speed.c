/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/job_speed.h"

#include "core/job/own_speed.h"
#include "core/job/role.h"

struct range {
    struct job_speeds speeds;
    uint64_t sum, count;
};

static void add(struct range *range, uint32_t milli)
{
    range->speeds.least =
        range->count == 0 || milli < range->speeds.least ? milli : range->speeds.least;
    range->speeds.most = milli > range->speeds.most ? milli : range->speeds.most;
    range->sum += milli;
    range->count++;
}

static bool may_have(const struct request *request, const struct device *device)
{
    bool may = false;

    for (uint32_t i = 0; i < request_parts(request); i++) {
        const struct request *part = request_part(request, i);
        for (uint32_t k = 0; k < part->gpu_alternatives && !may; k++)
            may = device_is_asked_for(&part->gpus[k], device);
    }
    return may;
}

struct job_speeds job_speeds_of(const struct state *state, const struct request *request)
{
    struct range range = { 0 };

    if (request->speeds_count == 0)
        return (struct job_speeds){ 1000, 1000, 1000 };
    LIST_EACH (const uint32_t, example, &state->models) {
        const struct device *device = &state->devices.items[*example];
        if (may_have(request, device))
            add(&range, own_speed_on(request, device->model));
    }
    for (uint32_t i = 0; i < request->speeds_count && range.sum == 0; i++)
        add(&range, request->speeds[i].milli);
    range.speeds.mean = (uint32_t)(range.sum / range.count);
    return range.speeds;
}

uint32_t job_speed_on(const struct state *state, const struct request *request,
                      const struct lease *lease)
{
    uint32_t least = 0;

    for (uint32_t i = 0; request->speeds_count > 0 && i < lease->slices_count; i++) {
        const struct device *device = &state->devices.items[lease->slices[i].device];
        uint32_t milli = own_speed_on(request, device->model);
        least = i == 0 || milli < least ? milli : least;
    }
    return least;
}
