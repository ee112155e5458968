/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/allowance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/snapshot/snapshot.h"
#include "core/state/fold.h"

enum { MIB = 1 << 20 };

static struct state *make_state(void)
{
    struct state *state = state_create();

    state->settings.watch.user_mib = 864; /* 10 KiB come back in a second, rounded */
    state->now = USEC_PER_DAY;
    return state;
}

static void what_is_used_comes_back_within_a_day(void **unused)
{
    (void)unused;
    struct state *state = make_state();
    uint32_t ana = state_claim_user(state, "ana");
    uint64_t second = allowance_limit(state) / (24 * 3600);

    state_claim_user(state, "ben");
    allowance_take(state, ana, 3 * MIB);
    assert_int_equal(allowance_used(state, "ana", state->now), 3 * MIB);
    assert_int_equal(allowance_used(state, "ben", state->now), 0);
    assert_int_equal(allowance_used(state, "nobody", state->now), 0);
    state->now += 60 * USEC_PER_SEC;
    assert_int_equal(allowance_used(state, "ana", state->now), 3 * MIB - 60 * second);
    allowance_take(state, ana, MIB);
    assert_int_equal(allowance_used(state, "ana", state->now), 4 * MIB - 60 * second);
    assert_int_equal(allowance_used(state, "ana", state->now + USEC_PER_DAY), 0);
    state_destroy(state);
}

static void after_the_wait_there_is_room(void **unused)
{
    (void)unused;
    struct state *state = make_state();
    uint64_t limit = allowance_limit(state);

    allowance_take(state, state_claim_user(state, "ana"), limit);
    usec_t wait = allowance_wait(state, 3 * MIB);
    assert_true(limit - allowance_used(state, "ana", state->now + wait) >= 3 * MIB);
    assert_true(limit - allowance_used(state, "ana", state->now + wait - USEC_PER_SEC) < 3 * MIB);
    state_destroy(state);
}

static void a_request_counts_for_its_user(void **unused)
{
    (void)unused;
    struct state *state = make_state();
    struct event audit = { .kind = EVENT_AUDIT,
                           .at = state->now,
                           .audit = {
                               .user = "ana", .operation = "holdJob", .path = "", .stored = 700 } };
    struct error err;

    assert_int_equal(state_apply(state, &audit, &err), 0);
    assert_int_equal(state_apply(state, &audit, &err), 0);
    assert_int_equal(allowance_used(state, "ana", state->now), 1400);
    audit.audit.stored = 0; /* of an administrator, or in an older journal */
    audit.audit.user = "root";
    assert_int_equal(state_apply(state, &audit, &err), 0);
    assert_int_equal(state_find_user(state, "root"), -1);
    state_destroy(state);
}

static void a_size_is_that_of_the_record(void **unused)
{
    (void)unused;
    struct event hold = { .kind = EVENT_HOLD, .at = 5, .hold = { .job = 7 } };
    struct text bytes = { 0 };

    event_encode(&hold, &bytes);
    assert_int_equal(event_size(&hold), bytes.length + EVENT_ROW_BYTES);
    text_release(&bytes);
}

static void it_is_kept_in_a_snapshot(void **unused)
{
    (void)unused;
    struct state *state = make_state(), *loaded;
    struct text text = { 0 };
    struct error err;

    state_claim_user(state, "ben");
    allowance_take(state, state_claim_user(state, "ana"), 5 * MIB);
    snapshot_save(state, &text);
    assert_int_equal(snapshot_load(text.bytes, text.length, &loaded, &err), 0);
    assert_int_equal(allowance_used(loaded, "ana", state->now), 5 * MIB);
    assert_int_equal(allowance_used(loaded, "ben", state->now), 0);
    state_destroy(loaded);
    state_destroy(state);
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_used_comes_back_within_a_day),
        cmocka_unit_test(after_the_wait_there_is_room),
        cmocka_unit_test(a_request_counts_for_its_user),
        cmocka_unit_test(a_size_is_that_of_the_record),
        cmocka_unit_test(it_is_kept_in_a_snapshot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
