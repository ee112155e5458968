/* SPDX-License-Identifier: Apache-2.0 */
/* What an event costs in clusters of N, 4 N and 16 N nodes.
 *
 * base, time, core and sched are compiled with -fsanitize-coverage=trace-pc: each basic block that
 * runs is counted, and each word that memcpy() and its kin move. So the cost is the same in each
 * run and on each machine, and no walk is missed. All clusters are driven by the same seeds; in a
 * cluster that is 16 times larger, events come 16 times as often.
 *
 * The cost of one event may grow with the logarithm of the size; what is done for all jobs or
 * nodes at once may grow by as much for each of them. A walk over all jobs, nodes or devices in a
 * plan grows 16 times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/job_filter.h"
#include "cluster.h"
#include "core/snapshot/snapshot.h"
#include "sched/brain.h"
#include "sched/sched.h"

enum { NODES = 64, SIZES = 3, GROWTH = 4, EVENTS = 1000 };

static uint64_t steps;

void __sanitizer_cov_trace_pc(void);
void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memmove(void *to, const void *from, size_t size);
void *__real_memset(void *to, int byte, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size);
void *__wrap_memset(void *to, int byte, size_t size);

void __sanitizer_cov_trace_pc(void)
{
    steps++;
}

void *__wrap_memcpy(void *to, const void *from, size_t size)
{
    steps += size / 64; /* a line of the cache */
    return __real_memcpy(to, from, size);
}

void *__wrap_memmove(void *to, const void *from, size_t size)
{
    steps += size / 64;
    return __real_memmove(to, from, size);
}

void *__wrap_memset(void *to, int byte, size_t size)
{
    steps += size / 64;
    return __real_memset(to, byte, size);
}

static uint64_t log_of(uint64_t value)
{
    uint64_t bits = 0;

    for (; value > 1; value >>= 1)
        bits++;
    return bits;
}

/* What the largest cluster may cost: more by the logarithm of its GPUs, and by a fifth, because a
 * world is not the same as a larger one. */
static uint64_t most_of(const uint64_t *cost)
{
    uint64_t least = 8 * NODES, largest = least << 2 * (SIZES - 1);

    return cost[0] * log_of(largest) / log_of(least) * 6 / 5;
}

static void check_growth(const char *what, const uint64_t *cost)
{
    for (uint32_t i = 0; i < SIZES; i++)
        print_message("%s: %u nodes: %llu steps\n", what, NODES << 2 * i,
                      (unsigned long long)cost[i]);
    if (cost[SIZES - 1] > most_of(cost))
        fail_msg("%s: %llu steps in the largest cluster, expected at most %llu: %llu in the "
                 "smallest",
                 what, (unsigned long long)cost[SIZES - 1], (unsigned long long)most_of(cost),
                 (unsigned long long)cost[0]);
}

/* Of an event of each kind: the mean of nine of ten, the cheapest. What is done once for a class of
 * requests (could it ever run, what does it cost on each node) is not in it. */
struct costs {
    uint64_t submit, end, plan;
};

typedef LIST(uint64_t) costs_list;

