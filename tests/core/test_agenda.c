/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/agenda.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/snapshot/snapshot.h"
#include "core/state/fold.h"

static void tell_at(struct state *state, usec_t at, struct event event)
{
    struct error err;

    event.at = at;
    if (state_apply(state, &event, &err) < 0)
        fail_msg("%s", err.text);
}

static void window_at_times(struct state *state, usec_t now, const char *name,
                            const struct event_span *spans, uint32_t count)
{
    tell_at(
        state, now,
        (struct event){
            .kind = EVENT_WINDOW,
            .window = { .name = name, .words = "words", .spans = spans, .spans_count = count } });
}

static void tariff(struct state *state, usec_t now, const char *name, const char *window,
                   uint32_t factor)
{
    tell_at(state, now,
            (struct event){ .kind = EVENT_TARIFF,
                            .tariff = { .name = name, .window = window, .factor_milli = factor } });
}

#define HOURS(n) ((usec_t)(n)*USEC_PER_HOUR)

/* One machine with a GPU that costs 3 an hour, and a job that holds it from 1 h on. */
static struct state *busy_world(void)
{
    static const struct lease_member member = { 0 };
    static const struct slice slice = { .milli = GPU_MILLI };
    struct state *state = state_create();
    struct event submit = { .kind = EVENT_SUBMIT,
                            .submit = { .id = 1, .name = "j", .user = "ana", .queue = "q" } };

    tell_at(state, 1,
            (struct event){ .kind = EVENT_NODE, .node = { .name = "a", .cpu_milli = 4000 } });
    tell_at(state, 1,
            (struct event){ .kind = EVENT_DEVICE,
                            .device = { .node = "a", .uuid = "a0", .model = "h100" } });
    tell_at(state, 1,
            (struct event){ .kind = EVENT_PRICE,
                            .price = { .resource = "h100", .price_micro = 3000000 } });
    tell_at(state, 1,
            (struct event){ .kind = EVENT_QUEUE, .queue = { .name = "q", .gpus = QUOTA_OPEN } });
    request_default(&submit.submit.request);
    tell_at(state, 1, submit);
    tell_at(state, HOURS(1),
            (struct event){ .kind = EVENT_GRANT,
                            .grant = { .job = 1,
                                       .attempt = 1,
                                       .lease = { .members = &member,
                                                  .members_count = 1,
                                                  .slices = &slice,
                                                  .slices_count = 1,
                                                  .milli = GPU_MILLI } } });
    return state;
}

static const struct payer *payer_of(const struct state *state)
{
    return &state->payers.items.items[state->queues.items[2].payer];
}

static int64_t spent(const struct state *state, enum account_kind kind, usec_t at)
{
    struct account accounts[ACCOUNTS];

    state_accounts(state, state->queues.items[2].payer, at, accounts);
    return accounts[kind].spent;
}

static void of_several_open_tariffs_the_last_one_counts(void **unused)
{
    static const struct event_span nights[] = { { HOURS(2), HOURS(6) } };
    static const struct event_span peak[] = { { HOURS(4), HOURS(8) } };
    (void)unused;
    AUTO(state) struct state *state = state_create();
    usec_t until;

    window_at_times(state, 1, "nights", nights, 1);
    window_at_times(state, 1, "peak", peak, 1);
    tariff(state, 1, "a", "nights", 500);
    tariff(state, 1, "b", "peak", 2000);
    assert_int_equal(agenda_factor(&state->agenda, HOURS(1), &until), 1000);
    assert_int_equal(until, HOURS(2));
    assert_int_equal(agenda_factor(&state->agenda, HOURS(3), &until), 500);
    assert_int_equal(agenda_factor(&state->agenda, HOURS(5), &until), 2000);
    assert_int_equal(until, HOURS(6));
    assert_int_equal(agenda_cheap_at(&state->agenda, 999, HOURS(1)), HOURS(2));
    assert_int_equal(agenda_cheap_at(&state->agenda, 1000, HOURS(5)), HOURS(8));
    assert_int_equal(agenda_cheap_at(&state->agenda, 400, HOURS(1)), USEC_NEVER);
    /* One that is said again is the last from then on. */
    tariff(state, 1, "a", "nights", 500);
    assert_int_equal(agenda_factor(&state->agenda, HOURS(5), NULL), 500);
    tariff(state, 1, "a", "", 0);
    assert_int_equal(agenda_factor(&state->agenda, HOURS(3), NULL), 1000);
}

