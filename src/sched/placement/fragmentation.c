/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/fragmentation.h"

#include <assert.h>
#include <string.h>

enum { FIRST_LOOK = 16, LOOK_EVERY = 1024 };

/* The device's part that this ask would take; 0: not of the kind, or too small for it. */
static uint16_t need_of(const struct gpu_ask *ask, const struct device *device)
{
    if (!device_is_asked_for(ask, device) || ask->kind == SHARE_MIG || device->mig_enabled)
        return 0;
    if (ask->kind == SHARE_WHOLE)
        return GPU_MILLI;
    if (ask->milli > 0)
        return (uint16_t)(ask->milli <= GPU_MILLI ? ask->milli : 0);
    if (device->memory_mib <= 0 || ask->memory_mib > device->memory_mib)
        return 0;
    return (uint16_t)((ask->memory_mib * GPU_MILLI + device->memory_mib - 1) / device->memory_mib);
}

/* By insertion: there are few. */
static void sort_by_need(const uint16_t *needs, uint32_t count, uint8_t *ret_shapes)
{
    for (uint32_t m = 0; m < count; m++) {
        uint32_t at = m;
        for (; at > 0 && needs[ret_shapes[at - 1]] > needs[m]; at--)
            ret_shapes[at] = ret_shapes[at - 1];
        ret_shapes[at] = (uint8_t)m;
    }
}

/* Any of the alternatives: the first that the kind serves. */
static void set_needs(struct fragmentation *typical, const struct state *state,
                      const struct layout *layout)
{
    size_t kinds = layout->kinds.count;

    list_reserve(&typical->needs, kinds * TYPICAL_MAX + 1);
    list_zero(&typical->needs, kinds * TYPICAL_MAX);
    list_reserve(&typical->by_need, kinds * TYPICAL_MAX + 1);
    list_zero(&typical->by_need, kinds * TYPICAL_MAX);
    for (size_t k = 0; k < kinds; k++) {
        const struct device *device = &state->devices.items[layout->kinds.items[k].device];
        for (uint32_t m = 0; m < typical->count; m++) {
            const struct request *request =
                class_request(&state->classes, typical->shapes[m].class);
            uint16_t need = 0;
            for (uint32_t i = 0; i < request->gpu_alternatives && need == 0; i++)
                need = need_of(&request->gpus[i], device);
            typical->needs.items[k * TYPICAL_MAX + m] = device_is_usable(state, device) ? need : 0;
        }
        sort_by_need(&typical->needs.items[k * TYPICAL_MAX], typical->count,
                     &typical->by_need.items[k * TYPICAL_MAX]);
    }
}

static void add_demand(struct fragmentation *typical, const struct request *request,
                       uint64_t weight)
{
    const struct gpu_ask *ask = &request->gpus[0];
    int64_t parts = (int64_t)(weight / (DEMAND_ONE / 16)) + 1;

    if (request->gpu_alternatives == 0)
        return;
    if (ask->kind == SHARE_MIG)
        typical->gpu += parts * request_milli(request, 0, 0) / request->members;
    else
        typical->gpu += parts * (ask->milli ? (int64_t)ask->milli : GPU_MILLI) * ask->count;
    typical->cpu += parts * request->cpu_milli;
    typical->memory += parts * request->memory_mib;
}

static void insert(struct fragmentation *typical, const struct demand_shape *shape,
                   const struct class_table *classes)
{
    const struct request *request = class_request(classes, shape->class);
    uint32_t at = typical->count;

    if (at == TYPICAL_MAX && typical->shapes[at - 1].popularity >= shape->weight)
        return;
    at = at == TYPICAL_MAX ? at - 1 : at;
    typical->count = at + 1;
    for (; at > 0 && typical->shapes[at - 1].popularity < shape->weight; at--)
        typical->shapes[at] = typical->shapes[at - 1];
    typical->shapes[at] = (struct fragmentation_shape){
        .cpu_milli = request->cpu_milli,
        .memory_mib = request->memory_mib,
        .count = request->gpu_alternatives > 0 ? request->gpus[0].count : 0,
        .class = shape->class,
        .popularity = shape->weight,
    };
}

/* Nothing but instances: they have weights of their own (scarcity.c). */
static bool is_of_instances(const struct request *request)
{
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        if (request->gpus[i].kind != SHARE_MIG)
            return false;
    }
    return request->gpu_alternatives > 0;
}

