/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/role.h"

#include <assert.h>
#include <string.h>

/* By the GPUs of a member, then its CPUs, then its memory. */
static bool is_more(const struct request *a, const struct request *b)
{
    int64_t gpus[2] = { request_milli(a, 0, 0) / a->members, request_milli(b, 0, 0) / b->members };

    if (gpus[0] != gpus[1])
        return gpus[0] > gpus[1];
    return a->cpu_milli != b->cpu_milli ? a->cpu_milli > b->cpu_milli
                                        : a->memory_mib > b->memory_mib;
}

void request_set_roles(struct request *request, const struct role *roles, uint32_t count)
{
    const struct request *most = &roles[0].request;

    request->roles = roles;
    request->roles_count = count;
    request->members = 0;
    for (uint32_t i = 0; i < count; i++) {
        request->members += roles[i].request.members;
        most = is_more(&roles[i].request, most) ? &roles[i].request : most;
    }
    memcpy(request->gpus, most->gpus, sizeof(request->gpus));
    request->gpu_alternatives = most->gpu_alternatives;
    request->cpu_milli = most->cpu_milli;
    request->memory_mib = most->memory_mib;
    request->cpu_given = most->cpu_given;
    request->memory_given = most->memory_given;
}

void request_take_part(const struct request *request, uint32_t part, struct request *ret)
{
    assert(part < request_parts(request));
    *ret = *request_part(request, part);
    memcpy(ret->pool, request->pool, sizeof(ret->pool));
    ret->spot = request->spot;
    ret->where = request->where;
    ret->where_count = request->where_count;
    ret->speeds = request->speeds;
    ret->speeds_count = request->speeds_count;
    ret->max_duration = request->max_duration;
    if (request->roles_count > 0)
        ret->nodes_min = ret->nodes_max = 1;
}

uint32_t request_part_of(const struct request *request, uint32_t rank, uint32_t *ret_number)
{
    uint32_t part = 0;

    while (part + 1 < request_parts(request) && rank >= request_part(request, part)->members)
        rank -= request_part(request, part++)->members;
    *ret_number = rank;
    return part;
}

int64_t request_cpus(const struct request *request)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < request_parts(request); i++)
        sum += request_part(request, i)->cpu_milli * request_part(request, i)->members;
    return sum;
}

int64_t request_memory(const struct request *request)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < request_parts(request); i++)
        sum += request_part(request, i)->memory_mib * request_part(request, i)->members;
    return sum;
}

bool request_wants_gpus(const struct request *request)
{
    bool wants = false;

    for (uint32_t i = 0; i < request_parts(request); i++)
        wants |= request_part(request, i)->gpu_alternatives > 0;
    return wants;
}
