/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/node.h"

#include <assert.h>
#include <stdlib.h>

#include "core/cluster/mig.h"

void device_settle(struct device *device)
{
    device->is_gone |= string_equal(device->sick, DEVICE_GONE);
    device->is_recorded |=
        device->is_synthetic && device->product && string_starts(device->product, "Recorded ");
}

void device_settle_labels(struct device *device, const struct node_settings *settings)
{
    struct text labels = { 0 };

    text_add(&labels, device->said_labels ? device->said_labels : "");
    for (const char *at = settings ? settings->gpu_labels : ""; *at; at += *at == ',') {
        size_t number = strcspn(at, ":"), length = strcspn(at, ",");
        if (strtoul(at, NULL, 10) == device->index && number < length)
            text_printf(&labels, "%s%.*s", labels.length > 0 ? "," : "", (int)(length - number - 1),
                        at + number + 1);
        at += length;
    }
    free(device->labels);
    device->labels = text_take(&labels);
}

static void set_either(char **at, const char *said, const char *reported)
{
    const char *text = said && said[0] ? said : reported ? reported : "";

    free(*at);
    *at = mem_string(text);
}

static void settle_labels(struct node *node, const char *configured)
{
    const char *reported = node->reported.labels ? node->reported.labels : "";

    free(node->labels);
    node->labels =
        mem_printf("%s%s%s", reported, reported[0] && configured[0] ? "," : "", configured);
}

void node_settle(struct node *node, const struct node_settings *settings)
{
    const struct node_report *reported = &node->reported;
    bool has_price = settings && settings->price_micro > 0;

    set_either(&node->rack, settings ? settings->rack : NULL, reported->rack);
    set_either(&node->block, settings ? settings->block : NULL, reported->block);
    set_either(&node->type, settings ? settings->type : NULL, reported->type);
    settle_labels(node, settings ? settings->labels : "");
    node->price_micro = has_price ? settings->price_micro : reported->price_micro;
    node->is_spot = reported->is_spot || (settings && settings->is_spot);
}

void node_release(struct node *node)
{
    free(node->reported.rack);
    free(node->reported.block);
    free(node->reported.type);
    free(node->reported.labels);
    free(node->labels);
    free(node->name);
    free(node->reason);
    free(node->drained);
    free(node->rack);
    free(node->block);
    free(node->type);
}

void device_release(struct device *device)
{
    free(device->uuid);
    free(device->model);
    free(device->product);
    free(device->address);
    free(device->vendor);
    free(device->sick);
    free(device->drained);
    free(device->boot);
    free(device->said_labels);
    free(device->labels);
    free(device->kind);
}

bool device_is_asked_for(const struct gpu_ask *ask, const struct device *device)
{
    if (ask->model[0] && strcmp(ask->model, device->model) != 0)
        return false;
    if ((!ask->model[0] || ask->accelerator[0]) &&
        strcmp(ask->accelerator, device->kind ? device->kind : "") != 0)
        return false;
    if (ask->size_mib_min > 0 && device->memory_mib < ask->size_mib_min)
        return false;
    return ask->size_mib_max == 0 || device->memory_mib <= ask->size_mib_max;
}

void room_release(struct room *room)
{
    list_release(&room->nodes);
    list_release(&room->devices);
    list_release(&room->pools);
}

void room_add(struct room *room, const struct lease *lease, int sign)
{
    assert(sign == 1 || sign == -1);
    for (uint32_t i = 0; i < lease->members_count; i++) {
        assert(lease->members[i].node < room->nodes.count);
        struct room_node *node = &room->nodes.items[lease->members[i].node];
        node->cpu_milli += sign * lease_cpu_milli(lease, i);
        node->memory_mib += sign * lease_memory_mib(lease, i);
    }
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct slice *slice = &lease->slices[i];
        assert(slice->device < room->devices.count && slice->pool < room->pools.count);
        struct room_device *device = &room->devices.items[slice->device];
        device->milli += sign * (int64_t)slice->milli;
        device->memory_mib += sign * slice->memory_mib;
        device->mig -= (uint32_t)sign * mig_hold_of_slice(slice);
        room->pools.items[slice->pool] -= sign * (int64_t)slice->milli;
    }
}

DEFINE_NAMES(node_state_name, enum node_state, "up", "drained", "down")

bool node_is_short(const struct node *node)
{
    return node->state == NODE_DRAINED && string_starts(node->reason, NODE_SHORTAGE);
}
