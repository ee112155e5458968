/* SPDX-License-Identifier: Apache-2.0 */
/* What leases take of queues, users and groups, and what they cost. */
#include <assert.h>
#include <string.h>

#include "base/wide.h"
#include "core/state/fold.h"

void state_advance_clock(struct state *state)
{
    struct agenda *agenda = &state->agenda;

    agenda->clock += (uint64_t)(state->now - agenda->clock_at) * agenda->factor_milli;
    agenda->clock_at = state->now;
}

void state_charge_payer(struct state *state, uint32_t payer)
{
    assert(payer < state->payers.items.count);
    state_advance_clock(state);
    payer_charge(&state->payers.items.items[payer], state->now, state->agenda.clock);
}

static int64_t priced(int64_t amount, int64_t parts, int64_t price_micro)
{
    return amount > 0 && price_micro > 0
               ? (int64_t)wide_scale((uint64_t)amount, (uint64_t)price_micro, (uint64_t)parts)
               : 0;
}

/* What a part of a device costs more an hour because of its node. */
static int64_t more_for_node(const struct state *state, const struct device *device, int64_t milli)
{
    int64_t price = state_node_price(state, device);

    return price > 0 ? priced(milli, GPU_MILLI, price) -
                           priced(milli, GPU_MILLI, state_model_price(state, device))
                     : 0;
}

void amounts_of_lease(const struct state *state, const struct lease *lease, struct amounts *ret)
{
    *ret = (struct amounts){
        .of = { [RESOURCE_GPUS] = lease->milli,
                [RESOURCE_CPUS] = lease_cpus(lease),
                [RESOURCE_MEMORY] = lease_memory(lease) },
        .is_placed = true,
    };
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct device *device = &state->devices.items[lease->slices[i].device];
        int64_t milli = lease->slices[i].milli;
        if (device->resource > 0)
            ret->of[device->resource] += milli;
        if (device->kind_resource > 0)
            ret->of[device->kind_resource] += milli;
        if (!device_is_gpu(device))
            ret->of[RESOURCE_GPUS] -= milli;
        if (state->node_price_least > 0)
            ret->rate_more += more_for_node(state, device, milli);
    }
}

