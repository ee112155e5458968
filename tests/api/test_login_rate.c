/* SPDX-License-Identifier: Apache-2.0 */
#include "api/login/login_rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const usec_t start = USEC_PER_DAY;

static unsigned allowed(struct login_rate *rate, const char *user, const char *address, usec_t now)
{
    unsigned count = 0;

    while (count < 100 && login_rate_take(rate, login_keys_of(user, address), now) == 0)
        count++;
    return count;
}

static void a_user_has_some_attempts_then_one_at_a_time(void **state)
{
    (void)state;
    struct login_rate rate = { 0 };
    const usec_t step = RATE_USER_STEP_S * USEC_PER_SEC;

    assert_int_equal(allowed(&rate, "ana", "10.0.0.1", start), RATE_USER_BURST);
    assert_int_equal(login_rate_take(&rate, login_keys_of("ana", "10.0.0.2"), start), step);
    assert_int_equal(allowed(&rate, "ana", "10.0.0.2", start + step - 1), 0);
    assert_int_equal(allowed(&rate, "ana", "10.0.0.2", start + step), 1);
    assert_int_equal(allowed(&rate, "ana", "10.0.0.3", start + 100 * step), RATE_USER_BURST);
    login_rate_release(&rate);
}

static void a_refused_attempt_does_not_count(void **state)
{
    (void)state;
    struct login_rate rate = { 0 };

    assert_int_equal(allowed(&rate, "ana", "10.0.0.1", start), RATE_USER_BURST);
    for (int i = 0; i < 50; i++)
        assert_true(login_rate_take(&rate, login_keys_of("ana", "10.0.0.1"), start) > 0);
    assert_int_equal(allowed(&rate, "ben", "10.0.0.1", start),
                     RATE_ADDRESS_BURST - RATE_USER_BURST);
    login_rate_release(&rate);
}

static void an_address_counts_over_all_users(void **state)
{
    static const struct {
        const char *first, *second;
        bool is_one;
    } cases[] = {
        { "10.0.0.1", "10.0.0.1", true },
        { "10.0.0.1", "10.0.0.2", false },
        { "2001:db8:1:2::1", "2001:db8:1:2:ffff::2", true }, /* one customer has all of these */
        { "2001:db8:1:2::1", "2001:db8:1:3::1", false },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct login_rate rate = { 0 };
        char name[16];

        for (int user = 0; user < RATE_ADDRESS_BURST; user++) {
            snprintf(name, sizeof(name), "user%d", user);
            assert_int_equal(login_rate_take(&rate, login_keys_of(name, cases[i].first), start), 0);
        }
        usec_t wait = login_rate_take(&rate, login_keys_of("ana", cases[i].second), start);
        assert_int_equal(wait, cases[i].is_one ? RATE_ADDRESS_STEP_S * USEC_PER_SEC : 0);
        login_rate_release(&rate);
    }
}

static void a_right_password_does_not_count(void **state)
{
    (void)state;
    struct login_rate rate = { 0 };
    struct login_keys keys = login_keys_of("ana", "10.0.0.1");

    for (int i = 0; i < 1000; i++) {
        assert_int_equal(login_rate_take(&rate, keys, start), 0);
        login_rate_return(&rate, keys);
    }
    login_rate_release(&rate);
}

static void what_is_remembered_is_limited(void **state)
{
    (void)state;
    struct login_rate rate = { 0 };
    char name[32], address[64];
    usec_t wait = 0;

    for (unsigned i = 0; wait == 0 && i < RATE_KEYS_MAX; i++) {
        snprintf(name, sizeof(name), "user%u", i);
        snprintf(address, sizeof(address), "2001:db8:%x:%x::1", i >> 16, i & 0xffff);
        wait = login_rate_take(&rate, login_keys_of(name, address), start);
    }
    assert_true(wait > 0);
    assert_true(rate.due.count <= RATE_KEYS_MAX + 1);
    usec_t later = start + USEC_PER_HOUR;
    assert_int_equal(login_rate_take(&rate, login_keys_of("ana", "10.0.0.1"), later), 0);
    assert_int_equal(rate.due.count, 2);
    login_rate_release(&rate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_has_some_attempts_then_one_at_a_time),
        cmocka_unit_test(a_refused_attempt_does_not_count),
        cmocka_unit_test(an_address_counts_over_all_users),
        cmocka_unit_test(a_right_password_does_not_count),
        cmocka_unit_test(what_is_remembered_is_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
