/* SPDX-License-Identifier: Apache-2.0 */
/* Users of the system, looked up by a worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "io/workers.h"
#include "node/user_account.h"

static void count(void *user)
{
    (*(unsigned *)user)++;
}

static void a_user_is_looked_up_once_and_an_unknown_one_is_known_as_that(void **state)
{
    unsigned looked = 0;
    uv_loop_t loop;
    (void)state;

    uv_loop_init(&loop);
    struct workers *workers;
    assert_int_equal(workers_start(&loop, &workers, NULL), 0);
    struct user_accounts *accounts = user_accounts_create(&loop, workers);
    user_accounts_listen(accounts, &looked, count);
    for (int i = 0; i < 2; i++) {
        user_accounts_refresh(accounts, 0, 0);
        user_accounts_refresh(accounts, 0, 0);
        user_accounts_refresh(accounts, 4000000000, 77);
        if (i == 0)
            assert_null(user_accounts_find(accounts, 0, 0));
        uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(looked, 2);
        assert_true(user_accounts_is_ready(accounts, 0, 0));
    }
    const struct user_account *root = user_accounts_find(accounts, 0, 0);
    assert_string_equal(root->name, "root");
    assert_true(root->home && root->shell && root->group_count > 0);
    const struct user_account *unknown = user_accounts_find(accounts, 4000000000, 77);
    assert_null(unknown->name);
    assert_int_equal(unknown->group_count, 1);
    assert_int_equal(unknown->groups[0], 77);
    user_accounts_destroy(accounts);
    workers_stop(workers);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_is_looked_up_once_and_an_unknown_one_is_known_as_that),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