static void what_is_held_costs_its_price_times_the_factor_of_each_hour(void **unused)
{
    static const struct event_span nights[] = { { HOURS(2), HOURS(6) } };
    (void)unused;
    AUTO(state) struct state *state = busy_world();

    window_at_times(state, HOURS(1), "nights", nights, 1);
    tariff(state, HOURS(1), "n", "nights", 500);
    /* 1 h at 3, 4 h at 1.5, 2 h at 3 */
    assert_int_equal(state_cost(state, state_job(state, 1), HOURS(8)), 15000000);
    assert_int_equal(spent(state, ACCOUNT_MONEY, HOURS(8)), 15000000);
    assert_int_equal(spent(state, ACCOUNT_GPU_TIME, HOURS(8)), HOURS(7));
    /* The same when time passes in a jump, and a price changes in the middle. */
    tell_at(state, HOURS(7),
            (struct event){ .kind = EVENT_PRICE,
                            .price = { .resource = "h100", .price_micro = 6000000 } });
    assert_int_equal(state_cost(state, state_job(state, 1), HOURS(8)), 18000000);
    assert_int_equal(spent(state, ACCOUNT_MONEY, HOURS(8)), 18000000);
}

static void many_small_steps_cost_what_one_does(void **unused)
{
    (void)unused;
    AUTO(state) struct state *state = busy_world();
    usec_t at = HOURS(1);

    for (int i = 0; i < 100000; i++) {
        at += 7;
        state->now = at;
        state_charge_payer(state, state->queues.items[2].payer);
        state_charge_job(state, state_job(state, 1), false);
    }
    assert_int_equal(spent(state, ACCOUNT_MONEY, HOURS(3)), 6000000);
    assert_int_equal(state_cost(state, state_job(state, 1), HOURS(3)), 6000000);
}

/* Its budget begins anew at 4 h and at 9 h. */
static void give_budget(struct state *state, usec_t now)
{
    static const struct event_span periods[] = { { 1, HOURS(4) }, { HOURS(9), HOURS(14) } };
    static const struct event_budget budgets[] = {
        { .window = "each month", .most = 5000000 },
        { .window = "each month", .most = 4000000, .user = EACH_USER },
    };

    window_at_times(state, now, "each month", periods, 2);
    tell_at(
        state, now,
        (struct event){
            .kind = EVENT_QUEUE,
            .queue = { .name = "q", .gpus = QUOTA_OPEN, .budgets = budgets, .budgets_count = 2 } });
}

static void a_period_begins_whenever_its_window_opens_or_closes(void **unused)
{
    (void)unused;
    AUTO(state) struct state *state = busy_world();

    give_budget(state, HOURS(1));
    tell_at(state, HOURS(3), (struct event){ .kind = EVENT_PLAN });
    assert_int_equal(spent(state, ACCOUNT_MONEY, HOURS(3)), 6000000);
    tell_at(state, HOURS(5), (struct event){ .kind = EVENT_PLAN });
    assert_int_equal(spent(state, ACCOUNT_MONEY, HOURS(5)), 3000000);
    /* GPU-time has no period: it goes on. */
    assert_int_equal(spent(state, ACCOUNT_GPU_TIME, HOURS(5)), HOURS(4));
    tell_at(state, HOURS(10), (struct event){ .kind = EVENT_PLAN });
    assert_int_equal(spent(state, ACCOUNT_MONEY, HOURS(10)), 3000000);
    assert_int_equal(payer_of(state)->accounts[ACCOUNT_MONEY].since, HOURS(9));
}

static void a_clock_that_is_set_begins_no_period(void **unused)
{
    static const struct event_span later[] = { { HOURS(4) + 2000000, HOURS(9) + 2000000 } };
    static const struct event_span other[] = { { HOURS(4), HOURS(7) } };
    (void)unused;
    AUTO(state) struct state *state = busy_world();

    give_budget(state, HOURS(1));
    tell_at(state, HOURS(5), (struct event){ .kind = EVENT_PLAN });
    window_at_times(state, HOURS(5), "each month", later, 1);
    assert_int_equal(spent(state, ACCOUNT_MONEY, HOURS(5)), 3000000);
    /* Nor does a period that is shorter than it was thought to be: it ends earlier. */
    window_at_times(state, HOURS(6), "each month", other, 1);
    assert_int_equal(spent(state, ACCOUNT_MONEY, HOURS(6)), 6000000);
    tell_at(state, HOURS(8), (struct event){ .kind = EVENT_PLAN });
    assert_int_equal(spent(state, ACCOUNT_MONEY, HOURS(8)), 3000000);
}

static void users_have_budgets(struct state *state, usec_t now, const struct event_budget *budgets,
                               uint32_t count)
{
    tell_at(state, now,
            (struct event){ .kind = EVENT_QUEUE,
                            .queue = { .name = "q",
                                       .gpus = QUOTA_OPEN,
                                       .budgets = budgets,
                                       .budgets_count = count } });
}

