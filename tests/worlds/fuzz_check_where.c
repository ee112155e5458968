/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on nodes and devices, and anti-affinity: what they mean, and that grants keep to them.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "worlds/fuzz_check.h"

/* ---- conditions ---- */

/* The label of this name; false: it has none. Of no device: that of the node alone. */
static bool find_label(const struct shadow_node *node, const struct shadow_device *device,
                       const char *key, const char **ret_value)
{
    *ret_value = NULL;
    if (strcmp(key, "node") == 0)
        *ret_value = node->name;
    else if (strcmp(key, "rack") == 0 && node->rack[0])
        *ret_value = node->rack;
    else if (device && strcmp(key, "model") == 0 && device->model[0])
        *ret_value = device->model;
    else
        return device && strcmp(key, device->model) == 0;
    return true;
}

static bool term_holds(const struct where_term *term, const struct shadow_node *node,
                       const struct shadow_device *device)
{
    const char *value;
    bool has = find_label(node, device, term->key, &value);

    if (term->has_value)
        has = has && value && strcmp(value, term->value) == 0;
    return has != (term->is_not != 0);
}

bool shadow_where_holds(const struct request *request, const struct shadow_node *node,
                        const struct shadow_device *device)
{
    bool is_any = false;

    for (uint32_t i = 0; i < request->where_count; i++) {
        is_any |= term_holds(&request->where[i], node, device);
        if (request->where[i].is_or)
            continue;
        if (!is_any)
            return false;
        is_any = false;
    }
    return true;
}

bool check_where_kept(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct lease *lease = &event->grant.lease;
    const struct shadow_job *job = shadow_job(shadow, event->grant.job);
    const struct request *request = job ? &shadow->requests.items[job->request] : NULL;

    if (!request || request->where_count == 0)
        return true;
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct shadow_device *device = &shadow->devices.items[lease->slices[i].device];
        if (!shadow_where_holds(request, &shadow->nodes.items[device->node], device))
            return NOT_HELD(found, "job %" PRIu64 ": device %s does not meet its conditions",
                            job->id, device->uuid);
    }
    for (uint32_t i = 0; i < lease->members_count && lease->slices_count == 0; i++) {
        const struct shadow_node *node = &shadow->nodes.items[lease->members[i].node];
        if (!shadow_where_holds(request, node, NULL))
            return NOT_HELD(found, "job %" PRIu64 ": node %s does not meet its conditions", job->id,
                            node->name);
    }
    return true;
}

/* ---- anti-affinity ---- */

static bool avoids(const struct request *request, const struct request *other)
{
    for (uint32_t i = 0; i < request->apart_count; i++) {
        for (uint32_t k = 0; k < other->label_count; k++) {
            if (strcmp(request->apart[i].name, other->labels[k].name) == 0)
                return true;
        }
    }
    return false;
}

bool shadow_are_apart(const struct shadow *shadow, const struct request *request,
                      const struct shadow_job *other)
{
    const struct request *its = &shadow->requests.items[other->request];

    return avoids(request, its) || avoids(its, request);
}

static bool is_on(const struct lease *lease, uint32_t node)
{
    for (uint32_t i = 0; i < lease->members_count; i++) {
        if (lease->members[i].node == node)
            return true;
    }
    return false;
}

bool shadow_is_closed(const struct shadow *shadow, const struct request *request, uint32_t node)
{
    if (request->label_count == 0 && request->apart_count == 0)
        return false;
    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *other = shadow_job(shadow, shadow->active.items[i]);
        if (is_on(other->lease, node) && shadow_are_apart(shadow, request, other))
            return true;
    }
    return false;
}

bool check_apart_kept(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_job *job = shadow_job(shadow, event->grant.job);
    const struct request *request = job ? &shadow->requests.items[job->request] : NULL;

    for (size_t i = 0; request && i < shadow->active.count; i++) {
        const struct shadow_job *other = shadow_job(shadow, shadow->active.items[i]);
        if (other == job || !shadow_are_apart(shadow, request, other))
            continue;
        for (uint32_t k = 0; k < event->grant.lease.members_count; k++) {
            uint32_t node = event->grant.lease.members[k].node;
            if (is_on(other->lease, node))
                return NOT_HELD(found, "job %" PRIu64 ": shares node %s with job %" PRIu64, job->id,
                                shadow->nodes.items[node].name, other->id);
        }
    }
    return true;
}
