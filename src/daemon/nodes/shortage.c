/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/nodes/shortage.h"

#include <stdlib.h>

#include "base/mem.h"
#include "io/log.h"

struct shortage {
    uv_timer_t timer;
    struct hub *hub;
    unsigned pause_s;
    uint64_t ended_ms; /* when the last pause ended; 0: none did */
    bool is_paused;
};

static void report(struct shortage *shortage, const struct node *node, const char *reason)
{
    struct event event = { .kind = EVENT_NODE };

    state_describe_node(node, &event.node);
    event.node.state = reason ? NODE_DRAINED : NODE_UP;
    event.node.reason = reason;
    hub_report(shortage->hub, &event);
}

static void on_end_of_pause(uv_timer_t *timer)
{
    struct shortage *shortage = timer->data;

    LIST_EACH (const struct node, node, &hub_state(shortage->hub)->nodes) {
        if (node_is_short(node))
            report(shortage, node, NULL);
    }
    shortage->is_paused = false;
    shortage->ended_ms = uv_now(timer->loop);
}

static void pause_for(struct shortage *shortage, unsigned seconds)
{
    shortage->is_paused = true;
    shortage->pause_s = seconds;
    uv_timer_start(&shortage->timer, on_end_of_pause, seconds * 1000, 0);
}

struct shortage *shortage_create(uv_loop_t *loop, struct hub *hub)
{
    struct shortage *shortage = mem_zero(1, sizeof(*shortage));

    shortage->hub = hub;
    uv_timer_init(loop, &shortage->timer);
    shortage->timer.data = shortage;
    pause_for(shortage, SHORTAGE_PAUSE_S);
    shortage->is_paused = false; /* nothing has failed yet */
    return shortage;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void shortage_destroy(struct shortage *shortage)
{
    if (shortage)
        uv_close((uv_handle_t *)&shortage->timer, on_closed);
}

/* Twice the last pause if that was of no use. */
static unsigned next_pause(const struct shortage *shortage)
{
    uint64_t since_ms = uv_now(shortage->timer.loop) - shortage->ended_ms;
    bool is_again = shortage->ended_ms > 0 && since_ms < SHORTAGE_PAUSE_MAX_S * 1000;
    unsigned twice = is_again ? shortage->pause_s * 2 : SHORTAGE_PAUSE_S;

    return twice < SHORTAGE_PAUSE_MAX_S ? twice : SHORTAGE_PAUSE_MAX_S;
}

void shortage_note(struct shortage *shortage, const char *reason)
{
    AUTO_FREE char *words = mem_printf(NODE_SHORTAGE "%s", reason);

    LIST_EACH (const struct node, node, &hub_state(shortage->hub)->nodes) {
        if (node->state == NODE_UP)
            report(shortage, node, words);
    }
    if (shortage->is_paused) /* another of the same batch, or the administrator ended the drain */
        return;
    pause_for(shortage, next_pause(shortage));
    log_line(LOG_WARNING, "no job is started for %u s: this machine lacks resources reason='%s'",
             shortage->pause_s, reason);
}