static void a_user_pays_from_when_there_is_a_budget(void **unused)
{
    static const struct event_budget budgets[] = {
        { .user = EACH_USER, .window = "", .most = 5000000, .account = ACCOUNT_MONEY },
        { .user = "ana", .window = "", .most = 8000000, .account = ACCOUNT_MONEY },
        { .user = "ben", .window = "", .most = 9000000, .account = ACCOUNT_MONEY },
    };
    (void)unused;
    AUTO(state) struct state *state = busy_world(); /* of ana, one GPU for 3 an hour, from 1 h on */
    struct account accounts[ACCOUNTS];

    assert_int_equal(state->payers.items.count, state->queues.count);
    users_have_budgets(state, HOURS(2), budgets, 3);
    /* A user without a job there has no account. */
    assert_int_equal(state->payers.items.count, state->queues.count + 1);
    uint32_t ana = payers_find_user(&state->payers, 2, state_job(state, 1)->user);
    assert_int_not_equal(ana, PAYER_NONE);
    state_accounts(state, ana, HOURS(4), accounts);
    assert_int_equal(accounts[ACCOUNT_MONEY].most, 8000000);
    assert_int_equal(accounts[ACCOUNT_MONEY].spent, 6000000);
    assert_int_equal(accounts[ACCOUNT_GPU_TIME].most, ACCOUNT_NO_BUDGET);
    /* Another amount goes on in what was spent; without one and with one again it is none. */
    users_have_budgets(state, HOURS(3), budgets, 1);
    state_accounts(state, ana, HOURS(4), accounts);
    assert_int_equal(accounts[ACCOUNT_MONEY].most, 5000000);
    assert_int_equal(accounts[ACCOUNT_MONEY].spent, 6000000);
    users_have_budgets(state, HOURS(4), budgets, 0);
    users_have_budgets(state, HOURS(5), budgets, 3);
    state_accounts(state, ana, HOURS(6), accounts);
    assert_int_equal(accounts[ACCOUNT_MONEY].spent, 3000000);
    assert_int_equal(spent(state, ACCOUNT_MONEY, HOURS(6)), 15000000);
}

static void queues_and_pools_have_other_bounds_while_a_window_is_open(void **unused)
{
    static const struct event_span nights[] = { { HOURS(2), HOURS(6) } };
    static const struct event_during during = { "nights",
                                                "gpus",
                                                { ABSENT, 4000, QUOTA_NONE, ABSENT } };
    static const struct event_pool_during size = { "nights", ABSENT, 1000 };
    (void)unused;
    AUTO(state) struct state *state = state_create();

    window_at_times(state, 1, "nights", nights, 1);
    tell_at(state, 1,
            (struct event){ .kind = EVENT_QUEUE,
                            .queue = { .name = "q",
                                       .gpus = { 1000, 2000, 500, QUOTA_NONE },
                                       .during = &during,
                                       .during_count = 1 } });
    tell_at(state, 1,
            (struct event){ .kind = EVENT_POOL,
                            .pool = { .name = "p",
                                      .milli_min = 500,
                                      .milli_max = 3000,
                                      .during = &size,
                                      .during_count = 1 } });
    const struct queue *queue = &state->queues.items[2];
    const struct pool *pool = &state->pools.items[1];
    assert_int_equal(queue->quota[0].limit, 2000);
    assert_int_equal(pool->milli_max, 3000);
    tell_at(state, HOURS(2), (struct event){ .kind = EVENT_PLAN });
    assert_int_equal(queue->quota[0].limit, 4000);
    assert_int_equal(queue->quota[0].borrow, QUOTA_NONE);
    assert_int_equal(queue->quota[0].guarantee, 1000);
    assert_int_equal(pool->milli_max, 1000);
    assert_int_equal(pool->milli_min, 500);
    tell_at(state, HOURS(6), (struct event){ .kind = EVENT_PLAN });
    assert_int_equal(queue->quota[0].limit, 2000);
    assert_int_equal(queue->quota[0].borrow, 500);
    assert_int_equal(pool->milli_max, 3000);
    /* What the window had is its base, whatever is open when it is said. */
    struct quota quota;
    state_quota_at(state, 2, RESOURCE_GPUS, HOURS(3), &quota);
    assert_int_equal(quota.limit, 4000);
}

