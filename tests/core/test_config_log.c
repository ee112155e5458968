/* SPDX-License-Identifier: Apache-2.0 */
#include "core/journal/config_log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/snapshot/snapshot.h"

static void tell(struct state *state, usec_t at, uint64_t number, const char *words)
{
    struct event event = { .kind = EVENT_CHANGE,
                           .at = at,
                           .change = { .number = number,
                                       .user = "ana",
                                       .before = 2 * number,
                                       .after = 2 * number + 1,
                                       .words = words,
                                       .count = 3,
                                       .undone = number > 2 ? number - 1 : 0 } };
    struct error err;

    if (state_apply(state, &event, &err) < 0)
        fail_msg("%s", err.text);
}

static void a_change_is_kept_with_its_author_and_changes_nothing_else(void **unused)
{
    AUTO(state) struct state *state = state_create();
    (void)unused;

    assert_int_equal(config_log_last(&state->config_log), 0);
    tell(state, 5, 1, "queue a  new");
    tell(state, 9, 2, "queue a  removed");
    assert_int_equal(config_log_last(&state->config_log), 2);
    const struct config_change *first = config_log_find(&state->config_log, 1);
    assert_string_equal(first->user, "ana");
    assert_string_equal(first->words, "queue a  new");
    assert_int_equal(first->at, 5);
    assert_int_equal(first->before, 2);
    assert_int_equal(first->after, 3);
    assert_int_equal(first->count, 3);
    assert_null(config_log_find(&state->config_log, 0));
    assert_null(config_log_find(&state->config_log, 3));
    assert_int_equal(state->queues.count, 2);
}

static void the_oldest_goes_when_there_are_too_many(void **unused)
{
    AUTO(state) struct state *state = state_create();
    (void)unused;

    for (uint64_t i = 1; i <= CONFIG_LOG_KEPT + 5; i++)
        tell(state, (usec_t)i, i, "x");
    assert_int_equal(state->config_log.items.count, CONFIG_LOG_KEPT);
    assert_null(config_log_find(&state->config_log, 5));
    assert_non_null(config_log_find(&state->config_log, 6));
    assert_int_equal(config_log_last(&state->config_log), CONFIG_LOG_KEPT + 5);
}

static void a_snapshot_has_the_log(void **unused)
{
    AUTO(state) struct state *state = state_create();
    AUTO(state) struct state *loaded = NULL;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO_RELEASE(text) struct text again = { 0 };
    struct error err;
    (void)unused;

    for (uint64_t i = 1; i <= 3; i++)
        tell(state, (usec_t)i, i, "order default -> fifo");
    snapshot_save(state, &bytes);
    if (snapshot_load(bytes.bytes, bytes.length, &loaded, &err) < 0)
        fail_msg("%s", err.text);
    snapshot_save(loaded, &again);
    assert_int_equal(again.length, bytes.length);
    assert_memory_equal(again.bytes, bytes.bytes, bytes.length);
    assert_int_equal(config_log_find(&loaded->config_log, 3)->undone, 2);
    assert_int_equal(config_log_find(&loaded->config_log, 3)->at, 3);
}

static void a_number_that_is_taken_is_refused(void **unused)
{
    AUTO(state) struct state *state = state_create();
    struct event event = { .kind = EVENT_CHANGE, .change = { .number = 2 } };
    struct error err;
    (void)unused;

    tell(state, 1, 2, "x");
    assert_int_equal(state_apply(state, &event, &err), -EBADMSG);
    assert_string_equal(err.text, "change 2: its number is taken");
    assert_int_equal(state->config_log.items.count, 1);
}

static void a_snapshot_with_a_log_out_of_order_is_refused(void **unused)
{
    AUTO(state) struct state *state = state_create();
    struct state *loaded = NULL;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct error err;
    (void)unused;

    tell(state, 1, 1, "x");
    tell(state, 1, 2, "y");
    state->config_log.items.items[0].number = 3;
    snapshot_save(state, &bytes);
    assert_int_equal(snapshot_load(bytes.bytes, bytes.length, &loaded, &err), -EBADMSG);
    assert_string_equal(err.text, "snapshot: change 2 is invalid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_kept_with_its_author_and_changes_nothing_else),
        cmocka_unit_test(the_oldest_goes_when_there_are_too_many),
        cmocka_unit_test(a_snapshot_has_the_log),
        cmocka_unit_test(a_number_that_is_taken_is_refused),
        cmocka_unit_test(a_snapshot_with_a_log_out_of_order_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
