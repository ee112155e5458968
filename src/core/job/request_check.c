/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a request from any source: a user, a configuration or a journal. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "core/job/own_speed.h"
#include "core/job/role.h"

enum { CPU_MILLI_MAX = 100000 * 1000 };

static int check_ask(const struct gpu_ask *ask, struct error *err)
{
    if (ask->count < 1 || ask->count > REQUEST_GPUS_MAX)
        return error_set(err, -EINVAL, "gpus: %u per member, not 1 to %d", (unsigned)ask->count,
                         REQUEST_GPUS_MAX);
    if (ask->kind > SHARE_MPS || ask->milli > GPU_MILLI)
        return error_set(err, -EINVAL, "gpus: a share that is more than one gpu");
    if ((ask->kind == SHARE_FRACTION || ask->kind == SHARE_MPS) &&
        (ask->count != 1 || (ask->milli == 0 && ask->memory_mib <= 0)))
        return error_set(err, -EINVAL, "gpus: a share of %u gpus, not of one",
                         (unsigned)ask->count);
    if (ask->size_mib_min < 0 || ask->size_mib_max < 0 || ask->memory_mib < 0)
        return error_set(err, -EINVAL, "gpus: memory below 0");
    return 0;
}

static int check_member(const struct request *request, struct error *err)
{
    if (request->members < 1 || request->members > REQUEST_MEMBERS_MAX)
        return error_set(err, -EINVAL, "ranks: %" PRIu32 ", not 1 to %d", request->members,
                         REQUEST_MEMBERS_MAX);
    if (request->cpu_milli < 0 || request->cpu_milli > CPU_MILLI_MAX)
        return error_set(err, -EINVAL, "cpus: not 0 to %d", CPU_MILLI_MAX / 1000);
    if (request->memory_mib < 0)
        return error_set(err, -EINVAL, "memory: below 0");
    if (request->gpu_alternatives > REQUEST_ALTERNATIVES_MAX)
        return error_set(err, -EINVAL, "gpus: more than %d alternatives", REQUEST_ALTERNATIVES_MAX);
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        int code = check_ask(&request->gpus[i], err);
        if (code < 0)
            return code;
    }
    return 0;
}

static int check_role(const struct request *request, uint32_t number, struct error *err)
{
    const struct role *role = &request->roles[number];

    if (!string_is_name(role->name, REQUEST_NAME_SIZE - 1))
        return error_set(err, -EINVAL, "'%.63s' is not a valid name", role->name);
    for (uint32_t i = 0; i < number; i++) {
        if (strcmp(request->roles[i].name, role->name) == 0)
            return error_set(err, -EINVAL, "there are two of them");
    }
    if (role->request.roles_count > 0 || role->request.members_max != 0)
        return error_set(err, -EINVAL, "its members are neither elastic nor of roles");
    return check_member(&role->request, err);
}

int roles_check(const struct request *request, struct error *err)
{
    uint64_t members = 0;

    if (request->roles_count > REQUEST_ROLES_MAX)
        return error_set(err, -EINVAL, "roles: %" PRIu32 ", at most %d", request->roles_count,
                         REQUEST_ROLES_MAX);
    if (request->label_count > REQUEST_LABELS_MAX || request->apart_count > REQUEST_LABELS_MAX)
        return error_set(err, -EINVAL, "labels: more than %d", REQUEST_LABELS_MAX);
    if (request->where_count > WHERE_TERMS_MAX ||
        !where_is_valid(request->where, request->where_count))
        return error_set(err, -EINVAL, "where: invalid conditions");
    if (!own_speeds_are_valid(request->speeds, request->speeds_count))
        return error_set(err, -EINVAL, "speeds: invalid");
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

static bool is_apart_from_itself(const struct request *request)
{
    bool is = false;

    for (uint32_t i = 0; i < request->apart_count * REQUEST_LABELS_MAX; i++) {
        uint32_t own = i % REQUEST_LABELS_MAX;
        is |= own < request->label_count &&
              strcmp(request->apart[i / REQUEST_LABELS_MAX].name, request->labels[own].name) == 0;
    }
    return is;
}

int request_check(const struct request *request, struct error *err)
{
    int code = check_member(request, err);
    if (code < 0)
        return code;
    if (request->nodes_min < 1 || request->nodes_max < request->nodes_min)
        return error_set(err, -EINVAL, "nodes: %" PRIu32 " to %" PRIu32 ", not at least 1",
                         request->nodes_min, request->nodes_max);
    if (request->nodes_min > request->members)
        return error_set(err, -EINVAL,
                         "nodes: %" PRIu32 " for %" PRIu32 " member%s; each node has at least one",
                         request->nodes_min, request->members, request->members > 1 ? "s" : "");
    if (request->members_max != 0 &&
        (request->members_max < request->members || request->members_max > REQUEST_MEMBERS_MAX))
        return error_set(err, -EINVAL,
                         "ranks: %" PRIu32 "..%" PRIu32 ", not a range within 1 to %d",
                         request->members, request->members_max, REQUEST_MEMBERS_MAX);
    if (request->members_max != 0 && is_apart_from_itself(request))
        return error_set(err, -EINVAL,
                         "anti_affinity: an elastic gang cannot avoid one of its own labels");
    if (request->spot >= SPOT_RULES)
        return error_set(err, -EINVAL, "spot: expected never, allow, prefer or only");
    if (request->max_duration <= 0)
        return error_set(err, -EINVAL, "max_duration: expected more than 0");
    return roles_check(request, err);
}
