/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/nodes/node_calls.h"

#include <stdlib.h>

#include "base/mem.h"
#include "sched/explain/questions.h"
#include "sched/explain/wanted_nodes.h"

enum { LOOK_MS = 1000, SOON_MS = 100 };

struct node_calls {
    uv_timer_t timer;
    struct hub *hub;
    const struct inventory *inventory;
    struct engine *engine;
    struct inquiry *inquiry;
    uint64_t looked_at; /* uv_now() */
    bool is_soon;       /* the next look is because of a change */
};

/* Those that the state has as down, by index. */
static uint32_t list_nodes(const struct node_calls *calls, const char **names, uint32_t *numbers,
                           size_t count)
{
    const struct state *state = hub_state(calls->hub);
    const char *const *on_call = inventory_on_call(calls->inventory, &count);
    uint32_t found = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t number = state_find_node(state, on_call[i]);
        if (number < 0 || state->nodes.items[number].state != NODE_DOWN)
            continue;
        names[found] = on_call[i];
        numbers[found++] = (uint32_t)number;
    }
    return found;
}

static void tell_engine(const struct node_calls *calls)
{
    size_t count;

    inventory_on_call(calls->inventory, &count);
    AUTO_FREE const char **names = mem_zero(count + 1, sizeof(*names));
    AUTO_FREE uint32_t *numbers = mem_zero(count + 1, sizeof(*numbers));
    AUTO_FREE uint32_t *wanted = mem_zero(count + 1, sizeof(*wanted));
    AUTO_FREE struct engine_want *wants = mem_zero(count + 1, sizeof(*wants));
    struct scale_call call = { .nodes = numbers,
                               .count = list_nodes(calls, names, numbers, count),
                               .most = calls->engine->abilities.on_call_most };
    uint32_t told = 0;

    if (call.count > 0 && call.most > 0)
        sched_want_nodes(hub_brain(calls->hub), calls->inquiry, clock_now(hub_clock(calls->hub)),
                         &call, wanted);
    for (uint32_t i = 0; i < call.count; i++) {
        if (wanted[i] > 0)
            wants[told++] = (struct engine_want){ names[i], wanted[i] };
    }
    calls->engine->ops->want(calls->engine, wants, told);
}

static void on_timer(uv_timer_t *timer)
{
    struct node_calls *calls = timer->data;

    calls->is_soon = false;
    if (!hub_trouble(calls->hub))
        tell_engine(calls);
    calls->looked_at = uv_now(timer->loop);
    uv_timer_start(timer, on_timer, LOOK_MS, 0);
}

void node_calls_changed(struct node_calls *calls)
{
    if (!calls || calls->is_soon)
        return;
    uint64_t now = uv_now(calls->timer.loop), next = calls->looked_at + LOOK_MS / 2;
    calls->is_soon = true;
    uv_timer_start(&calls->timer, on_timer, next > now + SOON_MS ? next - now : SOON_MS, 0);
}

struct node_calls *node_calls_create(uv_loop_t *loop, struct hub *hub,
                                     const struct inventory *inventory, struct engine *engine)
{
    if (!engine->ops->want)
        return NULL;
    struct node_calls *calls = mem_zero(1, sizeof(*calls));
    calls->hub = hub;
    calls->inventory = inventory;
    calls->engine = engine;
    calls->inquiry = inquiry_create();
    uv_timer_init(loop, &calls->timer);
    calls->timer.data = calls;
    uv_timer_start(&calls->timer, on_timer, SOON_MS, 0);
    return calls;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void node_calls_destroy(struct node_calls *calls)
{
    if (!calls)
        return;
    inquiry_destroy(calls->inquiry);
    uv_close((uv_handle_t *)&calls->timer, on_closed);
}
