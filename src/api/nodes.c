/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/nodes, /v1/scale; POST /v1/nodes/NAME/interrupt: notice that a node goes away. */

#include "api/deferred.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "control/drain.h"
#include "sched/explain/wanted_nodes.h"
#include "wire/json.h"
#include "wire/reader.h"

#define NOTICE_DEFAULT (120 * USEC_PER_SEC) /* what the large clouds give: 30 s to 2 min */

json_t *handle_nodes(struct call *call)
{
    const struct state *state = api_state(call->api);
    json_t *nodes = json_array();

    for (size_t i = 0; i < state->nodes.count; i++) {
        const struct node *node = &state->nodes.items[i];
        const struct room_node *room = &state->room.nodes.items[i];
        int64_t total = 0, given = 0;
        for (size_t k = 0; k < state->devices.count; k++) {
            bool is_held = state->room.devices.items[k].milli < GPU_MILLI;
            if (state->devices.items[k].node != i ||
                (is_no_more(&state->devices.items[k]) && !is_held))
                continue;
            total += GPU_MILLI;
            given += GPU_MILLI - state->room.devices.items[k].milli;
        }
        json_array_append_new(
            nodes, json_pack("{s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:o, s:o}", "name", node->name,
                             "state", node_state_name(node->state), "reason",
                             text_or_null(node->reason), "cpus", view_milli(node->cpu_milli),
                             "cpus_given", view_milli(node->cpu_milli - room->cpu_milli), "memory",
                             (json_int_t)node->memory_mib, "memory_given",
                             (json_int_t)(node->memory_mib - room->memory_mib), "gpus",
                             view_milli(total), "gpus_given", view_milli(given)));
        json_t *view = json_array_get(nodes, json_array_size(nodes) - 1);
        json_object_set_new(view, "drained",
                            text_or_null(node->state == NODE_DOWN ? node->drained : NULL));
        AUTO_RELEASE(text) struct text occupied = { 0 };
        say_occupied(state, (uint32_t)i, &occupied);
        json_object_set_new(view, "occupied", text_or_null(text_string(&occupied)));
        json_object_set_new(view, "spot", json_boolean(node->is_spot));
        json_object_set_new(view, "type", text_or_null(node->type));
        json_object_set_new(view, "price",
                            node->price_micro > 0 ? json_real((double)node->price_micro / 1e6)
                                                  : json_null());
        json_object_set_new(view, "rack", text_or_null(node->rack));
        json_object_set_new(view, "block", text_or_null(node->block));
        json_t *labels = json_names(node->labels);
        view_own(call->api, labels);
        json_object_set_new(view, "labels", labels);
        json_object_set_new(view, "going_at", view_time(call->api, node->going_at));
    }
    return json_pack("{s:o}", "nodes", nodes);
}

/* ---- interrupt ---- */

struct interrupting {
    struct deferred deferred;
    struct interruption wish;
};

static int run_interrupt(struct deferred *deferred, struct error *err)
{
    const struct interrupting *asked = CONTAINER_OF(deferred, struct interrupting, deferred);

    return interrupt(api_control(deferred->api), deferred->name, &asked->wish, err);
}

static json_t *answer_interrupt(struct deferred *deferred)
{
    const struct state *state = api_state(deferred->api);
    int64_t number = state_find_node(state, deferred->name);

    return json_pack("{s:s, s:o}", "node", deferred->name, "going_at",
                     view_time(deferred->api, state->nodes.items[number].going_at));
}

/* {"in": "120s"} or {"cancel": true}; default: in two minutes */
static int read_wish(struct call *call, struct interruption *wish)
{
    static const char *const keys[] = { "in", "cancel", NULL };
    struct reader reader = { .err = &call->err };

    if (call->request->body.length == 0)
        return 0;
    int code = read_body(call);
    if (code == 0)
        code = reader_check_keys(&reader, call->body, keys);
    if (code == 0)
        code = reader_bool(&reader, call->body, "cancel", &wish->is_cancelled);
    if (code == 0)
        code = reader_duration(&reader, call->body, "in", &wish->notice);
    if (code == 0 && (wish->notice < 0 || wish->notice > 7 * USEC_PER_DAY))
        code = reader_fail(&reader, REFUSED_BAD, call->body, "in", "expected up to a week");
    return code;
}

json_t *handle_interrupt(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_interrupt, .answer = answer_interrupt };
    struct interrupting *asked = deferred_create(call, sizeof(*asked), &ops);
    asked->wish.notice = NOTICE_DEFAULT;
    return deferred_begin(call, &asked->deferred, read_wish(call, &asked->wish));
}

/* ---- scale ---- */

static json_t *money(int64_t micro)
{
    return json_real((double)micro / 1e6);
}

static json_t *view_wish(const struct state *state, const struct scale_wish *wish)
{
    return json_pack(
        "{s:s, s:b, s:I, s:I, s:I, s:o, s:o}", "type", state->node_types.items[wish->type].name,
        "spot", wish->is_spot, "count", (json_int_t)wish->count, "jobs", (json_int_t)wish->jobs,
        "first_job", (json_int_t)wish->first_job, "price", money(wish->price_micro),
        "saved_seconds",
        wish->saved == USEC_NEVER ? json_null() : json_integer(wish->saved / USEC_PER_SEC));
}

json_t *handle_scale(struct call *call)
{
    const struct state *state = api_state(call->api);
    json_t *wanted = json_array(), *may_go = json_array();
    struct scale_plan plan;

    sched_scale(api_brain(call->api), call->api->inquiry, api_now(call->api), &plan);
    for (size_t i = 0; i < plan.wishes.count; i++)
        json_array_append_new(wanted, view_wish(state, &plan.wishes.items[i]));
    for (size_t i = 0; i < plan.may_go.count; i++) {
        const struct node *node = &state->nodes.items[plan.may_go.items[i]];
        json_array_append_new(may_go,
                              json_pack("{s:s, s:s, s:o}", "node", node->name, "type", node->type,
                                        "idle_since", view_time(call->api, node->used_at)));
    }
    scale_release(&plan);
    return json_pack("{s:o, s:o, s:I}", "wanted", wanted, "may_go", may_go, "types",
                     (json_int_t)state->node_types.count);
}
