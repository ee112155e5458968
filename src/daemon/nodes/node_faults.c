/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/nodes/node_faults.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { LOOK_MS = 1000, HEALTHY_S = 20 };

struct told_node {
    char *reason;          /* "": no device is faulty; NULL: not told yet */
    uint64_t healthy_from; /* ms; 0: it is faulty, or was told */
};

struct node_faults {
    uv_timer_t timer;
    const struct hub *hub;
    struct engine *engine;
    LIST(struct told_node) told; /* by node */
};

/* The first faulty device of each node, by node; malloc'd. */
static uint32_t *find_faulty(const struct state *state)
{
    uint32_t *faulty = mem_zero(state->nodes.count + 1, sizeof(*faulty));

    for (size_t i = 0; i < state->nodes.count; i++)
        faulty[i] = UINT32_MAX;
    for (size_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        if (device->sick && !device->is_occupied && !device->is_gone &&
            faulty[device->node] == UINT32_MAX)
            faulty[device->node] = (uint32_t)i;
    }
    return faulty;
}

static char *say(const struct state *state, uint32_t faulty)
{
    const struct device *device = &state->devices.items[faulty];

    return mem_printf("GPU %" PRIu32 " is faulty: %s", device->index, device->sick);
}

/* A fault that comes and goes does not drain and resume the node each time. */
static bool is_healthy_long(struct told_node *told, uint64_t now)
{
    if (!told->reason || !told->reason[0])
        return true;
    if (told->healthy_from == 0)
        told->healthy_from = now;
    return now - told->healthy_from >= HEALTHY_S * 1000;
}

static void tell(struct node_faults *faults, struct told_node *told, const char *node,
                 const char *reason)
{
    uint64_t now = uv_now(faults->timer.loop);

    if (!reason && !is_healthy_long(told, now))
        return;
    told->healthy_from = 0;
    if (told->reason && strcmp(told->reason, reason ? reason : "") == 0)
        return;
    faults->engine->ops->faulty(faults->engine, node, reason);
    free(told->reason);
    told->reason = mem_string(reason ? reason : "");
}

static void on_timer(uv_timer_t *timer)
{
    struct node_faults *faults = timer->data;
    const struct state *state = hub_state(faults->hub);
    AUTO_FREE uint32_t *faulty = find_faulty(state);

    while (faults->told.count < state->nodes.count)
        list_add(&faults->told, (struct told_node){ 0 });
    for (size_t i = 0; i < state->nodes.count; i++) {
        AUTO_FREE char *reason = faulty[i] == UINT32_MAX ? NULL : say(state, faulty[i]);
        tell(faults, &faults->told.items[i], state->nodes.items[i].name, reason);
    }
}

struct node_faults *node_faults_create(uv_loop_t *loop, const struct hub *hub,
                                       struct engine *engine)
{
    if (!engine->ops->faulty)
        return NULL;
    struct node_faults *faults = mem_zero(1, sizeof(*faults));
    faults->hub = hub;
    faults->engine = engine;
    uv_timer_init(loop, &faults->timer);
    faults->timer.data = faults;
    uv_timer_start(&faults->timer, on_timer, LOOK_MS, LOOK_MS);
    return faults;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void node_faults_destroy(struct node_faults *faults)
{
    if (!faults)
        return;
    for (size_t i = 0; i < faults->told.count; i++)
        free(faults->told.items[i].reason);
    list_release(&faults->told);
    uv_close((uv_handle_t *)&faults->timer, on_closed);
}