static void find_shapes(struct fragmentation *typical, const struct state *state)
{
    const struct demand *demand = &state->demand;
    uint64_t total = 0, covered = 0;
    uint32_t kept = 0;

    typical->count = 0;
    typical->gpu = typical->cpu = typical->memory = 0;
    LIST_EACH (const struct demand_shape, shape, &demand->shapes) {
        const struct request *request = class_request(&state->classes, shape->class);
        add_demand(typical, request, shape->weight);
        if (is_of_instances(request))
            continue;
        total += shape->weight;
        insert(typical, shape, &state->classes);
    }
    /* Only the ratios matter: keep products small. */
    for (; typical->gpu >> 24; typical->gpu >>= 1) {
        typical->cpu >>= 1;
        typical->memory >>= 1;
    }
    while (kept < typical->count && covered * 100 < total * TYPICAL_COVER_PERCENT)
        covered += typical->shapes[kept++].popularity;
    typical->count = kept;
    while (kept > 0 && typical->shapes[0].popularity >> 40) {
        for (uint32_t m = 0; m < kept; m++)
            typical->shapes[m].popularity = typical->shapes[m].popularity / 2 + 1;
    }
}

/* How many more of this shape one node could take. */
static int64_t options_on(const struct fragmentation *typical, uint32_t m,
                          const struct fleet *fleet, uint32_t number)
{
    const struct fragmentation_shape *shape = &typical->shapes[m];
    const struct layout_node *at = &fleet->layout->nodes.items[number];
    const struct fleet_node *node = &fleet->nodes.items[number];
    int64_t options = 0;

    if (!at->is_up || node->milli <= 0)
        return 0;
    for (uint32_t i = at->first; i < at->first + at->count; i++) {
        uint16_t need = typical->needs.items[fleet->layout->slots.items[i].kind * TYPICAL_MAX + m];
        if (need > 0 && fleet->slots.items[i].milli >= need)
            options += fleet->slots.items[i].milli / need;
    }
    options /= shape->count;
    if (shape->cpu_milli > 0 && node->cpu_milli / shape->cpu_milli < options)
        options = node->cpu_milli / shape->cpu_milli;
    if (shape->memory_mib > 0 && node->memory_mib / shape->memory_mib < options)
        options = node->memory_mib / shape->memory_mib;
    return options > 0 ? options : 0;
}

static uint64_t square_root(uint64_t value)
{
    uint64_t root = 0;

    for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1) {
        if ((root | bit) * (root | bit) <= value)
            root |= bit;
    }
    return root;
}

static void set_weights(struct fragmentation *typical, const struct fleet *fleet)
{
    uint64_t total = 0, weights[TYPICAL_MAX];

    assert(typical->count <= TYPICAL_MAX);
    for (uint32_t m = 0; m < typical->count; m++) {
        uint64_t options = 0;
        for (uint32_t i = 0;
             !typical->is_fgd && typical->shapes[m].count > 0 && i < fleet->nodes.count; i++)
            options += (uint64_t)options_on(typical, m, fleet, i);
        /* sqrt in parts of 2^10 */
        uint64_t root = typical->is_fgd ? 1 << 10 : square_root((options + 1) << 20);
        weights[m] = (typical->shapes[m].popularity << 16) / root;
        total += weights[m];
    }
    typical->weight = 0;
    for (uint32_t m = 0; m < typical->count; m++) {
        struct fragmentation_shape *shape = &typical->shapes[m];
        shape->weight = total >> 20 > 0 ? (int64_t)(weights[m] / (total >> TYPICAL_ONE_BITS)) : 0;
        if (shape->count > 0 || typical->is_fgd) /* FGD: what needs no GPU can use none */
            typical->weight += shape->weight;
    }
}

void fragmentation_refresh(struct fragmentation *typical, const struct state *state,
                           const struct fleet *fleet)
{
    bool is_fgd = state->settings.placement == PLACEMENT_FGD;
    uint64_t noted = state->demand.noted, nodes = fleet->nodes.count;

    if (noted < typical->due && typical->layout == fleet->layout->version &&
        typical->is_fgd == is_fgd)
        return;
    uint64_t step = noted < FIRST_LOOK ? FIRST_LOOK : noted < LOOK_EVERY ? noted : LOOK_EVERY;
    typical->due = noted + (step == LOOK_EVERY && 2 * nodes > step ? 2 * nodes : step);
    typical->layout = fleet->layout->version;
    typical->is_fgd = is_fgd;
    typical->epoch++;
    find_shapes(typical, state);
    set_needs(typical, state, fleet->layout);
    set_weights(typical, fleet);
    scarcity_weigh(&typical->scarcity, state, fleet, is_fgd);
}

