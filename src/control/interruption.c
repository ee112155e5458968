/* SPDX-License-Identifier: Apache-2.0 */
#include "control/interruption.h"

#include "control/inventory.h"

int interrupt(const struct control *control, const char *name, const struct interruption *wish,
              struct error *err)
{
    const struct node *node = NULL;
    struct event_node described;

    int code = node_find(control_state(control), name, &node, err);
    if (code < 0)
        return code;
    if (node->state == NODE_DOWN)
        return error_set(err, REFUSED_CONFLICT, "node %s is down; it can't be taken away", name);
    if (wish->is_cancelled && node->going_at == 0)
        return error_set(err, REFUSED_CONFLICT, "node %s: nobody said that it is taken away", name);
    state_describe_node(node, &described);
    described.going_at = wish->is_cancelled ? 0 : usec_after(control_now(control), wish->notice);
    node_emit(control, &described);
    return 0;
}
