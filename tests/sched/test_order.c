/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/job_order.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "core/job/role.h"

/* What a job wants the largest part of. */
static enum share naive_kind(const struct state *state, const struct job *job)
{
    const struct request *request = state_request(state, job);
    int64_t gpus = request_milli(request, 0, 0) * QUEUE_SHARE_ONE;
    int64_t cpus = request_cpus(request) * QUEUE_SHARE_ONE;
    int64_t memory = request_memory(request) * QUEUE_SHARE_ONE;

    gpus /= state->capacity.milli > 0 ? state->capacity.milli : INT64_MAX;
    cpus /= state->capacity.cpu_milli > 0 ? state->capacity.cpu_milli : INT64_MAX;
    memory /= state->capacity.memory_mib > 0 ? state->capacity.memory_mib : INT64_MAX;
    if (gpus >= cpus && gpus >= memory)
        return SHARE_OF_GPUS;
    return cpus >= memory ? SHARE_OF_CPUS : SHARE_OF_MEMORY;
}

static long double naive_use(const struct state *state, uint32_t number, enum share kind)
{
    const struct queue *queue = &state->queues.items[number];

    return ((long double)queue_usage(queue, kind, state->now, state->settings.half_life) +
            (long double)queue->share[kind] * 3600000) /
           queue->weight;
}

static bool naive_is_owed(const struct state *state, uint32_t number, enum share kind)
{
    const struct queue *queue = &state->queues.items[number];
    size_t resource = kind == SHARE_OF_GPUS ? RESOURCE_GPUS : kind == SHARE_OF_CPUS ? 1 : 2;

    return queue->used.of[resource] < queue->quota[resource].guarantee + queue->owned.of[resource];
}

/* Of two siblings and the jobs that they would offer, from the header's three rules. */
static bool naive_is_before(const struct state *state, uint32_t a, const struct job *of_a,
                            uint32_t b, const struct job *of_b)
{
    enum share kind_a = naive_kind(state, of_a), kind_b = naive_kind(state, of_b);
    bool a_owed = naive_is_owed(state, a, kind_a), b_owed = naive_is_owed(state, b, kind_b);

    if (a_owed != b_owed)
        return a_owed;
    long double left = naive_use(state, a, kind_a), right = naive_use(state, b, kind_b);
    return left != right ? left < right : a < b;
}

/* The job that a queue with all below it would offer: its own first, then that of its best child.
 */
static const struct job *naive_offer(const struct state *state, uint32_t queue,
                                     const struct map *blocked)
{
    const struct job *best = NULL;
    uint32_t last_child = 0, from = 0;
    uint64_t unused;

    for (const struct job *job = state->first_job; job; job = job->next) {
        if (job->state != JOB_QUEUED || job->queue != queue ||
            map_get(blocked, (uintptr_t)job->pending_bucket, &unused))
            continue;
        if (!best || job->priority > best->priority)
            best = job;
    }
    for (uint32_t i = 1; !best && i < state->queues.count; i++)
        last_child = state->queues.items[i].parent == queue ? i : last_child;
    for (uint32_t i = 1; i <= last_child; i++) {
        const struct job *offer =
            state->queues.items[i].parent == queue ? naive_offer(state, i, blocked) : NULL;
        if (offer && (!best || naive_is_before(state, i, offer, from, best))) {
            best = offer;
            from = i;
        }
    }
    return best;
}

static const struct job *naive_next(const struct state *state, const struct map *blocked)
{
    return naive_offer(state, QUEUE_ROOT, blocked);
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

static bool comes_before(const struct state *state, uint32_t a, uint32_t b)
{
    return order_is_before(state, &(struct order_claim){ .queue = a },
                           &(struct order_claim){ .queue = b });
}

static void a_queue_is_owed_until_its_guarantee_is_met(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_create();

    lab_queue(lab, "a", "", 1, -1);
    lab_queue(lab, "b", "", 1, -1);
    struct queue *a = &lab->state->queues.items[2], *b = &lab->state->queues.items[3];
    b->quota[RESOURCE_GPUS].guarantee = 2000;
    b->usage[0] = 1000000;
    assert_true(comes_before(lab->state, 3, 2));
    b->used.of[RESOURCE_GPUS] = 1999;
    assert_true(comes_before(lab->state, 3, 2));
    b->used.of[RESOURCE_GPUS] = 2000;
    assert_true(comes_before(lab->state, 2, 3));
    a->used.of[RESOURCE_GPUS] = b->used.of[RESOURCE_GPUS] = 0;
}

static void what_runs_now_is_charged_an_hour_ahead(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = lab_create();

    lab_queue(lab, "a", "", 1, -1);
    lab_queue(lab, "b", "", 2, -1);
    struct queue *a = &lab->state->queues.items[2], *b = &lab->state->queues.items[3];
    a->share[0] = 10;
    b->usage[0] = 2 * 10 * 3600000ULL - 1; /* twice the weight */
    assert_true(comes_before(lab->state, 3, 2));
    b->usage[0]++;
    assert_true(comes_before(lab->state, 2, 3)); /* equal: the lower number */
    b->usage[0]++;
    assert_true(comes_before(lab->state, 2, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_that_of_a_naive_sort),
        cmocka_unit_test(a_queue_is_owed_until_its_guarantee_is_met),
        cmocka_unit_test(what_runs_now_is_charged_an_hour_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
