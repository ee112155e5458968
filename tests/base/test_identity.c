/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/identity.h"

static void root_and_whom_the_daemon_runs_as_are_administrators(void **state)
{
    (void)state;
    struct identity who;

    identity_set(&who, IDENTITY_PEER, "root", 0, 0, 500);
    assert_true(who.is_admin && who.has_uid);
    identity_set(&who, IDENTITY_PEER, "tarn", 500, 500, 500);
    assert_true(who.is_admin);
    identity_set(&who, IDENTITY_PEER, "ana", 1000, 100, 500);
    assert_false(who.is_admin);
    assert_string_equal(who.name, "ana");
}

static void what_is_theirs_is_for_them_and_administrators(void **state)
{
    (void)state;
    struct identity ana, root, nobody = IDENTITY_NONE;

    identity_set(&ana, IDENTITY_PEER, "ana", 1000, 100, 500);
    identity_set(&root, IDENTITY_PEER, "root", 0, 0, 500);
    assert_true(identity_may(&ana, 1000));
    assert_false(identity_may(&ana, 1001));
    assert_true(identity_may(&root, 1000));
    assert_false(identity_owns(&root, 1000));
    assert_false(identity_may(&nobody, 1000));
    assert_false(identity_may(&nobody, (uid_t)-1)); /* its number is nobody's */
}

static void who_has_no_name_is_a_number(void **state)
{
    (void)state;
    struct identity who;

    identity_set(&who, IDENTITY_STORED, NULL, 4711, 1, 0);
    assert_string_equal(who.name, "4711");
    identity_set(&who, IDENTITY_STORED, "", 4711, 1, 0);
    assert_string_equal(who.name, "4711");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_and_whom_the_daemon_runs_as_are_administrators),
        cmocka_unit_test(what_is_theirs_is_for_them_and_administrators),
        cmocka_unit_test(who_has_no_name_is_a_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
