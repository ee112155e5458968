/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/order.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"

/* Every queue's place among its siblings, from the header's three rules. */
static bool naive_is_before(const struct state *state, uint32_t a, uint32_t b)
{
    const struct queue *x = &state->queues.items[a], *y = &state->queues.items[b];
    bool x_owed = x->used_milli < x->guarantee_milli, y_owed = y->used_milli < y->guarantee_milli;

    if (x_owed != y_owed)
        return x_owed;
    usec_t half_life = state->settings.half_life;
    long double x_use =
        (long double)queue_usage(x, state->now, half_life) + (long double)x->share * 3600000;
    long double y_use =
        (long double)queue_usage(y, state->now, half_life) + (long double)y->share * 3600000;
    long double left = x_use * y->weight, right = y_use * x->weight;
    return left != right ? left < right : a < b;
}

/* Does job a come before job b? From the root down: at the first level where they part. */
static bool naive_job_is_before(const struct state *state, const struct job *a, const struct job *b)
{
    uint32_t path_a[32], path_b[32];
    size_t depth_a = 0, depth_b = 0;

    for (uint32_t at = a->queue; at != QUEUE_ROOT; at = state->queues.items[at].parent)
        path_a[depth_a++] = at;
    for (uint32_t at = b->queue; at != QUEUE_ROOT; at = state->queues.items[at].parent)
        path_b[depth_b++] = at;
    while (depth_a > 0 && depth_b > 0 && path_a[depth_a - 1] == path_b[depth_b - 1]) {
        depth_a--;
        depth_b--;
    }
    if (depth_a == 0 && depth_b == 0)
        return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
    if (depth_a == 0 || depth_b == 0) /* those that stand in the upper queue itself */
        return depth_a == 0;
    return naive_is_before(state, path_a[depth_a - 1], path_b[depth_b - 1]);
}

static const struct job *naive_next(const struct state *state, const struct map *blocked)
{
    const struct job *best = NULL;
    uint64_t unused;

    for (const struct job *job = state->first_job; job; job = job->next) {
        if (job->state != JOB_QUEUED || map_get(blocked, (uintptr_t)job->pending_bucket, &unused))
            continue;
        if (!best || naive_job_is_before(state, job, best))
            best = job;
    }
    return best;
}

/* Whether there is room must not matter to who asks for all. */
static bool some_fit(void *user, const struct pending_bucket *bucket)
{
    (void)user;
    return bucket->class % 3 != 0;
}

/* Ask for the whole order of what waits, blocking one after the other. */
static size_t compare_orders(struct lab *lab, uint64_t seed)
{
    struct pending pending = { 0 };
    struct order order = { 0 };
    struct map blocked = { 0 };
    size_t count = 0;

    /* The brain has its own pending; this one is for the test. */
    brain_destroy(lab->brain);
    for (struct job *job = lab->state->first_job; job; job = job->next) {
        job->pending_bucket = NULL;
        pending_update(&pending, lab->state, job);
    }
    const struct ranker ranker = { .state = lab->state };
    order_start(&order, lab->state, &ranker, &pending, some_fit, NULL);
    for (;; count++) {
        struct pending_bucket *bucket = order_next(&order, true);
        const struct job *job = naive_next(lab->state, &blocked);
        if ((bucket != NULL) != (job != NULL) || (bucket && bucket->first != job))
            fail_msg("seed %" PRIu64 ": job %" PRIu64 " is next, not %" PRIu64, seed,
                     bucket ? bucket->first->id : 0, job ? job->id : 0);
        if (!bucket)
            break;
        map_set(&blocked, (uintptr_t)bucket, 1);
        order_block(&order);
    }
    order_release(&order);
    pending_release(&pending);
    map_release(&blocked);
    lab->brain = brain_create(lab->state);
    return count;
}

static void the_order_is_that_of_a_naive_sort(void **state)
{
    size_t compared = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        AUTO(chaos) struct chaos *chaos = chaos_create(seed, CHAOS_ANY);
        chaos->lab->is_silent = true;
        for (int i = 0; i < 300; i++) {
            chaos_step(chaos);
            if (i % 20 == 0)
                compared += compare_orders(chaos->lab, seed);
        }
    }
    assert_true(compared > 1000);
}

static void a_queue_is_owed_until_its_guarantee_is_met(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_create();

    lab_queue(lab, "a", "", 1, -1);
    lab_queue(lab, "b", "", 1, -1);
    struct queue *a = &lab->state->queues.items[2], *b = &lab->state->queues.items[3];
    b->guarantee_milli = 2000;
    b->usage = 1000000;
    assert_true(order_is_before(lab->state, 3, 2));
    b->used_milli = 1999;
    assert_true(order_is_before(lab->state, 3, 2));
    b->used_milli = 2000;
    assert_true(order_is_before(lab->state, 2, 3));
    a->used_milli = b->used_milli = 0;
}

static void what_runs_now_is_charged_an_hour_ahead(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_create();

    lab_queue(lab, "a", "", 1, -1);
    lab_queue(lab, "b", "", 2, -1);
    struct queue *a = &lab->state->queues.items[2], *b = &lab->state->queues.items[3];
    a->share = 10;
    b->usage = 2 * 10 * 3600000ULL - 1; /* twice the weight */
    assert_true(order_is_before(lab->state, 3, 2));
    b->usage++;
    assert_true(order_is_before(lab->state, 2, 3)); /* equal: the lower number */
    b->usage++;
    assert_true(order_is_before(lab->state, 2, 3));
}

static void the_limits_of_all_queues_above_count(void **state)
{
    struct why why;
    (void)state;
    AUTO(lab) struct lab *lab = lab_create();

    lab_queue(lab, "team", "", 1, 3000);
    lab_queue(lab, "ann", "team", 1, 2000);
    assert_true(order_quota_allows(lab->state, 3, 2000, &why));
    assert_false(order_quota_allows(lab->state, 3, 2001, &why));
    assert_int_equal(why.kind, WHY_NEVER_QUOTA);
    assert_int_equal(why.queue, 3);
    assert_int_equal(why.most, 2000);
    lab->state->queues.items[2].used_milli = 1500;
    assert_false(order_quota_allows(lab->state, 3, 1501, &why));
    assert_int_equal(why.kind, WHY_QUOTA);
    assert_int_equal(why.queue, 2);
    assert_int_equal(why.free, 1500);
    assert_true(order_quota_allows(lab->state, 3, 1500, &why));
    lab->state->queues.items[2].used_milli =
        4000; /* over a limit that was lowered: no GPUs is fine */
    assert_true(order_quota_allows(lab->state, 3, 0, &why));
    lab->state->queues.items[2].used_milli = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_that_of_a_naive_sort),
        cmocka_unit_test(a_queue_is_owed_until_its_guarantee_is_met),
        cmocka_unit_test(what_runs_now_is_charged_an_hour_ahead),
        cmocka_unit_test(the_limits_of_all_queues_above_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
