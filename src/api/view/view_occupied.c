/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "api/view/view.h"

enum { OCCUPANTS_NAMED = 8 };

static bool is_alike(const struct device *a, const struct device *b)
{
    return b->is_occupied && a->node == b->node && string_equal(a->sick, b->sick);
}

/* The first one with the same occupant on its node; the devices of a node need not be neighbours.
 */
static bool is_first(const struct state *state, size_t at)
{
    const struct device *device = &state->devices.items[at];

    for (size_t i = 0; i < at; i++) {
        if (is_alike(device, &state->devices.items[i]))
            return false;
    }
    return true;
}

static void say_group(const struct state *state, size_t first, bool is_named, struct text *text)
{
    const struct device *device = &state->devices.items[first];
    uint32_t count = 0;

    for (size_t i = first; i < state->devices.count; i++)
        count += is_alike(device, &state->devices.items[i]);
    text_printf(text, "%s%" PRIu32 " gpu%s", text->length > 0 ? "; " : "", count, plural(count));
    if (is_named)
        text_printf(text, " of %s", state->nodes.items[device->node].name);
    text_printf(text, " %s %s", count == 1 ? "is" : "are", device->sick ? device->sick : "in use");
}

void say_occupied(const struct state *state, uint32_t node, struct text *text)
{
    uint32_t groups = 0;

    for (size_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        if (!device->is_occupied || (node != OCCUPIED_ANYWHERE && device->node != node) ||
            !is_first(state, i))
            continue;
        if (groups++ == OCCUPANTS_NAMED) {
            text_add(text, "; others are, too");
            return;
        }
        say_group(state, i, node == OCCUPIED_ANYWHERE, text);
    }
}
