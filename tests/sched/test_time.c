/* SPDX-License-Identifier: Apache-2.0 */

/* Reservations and budgets in random worlds: what was granted is checked against the spans and the
 * prices, by counting that shares nothing with the brain. And a few worlds by hand.
 *
 *     test_time [SEED [STEPS]]     one run with that seed; a failure prints the seed
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "check.h"
#include "core/cluster/label.h"

enum { SEEDS = 120, STEPS = 500 };

static uint64_t barred_grants, kept_grants, budget_grants, user_grants, stops;

/* ---- reservations ---- */

static bool is_below(const struct state *state, uint32_t queue, uint32_t above)
{
    while (queue != above && queue != QUEUE_ROOT)
        queue = state->queues.items[queue].parent;
    return queue == above;
}

static bool is_owner(const struct state *state, const struct reservation *reservation,
                     const struct job *job)
{
    if (reservation->kind == RESERVATION_USER)
        return strcmp(state_user(state, job->user), reservation->owner) == 0;
    int64_t queue = state_find_queue(state, reservation->owner);
    return reservation->kind == RESERVATION_QUEUE && queue >= 0 &&
           is_below(state, job->queue, (uint32_t)queue);
}

/* Any moment of [from, until) inside a span, looked at one by one. */
static bool is_inside(const struct window *window, usec_t from, usec_t until)
{
    for (size_t i = 0; i < window->spans.count; i++) {
        if (window->spans.items[i].from < until && from < window->spans.items[i].until)
            return true;
    }
    return false;
}

static bool is_on(const struct state *state, const struct job *job,
                  const struct reservation *reservation)
{
    for (uint32_t i = 0; i < job->run->lease->members_count; i++) {
        if (where_holds(reservation->where.items, (uint32_t)reservation->where.count,
                        &state->nodes.items[job->run->lease->members[i].node], NULL))
            return true;
    }
    return false;
}

/* Whether a job keeps what it holds from the reservation when it is open next. */
static bool stays(const struct state *state, const struct reservation *reservation,
                  const struct job *job)
{
    const struct window *window = state->agenda.windows.items[reservation->window];
    usec_t start = job->state == JOB_GRANTED ? job->run->granted : job->run->started;
    usec_t end = job->max_duration == USEC_NEVER ? USEC_NEVER : start + job->max_duration;
    usec_t opens = is_inside(window, state->now, state->now + 1)
                       ? state->now
                       : window_next_edge(window, state->now);

    return !is_owner(state, reservation, job) && !job->is_preemptible &&
           job->state != JOB_STOPPING && end > opens;
}

/* Devices that the reservation can be served from when it is open next, with this job on what it
 * holds or without. */
static uint32_t left_for(const struct state *state, const struct reservation *reservation,
                         const struct job *asked, bool is_there)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        bool is_free = device->pool == 0 && device_is_usable(state, device) &&
                       (!reservation->model[0] || strcmp(reservation->model, device->model) == 0);
        for (const struct job *job = state->first_job; job; job = job->next) {
            for (uint32_t k = 0; job->run->lease && k < job->run->lease->slices_count; k++)
                is_free &= job->run->lease->slices[k].device != i ||
                           !(job == asked ? is_there : stays(state, reservation, job));
        }
        count += is_free;
    }
    return count;
}

/* A job that is granted now has ended when a span begins, or can be stopped before. */
static void check_grant(const struct lab *lab, const struct job *job, uint64_t seed)
{
    const struct state *state = lab->state;
    usec_t now = state->now,
           end = job->max_duration == USEC_NEVER ? USEC_NEVER : now + job->max_duration;

    for (size_t i = 0; i < state->agenda.reservations.count; i++) {
        const struct reservation *reservation = &state->agenda.reservations.items[i];
        const struct window *window = state->agenda.windows.items[reservation->window];
        usec_t until = job->is_preemptible && now + job->grace < end ? now + job->grace : end;
        if (is_owner(state, reservation, job)) {
            kept_grants += is_inside(window, now, now + 1);
            continue;
        }
        if (!is_inside(window, now, until))
            continue;
        if (reservation->gpus == 0 && is_on(state, job, reservation))
            fail_msg("seed %" PRIu64 ": job %" PRIu64 " starts on a reserved machine", seed,
                     job->id);
        barred_grants++;
        uint32_t left = left_for(state, reservation, job, true);
        if (left < reservation->gpus && left_for(state, reservation, job, false) > left)
            fail_msg("seed %" PRIu64 ": job %" PRIu64 " takes what is reserved", seed, job->id);
    }
}

