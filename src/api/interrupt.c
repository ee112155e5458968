/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/nodes/NAME/interrupt: a machine will be taken away, or will not after all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/inside.h"
#include "base/mem.h"

#define NOTICE_DEFAULT (120 * USEC_PER_SEC) /* what the large clouds give: 30 s to 2 min */

struct interrupt {
    struct api_change change;
    struct api *api;
    struct http_request *request;
    char name[REQUEST_NAME_SIZE + 1];
    usec_t notice;
    bool is_cancelled;
};

static int run_interrupt(struct api_change *change, struct error *err)
{
    struct interrupt *interrupt = CONTAINER_OF(change, struct interrupt, change);
    const struct api_ports *ports = &interrupt->api->ports;
    const struct state *state = api_state(interrupt->api);
    int64_t number = state_find_node(state, interrupt->name);
    struct event event = { .kind = EVENT_NODE };

    if (number < 0)
        return error_set(err, -ENOENT, "node %s: no such node", interrupt->name);
    const struct node *node = &state->nodes.items[number];
    if (node->state == NODE_DOWN)
        return error_set(err, -EALREADY, "node %s is down; it can't be taken away", node->name);
    if (interrupt->is_cancelled && node->going_at == 0)
        return error_set(err, -EALREADY, "node %s: nobody said that it is taken away", node->name);
    state_describe_node(node, &event.node);
    event.node.going_at =
        interrupt->is_cancelled ? 0 : usec_after(ports->now(ports->user), interrupt->notice);
    /* The fold replaces the strings that the event would still point to. */
    AUTO_FREE char *name = mem_string(node->name), *reason = mem_string(node->reason);
    AUTO_FREE char *rack = mem_string(node->rack), *block = mem_string(node->block);
    AUTO_FREE char *type = mem_string(node->type);
    event.node.name = name;
    event.node.reason = reason;
    event.node.rack = rack;
    event.node.block = block;
    event.node.type = type;
    ports->emit(ports->user, &event);
    return 0;
}

static void done_interrupt(struct api_change *change, int code, const struct error *err)
{
    struct interrupt *interrupt = CONTAINER_OF(change, struct interrupt, change);
    const struct state *state = api_state(interrupt->api);
    int64_t number = state_find_node(state, interrupt->name);

    if (code < 0)
        reply_error(interrupt->request, code, err);
    else
        reply_json(interrupt->request, 200,
                   json_pack("{s:s, s:o}", "node", interrupt->name, "going_at",
                             view_time(interrupt->api, state->nodes.items[number].going_at)));
    free(interrupt);
}

/* {"in": "120s"} or {"cancel": true}; nothing: in two minutes */
static int read_wish(const json_t *body, struct interrupt *interrupt, struct error *err)
{
    const json_t *in = json_object_get(body, "in");
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)body, key, value)
    {
        if (strcmp(key, "in") != 0 && strcmp(key, "cancel") != 0)
            return error_set(err, -EINVAL, "unknown key '%.40s', expected in or cancel", key);
    }
    interrupt->is_cancelled = json_is_true(json_object_get(body, "cancel"));
    if (!in)
        return 0;
    if (json_is_integer(in) && json_integer_value(in) >= 0 && json_integer_value(in) <= 7 * 86400) {
        interrupt->notice = json_integer_value(in) * USEC_PER_SEC;
        return 0;
    }
    if (!json_is_string(in))
        return error_set(err, -EINVAL, "in: expected seconds, or a duration like 120s");
    int code = units_parse_duration(json_string_value(in), &interrupt->notice, err);
    if (code == 0 && interrupt->notice > 7 * USEC_PER_DAY)
        code = error_set(err, -ERANGE, "'%.40s': more than a week", json_string_value(in));
    return code < 0 ? error_prefix(err, code, "in") : 0;
}

void handle_interrupt(struct call *call)
{
    struct error err;
    json_t *body = NULL;

    if (!call->request->who->is_admin) {
        error_set(&err, -EACCES, "interrupt: only for administrators");
        reply_error(call->request, -EACCES, &err);
        return;
    }
    if (call->request->body.length > 0) {
        body = read_body(call->request);
        if (!body)
            return;
    }
    struct interrupt *interrupt = mem_zero(1, sizeof(*interrupt));
    *interrupt = (struct interrupt){
        .change = { .run = run_interrupt, .done = done_interrupt },
        .api = call->api,
        .request = call->request,
        .notice = NOTICE_DEFAULT,
    };
    memcpy(interrupt->name, call->name, sizeof(interrupt->name));
    int code = read_wish(body, interrupt, &err);
    json_decref(body);
    if (code < 0) {
        reply_error(call->request, code, &err);
        free(interrupt);
        return;
    }
    call->api->ports.enqueue(call->api->ports.user, &interrupt->change);
}
