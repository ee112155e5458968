/* SPDX-License-Identifier: Apache-2.0 */
#include "control/drain.h"

#include "control/lookup.h"

/* The node as an event that changes nothing. */
static int describe(const struct control *control, const char *name, struct event *ret,
                    struct error *err)
{
    const struct node *node = NULL;

    int code = node_find(control_state(control), name, &node, err);
    if (code < 0)
        return code;
    *ret = (struct event){ .kind = EVENT_NODE };
    state_describe_node(node, &ret->node);
    return 0;
}

int drain_node(const struct control *control, const char *name, const char *reason,
               struct error *err)
{
    struct event event;

    int code = describe(control, name, &event, err);
    if (code < 0)
        return code;
    if (reason && string_starts(reason, NODE_SHORTAGE))
        return error_set(err, REFUSED_BAD,
                         "reason '%.40s': tarn itself pauses nodes with reasons that begin with "
                         "'" NODE_SHORTAGE "'; expected another reason",
                         reason);
    bool is_down = event.node.state == NODE_DOWN;
    bool is_drained = is_down ? event.node.drained != NULL : event.node.state == NODE_DRAINED;
    if (!reason && !is_drained)
        return error_set(err, REFUSED_CONFLICT, "node %s is not drained", name);
    event.node.drained = reason; /* it stays so when it returns */
    if (!is_down) {
        event.node.state = reason ? NODE_DRAINED : NODE_UP;
        event.node.reason = reason;
    }
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
    struct event event;

    int code = describe(control, name, &event, err);
    if (code < 0)
        return code;
    if (event.node.state == NODE_DOWN)
        return error_set(err, REFUSED_CONFLICT, "node %s is down; it cannot be interrupted", name);
    if (wish->is_cancelled && event.node.going_at == 0)
        return error_set(err, REFUSED_CONFLICT, "node %s: no interruption is announced", name);
    event.node.going_at = wish->is_cancelled ? 0 : usec_after(control_now(control), wish->notice);
    control_emit(control, event);
    return 0;
}
