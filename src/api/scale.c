/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/scale: machines that are wanted, and that may go. */
#include "api/inside.h"
#include "sched/explain/wanted_nodes.h"

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

void handle_scale(struct call *call)
{
    const struct state *state = api_state(call->api);
    json_t *wanted = json_array(), *may_go = json_array();
    struct scale_plan plan;

    sched_scale(call->api->ports.brain(call->api->ports.user), call->api->inquiry,
                call->api->ports.now(call->api->ports.user), &plan);
    for (size_t i = 0; i < plan.wishes.count; i++)
        json_array_append_new(wanted, view_wish(state, &plan.wishes.items[i]));
    for (size_t i = 0; i < plan.may_go.count; i++) {
        const struct node *node = &state->nodes.items[plan.may_go.items[i]];
        json_array_append_new(may_go,
                              json_pack("{s:s, s:s, s:o}", "node", node->name, "type", node->type,
                                        "idle_since", view_time(call->api, node->used_at)));
    }
    scale_release(&plan);
    reply_json(call->request, 200,
               json_pack("{s:o, s:o, s:I}", "wanted", wanted, "may_go", may_go, "types",
                         (json_int_t)state->node_types.count));
}
