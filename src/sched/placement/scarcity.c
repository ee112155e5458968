/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/fragmentation.h"

enum { NEVER_ASKED = DEMAND_ONE / 16 };

/* By kind and profile. */
struct weighing {
    const struct state *state;
    const struct layout *layout;
    LIST(uint64_t) options; /* that are left */
    LIST(uint64_t) weights;
    bool is_fgd;
    uint32_t shift; /* of demand */
};

static bool is_usable(const struct weighing *weighing, const struct layout_kind *kind)
{
    return kind->board &&
           device_is_usable(weighing->state, &weighing->state->devices.items[kind->device]);
}

static void count_options(struct weighing *weighing, const struct fleet *fleet)
{
    const struct layout *layout = weighing->layout;

    for (size_t i = 0; i < layout->slots.count; i++) {
        uint32_t number = layout->slots.items[i].kind;
        const struct layout_kind *kind = &layout->kinds.items[number];
        if (!is_usable(weighing, kind))
            continue;
        for (uint32_t p = 0; p < kind->table->layout->profile_count; p++)
            weighing->options.items[number * MIG_PROFILES_MAX + p] +=
                mig_options(kind->table, fleet->slots.items[i].mig, p);
    }
}

/* -1: the kind does not serve it. */
static int profile_for(const struct weighing *weighing, const struct gpu_ask *ask, size_t number)
{
    const struct layout_kind *kind = &weighing->layout->kinds.items[number];

    if (!is_usable(weighing, kind) ||
        !device_is_asked_for(ask, &weighing->state->devices.items[kind->device]))
        return -1;
    return mig_find_profile(kind->board, ask->profile);
}

static void weigh_ask(struct weighing *weighing, const struct gpu_ask *ask, uint64_t demand)
{
    size_t kinds = weighing->layout->kinds.count;
    uint64_t options = 0;

    for (size_t k = 0; k < kinds && !weighing->is_fgd; k++) {
        int profile = profile_for(weighing, ask, k);
        if (profile >= 0)
            options += weighing->options.items[k * MIG_PROFILES_MAX + (size_t)profile];
    }
    for (size_t k = 0; k < kinds; k++) {
        int profile = profile_for(weighing, ask, k);
        if (profile < 0)
            continue;
        const struct mig_layout *layout = weighing->layout->kinds.items[k].table->layout;
        weighing->weights.items[k * MIG_PROFILES_MAX + (size_t)profile] +=
            (demand >> weighing->shift << 10) * layout->profiles[profile].memory / (options + 1);
    }
}

/* Each profile a little, as if asked for by its kind alone. */
static void weigh_unasked(struct weighing *weighing)
{
    const struct layout *layout = weighing->layout;

    for (size_t k = 0; k < layout->kinds.count; k++) {
        const struct layout_kind *kind = &layout->kinds.items[k];
        for (uint32_t p = 0; is_usable(weighing, kind) && p < kind->table->layout->profile_count;
             p++) {
            size_t at = k * MIG_PROFILES_MAX + p;
            uint64_t options = weighing->is_fgd ? 0 : weighing->options.items[at];
            weighing->weights.items[at] += ((uint64_t)NEVER_ASKED >> weighing->shift << 10) *
                                           kind->table->layout->profiles[p].memory / (options + 1);
        }
    }
}

static void weigh_demand(struct weighing *weighing)
{
    const struct state *state = weighing->state;
    const struct demand *demand = &state->demand;
    uint64_t most = 0;

    for (size_t i = 0; i < demand->shapes.count; i++)
        most = demand->shapes.items[i].weight > most ? demand->shapes.items[i].weight : most;
    while (most >> weighing->shift >> 24)
        weighing->shift++;
    LIST_EACH (const struct demand_shape, shape, &demand->shapes) {
        const struct request *request = class_request(&state->classes, shape->class);
        for (uint32_t a = 0; a < request->gpu_alternatives; a++) {
            const struct gpu_ask *ask = &request->gpus[a];
            if (ask->kind == SHARE_MIG)
                weigh_ask(weighing, ask, shape->weight * ask->count);
        }
    }
}

/* So that an empty device of any kind is worth at most SCARCITY_MOST. */
static void set_weights(scarcity_weights *scarcity, const struct weighing *weighing)
{
    const struct layout *layout = weighing->layout;
    uint64_t most = 1;

    for (size_t k = 0; k < layout->kinds.count; k++) {
        const struct mig_table *table = layout->kinds.items[k].table;
        uint64_t worth = 0;
        for (uint32_t p = 0; table && p < table->layout->profile_count; p++)
            worth += weighing->weights.items[k * MIG_PROFILES_MAX + p] * mig_options(table, 0, p);
        most = worth > most ? worth : most;
    }
    uint32_t shift = 0;
    while (most >> shift >> 40)
        shift++;
    for (size_t i = 0; i < weighing->weights.count; i++)
        scarcity->items[i] = (int32_t)((weighing->weights.items[i] >> shift) * SCARCITY_MOST /
                                       ((most >> shift) + 1));
}

void scarcity_weigh(scarcity_weights *scarcity, const struct state *state,
                    const struct fleet *fleet, bool is_fgd)
{
    const struct layout *layout = fleet->layout;
    struct weighing weighing = { .state = state, .layout = layout, .is_fgd = is_fgd };
    size_t count = 0;

    for (size_t k = 0; k < layout->kinds.count; k++) {
        if (layout->kinds.items[k].board)
            count = layout->kinds.count * MIG_PROFILES_MAX;
    }
    list_zero(scarcity, count);
    if (count == 0)
        return;
    list_zero(&weighing.options, count);
    list_zero(&weighing.weights, count);
    count_options(&weighing, fleet);
    weigh_demand(&weighing);
    weigh_unasked(&weighing);
    set_weights(scarcity, &weighing);
    list_release(&weighing.options);
    list_release(&weighing.weights);
}

int32_t scarcity_cost(const scarcity_weights *scarcity, const struct layout *layout, uint32_t kind,
                      uint32_t before, uint32_t after)
{
    const struct mig_table *table = layout->kinds.items[kind].table;
    const int32_t *weights = &scarcity->items[(size_t)kind * MIG_PROFILES_MAX];
    int32_t cost = 0;

    for (uint32_t p = 0; p < table->layout->profile_count; p++)
        cost += weights[p] *
                ((int32_t)mig_options(table, before, p) - (int32_t)mig_options(table, after, p));
    return cost;
}
