/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/job_alert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void tell(struct state *state, usec_t at, struct event event)
{
    struct error err;

    event.at = at;
    if (state_apply(state, &event, &err) < 0)
        fail_msg("%s", err.text);
}

/* One GPU and a job that runs on it, with a limit of an hour. */
static struct state *running_world(void)
{
    static const struct lease_member member = { 0 };
    static const struct slice slice = { .device = 0, .milli = 1000 };
    struct state *state = state_create();
    struct event submit = { .kind = EVENT_SUBMIT,
                            .submit = { .id = 7, .name = "j", .user = "ana", .queue = "default" } };

    tell(state, 1, (struct event){ .kind = EVENT_NODE, .node = { .name = "a" } });
    tell(state, 1,
         (struct event){ .kind = EVENT_DEVICE,
                         .device = { .node = "a", .uuid = "GPU-0", .model = "h100" } });
    request_default(&submit.submit.request);
    submit.submit.request.max_duration = USEC_PER_HOUR;
    tell(state, 1, submit);
    tell(state, 1,
         (struct event){ .kind = EVENT_GRANT,
                         .grant = { .job = 7,
                                    .attempt = 1,
                                    .lease = { .members = &member,
                                               .members_count = 1,
                                               .slices = &slice,
                                               .slices_count = 1,
                                               .milli = 1000 } } });
    tell(state, 1, (struct event){ .kind = EVENT_STARTED, .started = { .job = 7, .attempt = 1 } });
    return state;
}

static void warn(struct state *state, uint8_t kind, uint8_t count)
{
    tell(state, 2,
         (struct event){ .kind = EVENT_WARN,
                         .warn = { .job = 7, .attempt = 1, .kind = kind, .count = count } });
}

/* The names, with commas between. */
static const char *names_at(const struct state *state, usec_t now, char *ret, size_t size)
{
    struct alert_things things = { 0 };

    alert_of_job(state, state_job(state, 7), now, &things);
    ret[0] = '\0';
    for (size_t i = 0; i < things.list.count; i++) {
        const struct alert_thing *thing = &things.list.items[i];
        size_t length = strlen(ret);
        snprintf(ret + length, size - length, "%s%s", i > 0 ? "," : "", thing->name);
        assert_string_equal(thing->owner, "ana");
        assert_string_equal(thing->subject, "job:7");
        assert_int_equal(thing->job, 7);
        assert_true(thing->words[0] != '\0' && alert_name_is_known(thing->name));
    }
    list_release(&things.list);
    return ret;
}

static void what_is_wrong_with_a_job_is_for_its_owner(void **unused)
{
    char names[200];
    (void)unused;
    AUTO(state) struct state *state = running_world();

    assert_string_equal(names_at(state, USEC_PER_MIN, names, sizeof(names)), "");
    warn(state, WARNING_IDLE, 1);
    assert_string_equal(names_at(state, USEC_PER_MIN, names, sizeof(names)), "job-idle");
    warn(state, WARNING_MEMORY, 1);
    assert_string_equal(names_at(state, USEC_PER_MIN, names, sizeof(names)), "job-idle,job-memory");
    warn(state, WARNING_IDLE, 0);
    warn(state, WARNING_MEMORY, 0);
    assert_string_equal(names_at(state, 54 * USEC_PER_MIN, names, sizeof(names)), "");
    assert_string_equal(names_at(state, 55 * USEC_PER_MIN, names, sizeof(names)), "job-limit");
    tell(state, 3,
         (struct event){
             .kind = EVENT_DEVICE,
             .device = {
                 .node = "a", .uuid = "GPU-0", .model = "h100", .sick = "fell off the bus" } });
    assert_string_equal(names_at(state, USEC_PER_MIN, names, sizeof(names)), "job-device");
    tell(state, 4,
         (struct event){ .kind = EVENT_ENDED,
                         .ended = { .job = 7, .attempt = 1, .kind = ENGINE_ENDED } });
    assert_string_equal(names_at(state, USEC_PER_DAY, names, sizeof(names)), "");
}

static void a_short_limit_is_no_alert(void **unused)
{
    char names[200];
    (void)unused;
    AUTO(state) struct state *state = running_world();

    tell(state, 2,
         (struct event){ .kind = EVENT_UPDATE,
                         .update = { .job = 7, .queue = "", .max_duration = 9 * USEC_PER_MIN } });
    assert_true(job_is_near_limit(state_job(state, 7), 8 * USEC_PER_MIN + 59 * USEC_PER_SEC));
    assert_string_equal(names_at(state, 8 * USEC_PER_MIN + 59 * USEC_PER_SEC, names, sizeof(names)),
                        "");
}

static void budgets_are_told_when_nine_tenths_are_spent_and_when_all_is(void **unused)
{
    static const struct event_budget budgets[] = {
        { .window = "", .most = 10 * USEC_PER_HOUR, .account = ACCOUNT_GPU_TIME },
        { .window = "", .most = 20 * USEC_PER_HOUR, .account = ACCOUNT_GPU_TIME, .user = "ana" },
    };
    static const struct {
        usec_t hours;
        size_t count;
        enum health_severity severity;
    } cases[] = {
        { 8, 0, 0 },
        { 9, 1, HEALTH_WARNING },
        { 10, 1, HEALTH_CRITICAL },
        { 30, 2, HEALTH_CRITICAL },
    };
    (void)unused;
    AUTO(state) struct state *state = running_world();

    tell(state, 2,
         (struct event){ .kind = EVENT_QUEUE,
                         .queue = { .name = "default",
                                    .parent = "",
                                    .gpus = QUOTA_OPEN,
                                    .weight = 1,
                                    .budgets = budgets,
                                    .budgets_count = 2 } });
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct alert_things things = { 0 };
        alert_of_budgets(state, cases[i].hours * USEC_PER_HOUR + USEC_PER_MIN, &things);
        assert_int_equal(things.list.count, cases[i].count);
        if (things.list.count > 0) {
            assert_string_equal(things.list.items[0].subject, "queue:default:gpu_hours");
            assert_int_equal(things.list.items[0].severity, cases[i].severity);
            assert_string_equal(things.list.items[0].owner, "");
        }
        if (things.list.count > 1) {
            assert_string_equal(things.list.items[1].subject, "queue:default:ana:gpu_hours");
            assert_string_equal(things.list.items[1].words,
                                "user ana of queue default has spent their budget of GPU-hours");
            assert_string_equal(things.list.items[1].owner, "ana");
        }
        list_release(&things.list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_with_a_job_is_for_its_owner),
        cmocka_unit_test(a_short_limit_is_no_alert),
        cmocka_unit_test(budgets_are_told_when_nine_tenths_are_spent_and_when_all_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
