/* SPDX-License-Identifier: Apache-2.0 */
#include "control/repeat.h"

#include "control/submit.h"
#include "control/tend.h"
#include "desk.h"

#define JOB "run: 'true', sender_cwd: /"

static const struct event_cron *only_entry(const struct desk *desk)
{
    assert_int_equal(desk->state->agenda.crons.count, 1);
    return &desk->state->agenda.crons.items[0];
}

static void a_repeating_job_is_submitted_when_it_is_due(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_submit(desk, &desk->ana, "{" JOB ", name: nightly, schedule: '*/10 * * * *'}");
    const struct event_cron *entry = only_entry(desk);
    assert_string_equal(entry->user, "ana");
    usec_t due = entry->next;
    assert_true(due > desk->now && due <= desk->now + 10 * USEC_PER_MIN);

    cron_fire(&desk->control, entry->id); /* too early */
    assert_int_equal(desk_run_changes(desk), 1);
    assert_null(desk->state->first_job);

    desk->now = due;
    tend(&desk->control, false);
    assert_true(desk_run_changes(desk) >= 1);
    const struct job *job = desk->state->first_job;
    assert_non_null(job);
    assert_int_equal(job->uid, 1000);
    entry = only_entry(desk);
    assert_int_equal(entry->count, 1);
    assert_int_equal(entry->job, job->id);
    assert_int_equal(entry->next, due + 10 * USEC_PER_MIN);
    assert_true(desk->tended > 0);
}

static void what_is_refused_later_is_told_with_the_entry(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, "queues: {research: {}}");
    desk_submit(desk, &desk->ana, "{" JOB ", queue: research, schedule: '* * * * *'}");
    desk_configure(desk, "{}");
    desk->now = only_entry(desk)->next;
    cron_fire(&desk->control, only_entry(desk)->id);
    desk_run_changes(desk);
    assert_string_equal(only_entry(desk)->trouble, "queue research: no such queue");
    assert_int_equal(only_entry(desk)->count, 0);
}

static void a_clock_that_was_set_gives_another_next_time(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_submit(desk, &desk->ana, "{" JOB ", schedule: '0 * * * *'}");
    usec_t before = only_entry(desk)->next;
    desk->wall_ahead += 10 * USEC_PER_MIN;
    tend(&desk->control, true);
    desk_run_changes(desk);
    usec_t change = before - only_entry(desk)->next;
    assert_true(change == 10 * USEC_PER_MIN || change == -50 * (int64_t)USEC_PER_MIN);
}

static void its_owner_removes_it(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_submit(desk, &desk->ana, "{" JOB ", schedule: '* * * * *'}");
    uint64_t id = only_entry(desk)->id;
    ASSERT_REFUSED(desk, cron_remove(&desk->control, &desk->eve, id, &err), REFUSED_FORBIDDEN,
                   "cron 1: it is ana's");
    ASSERT_REFUSED(desk, cron_remove(&desk->control, &desk->ana, 99, &err), REFUSED_NOT_FOUND,
                   "cron 99: there is none");
    ASSERT_DONE(cron_remove(&desk->control, &desk->ana, id, &err));
    assert_int_equal(desk->state->agenda.crons.count, 0);
}

static void there_are_not_too_many(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    AUTO(json) json_t *document = desk_json("{" JOB ", schedule: '* * * * *'}");

    for (int i = 0; i < AGENDA_CRONS_MAX; i++)
        ASSERT_DONE(submit_all(&desk->control, &desk->ana, document, &err));
    ASSERT_REFUSED(desk, submit_all(&desk->control, &desk->ana, document, &err), REFUSED_TOO_MANY,
                   "more than 1000 repeating jobs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repeating_job_is_submitted_when_it_is_due),
        cmocka_unit_test(what_is_refused_later_is_told_with_the_entry),
        cmocka_unit_test(a_clock_that_was_set_gives_another_next_time),
        cmocka_unit_test(its_owner_removes_it),
        cmocka_unit_test(there_are_not_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
