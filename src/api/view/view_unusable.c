/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "api/view/view.h"

enum { CAUSES_NAMED = 8 };

/* Why no job gets it; NULL: one does, or say_occupied() names it, or its node is the cause. */
static const char *cause_of(const struct state *state, const struct device *device)
{
    if (is_no_more(device) || state->nodes.items[device->node].state != NODE_UP)
        return NULL;
    return device->drained ? device->drained : device->is_occupied ? NULL : device->sick;
}

/* The devices from `first` on that are unusable for the same cause; returns the one behind. */
static size_t end_of_run(const struct state *state, size_t first)
{
    const struct device *devices = state->devices.items, *one = &devices[first];
    size_t end = first + 1;

    while (end < state->devices.count && devices[end].node == one->node &&
           devices[end].index == devices[end - 1].index + 1 &&
           !devices[end].drained == !one->drained &&
           string_equal(cause_of(state, &devices[end]), cause_of(state, one)))
        end++;
    return end;
}

static void say_devices(const struct state *state, size_t first, size_t end, struct text *text)
{
    const struct device *device = &state->devices.items[first];
    const size_t count = end - first;

    text_printf(text, "; gpu%s %s/%" PRIu32, plural((int64_t)count),
                state->nodes.items[device->node].name, device->index);
    if (count > 1)
        text_printf(text, "%s%" PRIu32, count > 2 ? "-" : ",", state->devices.items[end - 1].index);
    text_printf(text, " %s %s (%s)", count > 1 ? "are" : "is",
                device->drained ? "drained" : "faulty", cause_of(state, device));
}

void say_unusable(const struct state *state, struct text *text)
{
    uint32_t causes = 0;
    size_t end;

    LIST_EACH (const struct node, node, &state->nodes) {
        if (node->state == NODE_DRAINED && causes++ < CAUSES_NAMED)
            text_printf(text, "; node %s is drained (%s)", node->name,
                        node->reason ? node->reason : "");
    }
    for (size_t i = 0; i < state->devices.count; i = end) {
        end = i + 1;
        if (!cause_of(state, &state->devices.items[i]))
            continue;
        end = end_of_run(state, i);
        if (causes++ < CAUSES_NAMED)
            say_devices(state, i, end, text);
    }
    if (causes > CAUSES_NAMED)
        text_printf(text, "; and %" PRIu32 " more", causes - CAUSES_NAMED);
}
