/* SPDX-License-Identifier: Apache-2.0 */
#include "core/journal/receipt_log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/snapshot/snapshot.h"

static void tell(struct state *state, usec_t at, const char *user, const char *key, uint64_t job)
{
    struct event event = {
        .kind = EVENT_RECEIPT,
        .at = at,
        .receipt = { .user = user, .key = key, .fingerprint = job * 7, .job = job, .cron = 1 }
    };
    struct error err;

    if (state_apply(state, &event, &err) < 0)
        fail_msg("%s", err.text);
}

static const struct receipt *find(const struct state *state, const char *user, const char *key)
{
    return receipt_log_find(&state->receipts, user, key, state->now);
}

static void a_receipt_is_that_of_its_user_and_key(void **unused)
{
    AUTO(state) struct state *state = state_create();
    (void)unused;

    tell(state, 5, "ana", "k", 3);
    tell(state, 6, "eve", "k", 4);
    assert_int_equal(find(state, "ana", "k")->job, 3);
    assert_int_equal(find(state, "ana", "k")->fingerprint, 21);
    assert_int_equal(find(state, "eve", "k")->job, 4);
    assert_null(find(state, "ana", "kk"));
    assert_null(find(state, "an", "k"));
}

static void a_receipt_is_kept_for_its_time(void **unused)
{
    AUTO(state) struct state *state = state_create();
    (void)unused;

    tell(state, 5, "ana", "k", 3);
    assert_non_null(receipt_log_find(&state->receipts, "ana", "k", 5 + RECEIPT_TIME));
    assert_null(receipt_log_find(&state->receipts, "ana", "k", 6 + RECEIPT_TIME));
    tell(state, 6 + RECEIPT_TIME, "eve", "l", 4);
    assert_int_equal(state->receipts.items.count, 1);
}

static void a_user_with_many_loses_the_oldest_and_others_none(void **unused)
{
    AUTO(state) struct state *state = state_create();
    char key[16];
    (void)unused;

    tell(state, 1, "eve", "k", 1);
    for (unsigned i = 0; i < RECEIPTS_USER_MAX + 5; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        tell(state, 2, "ana", key, i);
    }
    assert_int_equal(state->receipts.items.count, RECEIPTS_USER_MAX + 1);
    assert_null(find(state, "ana", "k4"));
    assert_non_null(find(state, "ana", "k5"));
    assert_non_null(find(state, "eve", "k"));
}

static void a_snapshot_has_the_receipts(void **unused)
{
    AUTO(state) struct state *state = state_create();
    AUTO(state) struct state *loaded = NULL;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO_RELEASE(text) struct text again = { 0 };
    struct error err;
    (void)unused;

    tell(state, 1, "ana", "k", 1);
    tell(state, 2, "eve", "l", 9);
    snapshot_save(state, &bytes);
    if (snapshot_load(bytes.bytes, bytes.length, &loaded, &err) < 0)
        fail_msg("%s", err.text);
    snapshot_save(loaded, &again);
    assert_int_equal(again.length, bytes.length);
    assert_memory_equal(again.bytes, bytes.bytes, bytes.length);
    assert_int_equal(find(loaded, "eve", "l")->job, 9);
    assert_int_equal(find(loaded, "ana", "k")->at, 1);
}

static void a_snapshot_with_receipts_out_of_order_is_refused(void **unused)
{
    AUTO(state) struct state *state = state_create();
    struct state *loaded = NULL;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct error err;
    (void)unused;

    tell(state, 1, "ana", "k", 1);
    tell(state, 2, "ana", "l", 2);
    state->receipts.items.items[1].at = 0;
    snapshot_save(state, &bytes);
    assert_int_equal(snapshot_load(bytes.bytes, bytes.length, &loaded, &err), -EBADMSG);
    assert_string_equal(err.text, "snapshot: receipt 'l' is invalid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receipt_is_that_of_its_user_and_key),
        cmocka_unit_test(a_receipt_is_kept_for_its_time),
        cmocka_unit_test(a_user_with_many_loses_the_oldest_and_others_none),
        cmocka_unit_test(a_snapshot_has_the_receipts),
        cmocka_unit_test(a_snapshot_with_receipts_out_of_order_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