void fragmentation_copy(struct fragmentation *own, const struct fragmentation *typical,
                        const struct layout *layout)
{
    struct fragmentation copy = *typical;

    copy.layout = layout->version;
    memcpy(&copy.needs, &own->needs, sizeof(own->needs));
    memcpy(&copy.by_need, &own->by_need, sizeof(own->by_need));
    copy.scarcity = own->scarcity;
    *own = copy;
    list_copy(&own->needs, &typical->needs);
    list_copy(&own->by_need, &typical->by_need);
    list_copy(&own->scarcity, &typical->scarcity);
}

void fragmentation_release(struct fragmentation *typical)
{
    list_release(&typical->needs);
    list_release(&typical->by_need);
    list_release(&typical->scarcity);
}

/* Free GPU beyond what free CPUs (or memory) go with. */
static int64_t stranded(int64_t idle, int64_t rest, int64_t gpu, int64_t beside)
{
    return beside > 0 ? idle - rest * gpu / beside : 0;
}

static int64_t phi(const struct fragmentation *typical, const struct fragmentation_view *view,
                   int64_t idle)
{
    int64_t by_cpu = stranded(idle, view->cpu_milli, typical->gpu, typical->cpu);
    int64_t by_memory = stranded(idle, view->memory_mib, typical->gpu, typical->memory);
    int64_t most = by_cpu > by_memory ? by_cpu : by_memory;

    return most > 0 ? most : 0;
}

/* What is free of each device that is not full, the most first. Returns how many there are. */
static uint32_t sort_free(const struct fragmentation_view *view, int32_t ret_free[])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < view->slot_count; i++) {
        uint32_t at = count;
        if (view->milli[i] <= 0)
            continue;
        for (; at > 0 && ret_free[at - 1] < view->milli[i]; at--)
            ret_free[at] = ret_free[at - 1];
        ret_free[at] = view->milli[i];
        count++;
    }
    return count;
}

static void split_mixed(const struct fragmentation *typical, const struct fragmentation_view *view,
                        uint32_t m, uint32_t *ret_roomy, int32_t *ret_low)
{
    *ret_roomy = 0;
    *ret_low = 0;
    for (uint32_t i = 0; i < view->slot_count; i++) {
        uint16_t need = typical->needs.items[view->kinds[i] * TYPICAL_MAX + m];
        if (need > 0 && view->milli[i] >= need)
            ++*ret_roomy;
        else
            *ret_low += view->milli[i];
    }
}

static bool has_room_beside(const struct fragmentation_view *view,
                            const struct fragmentation_shape *shape)
{
    return view->cpu_milli >= shape->cpu_milli && view->memory_mib >= shape->memory_mib;
}

/* What typical shapes can use on a node whose devices are of one kind: what needs more has room on
 * fewer of them. */
static int64_t useful(const struct fragmentation *typical, const struct fragmentation_view *view,
                      int64_t idle)
{
    const uint16_t *needs = &typical->needs.items[view->kind * TYPICAL_MAX];
    const uint8_t *by_need = &typical->by_need.items[view->kind * TYPICAL_MAX];
    int32_t free[TYPICAL_SLOTS_MAX], low = 0;
    uint32_t roomy = sort_free(view, free);
    int64_t used = 0;

    for (uint32_t i = 0; i < typical->count && roomy > 0; i++) {
        uint32_t m = by_need[i];
        const struct fragmentation_shape *shape = &typical->shapes[m];
        for (; roomy > 0 && free[roomy - 1] < needs[m]; roomy--)
            low += free[roomy - 1];
        if (needs[m] > 0 && roomy >= shape->count && has_room_beside(view, shape))
            used += shape->weight * (idle - low);
    }
    return used;
}

static int64_t useful_mixed(const struct fragmentation *typical,
                            const struct fragmentation_view *view, int64_t idle)
{
    int64_t used = 0;

    for (uint32_t m = 0; m < typical->count; m++) {
        const struct fragmentation_shape *shape = &typical->shapes[m];
        uint32_t roomy = 0;
        int32_t low = 0;
        if (shape->count == 0 || !has_room_beside(view, shape))
            continue;
        split_mixed(typical, view, m, &roomy, &low);
        if (roomy >= shape->count)
            used += shape->weight * (idle - low);
    }
    return used;
}

int64_t fragmentation_waste(const struct fragmentation *typical,
                            const struct fragmentation_view *view)
{
    int64_t idle = 0;

    assert(view->slot_count <= TYPICAL_SLOTS_MAX);
    for (uint32_t i = 0; i < view->slot_count; i++)
        idle += view->milli[i];
    if (idle == 0)
        return 0;
    int64_t waste = typical->weight * idle;
    waste -= view->kind == LAYOUT_MIXED ? useful_mixed(typical, view, idle)
                                        : useful(typical, view, idle);
    if (!typical->is_fgd)
        waste += phi(typical, view, idle) << (TYPICAL_ONE_BITS - 1); /* half */
    return waste;
}
