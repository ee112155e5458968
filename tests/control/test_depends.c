/* SPDX-License-Identifier: Apache-2.0 */
#include "control/depends.h"

#include "control/submit.h"
#include "core/state/state.h"
#include "desk.h"

#define JOB "run: 'true', name: t, sender_cwd: /"

/* The numbers that a job waits for, oldest first: "2 5". */
static void assert_waits(const struct desk *desk, uint64_t job, const char *expected)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    const struct need_table *table = &desk->state->needs;
    uint64_t targets[16];
    size_t count = 0;

    for (uint32_t n = need_first_of(table, job); n > 0; n = table->needs.items[n - 1].next_of_job)
        targets[count++] = table->needs.items[n - 1].on;
    while (count > 0)
        text_printf(&text, "%s%" PRIu64, text.length > 0 ? " " : "", targets[--count]);
    assert_string_equal(text_string(&text), expected);
}

static void a_job_waits_for_one_task_of_an_array(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t array = desk_submit(desk, &desk->ana, "{" JOB ", array: '3,5'}");

    AUTO_FREE char *one = mem_printf("{" JOB ", depends: [{on: %" PRIu64 ", task: 5}]}", array);
    AUTO_FREE char *task = mem_printf("%" PRIu64, array + 2);
    assert_waits(desk, desk_submit(desk, &desk->ana, one), task);
    AUTO_FREE char *all = mem_printf("{" JOB ", depends: [%" PRIu64 "]}", array);
    AUTO_FREE char *group = mem_printf("%" PRIu64, array);
    assert_waits(desk, desk_submit(desk, &desk->ana, all), group);
}

static void each_task_waits_for_that_of_its_index(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t first = desk_submit(desk, &desk->ana, "{" JOB ", array: 2-6}");
    AUTO_FREE char *text = mem_printf(
        "{" JOB ", array: '3,6', depends: [{on: %" PRIu64 ", task: own, when: ok}]}", first);
    uint64_t second = desk_submit(desk, &desk->ana, text);

    AUTO_FREE char *of_three = mem_printf("%" PRIu64, first + 2);
    AUTO_FREE char *of_six = mem_printf("%" PRIu64, first + 5);
    assert_waits(desk, second + 1, of_three);
    assert_waits(desk, second + 2, of_six);
}

static void a_singleton_waits_for_those_of_its_name(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t ended = desk_submit(desk, &desk->ana, "{" JOB "}");
    uint64_t running = desk_submit(desk, &desk->ana, "{" JOB "}");
    uint64_t waiting = desk_submit(desk, &desk->ana, "{" JOB ", singleton: true}");

    desk_start(desk, ended);
    desk_end(desk, ended);
    desk_start(desk, running);
    desk_submit(desk, &desk->eve, "{" JOB "}");
    desk_submit(desk, &desk->ana, "{run: 'true', name: other, sender_cwd: /}");
    AUTO_FREE char *expected = mem_printf("%" PRIu64 " %" PRIu64, running, waiting);
    assert_waits(desk, desk_submit(desk, &desk->ana, "{" JOB ", singleton: true}"), expected);
    assert_waits(desk, desk_submit(desk, &desk->root, "{" JOB ", singleton: true}"), "");
}

static void what_can_not_be_waited_for_is_refused(void **state)
{
    static const struct {
        const char *yaml;
        int code;
        const char *words;
    } cases[] = {
        { "{" JOB ", depends: [{on: 1, task: 7}]}", REFUSED_NOT_FOUND,
          "depends: job 1: it has no task 7" },
        { "{" JOB ", depends: [{on: 4, task: 1}]}", REFUSED_NOT_FOUND,
          "depends: job 4: no array, so it has no tasks" },
        { "{" JOB ", depends: [{on: 1, task: own}]}", REFUSED_BAD,
          "depends: task: own: expected a job with an array" },
        { "{" JOB ", array: 1-3, depends: [{on: 1, task: own}]}", REFUSED_NOT_FOUND,
          "depends: job 1: it has no task 3" },
        { "{" JOB ", array: 0-1, depends: [{on: 1, task: own}]}", REFUSED_NOT_FOUND,
          "depends: job 1: it has no task 0" },
        { "{" JOB ", array: 1-3, singleton: true}", REFUSED_BAD,
          "singleton: not with an array or a matrix; expected array: 0-9%1, whose tasks run one "
          "after the other" },
        { "[{" JOB ", singleton: true}, {" JOB ", singleton: true}]", REFUSED_BAD,
          "document 1: singleton: expected a request with one document" },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    assert_int_equal(desk_submit(desk, &desk->ana, "{" JOB ", array: 1-2}"), 1);
    assert_int_equal(desk_submit(desk, &desk->ana, "{" JOB "}"), 4);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(json) json_t *documents = desk_json(cases[i].yaml);
        ASSERT_REFUSED(desk, submit_all(&desk->control, &desk->ana, documents, &err), cases[i].code,
                       cases[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_waits_for_one_task_of_an_array),
        cmocka_unit_test(each_task_waits_for_that_of_its_index),
        cmocka_unit_test(a_singleton_waits_for_those_of_its_name),
        cmocka_unit_test(what_can_not_be_waited_for_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