/* While a node is reserved, no job is on it that could have been stopped. */
static void check_gone(const struct lab *lab, uint64_t seed)
{
    const struct state *state = lab->state;

    for (size_t i = 0; i < state->agenda.reservations.count; i++) {
        const struct reservation *reservation = &state->agenda.reservations.items[i];
        const struct window *window = state->agenda.windows.items[reservation->window];
        if (reservation->gpus > 0 || !is_inside(window, state->now, state->now + 1))
            continue;
        for (const struct job *job = state->first_job; job; job = job->next) {
            if (job->state != JOB_GRANTED && job->state != JOB_RUNNING)
                continue;
            if (job->is_preemptible && is_on(state, job, reservation) &&
                !is_owner(state, reservation, job))
                fail_msg("seed %" PRIu64 ": job %" PRIu64 " should be gone", seed, job->id);
        }
    }
}

/* ---- budgets ---- */

/* The tariff between two moments, minute by minute: edges are on whole minutes of the window's. */
static double tariff_hours(const struct state *state, usec_t from, usec_t until)
{
    double sum = 0;

    while (from < until) {
        usec_t next;
        uint32_t factor = agenda_factor(&state->agenda, from, &next);
        next = next < until ? next : until;
        sum += (double)factor / 1000 * (double)(next - from) / (double)USEC_PER_HOUR;
        from = next;
    }
    return sum;
}

static usec_t period_end(const struct state *state, const struct account *account)
{
    const struct window *window =
        account->window > 0 ? state->agenda.windows.items[account->window - 1] : NULL;

    return window ? window_next_edge(window, state->now) : USEC_NEVER;
}

static double cost_until(const struct state *state, const struct job *job, usec_t end,
                         const struct account *account, enum account_kind kind)
{
    usec_t until = period_end(state, account);

    until = end < until ? end : until;
    until = until == USEC_NEVER ? state->now + USEC_PER_DAY : until;
    if (until <= state->now)
        return 0;
    if (kind == ACCOUNT_GPU_TIME)
        return (double)job->run->lease->milli / 1000 * (double)(until - state->now);
    return (double)state_rate(state, job->run->lease) * tariff_hours(state, state->now, until);
}

/* Granted in this plan and costing something: then all of it is within the budget. */
static void check_budgets(const struct lab *lab, const bool *was_granted, uint64_t seed)
{
    const struct state *state = lab->state;

    for (uint32_t i = 0; i < state->payers.items.count; i++) {
        const struct payer *payer = &state->payers.items.items[i];
        for (enum account_kind kind = 0; kind < ACCOUNTS; kind++) {
            const struct account *account = &payer->accounts[kind];
            double sum = 0;
            bool is_any = false;
            if (account->most == ACCOUNT_NO_BUDGET)
                continue;
            for (const struct job *job = state->first_job; job; job = job->next) {
                if (!job_is_active(job) || !is_below(state, job->queue, payer->queue) ||
                    (payer->user != PAYER_ALL && payer->user != job->user))
                    continue;
                usec_t end = job->state == JOB_STOPPING ? state->now : job->run->expected_end;
                double cost = cost_until(state, job, end, account, kind);
                is_any |= was_granted[job->id] && cost > 0;
                sum += cost;
            }
            struct account accounts[ACCOUNTS];
            state_accounts(state, i, state->now, accounts);
            budget_grants += is_any && !state->settings.predict;
            user_grants += is_any && payer->user != PAYER_ALL;
            /* Predictions count the usual time of the new one, and the upper of what runs. */
            if (is_any && !state->settings.predict &&
                sum + (double)accounts[kind].spent > (double)account->most + 1)
                fail_msg("seed %" PRIu64 ": queue %s: %.0f more, %" PRId64 " spent of %" PRId64,
                         seed, state->queues.items[payer->queue].name, sum, accounts[kind].spent,
                         account->most);
        }
    }
}

/* ---- random worlds ---- */

static void check_plan(struct lab *lab, uint64_t seed)
{
    bool *was_granted = mem_zero(lab->state->next_id + 1, sizeof(bool));
    bool has_decided = false;

    lab_plan(lab);
    for (size_t i = 0; i < lab->decisions.events.count; i++) {
        const struct event *event = &lab->decisions.events.items[i];
        stops += event->kind == EVENT_STOP && stop_rule_is_of_time(event->stop.rule);
        if (event->kind != EVENT_GRANT)
            continue;
        const struct job *job = state_job(lab->state, event->grant.job);
        was_granted[job->id] = has_decided = true;
        check_grant(lab, job, seed);
    }
    check_gone(lab, seed);
    if (has_decided)
        check_budgets(lab, was_granted, seed);
    free(was_granted);
}

