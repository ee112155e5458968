/* SPDX-License-Identifier: Apache-2.0 */
#include "io/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_secret_is_43_characters_and_never_the_same(void **state)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char secrets[64][SECRET_SIZE];
    unsigned seen[256] = { 0 }, used = 0;

    (void)state;
    for (size_t i = 0; i < 64; i++) {
        secret_make(secrets[i]);
        assert_int_equal(strlen(secrets[i]), SECRET_SIZE - 1);
        assert_int_equal(strspn(secrets[i], letters), SECRET_SIZE - 1);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(secrets[i], secrets[k]);
        for (const char *at = secrets[i]; *at; at++)
            used += seen[(unsigned char)*at]++ == 0;
    }
    assert_int_equal(used, 64); /* of 2,752 random characters, each of the 64 is there */
}

static void the_hash_is_sha256(void **state)
{
    char hash[SECRET_HASH_SIZE];

    (void)state;
    secret_hash("abc", hash); /* FIPS 180-2, B.1 */
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(secret_is_equal("abc", "abc"));
    assert_false(secret_is_equal("abc", "abd"));
    assert_false(secret_is_equal("abc", "ab"));
    assert_false(secret_is_equal("", "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_is_43_characters_and_never_the_same),
        cmocka_unit_test(the_hash_is_sha256),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
