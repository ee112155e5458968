/* SPDX-License-Identifier: Apache-2.0 */
/* All devices of a role are of one model: of which, and which is tried first. */
#include <string.h>

#include "base/log2.h"
#include "core/job/role.h"
#include "sched/placement/model_score.h"
#include "sched/placement/placing.h"

/* The models that the ask may have, by the layout's numbers. Returns how many. */
static uint32_t list_models(const struct placing *placing, const struct gpu_ask *ask,
                            bool *ret_models)
{
    const struct place_query *query = placing->query;
    const struct layout *layout = query->fleet->layout;
    uint32_t count = 0;

    memset(ret_models, 0, (layout->model_count + 1) * sizeof(bool));
    LIST_EACH (const struct layout_kind, kind, &layout->kinds) {
        if (ret_models[kind->model] ||
            !device_is_asked_for(ask, &query->state->devices.items[kind->device]))
            continue;
        ret_models[kind->model] = true;
        count++;
    }
    return count;
}

static struct model_query models_of(const struct place_query *query, uint32_t role,
                                    uint32_t alternative)
{
    const struct request *part = request_part(query->request, role);

    return (struct model_query){ .state = query->state,
                                 .layout = query->fleet->layout,
                                 .typical = query->scorer->typical,
                                 .job = query->job > 0 ? state_job(query->state, query->job) : NULL,
                                 .request = query->request,
                                 .part = part,
                                 .ask = &part->gpus[alternative] };
}

/* In the order of their scores. Returns how many; 0: there is no choice. */
static uint32_t choose_models(const struct placing *placing, uint32_t role, uint32_t alternative,
                              struct role_choice *ret, enum model_rule *ret_rule)
{
    struct model_query models = models_of(placing->query, role, alternative);
    struct model_score scores[SPEED_MODELS];
    bool is_known = false;

    uint32_t count = models.job ? model_scores(&models, scores, ret_rule, &is_known) : 0;
    for (uint32_t i = 0; i < count; i++)
        ret[i] = (struct role_choice){ alternative, scores[i].model, is_known ? scores[i].runs : 0,
                                       (uint8_t)*ret_rule };
    for (uint32_t i = 1; i < count && *ret_rule == MODEL_RULE_CHEAPEST; i++)
        ret[i].rule = MODEL_RULE_NEXT;
    return count;
}

/* Where models differ in worth, each alone, the best first. Else any model, which takes the best
 * place of all, then each one alone, where that was a mix. */
struct role_choices model_choices(const struct placing *placing, uint32_t role)
{
    const struct request *part = request_part(placing->query->request, role);
    uint32_t models = placing->query->fleet->layout->model_count;
    struct role_choices choices = { 0 };
    enum model_rule rule = MODEL_RULE_NONE;
    bool is_split = false;

    if (models < 2 || part->gpu_alternatives == 0)
        return choices;
    bool *of = arena_take(placing->arena, models + 1, sizeof(bool));
    struct role_choice *items = arena_take(placing->arena, part->gpu_alternatives * (models + 1),
                                           sizeof(struct role_choice));
    for (uint32_t i = 0; i < part->gpu_alternatives; i++) {
        const struct gpu_ask *ask = &part->gpus[i];
        bool is_open = !ask->model[0] && ask->kind != SHARE_MIG;
        uint32_t chosen =
            is_open ? choose_models(placing, role, i, &items[choices.count], &rule) : 0;
        choices.count += chosen;
        is_split |= chosen > 0;
        if (chosen > 0)
            continue;
        bool is_several = is_open && (uint64_t)ask->count * part->members > 1 &&
                          list_models(placing, ask, of) > 1;
        items[choices.count++] = (struct role_choice){ .alternative = i };
        for (uint32_t model = 1; is_several && model <= models; model++) {
            if (of[model])
                items[choices.count++] = (struct role_choice){ .alternative = i, .model = model };
        }
        is_split |= is_several;
    }
    choices.items = is_split ? items : NULL;
    return choices;
}

bool models_are_mixed(const struct placing *placing)
{
    const struct layout *layout = placing->query->fleet->layout;
    const struct lease *lease = &placing->lease;
    uint32_t models[REQUEST_ROLES_MAX] = { 0 };

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        uint32_t role = placing->members[lease->slices[i].rank].role;
        uint32_t slot = layout->slot_of_device.items[lease->slices[i].device];
        uint32_t model = layout->kinds.items[layout->slots.items[slot].kind].model;
        if (!placing->choices[role].items || lease->slices[i].kind == SHARE_MIG)
            continue; /* of instances any model will do, as where nothing else is asked for */
        if (models[role] != 0 && models[role] != model)
            return true;
        models[role] = model;
    }
    return false;
}

/* Some node has a free one for a member. */
static bool is_free(const struct place_query *query, uint32_t alternative, uint32_t model)
{
    struct shape *shape = shape_claim(query->shapes, query->state, query->fleet->layout,
                                      query->class, 0, alternative, model, query->queue);

    if (!shape->is_possible)
        return false;
    shape_catch_up(shape, query->scorer, query->fleet);
    return shape_best(shape) >= 0;
}

uint32_t place_models_now(const struct place_query *query, uint32_t alternative,
                          struct model_score *ret, uint32_t *ret_free)
{
    struct model_query models = models_of(query, 0, alternative);
    enum model_rule rule;
    bool is_known;

    models.with_one = true;
    uint32_t count = models.job ? model_scores(&models, ret, &rule, &is_known) : 0;
    *ret_free = 0;
    while (*ret_free < count && !is_free(query, alternative, ret[*ret_free].model))
        ++*ret_free;
    return count;
}

uint32_t place_speed_now(const struct place_query *query)
{
    const struct request *request = query->request;
    int32_t preferred = -1;

    if (request->members > 1)
        return 0;
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        struct model_score scores[SPEED_MODELS];
        uint32_t free, count = place_models_now(query, i, scores, &free);
        if (free < count)
            return (uint32_t)log2_power(scores[free].speed);
        if (preferred < 0 && count > 0)
            preferred = scores[0].speed;
    }
    return preferred < 0 ? 0 : (uint32_t)log2_power(preferred);
}