static void run_times(uint64_t seed, uint32_t steps)
{
    AUTO(chaos) struct chaos *chaos = chaos_create(seed, CHAOS_TIMES);
    struct lab *lab = chaos->lab;
    struct error err;

    lab->is_silent = true;
    for (uint32_t step = 0; step < steps; step++) {
        chaos_act(chaos);
        while (sched_next_wakeup(lab->brain) <= lab->now)
            check_plan(lab, seed);
        if (!check_counts(lab, &err) || !check_leases(lab, &err))
            fail_msg("seed %" PRIu64 ", step %" PRIu32 ": %s", seed, step, err.text);
    }
}

static void reservations_and_budgets_hold_whatever_happens(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_times(seed, STEPS);
    print_message("%" PRIu64 " grants beside reservations, %" PRIu64 " of owners, %" PRIu64
                  " within budgets, %" PRIu64 " stops\n",
                  barred_grants, kept_grants, budget_grants, stops);
    assert_true(barred_grants > 50 && kept_grants > 50 && budget_grants > 50 && stops > 50);
    assert_true(user_grants > 50);
}

/* What the jobs of a queue cost is what it spent, to the rounding of each. */
static void a_queue_spends_what_its_jobs_cost(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(chaos) struct chaos *chaos = chaos_create(seed, CHAOS_TIMES);
        const struct state *state = chaos->lab->state;
        int64_t sum = 0;

        chaos->lab->is_silent = true;
        for (uint32_t step = 0; step < 200 && state->jobs.count < 60; step++)
            chaos_step(chaos);
        state = chaos->lab->state;
        struct account accounts[ACCOUNTS];
        state_accounts(state, state->queues.items[QUEUE_ROOT].payer, state->now, accounts);
        for (const struct job *job = state->first_job; job; job = job->next)
            sum += state_cost(state, job, state->now);
        if (llabs(sum - accounts[ACCOUNT_MONEY].spent) > (int64_t)state->jobs.count)
            fail_msg("seed %" PRIu64 ": jobs cost %" PRId64 ", %" PRId64 " were spent", seed, sum,
                     accounts[ACCOUNT_MONEY].spent);
    }
}

/* ---- by hand ---- */

static struct lab *two_machines(void)
{
    struct lab *lab = lab_create();

    lab_node(lab, "a", 64000, 65536);
    lab_node(lab, "b", 64000, 65536);
    lab_gpus(lab, "a", "h100", 81920, 4);
    lab_gpus(lab, "b", "h100", 81920, 4);
    return lab;
}

static void reserve(struct lab *lab, const char *nodes, uint32_t gpus, usec_t from, usec_t until)
{
    struct event_span span = { from, until };

    lab_tell(lab, &(struct event){
                      .kind = EVENT_WINDOW,
                      .window = { .name = "w", .words = "x", .spans = &span, .spans_count = 1 } });
    lab_tell(lab,
             &(struct event){
                 .kind = EVENT_RESERVATION,
                 .reservation = { .name = "r", .window = "w", .nodes = nodes, .gpus = gpus } });
}

static void a_gang_finds_its_place_beside_what_is_kept(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = two_machines();
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = 1, .name = "g", .user = "ana", .queue = "default" } };
    struct error err;

    lab->now = USEC_PER_MIN;
    reserve(lab, "", 3, USEC_PER_HOUR, 2 * USEC_PER_HOUR);
    request_default(&event.submit.request);
    if (request_parse_gpus(&event.submit.request, "1", &err) < 0)
        fail_msg("%s", err.text);
    event.submit.request.members = 5;
    lab_tell(lab, &event);
    event.submit.id = 2;
    event.submit.request.members = 1;
    lab_tell(lab, &event);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, 1)->state, JOB_GRANTED);
    assert_int_equal(lab_job(lab, 2)->state, JOB_QUEUED);
    assert_int_equal(lab_why(lab, 2), WHY_RESERVATION);
}

static void an_estimate_looks_beyond_a_maintenance(void **unused)
{
    struct start_estimate start;
    (void)unused;
    AUTO(lab) struct lab *lab = two_machines();

    lab->now = USEC_PER_MIN;
    reserve(lab, "a,b", 0, 2 * USEC_PER_MIN, USEC_PER_HOUR);
    uint64_t first = lab_submit(lab, "4", 10 * USEC_PER_MIN);
    uint64_t other = lab_submit(lab, "8", 10 * USEC_PER_MIN);
    lab_settle(lab);
    assert_int_equal(lab_why(lab, first), WHY_RESERVATION);
    assert_true(sched_estimate_start(lab->brain, lab->inquiry, lab_job(lab, first), &start));
    assert_int_equal(start.median, USEC_PER_HOUR);
    struct why why;
    sched_why(lab->brain, lab->inquiry, lab_job(lab, first), &why, NULL);
    assert_int_equal(why.at, USEC_PER_HOUR);
    assert_int_equal(lab_job(lab, other)->state, JOB_QUEUED);
    lab->now = USEC_PER_HOUR;
    lab_settle(lab);
    assert_int_equal(lab_job(lab, first)->state, JOB_GRANTED);
}