/* Of devices that are no GPUs, those whose model has a price do not cost what their kind does. */
static int64_t held_by_price(const struct state *state, const struct amounts *held, uint32_t number)
{
    const struct resource_name *resources = state->resources.items;
    int64_t left = held->of[number];

    for (uint32_t i = RESOURCE_MODELS; i < state->resources.count; i++) {
        if (i != number && resources[number].kind == number && resources[i].kind == number &&
            resources[i].price_micro > 0)
            left -= held->of[i];
    }
    return left;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* By models. most: of a device, whatever its model costs. */
static int64_t rate_by_models(const struct state *state, const struct amounts *held, int64_t most)
{
    const struct resource_name *resources = state->resources.items;
    int64_t rate = 0, others = held->of[RESOURCE_GPUS];

    for (uint32_t i = RESOURCE_MODELS; i < state->resources.count; i++) {
        if (resources[i].price_micro == 0)
            continue;
        rate += priced(resources[i].is_other ? held_by_price(state, held, i) : held->of[i],
                       GPU_MILLI, least_of(resources[i].price_micro, most));
        others -= resources[i].is_other ? 0 : held->of[i];
    }
    rate += priced(others, GPU_MILLI, least_of(resources[RESOURCE_GPUS].price_micro, most));
    rate += priced(held->of[RESOURCE_CPUS], 1000, resources[RESOURCE_CPUS].price_micro);
    rate += priced(held->of[RESOURCE_MEMORY], 1024, resources[RESOURCE_MEMORY].price_micro);
    return rate;
}

static int64_t state_rate_of(const struct state *state, const struct amounts *held)
{
    return rate_by_models(state, held, INT64_MAX) + held->rate_more;
}

/* Of the cheapest GPU, if all models of the cluster have prices of their own. */
static int64_t least_price(const struct state *state)
{
    const struct resource_name *resources = state->resources.items;
    int64_t least = INT64_MAX, priced = 0;

    for (uint32_t i = RESOURCE_MODELS; i < state->resources.count; i++) {
        int64_t price = resources[i].price_micro, milli = state->capacity.models[i];
        if (price == 0 || resources[i].is_other || milli == 0)
            continue;
        priced += milli;
        least = price < least ? price : least;
    }
    return priced > 0 && priced == state->capacity.milli ? least
                                                         : resources[RESOURCE_GPUS].price_micro;
}

int64_t state_least_rate_of(const struct state *state, const struct amounts *wanted)
{
    const struct resource_name *resources = state->resources.items;
    int64_t others = wanted->of[RESOURCE_GPUS];
    int64_t most = state->node_price_least > 0 ? state->node_price_least : INT64_MAX;

    if (wanted->is_placed && state->node_price_least > 0)
        return state_rate_of(state, wanted);
    for (uint32_t i = RESOURCE_MODELS; i < state->resources.count; i++)
        others -= resources[i].price_micro > 0 && !resources[i].is_other ? wanted->of[i] : 0;
    int64_t rate = rate_by_models(state, wanted, most);
    if (others <= 0)
        return rate;
    return rate + priced(others, GPU_MILLI, least_of(least_price(state), most)) -
           priced(others, GPU_MILLI, least_of(resources[RESOURCE_GPUS].price_micro, most));
}

int64_t state_rate(const struct state *state, const struct lease *lease)
{
    struct amounts held;

    amounts_of_lease(state, lease, &held);
    return state_rate_of(state, &held);
}

void state_charge_job(struct state *state, struct job *job, bool begins)
{
    struct cost *cost = &job_claim_run(job)->cost;

    state_advance_clock(state);
    cost_charge(cost, state->agenda.clock);
    if (begins)
        cost->rate = state_rate(state, job->run->lease);
}

int64_t state_cost(const struct state *state, const struct job *job, usec_t at)
{
    struct cost cost = job->run->cost;

    cost_charge(&cost, agenda_clock(&state->agenda, at));
    return cost.micro;
}

/* Periods that begin on the way are passed over: time passes for the state when it is told. */
void state_accounts(const struct state *state, uint32_t payer, usec_t at, struct account *ret)
{
    struct payer copy = state->payers.items.items[payer];

    payer_charge(&copy, at, agenda_clock(&state->agenda, at));
    memcpy(ret, copy.accounts, sizeof(copy.accounts));
}

static void count_amounts(struct state *state, const struct job *job, int sign)
{
    struct amounts amounts;

    amounts_of_lease(state, job->run->lease, &amounts);
    for (uint32_t at = job->queue;; at = state->queues.items[at].parent) {
        amounts_add(&state->queues.items[at].used, &amounts, sign);
        if (!job->is_preemptible)
            amounts_add(&state->queues.items[at].firm, &amounts, sign);
        holding_add(&state->holdings, at, SUBJECT_USER, job->user, &amounts, sign);
        holding_add(&state->holdings, at, SUBJECT_GROUP, job->gid, &amounts, sign);
        if (at == QUEUE_ROOT)
            break;
    }
    for (struct payer_walk at = payers_first(state, job); at.payer != PAYER_NONE;
         payers_next(state, &at)) {
        struct payer *payer = &state->payers.items.items[at.payer];
        payer->rate += sign * job->run->cost.rate;
        payer->milli += sign * amounts.of[RESOURCE_GPUS];
    }
}

void state_recount(struct state *state)
{
    LIST_EACH (struct queue, queue, &state->queues)
        queue->used = queue->firm = (struct amounts){ 0 };
    LIST_EACH (struct payer, payer, &state->payers.items)
        payer->rate = payer->milli = 0;
    holdings_release(&state->holdings);
    for (const struct job *job = state->first_active; job; job = job->run->active_next)
        count_amounts(state, job, 1);
}

void state_count(struct state *state, struct job *job, int sign)
{
    assert(job->run->lease);

    const struct lease *lease = job->run->lease;

    room_add(&state->room, lease, -sign);
    if (state->on_lease)
        state->on_lease(state->on_lease_user, job, sign);
    count_amounts(state, job, sign);
    for (uint32_t at = job->queue;; at = state->queues.items[at].parent) {
        for (size_t i = 0; i < SHARES; i++)
            state->queues.items[at].share[i] += sign * (int64_t)lease->shares[i];
        if (at == QUEUE_ROOT)
            break;
    }
    for (struct group *group = state_group(state, job->group); group;
         group = state_group(state, group->parent))
        group->active_count += (uint32_t)sign;
}

void state_charge(struct state *state, struct job *job, int sign)
{
    for (uint32_t at = job->queue;; at = state->queues.items[at].parent) {
        queue_advance(&state->queues.items[at], state->now, state->settings.half_life);
        if (at == QUEUE_ROOT)
            break;
    }
    for (struct payer_walk at = payers_first(state, job); at.payer != PAYER_NONE;
         payers_next(state, &at))
        state_charge_payer(state, at.payer);
    state_charge_job(state, job, sign > 0);
    state_count(state, job, sign);
    if (sign < 0)
        job_claim_run(job)->cost.rate = 0;
}

void state_reprice(struct state *state)
{
    for (uint32_t i = 0; i < state->payers.items.count; i++)
        state_charge_payer(state, i);
    for (struct job *job = state->first_active; job; job = job->run->active_next)
        state_charge_job(state, job, true);
    state_recount(state);
}

/* ---- budgets ---- */

/* The budget of a user by name counts instead of that for each. */
static const struct budget *budget_of(const struct queue *queue, uint32_t user,
                                      enum account_kind kind)
{
    const struct budget *own = NULL, *each = NULL;

    LIST_EACH (const struct budget, budget, &queue->budgets) {
        if (budget->account == kind && budget->user == user)
            own = budget;
        if (budget->account == kind && budget->user == PAYER_EACH && user != PAYER_ALL)
            each = budget;
    }
    return own ? own : each;
}

/* What was spent stays: a budget of the same period goes on in it. What a user spends is counted
 * from when there is a budget. */
static void set_account(const struct state *state, uint32_t user, struct account *account,
                        const struct budget *budget)
{
    uint32_t window = budget ? budget->window : 0;
    bool is_new = user != PAYER_ALL && account->most == ACCOUNT_NO_BUDGET;

    account->most = budget ? budget->most : ACCOUNT_NO_BUDGET;
    account->firmness = budget ? budget->firmness : 0;
    if (account->window == window && !is_new)
        return;
    account->window = window;
    account->since =
        window > 0 ? agenda_period_start(state->agenda.windows.items[window - 1], state->now) : 0;
    account->spent = 0;
    account->rest = 0;
}

static void set_payer(struct state *state, uint32_t number)
{
    struct payer *payer = &state->payers.items.items[number];

    state_charge_payer(state, number);
    for (enum account_kind kind = 0; kind < ACCOUNTS; kind++)
        set_account(state, payer->user, &payer->accounts[kind],
                    budget_of(&state->queues.items[payer->queue], payer->user, kind));
}

static bool has_budget_for(const struct queue *queue, uint32_t user)
{
    return queue->budgets.count > 0 &&
           (budget_of(queue, user, ACCOUNT_MONEY) || budget_of(queue, user, ACCOUNT_GPU_TIME));
}

void state_claim_payers(struct state *state, const struct job *job)
{
    for (uint32_t at = job->queue; at != QUEUE_NONE; at = queue_above(state->queues.items, at)) {
        if (has_budget_for(&state->queues.items[at], job->user) &&
            payers_find_user(&state->payers, at, job->user) == PAYER_NONE)
            set_payer(state, state_add_payer(state, at, job->user));
    }
}

void state_follow_budgets(struct state *state, uint32_t queue)
{
    for (uint32_t i = 0; i < state->payers.items.count; i++) {
        if (state->payers.items.items[i].queue == queue)
            set_payer(state, i);
    }
    if (!queue_bounds_users(&state->queues.items[queue]))
        return;
    for (const struct job *job = state->first_job; job; job = job->next) {
        if (job->state != JOB_ENDED)
            state_claim_payers(state, job);
    }
    state_recount(state);
}

static uint64_t worth_of(const struct state *state, const struct lease *lease)
{
    uint64_t worth = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++)
        worth += wide_scale((uint64_t)state_worth(state, lease->slices[i].device),
                            lease->slices[i].milli, GPU_MILLI);
    return worth;
}

static uint32_t part_of(uint32_t share, uint64_t part, uint64_t whole)
{
    return whole > 0 ? (uint32_t)wide_scale(share, part, whole) : 0;
}

void state_scale_shares(const struct state *state, struct lease *lease, const struct lease *from)
{
    assert(lease->members_count <= from->members_count);

    uint64_t of_gpus[2] = { worth_of(state, lease), worth_of(state, from) };

    lease->share = 0;
    for (size_t i = 0; i < SHARES; i++) {
        lease->shares[i] = i == SHARE_OF_GPUS ? part_of(from->shares[i], of_gpus[0], of_gpus[1])
                                              : part_of(from->shares[i], lease->members_count,
                                                        from->members_count);
        lease->share = lease->shares[i] > lease->share ? lease->shares[i] : lease->share;
    }
}
