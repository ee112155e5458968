/* SPDX-License-Identifier: Apache-2.0 */
/* The hours of a random world: windows, tariffs, reservations, prices, budgets, and what is
 * submitted again and again. */
#include "core/job/account.h"
#include "core/state/agenda.h"
#include "worlds/fuzz_make.h"

static const char *const windows[] = { "w1", "w2", "w3", "each day" };

static const char *random_window(struct making *making)
{
    return windows[making_below(making, COUNT_OF(windows) - 1)];
}

/* Of a few moments of the world, so that edges are those of others, begin times and limits. */
static usec_t random_length(struct making *making)
{
    usec_t quantum = making->world->temper.quantum;
    usec_t most = 3 * making->world->temper.run_usual / quantum + 2;

    return (usec_t)(1 + making_below(making, (uint32_t)most)) * quantum;
}

/* From somewhat before now on; now and then it is no more, or has only what is over. */
static void tell_window(struct making *making, const char *name)
{
    struct event_span *spans = arena_take(&making->world->strings, 6, sizeof(*spans));
    uint32_t count = making_chance(making, 5) ? 0 : 1 + making_below(making, 6);
    usec_t at = making->now;

    if (making_chance(making, 60))
        at -= (usec_t)making_below(making, 4) * random_length(making);
    at = at > 0 ? at : 1;
    for (uint32_t i = 0; i < count; i++) {
        spans[i].from = i > 0 ? at + random_length(making) : at;
        spans[i].until = spans[i].from + random_length(making);
        at = spans[i].until;
    }
    making_tell(making, &(struct event){ .kind = EVENT_WINDOW,
                                         .window = { .name = name,
                                                     .words = count > 0 ? "words" : "",
                                                     .spans = spans,
                                                     .spans_count = count,
                                                     .until = at } });
}

void making_window(struct making *making)
{
    if (making->has_times)
        tell_window(making, windows[making_below(making, COUNT_OF(windows))]);
}

void making_tariff(struct making *making)
{
    static const uint16_t factors[] = { 0, 300, 500, 800, 1000, 1500, 2500 };
    bool is_gone = making_chance(making, 15);

    if (!making->has_times)
        return;
    making_tell(making, &(struct event){
                            .kind = EVENT_TARIFF,
                            .tariff = { .name = making_chance(making, 50) ? "t1" : "t2",
                                        .window = is_gone ? "" : random_window(making),
                                        .factor_milli =
                                            factors[making_below(making, COUNT_OF(factors))] } });
}

static const char *few_nodes(struct making *making)
{
    uint32_t nodes = (uint32_t)making->nodes.count, first = making_below(making, nodes);

    return making_chance(making, 60)
               ? making_text(making, "n%u", first)
               : making_text(making, "n%u,n%u", first, making_below(making, nodes));
}

/* Mostly one at a time: then it is known what it keeps. */
void making_reservation(struct making *making)
{
    bool is_counted = making_chance(making, 50);
    uint8_t kind = (uint8_t)making_below(making, RESERVATION_USER + 1);
    const char *name = making_chance(making, 75) ? "r1" : making_chance(making, 60) ? "r2" : "r3";

    if (!making->has_times)
        return;
    if (making_chance(making, 30)) {
        making_tell(making, &(struct event){ .kind = EVENT_RESERVATION_REMOVE,
                                             .reservation_remove = { .name = name } });
        return;
    }
    struct event event = { .kind = EVENT_RESERVATION,
                           .reservation = { .name = name,
                                            .window = random_window(making),
                                            .kind = kind,
                                            .owner = "",
                                            .model = "",
                                            .nodes = "",
                                            .maker = "" } };
    if (kind == RESERVATION_QUEUE)
        event.reservation.owner = making_queue(making);
    if (kind == RESERVATION_USER)
        event.reservation.owner = making_chance(making, 70) ? "ana" : "eve";
    if (is_counted) {
        event.reservation.gpus = 1 + making_below(making, making->gpus / 2 + 1);
        event.reservation.model = making_chance(making, 30) ? making_model(making) : "";
    }
    if (!is_counted || making_chance(making, 20))
        event.reservation.nodes = few_nodes(making);
    making_tell(making, &event);
}

