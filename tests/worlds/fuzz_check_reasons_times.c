/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job waits for an hour, or for money. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "worlds/fuzz_check.h"
#include "worlds/fuzz_leave.h"
#include "worlds/fuzz_reason.h"

bool fuzz_reservation_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow *shadow = reason->shadow;

    if (reason->why.window >= shadow->times.reservations.count)
        return UNTRUE(reason, found, "there is no reservation %u", reason->why.window);
    const struct shadow_reservation *reservation =
        &shadow->times.reservations.items[reason->why.window];
    return shadow_is_barred(shadow, reservation, reason->job) ||
           UNTRUE(reason, found, "reservation %s is not in its way", reservation->name);
}

/* Now, or from an edge on that it may live to see. */
bool fuzz_window_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow *shadow = reason->shadow;
    const struct shadow_queue *queue = fuzz_queue_of(reason, found);
    uint32_t number = reason->why.queue, resource = reason->why.resource;
    usec_t until = usec_after(shadow->now, shadow_stay_of(reason->job)), edge = shadow->now;

    if (!queue)
        return false;
    int64_t bound = shadow_bound_of(queue, resource, reason->why.is_firm);
    int64_t now = shadow_held_of(queue, resource, reason->why.is_firm);
    if (bound >= 0 && now + reason->why.wanted > bound)
        return true;
    for (;;) {
        edge = fuzz_edge_of_queue(shadow, number, edge);
        if (edge >= until)
            break;
        struct quota quota = shadow_quota_at(shadow, number, resource, edge);
        int64_t then = shadow_bound_by(&quota, queue->owned.of[resource]);
        int64_t held = fuzz_held_at(shadow, number, resource, edge, !reason->job->is_preemptible);
        if (then >= 0 && held + reason->why.wanted > then)
            return true;
    }
    return UNTRUE(reason, found, "queue %s may hold %" PRId64 " more of resource %u", queue->name,
                  reason->why.wanted, resource);
}

bool fuzz_tariff_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow *shadow = reason->shadow;
    const struct shadow_job *job = reason->job;
    uint32_t factor = shadow_factor(&shadow->times, shadow->now);
    usec_t limit = job->max_duration, at = reason->why.at;
    bool is_by_limit = job->estimate == 0 && job->attempt == 0 && !shadow->has_predicted;

    if (is_by_limit && job->deadline > 0 &&
        (limit >= job->deadline || at > job->deadline - limit - limit / 8))
        return UNTRUE(reason, found, "at %" PRId64 " its deadline of %" PRId64 " can't be kept", at,
                      job->deadline);
    if (job->tariff_most > 0 && factor >= job->tariff_most &&
        shadow_cheap_at(&shadow->times, job->tariff_most - 1, shadow->now) != USEC_NEVER &&
        at > shadow->now)
        return true;
    return UNTRUE(reason, found, "the factor is %u, and it waits for less than %u", factor,
                  job->tariff_most);
}

/* With all that runs to its limit the amount would be passed. */
bool fuzz_budget_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow_queue *queue = fuzz_queue_of(reason, found);
    const struct why *why = &reason->why;

    if (!queue || why->account >= ACCOUNTS)
        return false;
    const struct shadow_payer *payer =
        shadow_payer(reason->shadow, why->queue, why->user > 0 ? reason->job->user : "");
    if (!payer || (why->user > 0 &&
                   strcmp(state_user(reason->run->state, why->user - 1), reason->job->user) != 0))
        return UNTRUE(reason, found, "queue %s has no budget of user %u", queue->name, why->user);
    int64_t sum = fuzz_spent_at_most(reason->run, payer, (enum account_kind)why->account);
    int64_t most = payer->accounts[why->account].most,
            slack = (int64_t)reason->shadow->active.count;
    return (most != ACCOUNT_NO_BUDGET && (sum >= most || sum + why->wanted + slack >= most)) ||
           UNTRUE(reason, found,
                  "queue %s will have spent %" PRId64 " of %" PRId64 ", wanted %" PRId64,
                  queue->name, sum, most, why->wanted);
}
