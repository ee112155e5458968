/* SPDX-License-Identifier: Apache-2.0 */
#include "control/device_shares.h"

#include <stdlib.h>
#include <string.h>

#include "control/lookup.h"
#include "core/cluster/label.h"
#include "core/engine.h"
#include "core/job/role.h"
#include "wire/job/submission.h"

/* Bits of enum share_kind. */
static unsigned kinds_of(const struct request *request)
{
    unsigned kinds = 0;

    for (uint32_t role = 0; role == 0 || role < request->roles_count; role++) {
        const struct request *part = request_part(request, role);
        for (uint32_t i = 0; i < part->gpu_alternatives; i++)
            kinds |= 1u << part->gpus[i].kind;
    }
    return kinds;
}

/* ---- devices that are divided elsewhere ---- */

/* The value of a label that the device or its node has; NULL: neither has it. */
static const char *stated(const struct state *state, const struct device *device, const char *label)
{
    const char *of_device = label_value(device->labels, label);

    return of_device ? of_device : label_value(state->nodes.items[device->node].labels, label);
}

/* The parts of a device; 0: it cannot be shared. */
static uint32_t parts_of(const struct state *state, const struct device *device, bool is_by_mps)
{
    const char *parts = stated(state, device, ENGINE_LABEL_PARTS);
    const char *mps = stated(state, device, ENGINE_LABEL_MPS);
    const char *value = is_by_mps || !parts ? mps : parts;
    unsigned long count = value ? strtoul(value, NULL, 10) : 0;

    return count <= GPU_MILLI ? (uint32_t)count : GPU_MILLI;
}

static bool may_have(const struct gpu_ask *ask, const struct device *device)
{
    return !device->is_gone && (!ask->model[0] || string_equal(device->model, ask->model));
}

/* How many of the parts of a device hold the share: by compute and by memory. */
static int64_t parts_for(const struct gpu_ask *ask, const struct device *device, uint32_t parts)
{
    int64_t by_milli = ((int64_t)ask->milli * parts + GPU_MILLI - 1) / GPU_MILLI, by_memory = 0;

    if (device->memory_mib > 0)
        by_memory = (ask->memory_mib * parts + device->memory_mib - 1) / device->memory_mib;
    int64_t wanted = by_milli > by_memory ? by_milli : by_memory;
    return wanted < parts ? wanted : parts; /* more than it has: it is refused later */
}

/* Whole parts, of the devices with the coarsest ones: as many jobs fit as tarn counts. */
static int round_up(const struct state *state, struct gpu_ask *ask, struct error *err)
{
    bool is_by_mps = ask->kind == SHARE_MPS, is_any = false, is_known = false;
    uint32_t most = 0;

    LIST_EACH (const struct device, device, &state->devices) {
        uint32_t parts = may_have(ask, device) ? parts_of(state, device, is_by_mps) : 0;
        if (parts == 0)
            continue;
        uint32_t milli = (uint32_t)(parts_for(ask, device, parts) * GPU_MILLI / parts);
        most = milli > most ? milli : most;
        is_any = true;
        is_known |= device->memory_mib > 0;
    }
    if (!is_any)
        return error_set(err, REFUSED_NEVER,
                         is_by_mps ? "gpus: a share by MPS, but no node offers " ENGINE_LABEL_MPS
                                     " for such GPUs; this engine allocates whole GPUs only"
                                   : "gpus: a part of a GPU, but no node offers " ENGINE_LABEL_PARTS
                                     " or " ENGINE_LABEL_MPS
                                     " for such GPUs; this engine allocates whole GPUs only");
    if (ask->memory_mib > 0 && !is_known)
        return error_set(err, REFUSED_NEVER,
                         "gpus: a part by memory, but the memory of such GPUs is not known; "
                         "expected a part like 0.5");
    ask->milli = most;
    return 0;
}

static bool is_of_profile(const char *model, const struct gpu_ask *ask)
{
    size_t length = strlen(model), tail = strlen(ask->profile);

    if (length < tail || length >= REQUEST_MODEL_SIZE ||
        strcmp(model + length - tail, ask->profile) != 0)
        return false;
    return (length == tail || strchr("_-", model[length - tail - 1])) &&
           (!ask->model[0] || strncmp(model, ask->model, strlen(ask->model)) == 0);
}

