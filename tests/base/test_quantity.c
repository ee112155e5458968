/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/quantity.h"

enum { REFUSED = -1 };

static const struct {
    const char *text;
    int64_t milli, mib;
} cases[] = {
    { "0", 0, 0 },
    { "2", 2000, 1 },
    { "+2", 2000, 1 },
    { "500m", 500, 1 },
    { "0.5", 500, 1 },
    { ".5", 500, 1 },
    { "2.", 2000, 1 },
    { "1.0005", 1001, 1 }, /* rounded up */
    { "100n", 1, 1 },
    { "100u", 1, 1 },
    { "3k", 3000000, 1 },
    { "1e3", 1000000, 1 },
    { "1E-3", 1, 1 },
    { "1Mi", INT64_C(1048576000), 1 },
    { "1048577", INT64_C(1048577000), 2 },
    { "1.5Gi", INT64_C(1610612736000), 1536 },
    { "1500k", INT64_C(1500000000), 2 },
    { "36G", INT64_C(36000000000000), 34333 },
    { "1Ei", REFUSED, INT64_C(1) << 40 },
    { "8191Ei", REFUSED, INT64_C(8191) << 40 },
    { "8192Ei", REFUSED, REFUSED },
    { "1e30", REFUSED, REFUSED },
    { "1e31", REFUSED, REFUSED },
    { "1000000000000000000000000000000000000", REFUSED, REFUSED },
    { NULL, REFUSED, REFUSED },
    { "", REFUSED, REFUSED },
    { ".", REFUSED, REFUSED },
    { "-1", REFUSED, REFUSED },
    { "1.2.3", REFUSED, REFUSED },
    { "1K", REFUSED, REFUSED },
    { "1 Gi", REFUSED, REFUSED },
    { "Gi", REFUSED, REFUSED },
    { "1e", REFUSED, REFUSED },
    { "1e+", REFUSED, REFUSED },
    { "1Gib", REFUSED, REFUSED },
};

static void amounts_are_read_and_rounded_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t milli = REFUSED, mib = REFUSED;

        if (quantity_milli(cases[i].text, &milli) != (cases[i].milli != REFUSED) ||
            quantity_mib(cases[i].text, &mib) != (cases[i].mib != REFUSED))
            fail_msg("'%s': read %d and %d", cases[i].text ? cases[i].text : "nothing", (int)milli,
                     (int)mib);
        if (cases[i].milli != REFUSED)
            assert_int_equal(milli, cases[i].milli);
        if (cases[i].mib != REFUSED)
            assert_int_equal(mib, cases[i].mib);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(amounts_are_read_and_rounded_up) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
