/* SPDX-License-Identifier: Apache-2.0 */
#include "control/drain.h"

#include "base/mem.h"
#include "control/lookup.h"

int drain_node(const struct control *control, const char *name, const char *reason,
               struct error *err)
{
    const struct node *node = NULL;
    struct event event = { .kind = EVENT_NODE };

    int code = node_find(control_state(control), name, &node, err);
    if (code < 0)
        return code;
    if (node->state == NODE_DOWN)
        return error_set(err, REFUSED_CONFLICT, "node %s is down; it gets no jobs anyway", name);
    if (!reason && node->state != NODE_DRAINED)
        return error_set(err, REFUSED_CONFLICT, "node %s is not drained", name);
    state_describe_node(node, &event.node);
    event.node.state = reason ? NODE_DRAINED : NODE_UP;
    event.node.reason = reason;
    control_emit(control, event);
    return 0;
}

int drain_device(const struct control *control, const char *name, const char *reason,
                 struct error *err)
{
    const struct state *state = control_state(control);
    uint32_t device;

    int code = device_find(state, name, &device, err);
    if (code < 0)
        return code;
    if (!reason && !state->devices.items[device].drained)
        return error_set(err, REFUSED_CONFLICT, "gpu %s is not drained", name);
    control_emit(control, (struct event){ .kind = EVENT_DRAIN,
                                          .drain = { .uuid = state->devices.items[device].uuid,
                                                     .reason = reason } });
    return 0;
}

int interrupt(const struct control *control, const char *name, const struct interruption *wish,
              struct error *err)
{
    const struct node *node = NULL;
    struct event event = { .kind = EVENT_NODE };

    int code = node_find(control_state(control), name, &node, err);
    if (code < 0)
        return code;
    if (node->state == NODE_DOWN)
        return error_set(err, REFUSED_CONFLICT, "node %s is down; it can't be taken away", name);
    if (wish->is_cancelled && node->going_at == 0)
        return error_set(err, REFUSED_CONFLICT, "node %s: nobody said that it is taken away", name);
    state_describe_node(node, &event.node);
    event.node.going_at = wish->is_cancelled ? 0 : usec_after(control_now(control), wish->notice);
    control_emit(control, event);
    return 0;
}