static bool has_model(const struct gpu_ask *asks, uint32_t count, const char *model)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(asks[i].model, model) == 0)
            return true;
    }
    return false;
}

/* The models that are instances of the profile, each as an alternative; returns how many. */
static uint32_t name_instances(const struct state *state, const struct gpu_ask *ask,
                               struct gpu_ask *ret, uint32_t room)
{
    uint32_t count = 0;

    LIST_EACH (const struct device, device, &state->devices) {
        if (device->is_gone || !is_of_profile(device->model, ask) || count == room ||
            has_model(ret, count, device->model))
            continue;
        ret[count] = (struct gpu_ask){ .kind = SHARE_WHOLE, .count = ask->count };
        memcpy(ret[count++].model, device->model, strlen(device->model));
    }
    return count;
}

static int settle_request(const struct state *state, struct request *request, struct error *err)
{
    struct gpu_ask asks[REQUEST_ALTERNATIVES_MAX];
    uint32_t count = 0;

    memset(asks, 0, sizeof(asks));
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        struct gpu_ask *ask = &request->gpus[i];
        uint32_t later = request->gpu_alternatives - i - 1, made = 1;
        int code = 0;
        if (ask->kind == SHARE_MIG)
            made =
                name_instances(state, ask, &asks[count], REQUEST_ALTERNATIVES_MAX - count - later);
        else if (ask->kind != SHARE_WHOLE)
            code = round_up(state, ask, err);
        if (made == 0)
            return error_set(err, REFUSED_NEVER,
                             "gpus: MIG instances '%s', but no GPU has this name or ends with it; "
                             "see `tarn gpus` for the models",
                             ask->profile);
        if (code < 0)
            return code;
        if (ask->kind != SHARE_MIG)
            asks[count] = *ask;
        count += made;
    }
    memcpy(request->gpus, asks, sizeof(asks));
    request->gpu_alternatives = count;
    return 0;
}

/* So that plans and explanations consider the devices that can be shared only. */
static int add_condition(struct job_draft *draft, bool is_by_mps, struct error *err)
{
    int code = where_parse(
        &draft->where, is_by_mps ? ENGINE_LABEL_MPS : ENGINE_LABEL_PARTS "|" ENGINE_LABEL_MPS, err);

    draft->request.where = draft->where.items;
    draft->request.where_count = (uint32_t)draft->where.count;
    return code < 0 ? error_prefix(err, code, "where") : 0;
}

static int settle_parts(const struct state *state, struct job_draft *draft, struct error *err)
{
    struct request *request = &draft->request;
    unsigned kinds = kinds_of(request);
    bool is_shared = kinds & (1u << SHARE_FRACTION | 1u << SHARE_MPS);

    if (is_shared && (request->members > 1 || request->members_max > 0 || request->roles_count > 0))
        return error_set(err, REFUSED_NEVER,
                         "gpus: parts of GPUs for a gang; this engine allocates whole GPUs only "
                         "to gangs");
    for (uint32_t i = 0; i < draft->role_count; i++) {
        int code = settle_request(state, &draft->roles[i].request, err);
        if (code < 0)
            return code;
    }
    if (draft->role_count > 0) {
        request_set_roles(request, draft->roles, draft->role_count);
        return 0;
    }
    int code = settle_request(state, request, err);
    if (code == 0 && is_shared)
        code = add_condition(draft, (kinds & 1u << SHARE_FRACTION) == 0, err);
    return code;
}

int device_shares_settle(const struct control *control, struct job_draft *draft, struct error *err)
{
    const struct state *state = control_state(control);
    unsigned kinds = kinds_of(&draft->request);

    if ((kinds & ~(1u << SHARE_WHOLE)) == 0)
        return 0;
    if (control->has_parts)
        return settle_parts(state, draft, err);
    if (control->is_whole_only)
        return error_set(err, REFUSED_NEVER,
                         "gpus: a part of a GPU; this engine allocates whole GPUs only");
    if (control->lacks_mps && cluster_is_real(state) && kinds & 1u << SHARE_MPS)
        return error_set(err, REFUSED_NEVER,
                         "gpus: a share by MPS, but this node has no nvidia-cuda-mps-control; "
                         "expected a part like 0.5, which is not enforced");
    return 0;
}
