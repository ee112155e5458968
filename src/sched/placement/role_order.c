/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/role_order.h"

/* By what a member wants: the first resource that differs decides, and more comes first. */
static bool comes_before(const struct request *a, const struct request *b)
{
    int64_t gpus[2] = { request_milli(a, 0, 0) / a->members, request_milli(b, 0, 0) / b->members };

    if (gpus[0] != gpus[1])
        return gpus[0] > gpus[1];
    if (a->cpu_milli != b->cpu_milli)
        return a->cpu_milli > b->cpu_milli;
    return a->memory_mib > b->memory_mib;
}

/* Few roles: each is put where it belongs among those before it. */
static void sort(struct role_order *cast)
{
    const struct request *request = cast->request;

    for (uint32_t i = 0; i < request_parts(request); i++) {
        uint32_t at = i;
        for (; at > 0 &&
               comes_before(request_part(request, i), request_part(request, cast->roles[at - 1]));
             at--)
            cast->roles[at] = cast->roles[at - 1];
        cast->roles[at] = i;
    }
}

void role_order_start(struct role_order *cast, const struct request *request)
{
    *cast = (struct role_order){ .request = request };
    sort(cast);
}

/* So that it has the choice next time. */
static void move_to_front(struct role_order *cast, uint32_t role)
{
    uint32_t at = 0;

    while (cast->roles[at] != role)
        at++;
    for (; at > 0; at--)
        cast->roles[at] = cast->roles[at - 1];
    cast->roles[0] = role;
}

static void use_choice(struct role_order *cast, uint32_t role)
{
    const struct role_choice *choice = &cast->choices[role].items[cast->picks[role]];

    cast->alternatives[role] = choice->alternative;
    cast->models[role] = choice->model;
}

void role_order_choose(struct role_order *cast, uint32_t role, struct role_choices choices)
{
    cast->choices[role] = choices;
    cast->picks[role] = 0;
    if (!choices.items)
        return;
    cast->has_models = true;
    use_choice(cast, role);
}

static bool next_alternatives(struct role_order *cast)
{
    for (uint32_t i = request_parts(cast->request); i-- > 0;) {
        if (cast->choices[i].items) {
            bool has_next = ++cast->picks[i] < cast->choices[i].count;
            cast->picks[i] = has_next ? cast->picks[i] : 0;
            use_choice(cast, i);
            if (has_next)
                return true;
            continue;
        }
        if (++cast->alternatives[i] < request_part(cast->request, i)->gpu_alternatives)
            return true;
        cast->alternatives[i] = 0;
    }
    return false;
}

bool role_order_next(struct role_order *cast, uint32_t failed)
{
    if (++cast->tries >= (cast->has_models ? CAST_TRIES_MODELS : CAST_TRIES))
        return false;
    if (failed != CAST_ALL_PLACED && failed != cast->roles[0] &&
        cast->moves++ < 2 * request_parts(cast->request)) {
        move_to_front(cast, failed);
        return true;
    }
    cast->moves = 0;
    sort(cast);
    return next_alternatives(cast);
}
