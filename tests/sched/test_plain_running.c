/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that run in a plain schedule: each answer is that of a look at all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sched/ordering/plain_running.h"

enum { SEEDS = 60, STEPS = 1500, LONGEST = 400 };

static uint64_t seed;

static uint32_t dice(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 32) % below;
}

/* All of them, in the order of their limits. */
struct model {
    LIST(struct plain_started) jobs;
    uint32_t held;
};

static struct plain_started *find(struct model *model, uint64_t job)
{
    LIST_EACH (struct plain_started, started, &model->jobs) {
        if (started->job.id == job)
            return started;
    }
    return NULL;
}

static void add(struct model *model, struct plain_running *running, uint64_t id, usec_t now)
{
    struct plain_started started = {
        .job = { .id = id, .share = 1 + dice(1000), .estimate = dice(3) ? 0 : dice(LONGEST) },
        .start = now - dice(50) * USEC_PER_SEC,
        .limit = dice(5) ? now + dice(40) * USEC_PER_MIN : USEC_NEVER,
        .real = dice(2)   ? REAL_RUNS
                : dice(2) ? REAL_WAITS
                          : REAL_ENDED,
    };
    size_t place = model->jobs.count;

    started.run = dice(LONGEST) * USEC_PER_SEC - (started.real == REAL_RUNS ? now : 0);
    while (place > 0 && model->jobs.items[place - 1].limit > started.limit)
        place--;
    list_insert(&model->jobs, place, started);
    model->held += started.job.share;
    plain_running_add(running, started, now);
}

static void change(struct model *model, struct plain_running *running, usec_t now)
{
    if (model->jobs.count == 0)
        return;
    struct plain_started *started = &model->jobs.items[dice((uint32_t)model->jobs.count)];
    enum plain_real real = dice(3) == 0 ? REAL_ENDED : dice(2) ? REAL_RUNS : REAL_WAITS;
    usec_t run = plain_run_until(started, now);

    started->real = (uint8_t)real;
    started->run = real == REAL_RUNS ? run - now : run;
    plain_running_set_real(running, started->job.id, real, started->run, now);
}

static void take_ended(struct model *model, struct plain_running *running, usec_t reached)
{
    struct plain_started ended;
    size_t expected = 0, taken = 0;

    LIST_EACH (const struct plain_started, started, &model->jobs)
        expected += started->real == REAL_ENDED && started->start + started->run <= reached;
    for (; plain_running_take_ended(running, reached, &ended); taken++) {
        struct plain_started *started = find(model, ended.job.id);
        assert_non_null(started);
        assert_int_equal(started->real, REAL_ENDED);
        assert_true(started->start + started->run <= reached);
        model->held -= started->job.share;
        list_remove(&model->jobs, (size_t)(started - model->jobs.items));
        assert_null(plain_running_find(running, ended.job.id));
    }
    assert_int_equal(taken, expected);
}

static void compare_times(const struct model *model, struct plain_running *running, usec_t now)
{
    usec_t next_end = USEC_NEVER, known = USEC_NEVER;

    LIST_EACH (const struct plain_started, started, &model->jobs) {
        usec_t until = started->start + plain_run_known(started, now);
        usec_t *least = started->real == REAL_ENDED ? &next_end : &known;
        *least = until < *least ? until : *least;
    }
    assert_int_equal(plain_running_next_end(running), next_end);
    assert_int_equal(plain_running_known(running, now), known);
}

static void compare_shadow(const struct model *model, const struct plain_running *running)
{
    uint32_t left = model->held > 0 ? dice(model->held) : 0, held = model->held, extra;
    usec_t at = USEC_NEVER;
    bool is_found = false;

    for (size_t i = 0; i < model->jobs.count && !is_found; i++) {
        at = model->jobs.items[i].limit;
        held -= model->jobs.items[i].job.share;
        bool is_last = i + 1 == model->jobs.count || model->jobs.items[i + 1].limit > at;
        is_found = held <= left && is_last;
    }
    assert_int_equal(plain_running_shadow(running, left, &extra), is_found ? at : USEC_NEVER);
    assert_int_equal(extra, is_found ? left - held : 0);
}

static void compare_order(struct model *model, const struct plain_running *running)
{
    size_t i = 0;

    for (struct plain_walk at = plain_running_first(running); at.job; plain_running_next(&at), i++)
        assert_int_equal(at.job->job.id, model->jobs.items[i].job.id);
    assert_int_equal(i, model->jobs.count);
    i = 0;
    struct plain_walk walk = plain_running_first(running);
    for (plain_running_skip_to_waiting(&walk); walk.job; plain_running_skip_to_waiting(&walk)) {
        while (model->jobs.items[i].real != REAL_WAITS)
            i++;
        assert_int_equal(walk.job->job.id, model->jobs.items[i++].job.id);
        plain_running_next(&walk);
    }
    for (; i < model->jobs.count; i++)
        assert_int_not_equal(model->jobs.items[i].real, REAL_WAITS);
    assert_int_equal(running->held, model->held);
    LIST_EACH (const struct plain_started, started, &model->jobs)
        assert_int_equal(plain_running_find(running, started->job.id)->run, started->run);
}

static void answers_are_those_of_a_look_at_all(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= SEEDS; round++) {
        struct plain_running running = { 0 };
        struct model model = { 0 };
        usec_t now = 1000 * USEC_PER_SEC;
        uint32_t many = round % 3 == 0 ? 9 : 6; /* of ten steps: ever more jobs, or about as many */

        seed = round * 0x9e3779b97f4a7c15;
        for (uint64_t step = 1; step <= STEPS; step++) {
            now += dice(20) * USEC_PER_SEC / 4;
            if (dice(10) < many)
                add(&model, &running, step, now);
            change(&model, &running, now);
            if (dice(2))
                take_ended(&model, &running, now - dice(many == 9 ? 5000 : 100) * USEC_PER_SEC);
            compare_times(&model, &running, now);
            compare_shadow(&model, &running);
        }
        compare_order(&model, &running);
        plain_running_release(&running);
        list_release(&model.jobs);
    }
}

static void a_job_that_is_disowned_ends_and_its_number_can_start_again(void **state)
{
    struct plain_started first = { .job = { .id = 7, .share = 5 },
                                   .start = 10,
                                   .limit = 500,
                                   .run = 100,
                                   .real = REAL_WAITS },
                         ended;
    struct plain_running running = { 0 };
    (void)state;

    plain_running_add(&running, first, 20);
    plain_running_disown(&running, 7, 20);
    assert_null(plain_running_find(&running, 7));
    first.start = 30;
    plain_running_add(&running, first, 30);
    assert_int_equal(plain_running_next_end(&running), 110);
    assert_true(plain_running_take_ended(&running, 110, &ended));
    assert_int_equal(ended.start, 10);
    assert_int_equal(plain_running_find(&running, 7)->start, 30);
    assert_int_equal(running.held, 5);
    plain_running_release(&running);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_a_look_at_all),
        cmocka_unit_test(a_job_that_is_disowned_ends_and_its_number_can_start_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