static int compare_costs(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static uint64_t take_mean(costs_list *costs)
{
    size_t count = costs->count * 9 / 10;
    uint64_t sum = 0;

    list_sort(costs, compare_costs);
    for (size_t i = 0; i < count; i++)
        sum += costs->items[i];
    list_release(costs);
    return sum / count;
}

static uint64_t take_steps(void)
{
    uint64_t taken = steps;

    steps = 0;
    return taken;
}

/* Jobs end and come; a plan follows each, with idle time before it. are_kept: jobs that find no
 * room wait. */
static void churn(struct cluster *cluster, usec_t between, bool are_kept, struct costs *ret)
{
    costs_list submits = { 0 }, ends = { 0 }, plans = { 0 };

    for (int i = 0; i < EVENTS; i++) {
        size_t which = cluster_dice(cluster, (uint32_t)cluster->running.count);
        uint64_t id = cluster->running.items[which];

        cluster->now += between;
        cluster->running.items[which] = cluster->running.items[--cluster->running.count];
        take_steps();
        cluster_end(cluster, id);
        list_add(&ends, take_steps());
        cluster_submit(cluster);
        list_add(&submits, take_steps());
        while (sched_refresh(cluster->brain))
            continue;
        take_steps();
        cluster_plan(cluster);
        list_add(&plans, take_steps());
        if (!are_kept)
            cluster_turn_away(cluster);
    }
    ret->submit = take_mean(&submits);
    ret->end = take_mean(&ends);
    ret->plan = take_mean(&plans);
}

static void make(struct cluster *cluster, uint32_t size, enum ordering order, usec_t limit)
{
    cluster_make(cluster, NODES << (2 * size));
    cluster->limit = limit;
    cluster_tell(cluster, &(struct event){ .kind = EVENT_SETTINGS,
                                           .settings = { .placement = PLACEMENT_SFG,
                                                         .order = (uint8_t)order,
                                                         .half_life = QUEUE_HALF_LIFE_DEFAULT,
                                                         .backfill_depth = 1 } });
}

static usec_t between(uint32_t size)
{
    return (4 * USEC_PER_SEC) >> (2 * size);
}

static void compare(const char *name, enum ordering order)
{
    uint64_t submits[SIZES], ends[SIZES], plans[SIZES];
    char words[64];

    for (uint32_t i = 0; i < SIZES; i++) {
        struct cluster cluster;
        struct costs costs;
        make(&cluster, i, order, USEC_PER_DAY);
        cluster_fill(&cluster, 90);
        churn(&cluster, between(i), false, &costs);
        submits[i] = costs.submit;
        ends[i] = costs.end;
        plans[i] = costs.plan;
        cluster_release(&cluster);
    }
    snprintf(words, sizeof(words), "%s: submit", name);
    check_growth(words, submits);
    snprintf(words, sizeof(words), "%s: end", name);
    check_growth(words, ends);
    snprintf(words, sizeof(words), "%s: decision", name);
    check_growth(words, plans);
}

static void a_decision_costs_the_same_in_a_large_cluster(void **state)
{
    (void)state;
    compare("default order", ORDER_DEFAULT);
    compare("order fifo", ORDER_FIFO);
}

/* Jobs that find no room: as many for each node. */
static void fill_and_queue(struct cluster *cluster, uint32_t size)
{
    uint32_t jobs = 4u * NODES << (2 * size);

    cluster_fill(cluster, 97);
    for (uint32_t i = 0; i < jobs; i++) {
        cluster->now += USEC_PER_MS;
        cluster_submit(cluster);
    }
    cluster_plan(cluster);
}

static void decisions_with_jobs_that_wait(void **state)
{
    uint64_t submits[SIZES], ends[SIZES], plans[SIZES];
    (void)state;

    for (uint32_t i = 0; i < SIZES; i++) {
        struct cluster cluster;
        struct costs costs;
        make(&cluster, i, ORDER_DEFAULT, USEC_PER_DAY);
        fill_and_queue(&cluster, i);
        churn(&cluster, between(i), true, &costs);
        submits[i] = costs.submit;
        ends[i] = costs.end;
        plans[i] = costs.plan;
        cluster_release(&cluster);
    }
    check_growth("jobs wait: submit", submits);
    check_growth("jobs wait: end", ends);
    check_growth("jobs wait: plan", plans);
}

static uint64_t estimate_all(const struct cluster *cluster, struct inquiry *inquiry)
{
    struct start_estimate estimate;
    uint32_t asked = 0;

    take_steps();
    for (const struct job *job = cluster->state->first_job; job; job = job->next) {
        if (job->state != JOB_QUEUED)
            continue;
        sched_estimate_start(cluster->brain, inquiry, job, &estimate);
        asked++;
    }
    return take_steps() / asked;
}

static void estimates_cost_the_same_in_a_large_cluster(void **state)
{
    uint64_t estimates[SIZES];
    (void)state;

    for (uint32_t i = 0; i < SIZES; i++) {
        struct cluster cluster;
        struct inquiry *inquiry = inquiry_create();
        make(&cluster, i, ORDER_DEFAULT, USEC_PER_DAY);
        fill_and_queue(&cluster, i);
        estimates[i] = estimate_all(&cluster, inquiry);
        inquiry_destroy(inquiry);
        cluster_release(&cluster);
    }
    check_growth("estimate of each waiting job", estimates);
}

static void a_snapshot_costs_the_same_for_each_job(void **state)
{
    uint64_t save[SIZES], load[SIZES], bytes[SIZES];
    (void)state;

    for (uint32_t i = 0; i < SIZES; i++) {
        struct cluster cluster;
        struct state *loaded;
        struct text text = { 0 };
        struct error err;

        make(&cluster, i, ORDER_DEFAULT, USEC_PER_DAY);
        fill_and_queue(&cluster, i);
        uint64_t jobs = 0;
        for (const struct job *job = cluster.state->first_job; job; job = job->next)
            jobs++;
        steps = 0;
        snapshot_save(cluster.state, &text);
        save[i] = steps / jobs;
        bytes[i] = text.length / jobs;
        steps = 0;
        assert_int_equal(snapshot_load(text.bytes, text.length, &loaded, &err), 0);
        load[i] = steps / jobs;
        state_destroy(loaded);
        text_release(&text);
        cluster_release(&cluster);
    }
    check_growth("snapshot: save, a job", save);
    check_growth("snapshot: load, a job", load);
    check_growth("snapshot: bytes, a job", bytes);
}

enum { PAGE = 100, PAGES = 20 };

/* Each job of a page, as GET /v1/jobs looks for it. *after: the last one before, then of the page;
 * 0 after the last page. */
static uint64_t list_page(const struct state *state, const struct job_filter *filter,
                          uint64_t *after)
{
    uint32_t count = 0;

    take_steps();
    if (filter->is_newest)
        *after = job_filter_newest(state, filter);
    for (; count < PAGE; count++) {
        const struct job *job = job_filter_next(state, filter, *after);
        if (!job)
            break;
        *after = job_filter_row_end(state, filter, job)->id;
    }
    uint64_t taken = take_steps();
    *after = count < PAGE ? 0 : *after;
    return taken;
}

/* The mean of nine of ten pages, the cheapest. */
static uint64_t list_pages(struct cluster *cluster, const struct job_filter *filter)
{
    costs_list costs = { 0 };
    uint64_t after = 0;

    for (uint32_t i = 0; i < PAGES; i++)
        list_add(&costs, list_page(cluster->state, filter, &after));
    assert_true(costs.items[0] > PAGE);
    return take_mean(&costs);
}

/* Many jobs have ended, far more than run or wait. */
static void end_most(struct cluster *cluster, uint32_t size)
{
    uint32_t jobs = 4u * NODES << (2 * size);

    for (uint32_t i = 0; i < jobs; i++) {
        uint64_t id = cluster_submit(cluster);
        if (i % 16 != 0)
            cluster_tell(cluster, &(struct event){ .kind = EVENT_CANCEL,
                                                   .cancel = { .job = id, .user = "ana" } });
    }
}

static void a_page_of_a_list_costs_the_same_in_a_large_cluster(void **state)
{
    static const struct {
        const char *name;
        struct job_filter filter;
    } lists[] = {
        { "unended jobs", { .states = ~(1u << JOB_ENDED) } },
        { "unended jobs, newest", { .states = ~(1u << JOB_ENDED), .is_newest = true } },
        { "rows of unended jobs, newest",
          { .states = ~(1u << JOB_ENDED), .is_newest = true, .is_rows = true } },
        { "waiting jobs", { .states = 1u << JOB_QUEUED } },
        { "active jobs", { .states = 1u << JOB_GRANTED | 1u << JOB_RUNNING } },
        { "all jobs, newest", { .states = UINT32_MAX, .is_newest = true } },
    };
    uint64_t costs[COUNT_OF(lists)][SIZES];
    (void)state;

    for (uint32_t i = 0; i < SIZES; i++) {
        struct cluster cluster;
        make(&cluster, i, ORDER_DEFAULT, USEC_PER_DAY);
        fill_and_queue(&cluster, i);
        end_most(&cluster, i);
        for (size_t k = 0; k < COUNT_OF(lists); k++) {
            struct job_filter filter = lists[k].filter;
            filter.limit = PAGE;
            filter.results = UINT32_MAX;
            filter.until = cluster.now;
            costs[k][i] = list_pages(&cluster, &filter);
        }
        cluster_release(&cluster);
    }
    for (size_t k = 0; k < COUNT_OF(lists); k++)
        check_growth(lists[k].name, costs[k]);
}

/* What a plan would cost that looks at each running job once, in one step. */
static void a_walk_over_all_running_jobs_is_found(void **state)
{
    uint64_t walks[SIZES];
    (void)state;

    for (uint32_t i = 0; i < SIZES; i++) {
        struct cluster cluster;
        struct costs costs;
        make(&cluster, i, ORDER_FIFO, USEC_PER_DAY);
        cluster_fill(&cluster, 90);
        churn(&cluster, between(i), false, &costs);
        walks[i] = costs.plan + cluster.brain->ends.count;
        cluster_release(&cluster);
    }
    assert_true(walks[SIZES - 1] > most_of(walks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decision_costs_the_same_in_a_large_cluster),
        cmocka_unit_test(decisions_with_jobs_that_wait),
        cmocka_unit_test(estimates_cost_the_same_in_a_large_cluster),
        cmocka_unit_test(a_snapshot_costs_the_same_for_each_job),
        cmocka_unit_test(a_page_of_a_list_costs_the_same_in_a_large_cluster),
        cmocka_unit_test(a_walk_over_all_running_jobs_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