void making_price(struct making *making)
{
    static const char *const others[] = { "gpus", "cpus", "memory" };
    struct event event = { .kind = EVENT_PRICE };
    bool is_other = making->has_times && making_chance(making, 50);

    event.price.resource =
        is_other ? others[making_below(making, COUNT_OF(others))] : making_model(making);
    event.price.price_micro = (int64_t)making_below(making, 5) * (is_other ? 123457 : 1000000);
    making_tell(making, &event);
}

void making_cron(struct making *making)
{
    struct event event = { .kind = EVENT_CRON, .cron = { .id = 1 + making_below(making, 12) } };

    if (!making->has_times)
        return;
    if (making_chance(making, 30)) {
        event = (struct event){ .kind = EVENT_CRON_REMOVE, .cron_remove.id = event.cron.id };
    } else {
        event.cron.name = "again";
        event.cron.user = "ana";
        event.cron.schedule = "0 2 * * *";
        event.cron.trouble = "";
        event.cron.count = making_below(making, 100);
        event.cron.next = making->now + random_length(making);
    }
    making_tell(making, &event);
}

/* ---- of queues and pools ---- */

static int64_t random_bound(struct making *making, uint32_t percent)
{
    if (!making_chance(making, percent))
        return ABSENT;
    return making_chance(making, 15) ? QUOTA_NONE
                                     : (int64_t)making_below(making, making->gpus + 2) * 1000;
}

void making_add_times(struct making *making, struct event_queue *queue)
{
    struct event_during *during = arena_take(&making->world->strings, 2, sizeof(*during));
    struct event_budget *budgets = arena_take(&making->world->strings, 3, sizeof(*budgets));
    usec_t usual = making->world->temper.run_usual;

    for (uint32_t i = 0; making->has_times && i < 2 && making_chance(making, 45); i++) {
        during[i].window = random_window(making);
        during[i].resource = making_chance(making, 70)   ? "gpus"
                             : making_chance(making, 50) ? making_model(making)
                                                         : "cpus";
        struct quota *quota = &during[i].quota;
        quota->guarantee = making->has_quotas ? random_bound(making, 20) : ABSENT;
        quota->limit = random_bound(making, 80);
        quota->borrow = making->has_quotas ? random_bound(making, 20) : ABSENT;
        quota->lend = making->has_quotas ? random_bound(making, 20) : ABSENT;
        if (quota->guarantee == QUOTA_NONE)
            quota->guarantee = ABSENT;
        queue->during_count++;
    }
    for (uint32_t i = 0; making->has_times && i < 3 && making_chance(making, 40); i++) {
        budgets[i].account = (uint8_t)making_below(making, ACCOUNTS);
        budgets[i].window = making_chance(making, 70) ? "each day" : "";
        budgets[i].firmness = (uint8_t)making_below(making, FIRMNESSES);
        budgets[i].most = (int64_t)making_below(making, 30) * (1 + making->gpus / 4) * usual;
        if (budgets[i].account == ACCOUNT_MONEY)
            budgets[i].most = budgets[i].most / (USEC_PER_HOUR / 1000000) + making_below(making, 9);
        if (making_chance(making, 50))
            budgets[i].user = making_chance(making, 50) ? "each" : "ana";
        queue->budgets_count++;
    }
    queue->during = during;
    queue->budgets = budgets;
}

void making_add_pool_times(struct making *making, struct event_pool *pool)
{
    struct event_pool_during *during = arena_take(&making->world->strings, 1, sizeof(*during));

    if (!making->has_times || pool->is_static || !making_chance(making, 40))
        return;
    during->window = random_window(making);
    during->milli_min = making_chance(making, 60)
                            ? (int64_t)making_below(making, making->gpus / 3 + 1) * 1000
                            : ABSENT;
    during->milli_max = making_chance(making, 60)
                            ? (int64_t)(1 + making_below(making, making->gpus + 1)) * 1000
                            : ABSENT;
    pool->during = during;
    pool->during_count = 1;
}

void making_make_times(struct making *making)
{
    making->has_times = !making->world->temper.is_obedient && making_chance(making, 40);
    for (size_t i = 0; i < COUNT_OF(windows) && making->has_times; i++)
        tell_window(making, windows[i]);
    for (int i = 0; i < 3 && making->has_times; i++)
        making_price(making);
    if (making_chance(making, 60))
        making_tariff(making);
    if (making_chance(making, 60))
        making_reservation(making);
}
