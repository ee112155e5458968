/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that wait in a plain schedule: each answer is that of a look at all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "chaos.h"
#include "sched/ordering/plain_waiting.h"

enum { SEEDS = 40, STEPS = 3000, SHARES_MOST = 50, LIMITS_MOST = 60 };

static struct random generator;

static uint32_t dice(uint32_t below)
{
    return random_below(&generator, below);
}

typedef LIST(struct plain_job) job_list; /* in their order */

static bool is_before(const struct plain_job *a, const struct plain_job *b)
{
    return a->priority != b->priority ? a->priority > b->priority
           : a->turn != b->turn       ? a->turn < b->turn
                                      : a->id < b->id;
}

static void add(job_list *model, struct plain_waiting *waiting, uint64_t id)
{
    struct plain_job job = { .id = id,
                             .share = 1 + dice(SHARES_MOST),
                             .limit = dice(9) ? dice(LIMITS_MOST) : UINT32_MAX,
                             .turn = dice(20),
                             .priority = (int32_t)dice(3) - 1 };
    size_t at = model->count;

    while (at > 0 && is_before(&job, &model->items[at - 1]))
        at--;
    list_insert(model, at, job);
    plain_waiting_add(waiting, &job);
}

/* By a walk, or by its key. */
static void take(job_list *model, struct plain_waiting *waiting)
{
    struct plain_place place = { 0 };

    if (model->count == 0)
        return;
    uint32_t at = dice((uint32_t)model->count);
    struct plain_job job = model->items[at];
    if (dice(2)) {
        for (uint32_t i = 0; i < at; i++)
            place = plain_waiting_after(waiting, place);
    } else
        assert_true(plain_waiting_find(waiting, &job, &place));
    assert_int_equal(plain_waiting_take(waiting, &place).id, job.id);
    list_remove(model, at);
    const struct plain_job *next = plain_waiting_at(waiting, place);
    assert_int_equal(next ? next->id : 0, at < model->count ? model->items[at].id : 0);
    assert_false(plain_waiting_find(waiting, &job, &place));
}

static void compare(const job_list *model, const struct plain_waiting *waiting)
{
    struct plain_place place = { 0 };

    assert_int_equal(plain_waiting_is_empty(waiting), model->count == 0);
    for (size_t i = 0; i < model->count; i++) {
        assert_int_equal(plain_waiting_at(waiting, place)->id, model->items[i].id);
        place = plain_waiting_after(waiting, place);
    }
    assert_null(plain_waiting_at(waiting, place));
}

/* All that fit, one after the other. */
static void search(const job_list *model, const struct plain_waiting *waiting)
{
    uint32_t share = dice(SHARES_MOST), limit = dice(LIMITS_MOST), extra = dice(SHARES_MOST);
    struct plain_place place = { 0 };

    for (size_t i = 0; i < model->count; i++) {
        const struct plain_job *job = &model->items[i];
        if (job->share > share || (job->limit > limit && job->share > extra))
            continue;
        assert_true(plain_waiting_fit(waiting, &place, share, limit, extra));
        assert_int_equal(plain_waiting_at(waiting, place)->id, job->id);
        place = plain_waiting_after(waiting, place);
    }
    assert_false(plain_waiting_fit(waiting, &place, share, limit, extra));
}

static void each_answer_is_that_of_a_look_at_all(void **unused)
{
    (void)unused;
    for (uint32_t round = 1; round <= SEEDS; round++) {
        struct plain_waiting waiting = { 0 };
        job_list model = { 0 };
        uint32_t growing = 30 + round; /* of 100 steps */
        generator = (struct random){ round };
        for (uint64_t id = 1; id <= STEPS; id++) {
            if (dice(100) < growing)
                add(&model, &waiting, dice(4) ? id : UINT64_MAX - id);
            else
                take(&model, &waiting);
            if (id % 16 == 0) {
                compare(&model, &waiting);
                search(&model, &waiting);
            }
        }
        plain_waiting_release(&waiting);
        list_release(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_is_that_of_a_look_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
