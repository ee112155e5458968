/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/role.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
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
    *ret = *request_part(request, part);
    memcpy(ret->pool, request->pool, sizeof(ret->pool));
    ret->spot = request->spot;
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

static int check_role(const struct request *request, uint32_t number, struct error *err)
{
    const struct role *role = &request->roles[number];

    if (!string_is_name(role->name, REQUEST_NAME_SIZE - 1))
        return error_set(err, -EINVAL, "'%.63s' is no name", role->name);
    for (uint32_t i = 0; i < number; i++) {
        if (strcmp(request->roles[i].name, role->name) == 0)
            return error_set(err, -EINVAL, "there are two of them");
    }
    if (role->request.roles_count > 0 || role->request.members_max != 0)
        return error_set(err, -EINVAL, "its members are neither elastic nor of roles");
    return request_check_member(&role->request, err);
}

int roles_check(const struct request *request, struct error *err)
{
    uint64_t members = 0;

    if (request->roles_count > REQUEST_ROLES_MAX)
        return error_set(err, -EINVAL, "roles: %" PRIu32 ", at most %d", request->roles_count,
                         REQUEST_ROLES_MAX);
    for (uint32_t i = 0; i < request->roles_count; i++) {
        int code = check_role(request, i, err);
        if (code < 0)
            return error_prefix(err, code, "role %.63s", request->roles[i].name);
        members += request->roles[i].request.members;
    }
    if (request->roles_count > 0 && (members != request->members || request->members_max != 0 ||
                                     request->nodes_min != 1 || request->nodes_max != 1))
        return error_set(err, -EINVAL, "roles: not together with other numbers of members");
    return 0;
}