static void a_snapshot_has_all_of_it(void **unused)
{
    static const struct event_span nights[] = { { HOURS(2), HOURS(6) } };
    static const struct event_during during = { "nights",
                                                "h100",
                                                { ABSENT, 3000, ABSENT, ABSENT } };
    (void)unused;
    AUTO(state) struct state *state = busy_world();
    AUTO_RELEASE(text) struct text before = { 0 }, after = { 0 };
    AUTO(state) struct state *loaded = NULL;
    struct error err;

    give_budget(state, HOURS(1));
    window_at_times(state, HOURS(1), "nights", nights, 1);
    tariff(state, HOURS(1), "n", "nights", 700);
    tell_at(
        state, HOURS(1),
        (struct event){
            .kind = EVENT_QUEUE,
            .queue = { .name = "r", .gpus = QUOTA_OPEN, .during = &during, .during_count = 1 } });
    tell_at(state, HOURS(1),
            (struct event){ .kind = EVENT_RESERVATION,
                            .reservation = { .name = "exam",
                                             .window = "nights",
                                             .kind = RESERVATION_USER,
                                             .owner = "ana",
                                             .gpus = 1,
                                             .nodes = "n1,n2", /* as in older journals */
                                             .maker = "ben" } });
    tell_at(
        state, HOURS(3),
        (struct event){ .kind = EVENT_CRON,
                        .cron = { .id = 1, .name = "c", .user = "ana", .schedule = "* * * * *" } });
    /* All is charged up to here. */
    tell_at(state, HOURS(3),
            (struct event){ .kind = EVENT_PRICE,
                            .price = { .resource = "h100", .price_micro = 6000000 } });
    snapshot_save(state, &before);
    if (snapshot_load(before.bytes, before.length, &loaded, &err) < 0)
        fail_msg("%s", err.text);
    snapshot_save(loaded, &after);
    assert_int_equal(before.length, after.length);
    assert_memory_equal(before.bytes, after.bytes, before.length);
    assert_int_equal(loaded->queues.items[3].quota[RESOURCE_MODELS].limit, 3000);
    assert_int_equal(state_cost(loaded, state_job(loaded, 1), HOURS(9)),
                     state_cost(state, state_job(state, 1), HOURS(9)));
    assert_int_equal(spent(loaded, ACCOUNT_MONEY, HOURS(3)), spent(state, ACCOUNT_MONEY, HOURS(3)));
    assert_true(spent(loaded, ACCOUNT_MONEY, HOURS(3)) > 0);
    assert_true(spent(loaded, ACCOUNT_GPU_TIME, HOURS(3)) > 0);
    assert_int_equal(loaded->agenda.next_edge, HOURS(4));
    const struct reservation *exam = &loaded->agenda.reservations.items[0];
    assert_int_equal(exam->user, state->agenda.reservations.items[0].user);
    assert_int_equal(exam->where.count, 2);
    assert_string_equal(exam->where.items[1].key, "node");
    assert_string_equal(exam->where.items[1].value, "n2");
    assert_true(exam->where.items[0].is_or && !exam->where.items[1].is_or);
}

static void what_makes_no_sense_is_refused(void **unused)
{
    static const struct event_span empty[] = { { HOURS(2), HOURS(2) } };
    const struct {
        struct event event;
        const char *text;
    } cases[] = {
        { { .kind = EVENT_WINDOW,
            .window = { .name = "w", .words = "x", .spans = empty, .spans_count = 1 } },
          "journal: window w: span 1 ends before it begins" },
        { { .kind = EVENT_RESERVATION_REMOVE, .reservation_remove = { .name = "r" } },
          "reservation r: there is none" },
        { { .kind = EVENT_RESERVATION, .reservation = { .name = "r", .kind = 9 } },
          "reservation r: kind 9 is not known" },
        { { .kind = EVENT_TARIFF,
            .tariff = { .name = "t", .window = "w", .factor_milli = TARIFF_MAX + 1 } },
          "tariff t: is invalid" },
        { { .kind = EVENT_CRON_REMOVE, .cron_remove = { .id = 4 } }, "cron 4: there is none" },
        { { .kind = EVENT_CRON, .cron = { .id = 0 } }, "cron 0: its number is taken" },
    };
    (void)unused;
    AUTO(state) struct state *state = state_create();

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err;
        assert_int_equal(state_apply(state, &cases[i].event, &err), -EBADMSG);
        assert_string_equal(err.text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_several_open_tariffs_the_last_one_counts),
        cmocka_unit_test(what_is_held_costs_its_price_times_the_factor_of_each_hour),
        cmocka_unit_test(many_small_steps_cost_what_one_does),
        cmocka_unit_test(a_period_begins_whenever_its_window_opens_or_closes),
        cmocka_unit_test(a_clock_that_is_set_begins_no_period),
        cmocka_unit_test(a_user_pays_from_when_there_is_a_budget),
        cmocka_unit_test(queues_and_pools_have_other_bounds_while_a_window_is_open),
        cmocka_unit_test(a_snapshot_has_all_of_it),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
