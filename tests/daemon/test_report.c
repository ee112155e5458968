/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/study/study_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void tell(struct ledger *ledger, struct state *state, usec_t at, struct event event)
{
    struct error err;

    event.at = at;
    ledger_pass(ledger, at);
    if (state_apply(state, &event, &err) < 0)
        fail_msg("%s", err.text);
    ledger_note(ledger, &event);
}

/* A job of each of two users, over and forgotten, and a third that is listed still. */
static void fill(struct ledger *ledger, struct state *state)
{
    static const char *const users[] = { "ana", "ben", "ben" };

    ledger_begin(ledger, state, 1);
    for (uint64_t id = 1; id <= 3; id++) {
        struct event submit = {
            .kind = EVENT_SUBMIT,
            .submit = { .id = id, .name = "secret", .user = users[id - 1], .queue = "default" }
        };
        request_default(&submit.submit.request);
        tell(ledger, state, 2, submit);
        tell(ledger, state, 3,
             (struct event){ .kind = EVENT_CANCEL, .cancel = { .job = id, .user = "root" } });
    }
    for (uint64_t id = 1; id <= 2; id++)
        tell(ledger, state, 4, (struct event){ .kind = EVENT_FORGET, .forget = { .id = id } });
    ledger_finish(ledger, 5);
}

static const char *text_of(const json_t *report, size_t row, const char *key)
{
    return json_string_value(
        json_object_get(json_array_get(json_object_get(report, "rows"), row), key));
}

static void names_of_others_jobs_that_nobody_lists_are_kept_back(void **unused)
{
    struct ledger ledger;
    struct report_ask ask = { .by = REPORT_BY_JOB, .shown = 10 };
    (void)unused;
    AUTO(state) struct state *state = state_create();

    fill(&ledger, state);
    json_t *all = report_view(&ledger, &ask);
    assert_string_equal(text_of(all, 0, "name"), "secret");
    assert_string_equal(text_of(all, 1, "user"), "ben");
    json_decref(all);
    ask.hides_from = "ana";
    json_t *own = report_view(&ledger, &ask);
    assert_string_equal(text_of(own, 0, "name"), "secret"); /* one's own */
    assert_null(text_of(own, 1, "name"));
    assert_null(text_of(own, 1, "user"));
    assert_string_equal(text_of(own, 1, "queue"), "default");
    assert_string_equal(text_of(own, 2, "user"), "ben"); /* everybody sees it in a listing */
    json_decref(own);
    ledger_release(&ledger);
}

static void no_more_rows_than_are_asked_for_and_a_total_of_all(void **unused)
{
    struct ledger ledger;
    const struct report_ask ask = { .by = REPORT_BY_USER, .shown = 1 };
    (void)unused;
    AUTO(state) struct state *state = state_create();

    fill(&ledger, state);
    json_t *report = report_view(&ledger, &ask);
    assert_int_equal(json_array_size(json_object_get(report, "rows")), 1);
    assert_int_equal(json_integer_value(json_object_get(report, "row_count")), 2);
    const json_t *total = json_object_get(report, "total");
    assert_int_equal(json_integer_value(json_object_get(total, "cancelled")), 3);
    assert_true(json_is_null(json_object_get(total, "gpu_use")));
    assert_true(json_is_null(json_object_get(total, "cost")));
    json_decref(report);
    ledger_release(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_others_jobs_that_nobody_lists_are_kept_back),
        cmocka_unit_test(no_more_rows_than_are_asked_for_and_a_total_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
