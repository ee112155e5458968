/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/mcp/guard.h"
#include "wire/json.h"

static void fails(struct guard *guard, const char *confirm, const json_t *arguments, usec_t now,
                  const char *words)
{
    const json_t *preview = NULL;
    struct error err = { "" };

    assert_true(guard_check(guard, confirm, "cancel", arguments, now, &preview, &err) < 0);
    assert_non_null(strstr(err.text, words));
    assert_null(preview);
}

static void a_confirmation_works_for_ten_minutes(void **state)
{
    const usec_t valid = (usec_t)GUARD_VALID_S * USEC_PER_SEC;
    AUTO(json) json_t *arguments = json_pack("{s:i}", "job", 7);
    AUTO(json) json_t *shown = json_pack("{s:s}", "state", "queued");
    struct guard guard = { 0 };
    const json_t *preview = NULL;

    (void)state;
    AUTO_FREE char *confirm = mem_string(guard_add(&guard, "cancel", arguments, shown, 1000));
    assert_int_equal(
        guard_check(&guard, confirm, "cancel", arguments, 1000 + valid, &preview, NULL), 0);
    assert_true(json_equal(preview, shown));
    fails(&guard, confirm, arguments, 1001 + valid, "older than 10 minutes");
    guard_release(&guard);
}

static void the_oldest_of_too_many_is_forgotten(void **state)
{
    char first[SECRET_SIZE], second[SECRET_SIZE];
    AUTO(json) json_t *arguments = json_object();
    struct guard guard = { 0 };
    const json_t *preview = NULL;

    (void)state;
    memcpy(first, guard_add(&guard, "cancel", arguments, arguments, 0), SECRET_SIZE);
    memcpy(second, guard_add(&guard, "cancel", arguments, arguments, 0), SECRET_SIZE);
    for (int i = 2; i <= GUARD_PENDING_MAX; i++)
        guard_add(&guard, "cancel", arguments, arguments, 0);
    assert_int_equal(guard.pending.count, GUARD_PENDING_MAX);
    fails(&guard, first, arguments, 0, "not known");
    assert_int_equal(guard_check(&guard, second, "cancel", arguments, 0, &preview, NULL), 0);
    guard_forget(&guard, second);
    fails(&guard, second, arguments, 0, "not known");
    guard_release(&guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_confirmation_works_for_ten_minutes),
        cmocka_unit_test(the_oldest_of_too_many_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