/* A window "nights" with half the price. */
static void make_cheap(struct lab *lab, const struct event_span *nights)
{
    lab_tell(lab,
             &(struct event){
                 .kind = EVENT_WINDOW,
                 .window = { .name = "nights", .words = "x", .spans = nights, .spans_count = 1 } });
    lab_tell(lab,
             &(struct event){ .kind = EVENT_TARIFF,
                              .tariff = { .name = "n", .window = "nights", .factor_milli = 500 } });
}

static void a_job_that_waits_for_hours_is_estimated_to_start_with_them(void **unused)
{
    static const struct event_span nights = { 2 * USEC_PER_HOUR, 6 * USEC_PER_HOUR };
    struct start_estimate start;
    (void)unused;
    AUTO(lab) struct lab *lab = two_machines();
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = 1,
                                       .name = "t",
                                       .user = "ana",
                                       .queue = "default",
                                       .tariff_most = TARIFF_CHEAP + 1 } };

    lab->now = USEC_PER_MIN;
    make_cheap(lab, &nights);
    request_default(&event.submit.request);
    event.submit.request.max_duration = USEC_PER_HOUR;
    lab_tell(lab, &event);
    lab_settle(lab);
    assert_int_equal(lab_why(lab, 1), WHY_TARIFF);
    assert_int_equal(sched_next_wakeup(lab->brain), nights.from);
    assert_true(sched_estimate_start(lab->brain, lab->inquiry, lab_job(lab, 1), &start));
    assert_int_equal(start.median, nights.from);
}

/* More than a few questions are answered from one walk over all who wait. */
static void all_that_wait_for_hours_are_estimated_to_start_with_them(void **unused)
{
    static const struct event_span nights = { 2 * USEC_PER_HOUR, 6 * USEC_PER_HOUR };
    struct start_estimate start;
    (void)unused;
    AUTO(lab) struct lab *lab = two_machines();

    lab->now = USEC_PER_MIN;
    make_cheap(lab, &nights);
    for (uint64_t id = 1; id <= 12; id++) {
        struct event event = { .kind = EVENT_SUBMIT,
                               .submit = { .id = id,
                                           .name = "t",
                                           .user = "ana",
                                           .queue = "default",
                                           .tariff_most = TARIFF_CHEAP + 1 } };
        request_default(&event.submit.request);
        event.submit.request.max_duration = USEC_PER_HOUR;
        lab_tell(lab, &event);
    }
    lab_settle(lab);
    for (uint64_t id = 1; id <= 12; id++) {
        assert_true(sched_estimate_start(lab->brain, lab->inquiry, lab_job(lab, id), &start));
        assert_true(start.median >= nights.from);
    }
}

static void the_owners_jobs_wait_apart_from_those_that_look_the_same(void **unused)
{
    static const struct event_span exam = { 1, 3 * USEC_PER_HOUR };
    (void)unused;
    AUTO(lab) struct lab *lab = two_machines();
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = 1, .name = "j", .user = "ben", .queue = "default" } };

    lab->now = USEC_PER_MIN;
    request_default(&event.submit.request);
    event.submit.request.max_duration = USEC_PER_HOUR;
    lab_tell(lab, &event);
    event.submit.id = 2;
    event.submit.user = "ana";
    lab_tell(lab, &event);
    lab_tell(lab, &(struct event){
                      .kind = EVENT_WINDOW,
                      .window = { .name = "w", .words = "x", .spans = &exam, .spans_count = 1 } });
    lab_tell(lab, &(struct event){ .kind = EVENT_RESERVATION,
                                   .reservation = { .name = "r",
                                                    .window = "w",
                                                    .kind = RESERVATION_USER,
                                                    .owner = "ana",
                                                    .nodes = "a,b" } });
    lab_settle(lab);
    assert_int_equal(lab_job(lab, 1)->state, JOB_QUEUED);
    assert_int_equal(lab_job(lab, 2)->state, JOB_GRANTED);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reservations_and_budgets_hold_whatever_happens),
        cmocka_unit_test(a_queue_spends_what_its_jobs_cost),
        cmocka_unit_test(a_gang_finds_its_place_beside_what_is_kept),
        cmocka_unit_test(an_estimate_looks_beyond_a_maintenance),
        cmocka_unit_test(a_job_that_waits_for_hours_is_estimated_to_start_with_them),
        cmocka_unit_test(all_that_wait_for_hours_are_estimated_to_start_with_them),
        cmocka_unit_test(the_owners_jobs_wait_apart_from_those_that_look_the_same),
    };

    if (argc > 1) {
        run_times(strtoull(argv[1], NULL, 10),
                  argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : STEPS);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
